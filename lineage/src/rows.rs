//! What takes part: one row for each contender, under the label that the threads' digest gives it.
//!
//! Promises: a contender that cannot run here keeps its row, with the reason in place of figures.

use crate::contenders::c1_spinlock::OnePool;
use crate::contenders::c2_nodes::NodePools;
use crate::contenders::c3_salted::SaltedPool;
use crate::contenders::c4_atomic::AtomicPool;
use crate::contenders::c5_deferred::DeferredPool;
use crate::contenders::c6_ring::{Full, RingPool};
use crate::contenders::c7_md5::Md5Chain;
use crate::contenders::c8_siphash::SipChain;
use crate::contenders::c9_rdrand::Rdrand;
use crate::contenders::c10_kernel::{Kernel, fresh};
use crate::contenders::c11_siprng::{NoisySipRng, SipRng};
use crate::contenders::control::PrivatePools;
use crate::contenders::p1_ownpool::Ownpool;
use crate::contenders::p9_batch::Batched;
use crate::contenders::vdso::VdsoInts;
use crate::contenders::{Ints, Pool};
use crate::harness;
use crate::placement::Placement;
use core::time::Duration;
use ownpool_measure::vdso::Vdso;

type Rate = Box<dyn Fn(&Placement, usize, Duration) -> f64>;
type First = Box<dyn Fn(&Placement) -> f64>;
type Thousands = Box<dyn FnMut(Duration) -> [f64; 2]>;

/// The label of rows that are in no thread: the kernel of today and the control.
pub(crate) const UNLABELLED: &str = "-";

/// Calls per second, and nanoseconds of a new thread's first call.
pub(crate) struct PoolRun {
    pub(crate) rate: Rate,
    pub(crate) first: First,
}

/// A row: a label, a name, and a way to run it or the reason why not.
pub(crate) struct Row<Run> {
    pub(crate) label: &'static str,
    pub(crate) name: &'static str,
    pub(crate) run: Result<Run, String>,
    /// Memory that it takes: in all, and for each thread.
    pub(crate) memory: &'static str,
}

/// A row for a pool that `make` builds anew for each run, or copies.
fn pool<P: Pool + 'static>(
    label: &'static str,
    name: &'static str,
    memory: &'static str,
    make: Result<impl Fn(&Placement) -> P + Copy + 'static, String>,
) -> Row<PoolRun> {
    let run = make.map(|make| PoolRun {
        rate: Box::new(move |placement, threads, time| {
            harness::rate(&make(placement), placement, threads, time)
        }),
        first: Box::new(move |placement| harness::first_read(&make(placement), placement)),
    });
    Row {
        label,
        name,
        run,
        memory,
    }
}

/// The pools.
pub(crate) fn pools(ours: &Result<Ownpool, String>) -> Vec<Row<PoolRun>> {
    vec![
        pool(
            "C1",
            "one pool, one lock",
            "136 B",
            Ok(|_: &Placement| <OnePool>::new(&fresh())),
        ),
        pool(
            "C2",
            "a pool a node",
            "136 B a node",
            Ok(|placement: &Placement| NodePools::new(placement.nodes, &fresh())),
        ),
        pool(
            "C3",
            "no lock, salted by CPU",
            "132 B",
            Ok(|_: &Placement| <SaltedPool>::new(&fresh())),
        ),
        pool(
            "C4",
            "atomic additions",
            "132 B",
            Ok(|_: &Placement| <AtomicPool>::new(&fresh())),
        ),
        pool(
            "C5",
            "deferred mix-back",
            "140 B, 12 a CPU",
            Ok(|_: &Placement| DeferredPool::new(&fresh())),
        ),
        pool(
            "C6",
            "helper and ring",
            "5 KiB, one thread",
            Ok(|_: &Placement| RingPool::new(Full::Rest, &fresh())),
        ),
        pool(
            "P1",
            "ownpool_fill",
            "4 KiB a thread",
            ours.clone().map(|ours| move |_: &Placement| ours),
        ),
        pool(
            UNLABELLED,
            "kernel, system call",
            "none of ours",
            Ok(|_: &Placement| Kernel),
        ),
        pool(
            UNLABELLED,
            "kernel, vDSO",
            "144 B a thread",
            Vdso::find().map(|vdso| move |_: &Placement| vdso),
        ),
        pool(
            UNLABELLED,
            "control: a C1 a thread",
            "132 B a thread",
            Ok(|_: &Placement| PrivatePools::new(&fresh())),
        ),
    ]
}

/// A row for a generator of small integers.
fn ints<I: Ints + 'static>(
    label: &'static str,
    name: &'static str,
    made: Result<I, String>,
) -> Row<Thousands> {
    let run =
        made.map(|mut made| Box::new(move |time| harness::thousands(&mut made, time)) as Thousands);
    Row {
        label,
        name,
        run,
        memory: "",
    }
}

/// The generators of small integers.
pub(crate) fn small(ours: &Result<Ownpool, String>) -> Vec<Row<Thousands>> {
    let sip = || SipRng::new(&fresh());
    vec![
        ints("C7", "MD5 chaining", Ok(Md5Chain::new(&fresh()))),
        ints("C8", "SipHash chaining", Ok(SipChain::new(&fresh()))),
        ints(
            "P9",
            "ChaCha20 in batches, as in 2016",
            Ok(Batched::new(&fresh())),
        ),
        ints("P9", "ownpool_u32, ownpool_u64", ours.clone()),
        ints(
            "C9",
            "RDRAND a word",
            Rdrand::new().ok_or_else(|| "this processor has no RDRAND".into()),
        ),
        ints("C10", "getrandom a word, system call", Ok(Kernel)),
        ints(
            UNLABELLED,
            "getrandom a word, vDSO",
            VdsoInts::new().ok_or_else(|| "this kernel has no getrandom in the vDSO".into()),
        ),
        ints("C11", "SipRound, no noise", Ok(sip())),
        ints(
            "C11",
            "SipRound, noise at each call",
            Ok(NoisySipRng(sip())),
        ),
    ]
}
