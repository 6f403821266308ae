//! This thread's generator: take, copy, erase, post-check.
//!
//! The in-flight protocol, in the order in which it is safe against signal
//! handlers that draw, fork, jump away or change to another user-level thread, and
//! against pages that are wiped (fork) or dropped (memory pressure) at any moment:
//!
//! 1. take the slot, in one instruction: a nested call finds it taken and goes
//!    straight to the kernel;
//! 2. only then read how much is available: a handler that ran before 1 may have
//!    used the page;
//! 3. load the bytes, erase them, then store them to the caller, chunk by chunk;
//! 4. store the new amount;
//! 5. read the magic again: if it is not this epoch's, some of those bytes may
//!    have been zeros, so the whole request is answered anew: by the kernel, or, where
//!    a word in a register or the C API was asked for, from a page seeded anew;
//! 6. put the slot back.
//!
//! Promises: no byte leaves twice, none leaves from a page that was wiped, and a
//! page has one owner. Must never wait, lock, or call malloc. A handler that leaves
//! a call by siglongjmp parks its thread on the kernel for good, which is safe.
//! `serve` and `api` draw by it, `init` starts it, `report` asks what it counted;
//! simpler protocols and what goes wrong in them are
//! kept as counter-examples in `tests/steps.rs`.

mod copy_out;
mod lifecycle;
mod page;
mod refill;
mod scrub;
mod tls;

pub(crate) use lifecycle::{backend, forgive, forgives, host_in_fips_mode, move_here, start};
pub(crate) use ownpool_core::crng::keystream::Backend;
pub(crate) use tls::Tls;

use crate::cache_padded::CachePadded;
use crate::stats::call_sites::{self, Note};
use crate::stats::{Door, Reason, Snapshot};
use crate::vdso;
use core::ffi::c_uint;
use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};
use ownpool_core::crng;
use page::Page;

/// The magic of pages that are seeded: `ownpool_reseed` and a change of mode
/// move it on, and every page reseeds before its next byte. The hot path needs
/// no further branch for either.
static EPOCH: CachePadded<AtomicU64> = CachePadded(AtomicU64::new(0x6c6f_6f70_6e77_6f01));

/// Limits that only generators need; written once, by `init`.
pub(crate) struct Limits {
    pub(crate) reseed_bytes: AtomicU64,
    pub(crate) reseed_secs: AtomicU64,
    pub(crate) forgive_ms: AtomicU64,
}

pub(crate) static LIMITS: Limits = Limits {
    reseed_bytes: AtomicU64::new(0),
    reseed_secs: AtomicU64::new(0),
    forgive_ms: AtomicU64::new(0),
};

/// The longest request that [`take`] answers; longer ones stream from a subkey.
pub(crate) const SMALL: usize = crng::keystream::STRIDE - 1;

/// What became of a request on the fast path.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Take {
    /// Answered.
    Done,
    /// No page, or a call in flight.
    Absent,
    /// Not enough left in the buffer; nothing was taken.
    Short,
    /// The page was wiped, dropped, or is of an older epoch: nothing was given.
    Lost,
}

/// Keeps the compiler from moving memory accesses across; the processor keeps a
/// thread's own accesses in order towards its own signal handlers.
#[inline(always)]
fn fence() {
    compiler_fence(Ordering::SeqCst);
}

#[inline(always)]
fn current_epoch() -> u64 {
    EPOCH.load(Ordering::Relaxed)
}

/// Answers a request of 1 to [`SMALL`] bytes from the buffer: the fast path.
///
/// # Safety
/// `dest` is writable for `len`.
#[inline(always)]
pub(crate) unsafe fn take(dest: *mut u8, len: usize, door: Door) -> Take {
    // SAFETY: `len` unread bytes stand at `from`; `dest` is the caller's contract.
    unsafe { take_by(len, door, |from| copy_out::hand_out(from, dest, len)) }
}

/// The same for 4 bytes that stay in a register.
#[inline(always)]
pub(crate) fn take_u32(door: Door) -> Option<u32> {
    let mut word = 0;
    // SAFETY: 4 unread bytes stand at `from`.
    let took = unsafe { take_by(4, door, |from| word = copy_out::word_32(from)) };
    (took == Take::Done).then_some(word)
}

/// The same for 8 bytes that stay in a register.
#[inline(always)]
pub(crate) fn take_u64(door: Door) -> Option<u64> {
    let mut word = 0;
    // SAFETY: 8 unread bytes stand at `from`.
    let took = unsafe { take_by(8, door, |from| word = copy_out::word_64(from)) };
    (took == Take::Done).then_some(word)
}

/// # Safety
/// `move_out` takes, and erases, exactly `len` bytes from where it is told.
#[inline(always)]
unsafe fn take_by(len: usize, door: Door, move_out: impl FnOnce(*mut u8)) -> Take {
    let tls = Tls::here();
    // SAFETY: a page in the slot is this thread's alone until it is put back;
    // `available` bytes of its buffer are unread, and `len` is at most that.
    unsafe {
        let Some(page) = Tls::take_slot(tls) else {
            return Take::Absent; // 1
        };
        fence();
        let available = read_volatile(&raw const (*page).available); // 2
        if len as u64 > available {
            put_back(tls, page);
            return Take::Short;
        }
        let left = available - len as u64;
        move_out(refill::bytes(page).add(left as usize)); // 3
        write_volatile(&raw mut (*page).available, left); // 4
        fence();
        if read_volatile(&raw const (*page).magic) != current_epoch() {
            // 5
            forget(page, page::handed_out(page).wrapping_sub(len as u64));
            put_back(tls, page);
            return Take::Lost;
        }
        count(page, door);
        fence();
        Tls::put_slot(tls); // 6
        Take::Done
    }
}

/// Step 6 where there is time to look: a user-level thread that was suspended in a call
/// may go on when the thread that it began on has ended, and those words are not that
/// thread's any more. (On the fast path the magic has just said as much.)
///
/// # Safety
/// As [`Tls::put_slot`]; `page` is the page that was taken.
#[inline(always)]
unsafe fn put_back(tls: *mut Tls, page: *mut Page) {
    // SAFETY: the caller's contract.
    unsafe {
        if page::has_thread(page) {
            Tls::put_slot(tls);
        }
    }
}

/// Runs `work` on this thread's page under the same protocol, for everything
/// that is not the fast path.
///
/// # Safety
/// `work` may use the page it is given and nothing of it afterwards.
unsafe fn with_page(
    door: Door,
    work: impl FnOnce(*mut Page) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let tls = Tls::here();
    // SAFETY: as in `take_by`.
    unsafe {
        let Some(page) = Tls::take_slot(tls) else {
            return Err(Reason::Busy);
        };
        fence();
        let before = page::handed_out(page);
        let mut outcome = work(page);
        fence();
        // A magic that `work` has written itself says nothing of a page that was erased
        // under it, when its thread ended; that it has none does.
        let whole = read_volatile(&raw const (*page).magic) == current_epoch();
        if outcome.is_ok() && !(whole && page::has_thread(page)) {
            outcome = Err(Reason::Unseeded);
        }
        match outcome {
            Ok(()) => count(page, door),
            Err(_) => forget(page, before),
        }
        fence();
        put_back(tls, page);
        outcome
    }
}

/// The page is unseeded from here on, and has handed out this many bytes.
///
/// # Safety
/// The page is this thread's, its slot taken.
#[cold]
unsafe fn forget(page: *mut Page, handed_out: u64) {
    // SAFETY: the caller's contract.
    unsafe {
        // A page that was wiped, in a forked child say, starts its counts anew.
        let wiped = read_volatile(&raw const (*page).magic) == 0;
        write_volatile(&raw mut (*page).available, 0);
        write_volatile(
            &raw mut (*page).counts.bytes,
            if wiped { 0 } else { handed_out },
        );
        write_volatile(&raw mut (*page).magic, 0);
    }
}

/// Counts a request. Its bytes need no counting: `available` went down by them.
///
/// # Safety
/// The page is this thread's, its slot taken.
#[inline(always)]
unsafe fn count(page: *mut Page, door: Door) {
    // SAFETY: the caller's contract; a door is an index of `calls`.
    unsafe {
        let calls = (&raw mut (*page).counts.calls)
            .cast::<u64>()
            .add(door as usize);
        write_volatile(calls, read_volatile(calls) + 1);
    }
}

/// Fills every piece from this thread's generator, as one request: all of it is
/// good, or the kernel answers all of it.
///
/// # Safety
/// Every piece is writable for its length.
#[inline(never)]
pub(crate) unsafe fn fill(
    pieces: impl Iterator<Item = (*mut u8, usize)>,
    door: Door,
) -> Result<(), Reason> {
    // SAFETY: the pieces are the caller's contract; the page is ours within `with_page`.
    unsafe {
        with_page(door, |page| {
            // Once, before the first piece: a seed writes the magic, and one between
            // two pieces would vouch for an earlier piece that a wipe had zeroed.
            refill::seed_if_due(page)?;
            for (dest, len) in pieces {
                refill::fill(page, dest, len)?;
            }
            Ok(())
        })
    }
}

/// Mode `vdso`: the kernel's own generator, with a state in this thread's page,
/// for every piece in turn, as one request. The result of getrandom(2), or why
/// there is none. A piece that is cut short is the last one.
///
/// # Safety
/// Every piece is writable for its length.
#[inline(never)]
pub(crate) unsafe fn fill_by_vdso(
    pieces: impl Iterator<Item = (*mut u8, usize)>,
    flags: c_uint,
    door: Door,
) -> Result<usize, Reason> {
    let tls = Tls::here();
    // SAFETY: as in `take_by`; the page holds a state of the right size and kind.
    // No magic is read or written: the vDSO copes with a wiped or dropped state
    // by itself, and a magic would vouch for a generator that has no seed.
    unsafe {
        let Some(page) = Tls::take_slot(tls) else {
            return Err(Reason::Busy);
        };
        fence();
        let epoch = current_epoch();
        let mut done = Ok(0);
        for (dest, len) in pieces {
            let drawn = vdso::getrandom(dest, len, flags, refill::vdso_state(page)).unwrap_or(-1);
            let so_far = done.unwrap_or(0);
            match usize::try_from(drawn) {
                Ok(drawn) => done = Ok(so_far + drawn),
                Err(_) if so_far == 0 => done = Err(Reason::Unseeded),
                Err(_) => {}
            }
            if drawn != len as isize {
                break;
            }
        }
        fence();
        if current_epoch() != epoch || !page::has_thread(page) {
            // Reseeded meanwhile: these bytes may come of a state that was restored. Or
            // erased meanwhile, because the thread has ended.
            done = Err(Reason::Unseeded);
        }
        if let Ok(done) = done {
            let bytes = &raw mut (*page).counts.bytes;
            write_volatile(bytes, read_volatile(bytes) + done as u64);
            count(page, door);
        }
        fence();
        put_back(tls, page);
        done
    }
}

/// How this thread stands, for the slow path.
pub(crate) enum Standing {
    /// The bucket judges.
    Light,
    /// `observe` has seen it over its allowance.
    Noted,
    /// It has a page.
    Moved,
    /// It stays on the kernel, or is being moved at this moment.
    Never,
}

pub(crate) fn standing() -> Standing {
    let tls = Tls::here();
    // SAFETY: this thread's own words.
    unsafe {
        match Tls::home(tls) {
            tls::LIGHT => Standing::Light,
            tls::NEVER => Standing::Never,
            tls::NOTED => Standing::Noted,
            _ => Standing::Moved,
        }
    }
}

/// Notes the site of a call of `len` bytes that leaves the fast path and is about
/// to be answered. A call that always does (a read, a large request) stands for
/// itself; one that met a short buffer stands for all that this moved thread has
/// drawn by the fast path since its last note.
pub(crate) fn note_moved(len: usize, door: Door, caller: usize) {
    let tls = Tls::here();
    // SAFETY: this thread's own words and page. A page that is wiped meanwhile
    // gives small numbers.
    unsafe {
        let page = Tls::home(tls) as *mut Page;
        if page as usize <= tls::NOTED {
            return;
        }
        let alone = door == Door::Read || len > SMALL;
        let (calls, bytes) = match alone {
            true => page::note_one(page, len as u64),
            false => page::take_unnoted(page, 1, len as u64),
        };
        let thread = tls as usize;
        let row = call_sites::note(&Note {
            caller,
            door,
            len,
            calls,
            bytes,
            thread,
            moved: true,
        });
        // What is drawn by the fast path later and never noted belongs to the
        // last that was, or, for want of one, to whoever was noted first.
        if !alone || read_volatile(&raw const (*page).noted_row) == 0 {
            write_volatile(&raw mut (*page).noted_row, row as u64 + 1);
        }
    }
}

/// Notes what threads that still run have drawn since their last note. At the
/// end of the process only: a thread's own note at the same moment may be lost.
pub(crate) fn note_rest() {
    // SAFETY: pages are never unmapped.
    page::each(|page| unsafe { page::note_rest(page) });
}

/// `observe`: this thread would have been moved. True the first time.
pub(crate) fn note_heavy() -> bool {
    // SAFETY: this thread's own words.
    unsafe { Tls::turn_home(Tls::here(), tls::LIGHT, tls::NOTED) }
}

/// Every thread reseeds before its next byte. Lock-free, async-signal-safe.
pub(crate) fn new_epoch() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}

/// The counts of the process and of every page in use.
pub(crate) fn snapshot() -> Snapshot {
    let mut now = Snapshot::of_process();
    // SAFETY: pages are never unmapped.
    page::each(|page| now.add(&unsafe { page::counts(page) }));
    now
}
