//! A page's life with its thread: allocated, released, forgiven, quarantined.
//!
//! Promises: a thread has at most one page and a page one thread; a thread that cannot have
//! one (no memory, no way to wipe on fork, no destructor, a failed known answer, a host in
//! FIPS mode) stays on the kernel for good; a page is erased before another thread gets it.
//! Must never move a thread from within a call that is in flight, or call malloc.

use super::page::{self, NoPage, Owned, Page, Row};
use super::self_test::{self, Verdict};
use super::{EPOCH, Taken, tls};
use crate::arch::use_wide_registers;
use crate::{config, next_symbol, stats, vdso};
use core::ffi::{c_uint, c_void};
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, Ordering};
use once_cell::race::OnceNonZeroUsize;
use ownpool_core::crng::keystream::Backend;
use ownpool_core::leaky_bucket::{Bucket, Limits};

/// The pthread key whose destructor releases a page, plus 1.
static KEY: OnceNonZeroUsize = OnceNonZeroUsize::new();
/// Whether the thread that loaded the library is the one that the process started with. It
/// may have a page without a destructor: it ends with the process. Another one may not:
/// later threads are given its stack and its addresses, and would be taken for it.
static FIRST_STAYS: AtomicBool = AtomicBool::new(false);
/// Whether the constructor has run: before it, no thread can be moved yet.
static STARTED: AtomicBool = AtomicBool::new(false);
/// The cipher's backend, plus 1; found once.
static BACKEND: OnceNonZeroUsize = OnceNonZeroUsize::new();

/// Why a thread has no page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotMoved {
    /// The kernel goes on answering it; as a rule for good.
    KernelOnly,
    /// The host is in FIPS mode: no thread of the process will be moved.
    Fips,
}

/// The cipher's backend in use.
pub(crate) fn backend() -> Backend {
    let number = BACKEND.get().map(|number| number.get() as u8 - 1);
    number
        .and_then(Backend::from_number)
        .unwrap_or(Backend::Sse2)
}

/// Gives this thread a page.
#[cold]
pub(crate) fn move_thread() -> Result<(), NotMoved> {
    if !STARTED.load(Ordering::Relaxed) {
        return Err(NotMoved::KernelOnly);
    }
    // MOVING while we are at it, so a signal handler, or a malloc that draws, finds the
    // thread on the kernel.
    if !tls::change_home(tls::LIGHT, tls::MOVING)
        && !tls::change_home(tls::OBSERVED_HEAVY, tls::MOVING)
    {
        return Err(NotMoved::KernelOnly);
    }
    let moved = allocate().and_then(adopt);
    if moved.is_err() {
        tls::change_home(tls::MOVING, tls::KERNEL_ONLY);
    }
    moved
}

/// A page that this thread may have.
fn allocate() -> Result<Owned, NotMoved> {
    let may = match self_test::verdict() {
        Verdict::Fips => Err(NotMoved::Fips),
        Verdict::Unusable => Err(NotMoved::KernelOnly),
        Verdict::Unknown | Verdict::Usable if KEY.get().is_some() || stays() => Ok(()),
        Verdict::Unknown | Verdict::Usable => Err(NotMoved::KernelOnly),
    };
    may?;
    let owned = page::allocate().map_err(|why| {
        if matches!(why, NoPage::Ever) {
            self_test::rule_out(Verdict::Unusable);
        }
        NotMoved::KernelOnly
    })?;
    if self_test::passes(&owned) {
        return Ok(owned);
    }
    page::release(owned);
    Err(NotMoved::KernelOnly)
}

/// Makes the page this thread's. A user-level thread may have been stopped since the move
/// began, and go on in another kernel thread: that one is not being moved, so this fails.
fn adopt(owned: Owned) -> Result<(), NotMoved> {
    let (page, row) = (owned.page, owned.row);
    let home = &raw const *page as usize;
    if !tls::change_home(tls::MOVING, home) {
        page::release(owned);
        return Err(NotMoved::KernelOnly);
    }
    if !arrange_release(row) {
        if tls::change_home(home, tls::KERNEL_ONLY) {
            page::release(owned);
        }
        return Err(NotMoved::KernelOnly);
    }
    stats::count_move();
    Taken { page }.put_back();
    Ok(())
}

/// Whether this thread ends with the process.
fn stays() -> bool {
    FIRST_STAYS.load(Ordering::Relaxed) && stats::on_first_thread()
}

/// Sees to it that the page is released when this thread ends.
fn arrange_release(row: Row) -> bool {
    let set = KEY.get().is_some_and(|key| {
        // Not null: a destructor runs for such values only.
        let value = row.number() as usize as *const c_void;
        // SAFETY: the key is ours.
        unsafe { next_symbol::pthread_setspecific((key.get() - 1) as c_uint, value) == 0 }
    });
    set || stays()
}

/// The destructor of a thread's page. Other destructors may draw after it: they find the
/// thread on the kernel.
unsafe extern "C" fn end(row: *mut c_void) {
    // First of all, so that no handler moves the thread meanwhile.
    let home = loop {
        let home = tls::home();
        if tls::change_home(home, tls::KERNEL_ONLY) {
            break home;
        }
    };
    // Without the token, a call is in flight: as a rule it never returns, but a user-level
    // thread that was stopped in it may go on elsewhere. Then the page is quarantined, as
    // it is: that call draws good bytes from it to its end, and no other thread gets it.
    if let Some(taken) = Taken::take()
        && &raw const *taken.page as usize == home
        && let Some(row) = page::row_of(home, Row::new(row as usize as u32))
    {
        release(taken.page, row);
    }
}

/// Lets another thread have the page, when all that it counts is counted elsewhere.
fn release(page: &'static Page, row: Row) {
    page.share.record_rest(page.drawn());
    stats::absorb(&page.counts, page.available.load(Ordering::Relaxed));
    page::release(Owned { page, row });
}

/// OWNPOOL_FORGIVE_SECS: returns a thread that has behaved lightly for so long to the
/// kernel, and its page to the free ones. True: it was returned.
#[cold]
pub(crate) fn forgive_if_due(limits: &Limits) -> bool {
    let (Some(now_ms), Some(mut taken)) = (vdso::now_ms(), Taken::take()) else {
        return false;
    };
    let bytes = taken.page.handed_out();
    let since = bytes.saturating_sub(taken.page.conduct_bytes.load(Ordering::Relaxed));
    taken.page.conduct_bytes.store(bytes, Ordering::Relaxed);
    let home = &raw const *taken.page as usize;
    // The token is not put back: there is no page behind a light thread's home.
    let forgiven = taken.light_for_ms(limits, since, now_ms) >= config::forgive_ms()
        && tls::change_home(home, tls::LIGHT);
    match page::row_of(home, None) {
        Some(row) if forgiven => {
            tls::set_bucket(Bucket::default());
            release(taken.page, row);
        }
        _ => taken.put_back(),
    }
    forgiven
}

impl Taken {
    /// For how long the thread has been within its allowance, `len` bytes later.
    fn light_for_ms(&mut self, limits: &Limits, len: u64, now_ms: u64) -> u64 {
        // SAFETY: ours while the token is.
        unsafe { (*self.page.conduct.get()).judge(limits, len, now_ms) }
    }
}

/// Once, from the constructor, on the thread that loads the library; `first` says whether
/// it is the one that the process started with.
pub(crate) fn start(first: bool) {
    // Now, and never at a draw: each `cpuid` traps for microseconds in virtual machines,
    // and record and replay tools make it fault.
    let backend = Backend::in_use();
    let _ = BACKEND.set(NonZeroUsize::MIN.saturating_add(backend as usize));
    use_wide_registers(backend == Backend::Avx512);
    FIRST_STAYS.store(first, Ordering::Relaxed);
    stats::start();
    EPOCH.keep_whole();
    // Numbers of 32 and more live in a second-level block that glibc allocates on first
    // use: with malloc, in the middle of a draw.
    let mut key = 0;
    // SAFETY: the destructor may run on any thread that set a value.
    let made = unsafe { next_symbol::pthread_key_create(&raw mut key, end) } == 0;
    if made && key < 32 {
        let _ = KEY.set(NonZeroUsize::MIN.saturating_add(key as usize));
    }
    STARTED.store(true, Ordering::Release);
}
