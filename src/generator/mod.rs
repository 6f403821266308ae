//! This thread's generator: take, copy, erase, look again.
//!
//! The in-flight protocol, in the order in which it is safe against signal handlers that
//! draw, fork, jump away or change to another user-level thread, and against pages that
//! are wiped (fork) or dropped (memory pressure) at any moment:
//!
//! 1. take the page's token, in one instruction: a nested call finds it taken and goes
//!    straight to the kernel;
//! 2. only then read how much is available: a handler that ran before 1 may have used the
//!    page;
//! 3. load the bytes, erase them, then store them to the caller, piece by piece;
//! 4. store the new amount;
//! 5. read the magic again: if it is not this epoch's, some of those bytes may have been
//!    zeros, so the whole request is answered anew: by the kernel, or, where a word in a
//!    register or the C API was asked for, from a page seeded anew;
//! 6. put the token back.
//!
//! [`Taken`] is what steps 2 to 6 are done with, so they cannot be done without step 1.
//! Promises: no byte leaves twice, none leaves from a page that was wiped, and a page has
//! one owner. Must never wait, lock, or call malloc. A handler that leaves a call by
//! siglongjmp parks its thread on the kernel for good, which is safe. Simpler protocols,
//! and what goes wrong in them, are kept as counter-examples in `tests/model`.

mod fips;
mod lifecycle;
mod page;
mod refill;
mod self_test;
mod tls;
mod whole_request;

pub(crate) use fips::ask_fips;
pub(crate) use lifecycle::{NotMoved, backend, forgive_if_due, move_thread, start};
pub(crate) use whole_request::{fill, fill_by_vdso};

pub(crate) use tls::{bucket, set_bucket};

use crate::arch::{copy_out, word_32, word_64};
use crate::cache_padded::CachePadded;
use crate::stats::{self, Call};
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use ownpool_core::counts::{Counts, Entry};
use ownpool_core::crng::{Crng, keystream};
use page::Page;

/// The magic of pages that are seeded: `ownpool_reseed` and a change of mode move it on,
/// and every page reseeds before its next byte. The hot path needs no further branch for
/// either.
static EPOCH: CachePadded<AtomicU64> = CachePadded(AtomicU64::new(0x6c6f_6f70_6e77_6f01));

/// The longest request that [`draw`] serves; longer ones stream from a subkey.
pub(crate) const SMALL: usize = keystream::STRIDE - 1;

/// What became of a request on the fast path.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Draw {
    /// Served.
    Served,
    /// No page, or a call in flight.
    Absent,
    /// Not enough left in the buffer; nothing was taken.
    Short,
    /// The page was wiped or dropped, or is of an older epoch. What was stored is not to
    /// be used.
    Lost,
}

/// Keeps the compiler from moving memory accesses across; the processor keeps a thread's
/// own accesses in order towards its own signal handlers.
#[inline(always)]
fn fence() {
    compiler_fence(Ordering::SeqCst);
}

#[inline(always)]
fn current_epoch() -> u64 {
    EPOCH.load(Ordering::Relaxed)
}

/// A page whose token was taken: the one way to touch what a page holds.
///
/// Not put back by `Drop`: a call that is never finished must leave its thread parked.
struct Taken {
    page: &'static Page,
}

impl Taken {
    /// Step 1. `None`: no page, or a call in flight.
    #[inline(always)]
    fn take() -> Option<Taken> {
        let page = tls::take_slot()?;
        fence();
        Some(Taken { page })
    }

    /// Step 2.
    #[inline(always)]
    fn available(&self) -> u64 {
        self.page.available.load(Ordering::Relaxed)
    }

    /// Step 4: so many bytes are left.
    #[inline(always)]
    fn set_available(&mut self, left: u64) {
        self.page.available.store(left, Ordering::Relaxed);
    }

    /// Step 5: whether the page is whole, and seeded by this epoch.
    #[inline(always)]
    fn is_current(&self, epoch: u64) -> bool {
        fence();
        self.page.magic.load(Ordering::Relaxed) == epoch
    }

    /// Step 6.
    #[inline(always)]
    fn put_back(self) {
        fence();
        tls::put_slot(self.page);
    }

    /// Where the bytes of the buffer begin.
    #[inline(always)]
    fn bytes(&mut self) -> *mut u8 {
        self.crng().bytes_mut().as_mut_ptr()
    }

    #[inline(always)]
    fn crng(&mut self) -> &mut Crng {
        // SAFETY: the token's holder is the only one in the page.
        unsafe { &mut *self.page.crng.get() }
    }

    /// Counts a request. Its bytes need no counting: `available` went down by them.
    #[inline(always)]
    fn count(&mut self, entry: Entry) {
        if let Some(calls) = self.page.counts.calls.get(entry as usize) {
            calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Sets how many bytes can still be handed out, without handing any out.
    #[inline(always)]
    fn make_available(&mut self, available: u64) {
        let handed_out = self.page.handed_out();
        self.set_available(available);
        let bytes = &self.page.counts.bytes;
        bytes.store(handed_out + available, Ordering::Relaxed);
    }

    /// The page is unseeded from here on, and has handed out this many bytes.
    #[cold]
    fn forget(&mut self, handed_out: u64) {
        // A page that was wiped (in a forked child, for example) starts its counts anew.
        let wiped = self.page.magic.load(Ordering::Relaxed) == 0;
        let handed_out = if wiped { 0 } else { handed_out };
        self.set_available(0);
        self.page.counts.bytes.store(handed_out, Ordering::Relaxed);
        self.page.magic.store(0, Ordering::Relaxed);
    }
}

/// Serves a request of 1 to [`SMALL`] bytes from the buffer: the fast path.
///
/// # Safety
/// `dest` is writable for `len`.
#[inline(always)]
pub(crate) unsafe fn draw(dest: *mut u8, len: usize, entry: Entry) -> Draw {
    // SAFETY: `len` unread bytes stand at `from`; `dest` is the caller's contract.
    unsafe { draw_by(len, entry, |from| copy_out(from, dest, len)) }
}

/// The same for 4 bytes that stay in a register.
#[inline(always)]
pub(crate) fn draw_u32(entry: Entry) -> Option<u32> {
    let mut word = 0;
    // SAFETY: 4 unread bytes stand at `from`.
    let drawn = unsafe { draw_by(4, entry, |from| word = word_32(from)) };
    (drawn == Draw::Served).then_some(word)
}

/// The same for 8 bytes that stay in a register.
#[inline(always)]
pub(crate) fn draw_u64(entry: Entry) -> Option<u64> {
    let mut word = 0;
    // SAFETY: 8 unread bytes stand at `from`.
    let drawn = unsafe { draw_by(8, entry, |from| word = word_64(from)) };
    (drawn == Draw::Served).then_some(word)
}

/// # Safety
/// `move_out` takes, and erases, exactly `len` bytes from where it is told.
#[inline(always)]
unsafe fn draw_by(len: usize, entry: Entry, move_out: impl FnOnce(*mut u8)) -> Draw {
    let Some(mut taken) = Taken::take() else {
        return Draw::Absent; // 1
    };
    let available = taken.available(); // 2
    if len as u64 > available {
        taken.put_back();
        return Draw::Short;
    }
    let left = available - len as u64;
    // SAFETY: `available` bytes of the buffer are unread, and `len` is at most that.
    move_out(unsafe { taken.bytes().add(left as usize) }); // 3
    taken.set_available(left); // 4
    if !taken.is_current(current_epoch()) {
        // 5
        taken.forget(taken.page.handed_out().wrapping_sub(len as u64));
        taken.put_back();
        return Draw::Lost;
    }
    taken.count(entry);
    taken.put_back(); // 6
    Draw::Served
}

/// How this thread stands, for the slow path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The bucket judges.
    Light,
    /// `observe` has seen it over its allowance.
    ObservedHeavy,
    /// It has a page.
    Moved,
    /// It stays on the kernel, or is being moved at this moment.
    KernelOnly,
}

/// How this thread stands.
pub(crate) fn standing() -> Standing {
    match tls::home() {
        tls::LIGHT => Standing::Light,
        tls::OBSERVED_HEAVY => Standing::ObservedHeavy,
        tls::KERNEL_ONLY | tls::MOVING => Standing::KernelOnly,
        _ => Standing::Moved,
    }
}

/// `observe`: this thread would have been moved. True the first time.
pub(crate) fn observe_heavy() -> bool {
    tls::change_home(tls::LIGHT, tls::OBSERVED_HEAVY)
}

/// Records the site of a call of a moved thread that leaves the fast path and is about to
/// be served.
pub(crate) fn record_site(call: &Call) {
    if let Some(taken) = Taken::take() {
        let itself_only = call.entry == Entry::Read || call.len > SMALL;
        let drawn = taken.page.drawn();
        taken.page.share.record(call, itself_only, drawn);
        taken.put_back();
    }
}

/// Records what threads that still run have drawn since their last record. At the end of
/// the process only: a thread's own record at the same moment may be lost.
pub(crate) fn record_rest() {
    page::each().for_each(|page| page.share.record_rest(page.drawn()));
}

/// Every thread reseeds before its next byte. Lock-free, async-signal-safe.
pub(crate) fn new_epoch() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}

/// The counts of the process and of every page in use.
pub(crate) fn counts() -> Counts {
    let mut now = stats::process_counts();
    for page in page::each() {
        let unread = page.available.load(Ordering::Relaxed);
        page.counts.add_to(&mut now, unread);
    }
    now
}
