//! State pages: their layout, how they are mapped, and the list of free ones.
//!
//! Promises: a page is zero when it is handed out, wiped when the process forks
//! (in whatever way), left out of core dumps, and never with two owners. It is
//! one page so that it is wiped or dropped whole: its [`MAGIC`](Page::magic)
//! vouches for every other byte of it. Must never unmap or move a page, lock
//! memory (the limit is the program's own), or trust a kernel that only says it
//! wipes. Only `thread` uses it.

use crate::crng::Crng;
use crate::stats::Private;
use crate::{sys, vdso};
use core::ffi::c_int;
use core::mem::{offset_of, size_of};
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::bucket::Conduct;

/// One moved thread's state.
#[repr(C, align(4096))]
pub(crate) struct Page {
    /// The epoch that seeded it; gone when the page was wiped or dropped.
    pub(super) magic: u64,
    /// How many bytes of the buffer are not handed out yet.
    pub(super) available: u64,
    /// What this generator has done.
    pub(super) counts: Private,
    /// Bytes handed out since the kernel last reseeded the key, by refills.
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
    /// Lets the buffer start on a cache line.
    _pad: [u8; 32],
    /// The epoch that the vDSO's state below belongs to.
    pub(super) vdso_epoch: u64,
    /// The vDSO's own state, opaque to us.
    pub(super) vdso: [u8; vdso::STATE_MAX],
    /// The generator.
    pub(super) crng: Crng,
}

const _: () = assert!(size_of::<Page>() == sys::PAGE && offset_of!(Page, crng) % 64 == 0);
// What every call touches lies in the first line.
const _: () = assert!(offset_of!(Page, counts) + offset_of!(Private, calls) + 5 * 8 <= 64);

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
static FREE: AtomicU64 = AtomicU64::new(0);

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

/// Zeroes a page, its magic first.
///
/// # Safety
/// The caller owns the page.
pub(super) unsafe fn erase(page: *mut Page) {
    let words = page.cast::<u64>();
    for word in 0..sys::PAGE / size_of::<u64>() {
        // SAFETY: within the page, which is writable and aligned. Volatile, or
        // the compiler could leave it out: nobody here reads the page again.
        unsafe { ptr::write_volatile(words.add(word), 0) };
    }
}

/// Calls `each` with the counts of every page there is, used or free.
pub(super) fn each_counts(mut each: impl FnMut(&Private)) {
    let used = USED.load(Ordering::Relaxed) as usize;
    for address in ADDRESS.iter().take(used) {
        let page = address.load(Ordering::Acquire) as *const Page;
        if !page.is_null() {
            // SAFETY: pages are never unmapped. The owner may be counting
            // meanwhile; every word is one access, so a count is old or new.
            each(&unsafe { ptr::read_volatile(&raw const (*page).counts) });
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
