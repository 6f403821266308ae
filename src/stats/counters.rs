//! Counters and their snapshot.
//!
//! Promises: what the kernel answered is counted exactly, per entry point, in
//! shards that threads spread over, the first thread's its own; what private generators
//! answered is counted in their own pages and added up here when a page is
//! given back. Nothing shared is written when a private generator answers.
//! Counters start anew in a forked child. Must never be needed for a decision.
//!
//! One imprecision: a page that the kernel reclaims under memory pressure
//! (MAP_DROPPABLE) takes its counts along; `fell_through.unseeded` tells.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Which entry point a request came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Door {
    Getrandom = 0,
    Getentropy = 1,
    Arc4random = 2,
    Syscall = 3,
    Read = 4,
    /// The C API's own functions: counted, but not an interposed entry.
    Api = 5,
}

/// How many doors there are.
pub(crate) const DOORS: usize = 6;

impl Door {
    pub(crate) const ALL: [Door; DOORS] = [
        Door::Getrandom,
        Door::Getentropy,
        Door::Arc4random,
        Door::Syscall,
        Door::Read,
        Door::Api,
    ];

    /// The name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Door::Getrandom => "getrandom",
            Door::Getentropy => "getentropy",
            Door::Arc4random => "arc4random",
            Door::Syscall => "syscall",
            Door::Read => "read",
            Door::Api => "api",
        }
    }
}

/// Why a request was left to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Reason {
    /// A call of this thread is in flight: a signal handler draws, or a handler
    /// once left by a jump; or the thread stays on the kernel for good.
    Busy = 0,
    /// Flags that only the kernel can answer for.
    Flags = 1,
    /// The descriptor is something else.
    NotUrandom = 2,
    /// No seed, no page, or a page that was wiped or dropped in mid-call.
    Unseeded = 3,
    /// The program has confined itself.
    Confined = 4,
    /// A pointer or length that only the kernel can judge.
    Pointer = 5,
    /// Within the allowance: the usual case, not counted among the causes.
    Light = 6,
    /// Nobody is served in this mode.
    Mode = 7,
    /// `observe`: a private generator would have answered.
    Observed = 8,
}

/// How many causes are reported: all but the two usual ones.
pub(crate) const CAUSES: usize = 6;

impl Reason {
    pub(crate) const REPORTED: [Reason; CAUSES] = [
        Reason::Busy,
        Reason::Flags,
        Reason::NotUrandom,
        Reason::Unseeded,
        Reason::Confined,
        Reason::Pointer,
    ];

    /// The name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Reason::Busy => "busy",
            Reason::Flags => "flags",
            Reason::NotUrandom => "not_urandom",
            Reason::Unseeded => "unseeded",
            Reason::Confined => "confined",
            Reason::Pointer => "pointer",
            Reason::Light => "light",
            Reason::Mode => "mode",
            Reason::Observed => "observed",
        }
    }
}

/// What one private generator has done; lives in its page.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Private {
    pub(crate) bytes: u64,
    pub(crate) calls: [u64; DOORS],
    pub(crate) refills: u64,
    pub(crate) reseeds: u64,
}

/// Requests that the kernel answered, and their bytes.
struct Tally {
    calls: [AtomicU64; DOORS],
    bytes: AtomicU64,
}

/// Two cache lines of kernel-answered counts, on their own: the processor fetches
/// lines in pairs.
#[repr(align(128))]
struct Shard {
    /// Answered by the kernel because it was right so.
    left: Tally,
    /// Answered by the kernel in `observe`, where a private generator would have.
    observed: Tally,
}

/// The first shard is the first thread's alone, and needs no locked instruction;
/// the others share the rest by chance.
const SHARDS: usize = 17;
static KERNEL: [Shard; SHARDS] = [const {
    Shard {
        left: Tally {
            calls: [const { AtomicU64::new(0) }; DOORS],
            bytes: AtomicU64::new(0),
        },
        observed: Tally {
            calls: [const { AtomicU64::new(0) }; DOORS],
            bytes: AtomicU64::new(0),
        },
    }
}; SHARDS];

/// The thread that loaded the library, by an address that is its own.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Whether this address is the first thread's own.
#[inline(always)]
pub(crate) fn is_first(thread: usize) -> bool {
    thread == FIRST.load(Relaxed)
}

/// Once, on the thread that loads the library.
pub(crate) fn start(thread: usize) {
    FIRST.store(thread, Relaxed);
}

/// Counts that change seldom.
struct Rare {
    threads_moved: AtomicU64,
    fell_through: [AtomicU64; CAUSES],
    would_move_threads: AtomicU64,
    retired_bytes: AtomicU64,
    retired_calls: [AtomicU64; DOORS],
    retired_refills: AtomicU64,
    retired_reseeds: AtomicU64,
}

static RARE: Rare = Rare {
    threads_moved: AtomicU64::new(0),
    fell_through: [const { AtomicU64::new(0) }; CAUSES],
    would_move_threads: AtomicU64::new(0),
    retired_bytes: AtomicU64::new(0),
    retired_calls: [const { AtomicU64::new(0) }; DOORS],
    retired_refills: AtomicU64::new(0),
    retired_reseeds: AtomicU64::new(0),
};

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Relaxed);
}

/// A request of `len` bytes was left to the kernel. `thread` is any address that
/// is the thread's own: it picks the shard.
#[inline]
pub(crate) fn count_kernel(thread: usize, door: Door, len: usize, reason: Reason) {
    let alone = is_first(thread);
    // Thread stacks lie megabytes apart and thread blocks are aligned to 64.
    let pick = (thread >> 6) ^ (thread >> 12) ^ (thread >> 23);
    let number = if alone { 0 } else { 1 + pick % (SHARDS - 1) };
    let Some(shard) = KERNEL.get(number) else {
        return;
    };
    let observed = reason == Reason::Observed;
    let tally = if observed {
        &shard.observed
    } else {
        &shard.left
    };
    let Some(calls) = tally.calls.get(door as usize) else {
        return;
    };
    if alone {
        add_alone(calls, 1);
        add_alone(&tally.bytes, len as u64);
    } else {
        add(calls, 1);
        add(&tally.bytes, len as u64);
    }
    if let Some(cause) = RARE.fell_through.get(reason as usize) {
        add(cause, 1);
    }
}

/// Adds to a counter that only this thread writes: one instruction, so that a
/// signal handler that counts too cannot fall into it, but not a locked one,
/// which costs 5 ns.
#[inline(always)]
pub(crate) fn add_alone(counter: &AtomicU64, amount: u64) {
    // SAFETY: the counter is aligned and lives for ever.
    unsafe {
        asm!(
            "add qword ptr [{counter}], {amount}",
            counter = in(reg) counter.as_ptr(), amount = in(reg) amount,
            options(nostack),
        );
    }
}

/// A descriptor turned out to be something else: the one cause without a request.
pub(crate) fn count_not_urandom() {
    if let Some(cause) = RARE.fell_through.get(Reason::NotUrandom as usize) {
        add(cause, 1);
    }
}

/// A thread was given a page.
pub(crate) fn count_move() {
    add(&RARE.threads_moved, 1);
}

/// `observe`: a thread went over its allowance for the first time.
pub(crate) fn count_would_move() {
    add(&RARE.would_move_threads, 1);
}

/// A page is about to be erased: its counts go to the process.
pub(crate) fn retire(private: &Private) {
    add(&RARE.retired_bytes, private.bytes);
    add(&RARE.retired_refills, private.refills);
    add(&RARE.retired_reseeds, private.reseeds);
    for (total, calls) in RARE.retired_calls.iter().zip(private.calls) {
        add(total, calls);
    }
}

/// Everything, at one moment. Threads go on counting meanwhile.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) threads_moved: u64,
    pub(crate) kernel_calls: u64,
    pub(crate) kernel_bytes: u64,
    pub(crate) private_calls: u64,
    pub(crate) private_bytes: u64,
    pub(crate) would_move_threads: u64,
    pub(crate) would_move_calls: u64,
    pub(crate) would_move_bytes: u64,
    pub(crate) refills: u64,
    pub(crate) reseeds: u64,
    pub(crate) entries: [u64; DOORS],
    pub(crate) fell_through: [u64; CAUSES],
}

impl Snapshot {
    /// The process's counts, without those of pages that are in use.
    pub(crate) fn of_process() -> Snapshot {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        let mut now = Snapshot {
            threads_moved: read(&RARE.threads_moved),
            would_move_threads: read(&RARE.would_move_threads),
            ..Snapshot::default()
        };
        for (to, from) in now.fell_through.iter_mut().zip(&RARE.fell_through) {
            *to = read(from);
        }
        for shard in &KERNEL {
            for (tally, observed) in [(&shard.left, false), (&shard.observed, true)] {
                let (mut calls, bytes) = (0, read(&tally.bytes));
                for (entry, counter) in now.entries.iter_mut().zip(&tally.calls) {
                    let count = read(counter);
                    *entry += count;
                    calls += count;
                }
                now.kernel_calls += calls;
                now.kernel_bytes += bytes;
                if observed {
                    now.would_move_calls += calls;
                    now.would_move_bytes += bytes;
                }
            }
        }
        let mut retired = Private {
            bytes: read(&RARE.retired_bytes),
            refills: read(&RARE.retired_refills),
            reseeds: read(&RARE.retired_reseeds),
            ..Private::default()
        };
        for (to, from) in retired.calls.iter_mut().zip(&RARE.retired_calls) {
            *to = read(from);
        }
        now.add(&retired);
        now
    }

    /// Adds what one private generator has done.
    pub(crate) fn add(&mut self, private: &Private) {
        self.private_bytes += private.bytes;
        self.refills += private.refills;
        self.reseeds += private.reseeds;
        for (entry, calls) in self.entries.iter_mut().zip(private.calls) {
            *entry += calls;
            self.private_calls += calls;
        }
    }
}

/// Every counter back to zero: a forked child starts anew. Its generators'
/// pages, and the counts in them, are wiped by the kernel.
pub(crate) fn start_anew() {
    let zero = |counter: &AtomicU64| counter.store(0, Relaxed);
    for shard in &KERNEL {
        for tally in [&shard.left, &shard.observed] {
            zero(&tally.bytes);
            tally.calls.iter().for_each(zero);
        }
    }
    RARE.fell_through
        .iter()
        .chain(&RARE.retired_calls)
        .for_each(zero);
    for counter in [
        &RARE.threads_moved,
        &RARE.would_move_threads,
        &RARE.retired_bytes,
        &RARE.retired_refills,
        &RARE.retired_reseeds,
    ] {
        zero(counter);
    }
}
