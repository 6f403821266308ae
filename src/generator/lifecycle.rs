//! A page's life with its thread: moved in, given back, forgiven.
//!
//! Promises: a thread has at most one page and a page one thread; whoever cannot
//! have one (no memory, no way to wipe on fork, no destructor, a failed known
//! answer, a host in FIPS mode) stays on the kernel for good; a page that is
//! given back was erased first. Must never move a thread from within a call that
//! is in flight, or call malloc. `serve` and `api` move threads, `init` starts this.

use super::page::{self, NoPage, Owned, Page};
use super::tls::{self, Tls};
use super::{EPOCH, LIMITS, copy_out, fence, put_back};
use crate::{next_symbol, stats, sys, vdso};
use core::ffi::{c_int, c_uint, c_void};
use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicUsize, Ordering};
use ownpool_core::crng::keystream::Backend;
use ownpool_core::settings::Settings;
use ownpool_core::{crng, leaky_bucket as bucket};

/// The pthread key whose destructor gives a page back; negative: none.
static KEY: AtomicI32 = AtomicI32::new(-1);
/// The thread that the process started with, if it loaded the library. It may have
/// a page without a destructor. Another one may not: the threads after it are given
/// its stack and its addresses, and would be taken for it.
static FIRST: AtomicUsize = AtomicUsize::new(0);
/// Whether `init` has come by: before it, nobody can be moved yet.
static STARTED: AtomicBool = AtomicBool::new(false);
/// Whether anybody may be moved at all: one of those below.
static READY: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const YES: u8 = 1;
const NO: u8 = 2;
const FIPS: u8 = 3;
static FAIL_KNOWN_ANSWER: AtomicU8 = AtomicU8::new(0);

/// The cipher's backend, found once.
static BACKEND: AtomicU8 = AtomicU8::new(Backend::Sse2 as u8);

/// The cipher's backend in use.
pub(crate) fn backend() -> Backend {
    let is = |backend: Backend| BACKEND.load(Ordering::Relaxed) == backend as u8;
    let known = [Backend::Avx512, Backend::Avx2, Backend::Soft];
    known
        .into_iter()
        .find(|&backend| is(backend))
        .unwrap_or(Backend::Sse2)
}

/// Gives this thread a page. False: the kernel goes on answering it, for good.
#[cold]
pub(crate) fn move_here() -> bool {
    let tls = Tls::here();
    // SAFETY: this thread's own words. `home` is NEVER while we are at it, so a
    // signal handler, or a malloc that draws, finds the thread busy.
    unsafe {
        let ending = read_volatile(&raw const (*tls).ending) != 0;
        if ending || !STARTED.load(Ordering::Relaxed) {
            return false;
        }
        if !Tls::turn_home(tls, tls::LIGHT, tls::NEVER)
            && !Tls::turn_home(tls, tls::NOTED, tls::NEVER)
        {
            return false;
        }
        // After the turn: before it, a handler could still have moved the thread.
        if let Some(owned) = page::of((*tls).number) {
            // Forgiven before: the page is still this thread's.
            stats::count_move();
            Tls::set_home(tls, owned.page as usize);
            fence();
            Tls::put_slot(tls);
            return true;
        }
        if READY.load(Ordering::Relaxed) >= NO || !has_end(tls) {
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
        let known_good = ready(owned.page);
        // That took its time: a user-level thread may have been stopped meanwhile and go on
        // on another thread, whose words these are not, or that was given the same ones
        // anew. The first one stays on the kernel.
        let same_thread = Tls::is_here(tls) && Tls::home(tls) == tls::NEVER;
        if !known_good || !same_thread || !will_end(tls, owned) {
            page::give_back(owned);
            return false;
        }
        (*tls).number = owned.number + 1;
        stats::count_move();
        fence();
        Tls::set_home(tls, owned.page as usize);
        fence();
        Tls::put_slot(tls);
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
        let good = crng::known_answer(unsafe { &mut (*page).crng }, wrong);
        let verdict = match (fips, good) {
            (true, _) => FIPS,
            (false, true) => YES,
            (false, false) => NO,
        };
        READY.store(verdict, Ordering::Relaxed);
    }
    READY.load(Ordering::Relaxed) == YES
}

/// Whether a first move has found this host in FIPS mode.
pub(crate) fn host_in_fips_mode() -> bool {
    READY.load(Ordering::Relaxed) == FIPS
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
    let set = key >= 0 && unsafe { next_symbol::pthread_setspecific(key as c_uint, value) } == 0;
    set || tls as usize == FIRST.load(Ordering::Relaxed)
}

/// The destructor of a thread's page. Other destructors may draw after it: they
/// find the thread on the kernel.
unsafe extern "C" fn end(_number: *mut c_void) {
    let tls = Tls::here();
    // SAFETY: this thread's own words. A page whose slot is taken may be in use by a call
    // that goes on later: nobody else gets it.
    unsafe {
        // First of all, so that no handler moves the thread meanwhile, once more or
        // after having forgiven it.
        write_volatile(&raw mut (*tls).ending, 1);
        fence();
        // The slot before `home`: whoever finds it full takes `home` for a page.
        let idle = Tls::take_slot(tls).is_some();
        fence();
        let home = Tls::home(tls);
        let forgiven = home == tls::LIGHT || home == tls::NOTED;
        Tls::set_home(tls, tls::NEVER);
        fence();
        let Some(owned) = page::of((*tls).number) else {
            return;
        };
        (*tls).number = 0;
        fence();
        page::note_rest(owned.page);
        stats::retire(&page::counts(owned.page));
        if idle || forgiven {
            page::give_back(owned);
        } else {
            page::retire(owned);
        }
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
/// The page is erased, and kept for the thread until it ends: whoever was heavy
/// once may be again.
#[cold]
pub(crate) fn forgive(policy: &bucket::Policy) -> bool {
    let forgive_ms = LIMITS.forgive_ms.load(Ordering::Relaxed);
    let Some(now_ms) = vdso::now_ms() else {
        return false;
    };
    let tls = Tls::here();
    // SAFETY: as in `take_by`; the page is erased only with its slot taken.
    unsafe {
        let Some(page) = Tls::take_slot(tls) else {
            return false;
        };
        let bytes = page::handed_out(page);
        let since = bytes.saturating_sub(read_volatile(&raw const (*page).conduct_bytes));
        write_volatile(&raw mut (*page).conduct_bytes, bytes);
        let forgiven = (*page).conduct.note(policy, since, now_ms) >= forgive_ms;
        if !forgiven || !Tls::is_here(tls) {
            put_back(tls, page);
            return false;
        }
        page::note_rest(page);
        stats::retire(&page::counts(page));
        page::erase(page);
        (*tls).bucket = bucket::Bucket::default();
        fence();
        // The slot stays taken: there is no page behind a light thread's home.
        Tls::set_home(tls, tls::LIGHT);
        true
    }
}

/// Once, from `init`, on the thread that loads the library; `first` says whether
/// it is the one that the process started with.
pub(crate) fn start(settings: &Settings<'_>, first: bool) {
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
    // Now, and never at a draw: each `cpuid` traps for microseconds in virtual
    // machines, and record and replay tools make it fault.
    let backend = Backend::in_use();
    BACKEND.store(backend as u8, Ordering::Relaxed);
    copy_out::WIDE.store(backend == Backend::Avx512, Ordering::Relaxed);
    if first {
        FIRST.store(Tls::here() as usize, Ordering::Relaxed);
    }
    stats::start(Tls::here() as usize);
    EPOCH.keep_whole();
    copy_out::WIDE.keep_whole();
    // Numbers of 32 and more live in a second-level block that glibc allocates
    // on first use: with malloc, in the middle of somebody's draw.
    let mut key = 0;
    // SAFETY: the destructor may run on any thread that set a value.
    let made = unsafe { next_symbol::pthread_key_create(&raw mut key, end) } == 0;
    if made && key < 32 {
        KEY.store(key as c_int, Ordering::Relaxed);
    }
    STARTED.store(true, Ordering::Release);
}
