//! The questions that are not about speed, all of them asked in one run.

use super::collisions::{Collisions, collisions};
use super::deferred::{self, Liveness};
use super::evenness::{self, Evenness};
use super::ring::{self, FullBuffer, Hunger};
use super::threads::Rounds;
use crate::contenders::c3_salted::{Plain, SaltedPool};
use crate::contenders::c4_atomic::AtomicPool;
use crate::contenders::c5_deferred::DeferredPool;
use crate::contenders::c6_ring::Full;
use crate::contenders::c10_kernel::fresh;
use crate::contenders::p1_ownpool::Ownpool;
use crate::contenders::register::HASH_LEN;
use crate::placement::Placement;
use crate::plan::Plan;

/// The answers to them.
pub(crate) struct Observed {
    pub(crate) collisions: Vec<(&'static str, Collisions)>,
    pub(crate) locked: Evenness,
    pub(crate) salted: Evenness,
    pub(crate) alone: Liveness,
    pub(crate) crowded: Liveness,
    /// Times that two readers of C5 met, and mix-backs that were forgotten.
    pub(crate) forgotten: (usize, usize),
    pub(crate) rest: FullBuffer,
    pub(crate) replace: FullBuffer,
    pub(crate) hunger: Hunger,
    /// Bytes that C4 should have mixed in under stress, and those it did.
    pub(crate) reserved: (u32, u32),
}

/// Counts.
pub(crate) fn observe(
    placement: &Placement,
    plan: Plan,
    ours: &Result<Ownpool, String>,
) -> Observed {
    let seed: [u8; 32] = fresh();
    let rounds = Rounds {
        most: plan.windows,
        time: 2 * plan.load,
    };
    let threads = placement.cores.len().max(2);
    // Up to 2^20 outputs in all, see [`collisions`].
    let each = plan.outputs.min((1 << 20) / threads);
    let c3 = SaltedPool::<Plain>::new(&seed);
    let c4 = AtomicPool::<false>::new(&seed);
    let c4_salted = AtomicPool::<true>::new(&seed);
    let c5 = DeferredPool::new(&seed);
    let mut found = vec![
        ("C3", collisions(&c3, placement, threads, each)),
        ("C4", collisions(&c4, placement, threads, each)),
        (
            "C4, C3's salt",
            collisions(&c4_salted, placement, threads, each),
        ),
        ("C5", collisions(&c5, placement, threads, each)),
    ];
    if let Ok(ours) = ours {
        found.push(("P1", collisions(ours, placement, threads, each)));
    }
    let due = seed.len() + threads * each * HASH_LEN;
    Observed {
        collisions: found,
        locked: evenness::locked(placement, rounds),
        salted: evenness::salted(placement, rounds),
        alone: deferred::liveness(placement, 1, plan.load),
        crowded: deferred::liveness(placement, 2 * placement.cores.len(), plan.load),
        forgotten: deferred::forgotten(placement, rounds),
        rest: ring::full_buffer(Full::Rest, plan.load),
        replace: ring::full_buffer(Full::Replace, plan.load),
        hunger: ring::hunger(placement, threads, plan.load),
        reserved: (due as u32, c4.mixed()),
    }
}
