//! State pages: their layout, how they are mapped, and the list of free ones.
//!
//! Promises: a page is zero when it is handed out, wiped when the process forks
//! (in whatever way), left out of core dumps, and never with two owners. It is
//! one page so that it is wiped or dropped whole: its [`MAGIC`](Page::magic)
//! vouches for every other byte of it. Must never unmap or move a page, lock
//! memory (the limit is the program's own), or trust a kernel that only says it
//! wipes. Only `thread` uses it.

use crate::cache_padded::CachePadded;
use crate::stats::Private;
use crate::stats::call_sites;
use crate::{sys, vdso};
use core::ffi::c_int;
use core::mem::{offset_of, size_of};
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use ownpool_core::crng::Crng;

use ownpool_core::leaky_bucket::Conduct;

/// One moved thread's state.
///
/// The words that every call touches lie near the end: a load right after a
/// store to the same place of another page waits for it (processors compare the
/// low twelve bits first), and callers' buffers often begin where a page does.
#[repr(C, align(4096))]
pub(crate) struct Page {
    /// The generator.
    pub(super) crng: Crng,
    /// The vDSO's own state, opaque to us.
    pub(super) vdso: [u8; vdso::STATE_MAX],
    /// The epoch that the vDSO's state belongs to.
    pub(super) vdso_epoch: u64,
    /// Lets the words below start on a cache line.
    _pad: [u8; 56],
    /// The epoch that seeded it; gone when the page was wiped or dropped.
    pub(super) magic: u64,
    /// How many bytes of the buffer are not handed out yet.
    pub(super) available: u64,
    /// What this generator has done.
    pub(super) counts: Private,
    /// Bytes made since the kernel last reseeded the key, by refills and by streams
    /// that had no kernel bytes of their own.
    pub(super) since_reseed: u64,
    /// When it last did, in milliseconds; only kept if a setting asks.
    pub(super) reseeded_ms: u64,
    /// For forgiving; only kept if the setting asks.
    pub(super) conduct: Conduct,
    /// Bytes handed out when the conduct was last noted.
    pub(super) conduct_bytes: u64,
    /// Calls and bytes that a call site has been noted for.
    pub(super) noted_calls: u64,
    pub(super) noted_bytes: u64,
    /// The row of that call site, and one.
    pub(super) noted_row: u64,
    /// 1: its thread ended in the middle of a call. Nobody gets this page again.
    retired: u64,
}

const _: () = assert!(size_of::<Page>() == sys::PAGE && offset_of!(Page, crng) % 64 == 0);
/// Where the line of words that every call touches starts.
const HOT: usize = 3520;
const _: () = assert!(offset_of!(Page, magic) == HOT && HOT.is_multiple_of(64));
const _: () = assert!(offset_of!(Page, retired) == HOT + 160);
const _: () = assert!(offset_of!(Page, counts) + offset_of!(Private, calls) + 5 * 8 <= HOT + 64);

/// As many pages as there can be threads with one at the same time; threads
/// beyond that stay on the kernel. Links live here, outside the pages, because
/// links inside would vanish on fork or drop.
const MOST: usize = 8192;
static ADDRESS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static NEXT: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
/// How many rows of the table are taken.
static USED: AtomicU32 = AtomicU32::new(0);
/// The first free page: a tag in the upper half, against ABA (a page popped and
/// pushed back between another thread's look and its exchange), row + 1 below.
static FREE: CachePadded<AtomicU64> = CachePadded(AtomicU64::new(0));

/// A page and its row in the table.
#[derive(Clone, Copy)]
pub(super) struct Owned {
    pub(super) page: *mut Page,
    pub(super) number: u32,
}

/// Why there is no page.
pub(super) enum NoPage {
    /// No memory, or no row: for now, for this thread.
    Now,
    /// This kernel does not wipe on fork: nobody will ever be moved.
    Ever,
}

/// A zeroed page: a free one, or a new one.
pub(super) fn take() -> Result<Owned, NoPage> {
    if let Some(owned) = pop() {
        return Ok(owned);
    }
    if USED.load(Ordering::Relaxed) as usize >= MOST {
        return Err(NoPage::Now);
    }
    let page = map()?;
    let number = USED.fetch_add(1, Ordering::Relaxed);
    // Two threads may have passed the check at the last row: the later one
    // leaves its page unused, and the row count stays where it is.
    let Some(address) = ADDRESS.get(number as usize) else {
        USED.store(MOST as u32, Ordering::Relaxed);
        return Err(NoPage::Now);
    };
    address.store(page as usize, Ordering::Release);
    Ok(Owned { page, number })
}

/// The page that a thread has by `number` plus 1; 0: none.
pub(super) fn of(number_plus_1: u32) -> Option<Owned> {
    let number = number_plus_1.checked_sub(1)?;
    let page = ADDRESS.get(number as usize)?.load(Ordering::Acquire) as *mut Page;
    (!page.is_null()).then_some(Owned { page, number })
}

/// Erases a page and lets another thread have it.
///
/// # Safety
/// The caller owns the page and stops using it.
pub(super) unsafe fn give_back(owned: Owned) {
    // SAFETY: the caller's contract.
    unsafe { erase(owned.page) };
    push(owned.number);
}

/// Erases a page for good. Its thread ends while a call is in flight: as a rule that
/// never returns, but a user-level thread that was suspended in it may go on elsewhere.
/// It finds a page that is wiped and that nobody else draws from.
///
/// # Safety
/// As [`give_back`], but for that call.
pub(super) unsafe fn retire(owned: Owned) {
    // SAFETY: the caller's contract.
    unsafe {
        ptr::write_volatile(&raw mut (*owned.page).retired, 1);
        compiler_fence(Ordering::SeqCst);
        erase(owned.page);
    }
}

/// Whether the page still has its thread.
///
/// # Safety
/// `page` is a state page.
#[inline(always)]
pub(super) unsafe fn has_thread(page: *const Page) -> bool {
    // SAFETY: the caller's contract.
    unsafe { ptr::read_volatile(&raw const (*page).retired) == 0 }
}

/// Zeroes a page but for the word `retired`, its magic first; then from the end down, so
/// that the vDSO's state loses its generation, by which the vDSO knows a wiped one, before
/// its bytes.
///
/// # Safety
/// The caller owns the page, but for a call as [`retire`] has it.
pub(super) unsafe fn erase(page: *mut Page) {
    const RETIRED: usize = offset_of!(Page, retired) / size_of::<u64>();
    let words = page.cast::<u64>();
    // SAFETY: within the page, which is writable and aligned. Volatile, or the compiler
    // could leave it out: nobody here reads the page again.
    unsafe {
        ptr::write_volatile(&raw mut (*page).magic, 0);
        compiler_fence(Ordering::SeqCst);
        for word in (0..sys::PAGE / size_of::<u64>()).rev() {
            if word != RETIRED {
                ptr::write_volatile(words.add(word), 0);
            }
        }
    }
}

/// Calls `each` with every page there is, used or free.
pub(super) fn each(mut each: impl FnMut(*mut Page)) {
    let used = USED.load(Ordering::Relaxed) as usize;
    for address in ADDRESS.iter().take(used) {
        let page = address.load(Ordering::Acquire) as *mut Page;
        if !page.is_null() {
            each(page);
        }
    }
}

/// How many bytes this page has handed out. `counts.bytes` has those that it can
/// still hand out too, so that handing out need not count.
///
/// # Safety
/// `page` is a state page.
#[inline(always)]
pub(super) unsafe fn handed_out(page: *const Page) -> u64 {
    // SAFETY: the caller's contract. The owner may be drawing meanwhile.
    unsafe {
        let bytes = ptr::read_volatile(&raw const (*page).counts.bytes);
        bytes.saturating_sub(ptr::read_volatile(&raw const (*page).available))
    }
}

/// Sets how many bytes can still be handed out, without handing any out.
///
/// # Safety
/// The page is this thread's, its slot taken.
#[inline(always)]
pub(super) unsafe fn make_available(page: *mut Page, available: u64) {
    // SAFETY: the caller's contract.
    unsafe {
        let handed_out = handed_out(page);
        ptr::write_volatile(&raw mut (*page).available, available);
        ptr::write_volatile(&raw mut (*page).counts.bytes, handed_out + available);
    }
}

/// What this page's generator has done. Its owner may be counting meanwhile; every
/// word is one access, so a count is old or new.
///
/// # Safety
/// `page` is a state page.
pub(super) unsafe fn counts(page: *const Page) -> Private {
    // SAFETY: the caller's contract.
    unsafe {
        let counts = ptr::read_volatile(&raw const (*page).counts);
        Private {
            bytes: handed_out(page),
            ..counts
        }
    }
}

/// Calls and bytes that this page has counted since a call site was last noted
/// for them, and these further ones that are about to be.
///
/// # Safety
/// `page` is a state page; its owner is here, or has ended.
pub(super) unsafe fn take_unnoted(page: *mut Page, calls: u64, bytes: u64) -> (u64, u64) {
    // SAFETY: the caller's contract.
    unsafe {
        let counts = counts(page);
        let calls = counts.calls.iter().sum::<u64>().saturating_add(calls);
        let bytes = counts.bytes.saturating_add(bytes);
        let since = (
            calls.saturating_sub(ptr::read_volatile(&raw const (*page).noted_calls)),
            bytes.saturating_sub(ptr::read_volatile(&raw const (*page).noted_bytes)),
        );
        ptr::write_volatile(&raw mut (*page).noted_calls, calls);
        ptr::write_volatile(&raw mut (*page).noted_bytes, bytes);
        since
    }
}

/// Counts one call of `bytes`, which is about to be answered, as noted.
///
/// # Safety
/// As [`take_unnoted`].
pub(super) unsafe fn note_one(page: *mut Page, bytes: u64) -> (u64, u64) {
    // SAFETY: the caller's contract.
    unsafe {
        for (noted, more) in [
            (&raw mut (*page).noted_calls, 1),
            (&raw mut (*page).noted_bytes, bytes),
        ] {
            ptr::write_volatile(noted, ptr::read_volatile(noted).saturating_add(more));
        }
    }
    (1, bytes)
}

/// Adds what is not noted yet to the row of the last note. A page that never was
/// noted (no report is wanted) has drawn nothing that needs it.
///
/// # Safety
/// As [`take_unnoted`].
pub(super) unsafe fn note_rest(page: *mut Page) {
    // SAFETY: the caller's contract.
    unsafe {
        if ptr::read_volatile(&raw const (*page).noted_calls) != 0 {
            let (calls, bytes) = take_unnoted(page, 0, 0);
            let row = ptr::read_volatile(&raw const (*page).noted_row);
            call_sites::add((row as usize).wrapping_sub(1), calls, bytes);
        }
    }
}

fn pop() -> Option<Owned> {
    let mut head = FREE.load(Ordering::Acquire);
    loop {
        let number = (head as u32).checked_sub(1)?;
        let next = NEXT.get(number as usize)?.load(Ordering::Relaxed);
        match FREE.compare_exchange_weak(
            head,
            tagged(head, next),
            Ordering::Acquire,
            Ordering::Acquire,
        ) {
            Ok(_) => {
                let page = ADDRESS.get(number as usize)?.load(Ordering::Acquire) as *mut Page;
                return Some(Owned { page, number });
            }
            Err(changed) => head = changed,
        }
    }
}

fn push(number: u32) {
    let Some(next) = NEXT.get(number as usize) else {
        return;
    };
    let mut head = FREE.load(Ordering::Relaxed);
    loop {
        next.store(head as u32, Ordering::Relaxed);
        // Release: the erased page is seen erased by whoever pops it.
        match FREE.compare_exchange_weak(
            head,
            tagged(head, number + 1),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => return,
            Err(changed) => head = changed,
        }
    }
}

/// The head that follows `head`: a new tag and a new first row.
fn tagged(head: u64, row: u32) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(row)
}

/// Maps a page of the best kind that this kernel has.
fn map() -> Result<*mut Page, NoPage> {
    // MAP_DROPPABLE (Linux 6.11) is wiped on fork, kept out of core dumps and
    // swap by nature. Mapped just as the vDSO asks, so that its state can live in
    // the page; where there is no vDSO getrandom there is no MAP_DROPPABLE either.
    if let Some((prot, flags)) = vdso::mapping() {
        return sys::map_page(prot, flags)
            .map(|page| page.cast())
            .map_err(|_| NoPage::Now);
    }
    let flags: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let page = sys::map_page(libc::PROT_READ | libc::PROT_WRITE, flags).map_err(|_| NoPage::Now)?;
    // Some emulators and sandboxes accept any advice and do nothing. Whoever
    // accepts nonsense is not believed.
    const NONSENSE: c_int = 0x6e6f;
    // SAFETY: the page is new and ours; each advice is what we want of it.
    let wiped = unsafe {
        sys::advise(page, NONSENSE) == Err(sys::Errno(libc::EINVAL))
            && sys::advise(page, libc::MADV_WIPEONFORK).is_ok()
            && sys::advise(page, libc::MADV_DONTDUMP).is_ok()
    };
    // A refused page stays mapped: it is one page, once, and munmap would be one
    // more system call that a sandbox may not know.
    if wiped {
        Ok(page.cast())
    } else {
        Err(NoPage::Ever)
    }
}
