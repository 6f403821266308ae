//! Counters of the process, and of each page.
//!
//! Promises: what the kernel answered is counted exactly, by entry, in shards that threads
//! spread over, the first thread's its own; what a private generator served is counted in
//! its page, and absorbed here before the page is erased.
//!
//! One imprecision: a page that the kernel drops under memory pressure (MAP_DROPPABLE)
//! takes its counts along; `fell_through.unseeded` tells.

use super::{Call, add, on_first_thread, spread, zero};
use crate::arch::tls;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ownpool_core::counts::{Counts, ENTRIES, REASONS, Reason, Total};

/// What private generators have done. `bytes` has those that can still be handed out too,
/// so that handing out need not count.
#[repr(C)]
pub(crate) struct PageCounts {
    pub(crate) bytes: AtomicU64,
    pub(crate) calls: [AtomicU64; ENTRIES],
    pub(crate) refills: AtomicU64,
    pub(crate) reseeds: AtomicU64,
}

impl PageCounts {
    const fn new() -> PageCounts {
        PageCounts {
            bytes: AtomicU64::new(0),
            calls: [const { AtomicU64::new(0) }; ENTRIES],
            refills: AtomicU64::new(0),
            reseeds: AtomicU64::new(0),
        }
    }

    /// All that is counted.
    fn each(&self) -> impl Iterator<Item = &AtomicU64> {
        self.calls
            .iter()
            .chain([&self.bytes, &self.refills, &self.reseeds])
    }

    /// How many calls were served.
    pub(crate) fn all_calls(&self) -> u64 {
        self.calls
            .iter()
            .fold(0, |sum, calls| sum.wrapping_add(calls.load(Relaxed)))
    }

    /// Adds everything to the process's counts; `unread` bytes are not handed out yet.
    pub(crate) fn add_to(&self, counts: &mut Counts, unread: u64) {
        for (sum, calls) in counts.entries.iter_mut().zip(&self.calls) {
            *sum = sum.wrapping_add(calls.load(Relaxed));
        }
        let bytes = self.bytes.load(Relaxed).saturating_sub(unread);
        counts.add(Total::PrivateCalls, self.all_calls());
        counts.add(Total::PrivateBytes, bytes);
        counts.add(Total::Refills, self.refills.load(Relaxed));
        counts.add(Total::Reseeds, self.reseeds.load(Relaxed));
    }
}

/// Requests that the kernel answered, and their bytes.
struct Tally {
    calls: [AtomicU64; ENTRIES],
    bytes: AtomicU64,
}

impl Tally {
    const fn new() -> Tally {
        Tally {
            calls: [const { AtomicU64::new(0) }; ENTRIES],
            bytes: AtomicU64::new(0),
        }
    }
}

/// Two cache lines of counts on their own: the processor fetches lines in pairs.
#[repr(align(128))]
struct Shard {
    /// Answered by the kernel, for any reason but mode `observe`.
    kernel: Tally,
    /// Answered by the kernel in `observe`, where a private generator would have.
    observed: Tally,
}

/// The first shard is the first thread's own, and needs no locked instruction; other
/// threads share the rest by chance.
const SHARDS: usize = 17;
static KERNEL: [Shard; SHARDS] = [const {
    Shard {
        kernel: Tally::new(),
        observed: Tally::new(),
    }
}; SHARDS];

/// What erased pages had counted.
static ABSORBED: PageCounts = PageCounts::new();
static THREADS_MOVED: AtomicU64 = AtomicU64::new(0);
static WOULD_MOVE_THREADS: AtomicU64 = AtomicU64::new(0);
static FELL_THROUGH: [AtomicU64; REASONS] = [const { AtomicU64::new(0) }; REASONS];

/// A request fell through to the kernel.
#[inline]
pub(crate) fn count_kernel(call: &Call, reason: Reason) {
    let on_first = on_first_thread();
    let number = match on_first {
        true => 0,
        false => 1 + spread(tls::thread_pointer()) % (SHARDS - 1),
    };
    let Some(shard) = KERNEL.get(number) else {
        return;
    };
    let tally = match reason {
        Reason::Observed => &shard.observed,
        _ => &shard.kernel,
    };
    if let Some(calls) = tally.calls.get(call.entry as usize) {
        add(calls, 1, on_first);
        add(&tally.bytes, call.len as u64, on_first);
    }
    if let Some(cause) = FELL_THROUGH.get(reason as usize) {
        add(cause, 1, false);
    }
}

/// A descriptor turned out to be something else: the one reason without a request.
pub(crate) fn count_not_urandom() {
    if let Some(cause) = FELL_THROUGH.get(Reason::NotUrandom as usize) {
        add(cause, 1, false);
    }
}

/// A thread was given a page.
pub(crate) fn count_move() {
    add(&THREADS_MOVED, 1, false);
}

/// `observe`: a thread went over its allowance for the first time.
pub(crate) fn count_would_move() {
    add(&WOULD_MOVE_THREADS, 1, false);
}

/// A page is about to be erased: its counts go to the process. `unread` bytes of it were
/// not handed out.
pub(crate) fn absorb(page: &PageCounts, unread: u64) {
    for (sum, counter) in ABSORBED.each().zip(page.each()) {
        add(sum, counter.load(Relaxed), false);
    }
    ABSORBED.bytes.fetch_sub(unread, Relaxed);
}

/// The process's counts, without those of pages that are in use. Threads go on counting
/// meanwhile.
pub(crate) fn process_counts() -> Counts {
    let mut now = Counts::default();
    now.add(Total::ThreadsMoved, THREADS_MOVED.load(Relaxed));
    now.add(Total::WouldMoveThreads, WOULD_MOVE_THREADS.load(Relaxed));
    for (sum, cause) in now.fell_through.iter_mut().zip(&FELL_THROUGH) {
        *sum = cause.load(Relaxed);
    }
    for shard in &KERNEL {
        for (tally, observed) in [(&shard.kernel, false), (&shard.observed, true)] {
            let mut all_calls = 0;
            for (sum, calls) in now.entries.iter_mut().zip(&tally.calls) {
                let calls = calls.load(Relaxed);
                *sum = sum.wrapping_add(calls);
                all_calls += calls;
            }
            let bytes = tally.bytes.load(Relaxed);
            now.add(Total::KernelCalls, all_calls);
            now.add(Total::KernelBytes, bytes);
            if observed {
                now.add(Total::WouldMoveCalls, all_calls);
                now.add(Total::WouldMoveBytes, bytes);
            }
        }
    }
    ABSORBED.add_to(&mut now, 0);
    now
}

/// Every counter back to zero.
pub(super) fn start_anew() {
    for shard in &KERNEL {
        for tally in [&shard.kernel, &shard.observed] {
            tally.calls.iter().chain([&tally.bytes]).for_each(zero);
        }
    }
    let rest = FELL_THROUGH.iter().chain(ABSORBED.each());
    rest.chain([&THREADS_MOVED, &WOULD_MOVE_THREADS])
        .for_each(zero);
}
