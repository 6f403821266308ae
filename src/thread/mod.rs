//! This thread's generator: take, copy, erase, post-check; its life.
//!
//! The in-flight protocol, in the order in which it is safe against signal
//! handlers that draw, fork or jump away, and against pages that are wiped (fork)
//! or dropped (memory pressure) at any moment:
//!
//! 1. load the slot and leave null in its place: a nested call sees null and
//!    goes straight to the kernel;
//! 2. only then read how much is available: a handler that ran before 1 may have
//!    used the page;
//! 3. load the bytes, erase them, then store them to the caller, chunk by chunk;
//! 4. store the new amount;
//! 5. read the magic again: if it is not this epoch's, some of those bytes may
//!    have been zeros, so the kernel answers the whole request instead;
//! 6. put the slot back.
//!
//! Promises: no byte leaves twice, none leaves from a page that was wiped, and a
//! page has one owner. Must never wait, lock, or allocate. A handler that leaves
//! a call by siglongjmp parks its thread on the kernel for good, which is safe.
//! `serve` and `api` call it; simpler protocols and what goes wrong in them are
//! kept as counter-examples in `tests/steps.rs`.

mod handout;
mod page;
mod refill;
mod tls;

pub(crate) use tls::Tls;

use crate::settings::Settings;
use crate::stats::{self, Door, Reason, Snapshot};
use crate::{bucket, cpu, crng, real, sys, vdso};
use core::ffi::{c_int, c_uint, c_void};
use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicU64, AtomicUsize, Ordering, compiler_fence,
};
use page::{NoPage, Owned, Page};

/// The magic of pages that are seeded: `ownpool_reseed` and a change of mode
/// move it on, and every page reseeds before its next byte. The hot path needs
/// no further branch for either.
static EPOCH: AtomicU64 = AtomicU64::new(0x6c6f_6f70_6e77_6f01);

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

/// The pthread key whose destructor gives a page back; negative: none.
static KEY: AtomicI32 = AtomicI32::new(-1);
/// The thread that loaded the library. It may have a page without a destructor.
static FIRST: AtomicUsize = AtomicUsize::new(0);
/// Whether `init` has come by: before it, nobody can be moved yet.
static STARTED: AtomicBool = AtomicBool::new(false);
/// Whether anybody may be moved at all: one of the three below.
static READY: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const YES: u8 = 1;
const NO: u8 = 2;
static FAIL_KNOWN_ANSWER: AtomicU8 = AtomicU8::new(0);

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
    /// The page was wiped, dropped, or is of an older epoch: the kernel answers.
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
    let tls = Tls::here();
    // SAFETY: a page in the slot is this thread's alone until it is put back;
    // `available` bytes of its buffer are unread, and `len` is at most that.
    unsafe {
        let page = Tls::take_slot(tls); // 1
        if page.is_null() {
            return Take::Absent;
        }
        fence();
        let available = read_volatile(&raw const (*page).available); // 2
        if len as u64 > available {
            Tls::put_slot(tls, page);
            return Take::Short;
        }
        let left = available - len as u64;
        handout::hand_out(refill::bytes(page).add(left as usize), dest, len); // 3
        write_volatile(&raw mut (*page).available, left); // 4
        fence();
        if read_volatile(&raw const (*page).magic) != current_epoch() {
            // 5
            forget(page);
            Tls::put_slot(tls, page);
            return Take::Lost;
        }
        count(page, len, door);
        fence();
        Tls::put_slot(tls, page); // 6
        Take::Done
    }
}

/// Runs `work` on this thread's page under the same protocol, for everything
/// that is not the fast path.
///
/// # Safety
/// `work` may use the page it is given and nothing of it afterwards.
unsafe fn with_page(
    len: usize,
    door: Door,
    work: impl FnOnce(*mut Page) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let tls = Tls::here();
    // SAFETY: as in `take`.
    unsafe {
        let page = Tls::take_slot(tls);
        if page.is_null() {
            return Err(Reason::Busy);
        }
        fence();
        let mut outcome = work(page);
        fence();
        if outcome.is_ok() && read_volatile(&raw const (*page).magic) != current_epoch() {
            outcome = Err(Reason::Unseeded);
        }
        match outcome {
            Ok(()) => count(page, len, door),
            Err(_) => forget(page),
        }
        fence();
        Tls::put_slot(tls, page);
        outcome
    }
}

/// The page is unseeded from here on.
///
/// # Safety
/// The page is this thread's, its slot taken.
#[cold]
unsafe fn forget(page: *mut Page) {
    // SAFETY: the caller's contract.
    unsafe {
        write_volatile(&raw mut (*page).available, 0);
        write_volatile(&raw mut (*page).magic, 0);
    }
}

/// # Safety
/// The page is this thread's, its slot taken.
#[inline(always)]
unsafe fn count(page: *mut Page, len: usize, door: Door) {
    // SAFETY: the caller's contract; a door is an index of `calls`.
    unsafe {
        let calls = (&raw mut (*page).counts.calls)
            .cast::<u64>()
            .add(door as usize);
        write_volatile(calls, read_volatile(calls) + 1);
        let bytes = &raw mut (*page).counts.bytes;
        write_volatile(bytes, read_volatile(bytes) + len as u64);
    }
}

/// Fills every piece from this thread's generator, as one request: all of it is
/// good, or the kernel answers all of it.
///
/// # Safety
/// Every piece is writable for its length, and `len` is their sum.
#[inline(never)]
pub(crate) unsafe fn fill(
    pieces: impl Iterator<Item = (*mut u8, usize)>,
    len: usize,
    door: Door,
) -> Result<(), Reason> {
    // SAFETY: the pieces are the caller's contract; the page is ours within `with_page`.
    unsafe {
        with_page(len, door, |page| {
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

/// Mode `vdso`: the kernel's own generator, with a state in this thread's page.
/// The result of getrandom(2), or why there is none.
///
/// # Safety
/// `dest` is writable for `len`.
#[inline(never)]
pub(crate) unsafe fn fill_by_vdso(
    dest: *mut u8,
    len: usize,
    flags: c_uint,
    door: Door,
) -> Result<usize, Reason> {
    let tls = Tls::here();
    // SAFETY: as in `take`; the page holds a state of the right size and kind.
    // No magic is read or written: the vDSO copes with a wiped or dropped state
    // by itself, and a magic would vouch for a generator that has no seed.
    unsafe {
        let page = Tls::take_slot(tls);
        if page.is_null() {
            return Err(Reason::Busy);
        }
        fence();
        let drawn = vdso::getrandom(dest, len, flags, refill::vdso_state(page)).unwrap_or(-1);
        let done = usize::try_from(drawn).map_err(|_| Reason::Unseeded);
        if let Ok(done) = done {
            count(page, done, door);
        }
        fence();
        Tls::put_slot(tls, page);
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
            // It was forgiven, and a call that this is nested in has its page.
            tls::LIGHT | tls::NOTED if (*tls).number != 0 && !Tls::is_idle(tls) => Standing::Never,
            tls::LIGHT => Standing::Light,
            tls::NEVER => Standing::Never,
            tls::NOTED => Standing::Noted,
            _ => Standing::Moved,
        }
    }
}

/// Calls and bytes that this moved thread has drawn since it was last asked, a
/// call of `len` bytes that is about to be answered included: what the call site
/// that asks now is noted for.
pub(crate) fn drawn_with(len: usize) -> (u64, u64) {
    // SAFETY: this thread's own words and page. A page that is wiped meanwhile
    // gives small numbers.
    unsafe {
        let page = Tls::home(Tls::here()) as *mut Page;
        if page as usize <= tls::NOTED {
            return (0, 0);
        }
        let counts = read_volatile(&raw const (*page).counts);
        let calls = counts.calls.iter().sum::<u64>() + 1;
        let bytes = counts.bytes.saturating_add(len as u64);
        let since = (
            calls.saturating_sub(read_volatile(&raw const (*page).noted_calls)),
            bytes.saturating_sub(read_volatile(&raw const (*page).noted_bytes)),
        );
        write_volatile(&raw mut (*page).noted_calls, calls);
        write_volatile(&raw mut (*page).noted_bytes, bytes);
        since
    }
}

/// `observe`: this thread would have been moved. True the first time.
pub(crate) fn note_heavy() -> bool {
    // SAFETY: this thread's own words.
    unsafe { Tls::turn_home(Tls::here(), tls::LIGHT, tls::NOTED) }
}

/// Gives this thread a page. False: the kernel goes on answering it, for good.
#[cold]
pub(crate) fn move_here() -> bool {
    let tls = Tls::here();
    // SAFETY: this thread's own words. `home` is NEVER while we are at it, so a
    // signal handler, or a malloc that draws, finds the thread busy.
    unsafe {
        if !STARTED.load(Ordering::Relaxed) {
            return false;
        }
        if !Tls::turn_home(tls, tls::LIGHT, tls::NEVER)
            && !Tls::turn_home(tls, tls::NOTED, tls::NEVER)
        {
            return false;
        }
        // After the turn: before it, a handler could still have moved the thread.
        if let Some(owned) = page::of((*tls).number) {
            // Forgiven before: the page is still this thread's, and in its slot.
            stats::count_move();
            Tls::set_home(tls, owned.page as usize);
            return true;
        }
        if READY.load(Ordering::Relaxed) == NO || !has_end(tls) {
            return false;
        }
        let owned = match page::take() {
            Ok(owned) => owned,
            Err(NoPage::Now) => return false,
            Err(NoPage::Ever) => {
                READY.store(NO, Ordering::Relaxed);
                return false;
            }
        };
        if !ready(owned.page) || !will_end(tls, owned) {
            page::give_back(owned);
            return false;
        }
        (*tls).number = owned.number + 1;
        stats::count_move();
        fence();
        Tls::set_home(tls, owned.page as usize);
        fence();
        Tls::put_slot(tls, owned.page);
        true
    }
}

/// Whether the generator may be used in this process; looks once.
///
/// # Safety
/// The page is owned, zero, and not in use yet.
unsafe fn ready(page: *mut Page) -> bool {
    if READY.load(Ordering::Relaxed) == UNKNOWN {
        // A host in FIPS mode wants the kernel's validated generator.
        let mut fips = [0; 1];
        let fips =
            sys::read_file(c"/proc/sys/crypto/fips_enabled", &mut fips) == Ok(1) && fips == *b"1";
        let wrong = FAIL_KNOWN_ANSWER.load(Ordering::Relaxed) != 0;
        // SAFETY: the caller's contract. In the page, because the buffer is larger
        // than the stack that we allow ourselves.
        let good = !fips && crng::known_answer(unsafe { &mut (*page).crng }, wrong);
        READY.store(if good { YES } else { NO }, Ordering::Relaxed);
    }
    READY.load(Ordering::Relaxed) == YES
}

/// Whether a page of this thread could be given back when it ends. The first
/// thread ends with the process.
fn has_end(tls: *mut Tls) -> bool {
    KEY.load(Ordering::Relaxed) >= 0 || tls as usize == FIRST.load(Ordering::Relaxed)
}

/// Sees to it that the page is given back when this thread ends.
fn will_end(tls: *mut Tls, owned: Owned) -> bool {
    let key = KEY.load(Ordering::Relaxed);
    // The value is the page's number, not null: a destructor runs for those only.
    let value = (owned.number as usize + 1) as *const c_void;
    // SAFETY: the key is ours.
    let set = key >= 0 && unsafe { real::pthread_setspecific(key as c_uint, value) } == 0;
    set || tls as usize == FIRST.load(Ordering::Relaxed)
}

/// The destructor of a thread's page. Other destructors may draw after it: they
/// find the thread on the kernel.
unsafe extern "C" fn end(_number: *mut c_void) {
    let tls = Tls::here();
    // SAFETY: this thread's own words; whatever call was in flight never returns,
    // so nobody uses the page.
    unsafe {
        // In this order: a handler in between could otherwise put a page in the slot.
        Tls::set_home(tls, tls::NEVER);
        fence();
        Tls::take_slot(tls);
        fence();
        let Some(owned) = page::of((*tls).number) else {
            return;
        };
        (*tls).number = 0;
        fence();
        stats::retire(&read_volatile(&raw const (*owned.page).counts));
        page::give_back(owned);
    }
}

/// Whether OWNPOOL_FORGIVE_SECS is set.
#[inline]
pub(crate) fn forgives() -> bool {
    LIMITS.forgive_ms.load(Ordering::Relaxed) != 0
}

/// OWNPOOL_FORGIVE_SECS: returns a thread that has behaved lightly for so long
/// to the kernel. Looked at when a call leaves the fast path.
///
/// The page is erased, so that the fast path finds nothing in it, but stays this
/// thread's and in its slot until the thread ends: if this is a signal handler that
/// fell between the two accesses of [`Tls::take_slot`], the call that it interrupted
/// has the page in hand and goes on with it. On the free list, another thread could
/// have it by then.
#[cold]
pub(crate) fn forgive(policy: &bucket::Policy) -> bool {
    let forgive_ms = LIMITS.forgive_ms.load(Ordering::Relaxed);
    let Some(now_ms) = vdso::now_ms() else {
        return false;
    };
    let tls = Tls::here();
    // SAFETY: as in `take`; the page is erased only with its slot taken.
    unsafe {
        let page = Tls::take_slot(tls);
        if page.is_null() {
            return false;
        }
        let bytes = read_volatile(&raw const (*page).counts.bytes);
        let since = bytes.saturating_sub(read_volatile(&raw const (*page).conduct_bytes));
        write_volatile(&raw mut (*page).conduct_bytes, bytes);
        let forgiven = (*page).conduct.note(policy, since, now_ms) >= forgive_ms;
        if forgiven {
            stats::retire(&read_volatile(&raw const (*page).counts));
            page::erase(page);
            (*tls).bucket = bucket::Bucket::default();
            fence();
            Tls::set_home(tls, tls::LIGHT);
        }
        fence();
        Tls::put_slot(tls, page);
        forgiven
    }
}

/// Every thread reseeds before its next byte. Lock-free, async-signal-safe.
pub(crate) fn new_epoch() {
    EPOCH.fetch_add(1, Ordering::SeqCst);
}

/// The counts of the process and of every page in use.
pub(crate) fn snapshot() -> Snapshot {
    let mut now = Snapshot::of_process();
    page::each_counts(|counts| now.add(counts));
    now
}

/// Once, from `init`, on the thread that loads the library.
pub(crate) fn start(settings: &Settings<'_>) {
    FAIL_KNOWN_ANSWER.store(u8::from(settings.test.fail_known_answer), Ordering::Relaxed);
    LIMITS
        .reseed_bytes
        .store(settings.reseed_bytes, Ordering::Relaxed);
    LIMITS
        .reseed_secs
        .store(settings.reseed_secs, Ordering::Relaxed);
    LIMITS.forgive_ms.store(
        settings.forgive_secs.saturating_mul(1000),
        Ordering::Relaxed,
    );
    handout::WIDE.store(cpu::has_avx512(), Ordering::Relaxed);
    FIRST.store(Tls::here() as usize, Ordering::Relaxed);
    // Numbers of 32 and more live in a second-level block that glibc allocates
    // on first use: with malloc, in the middle of somebody's draw.
    let mut key = 0;
    // SAFETY: the destructor may run on any thread that set a value.
    let made = unsafe { real::pthread_key_create(&raw mut key, end) } == 0;
    if made && key < 32 {
        KEY.store(key as c_int, Ordering::Relaxed);
    }
    STARTED.store(true, Ordering::Release);
}
