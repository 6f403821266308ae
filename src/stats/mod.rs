//! What the library counts, and which call sites ask.
//!
//! Promises: nothing shared is written when a private generator serves a request; counters
//! start anew in a forked child. Must never be needed for a decision.

pub(crate) mod call_sites;
mod counters;

pub(crate) use counters::{
    PageCounts, absorb, count_kernel, count_move, count_not_urandom, count_would_move,
    process_counts,
};

use crate::arch::{add_unlocked, tls};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use ownpool_core::counts::Entry;

/// A request, as far as it is counted: what travels together from a hook to the last
/// counter.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) entry: Entry,
    /// The return address; 0: not known.
    pub(crate) caller: usize,
    pub(crate) len: usize,
}

impl Call {
    #[inline(always)]
    pub(crate) fn new(entry: Entry, caller: usize, len: usize) -> Call {
        Call { entry, caller, len }
    }
}

/// The thread that loaded the library, by its thread pointer. Its counters are its own.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Whether this is the thread that loaded the library.
#[inline(always)]
pub(crate) fn on_first_thread() -> bool {
    tls::thread_pointer() == FIRST.load(Relaxed)
}

/// Once, on the thread that loads the library.
pub(crate) fn start() {
    FIRST.store(tls::thread_pointer(), Relaxed);
}

/// In a forked child: every count is 0 again. Its pages, and the counts in them, are wiped
/// by the kernel.
pub(crate) fn start_anew() {
    counters::start_anew();
    if call_sites::wanted() {
        call_sites::start_anew();
    }
}

/// A number that spreads threads over a table: stacks lie megabytes apart, and thread
/// blocks are aligned to 64.
#[inline]
fn spread(thread: usize) -> usize {
    thread >> 6 ^ thread >> 12 ^ thread >> 23
}

/// Adds to a counter, which is the first thread's own if `on_first`.
#[inline(always)]
fn add(counter: &AtomicU64, amount: u64, on_first: bool) {
    if on_first {
        add_unlocked(counter, amount);
    } else {
        counter.fetch_add(amount, Relaxed);
    }
}

/// Zeroes a counter. What is zero is left alone: the pages of a child that never counted
/// stay its parent's.
fn zero(counter: &AtomicU64) {
    if counter.load(Relaxed) != 0 {
        counter.store(0, Relaxed);
    }
}
