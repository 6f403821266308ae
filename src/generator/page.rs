//! State pages: their layout, how they are mapped, and the list of free ones.
//!
//! Promises: a page is zero when it is allocated, wiped when the process forks (in whatever
//! way), left out of core dumps, and never with two owners. It is one page so that it is
//! wiped or dropped whole: its [`magic`](Page::magic) vouches for every other byte of it.
//! Must never unmap or move a page, lock memory (the limit is the program's own), or trust
//! a kernel that only says it wipes.

use crate::arch::PAGE;
use crate::cache_padded::CachePadded;
use crate::stats::PageCounts;
use crate::stats::call_sites::{PageShare, Volume};
use crate::{sys, vdso};
use core::cell::UnsafeCell;
use core::mem::{offset_of, size_of};
use core::num::NonZeroU32;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};
use ownpool_core::crng::Crng;
use ownpool_core::leaky_bucket::Conduct;
use ownpool_core::wipe_on_fork;

/// One moved thread's state.
///
/// The words that every call touches lie near the end: a load right after a store to the
/// same place of another page waits for it (processors compare the low twelve bits first),
/// and callers' buffers often begin where a page does.
#[repr(C, align(4096))]
pub(crate) struct Page {
    /// The generator, for the holder of the page's token.
    pub(super) crng: UnsafeCell<Crng>,
    /// The vDSO's own state, opaque to us; for the same.
    pub(super) vdso: UnsafeCell<[u8; vdso::STATE_MAX]>,
    /// The epoch that the vDSO's state belongs to.
    pub(super) vdso_epoch: AtomicU64,
    /// Lets the words below start on a cache line.
    _pad: [u8; 56],
    /// The epoch that seeded it; gone when the page was wiped or dropped.
    pub(super) magic: AtomicU64,
    /// How many bytes of the buffer are not handed out yet.
    pub(super) available: AtomicU64,
    /// What this generator has done.
    pub(super) counts: PageCounts,
    /// Bytes made since the kernel last reseeded the key, by refills and by streams
    /// that had no kernel bytes of their own.
    pub(super) since_reseed: AtomicU64,
    /// When it last did, in milliseconds; only kept if a setting asks.
    pub(super) reseeded_ms: AtomicU64,
    /// For forgiving; only kept if the setting asks.
    pub(super) conduct: UnsafeCell<Conduct>,
    /// Bytes handed out when the conduct was last looked at.
    pub(super) conduct_bytes: AtomicU64,
    /// What has been recorded for call sites.
    pub(super) share: PageShare,
}

// SAFETY: what is not atomic is for the holder of the page's token, of which there is one.
unsafe impl Sync for Page {}

const _: () = assert!(size_of::<Page>() == PAGE && offset_of!(Page, crng) % 64 == 0);
/// Where the line of words that every call touches starts.
const HOT: usize = 3520;
const _: () = assert!(offset_of!(Page, magic) == HOT && HOT.is_multiple_of(64));
const _: () = assert!(offset_of!(Page, counts) + 7 * 8 <= HOT + 64 + 8);

impl Page {
    /// How many bytes this page has handed out. Its owner may be drawing meanwhile.
    pub(super) fn handed_out(&self) -> u64 {
        let bytes = self.counts.bytes.load(Ordering::Relaxed);
        bytes.saturating_sub(self.available.load(Ordering::Relaxed))
    }

    /// What this page has served.
    pub(super) fn drawn(&self) -> Volume {
        Volume {
            calls: self.counts.all_calls(),
            bytes: self.handed_out(),
        }
    }
}

/// As many pages as there can be threads with one at the same time; threads beyond that
/// stay on the kernel. Links live here, outside the pages, because links inside would
/// vanish on fork or drop.
const MOST: usize = 8192;
static PAGES: [AtomicPtr<Page>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];
static NEXT: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
/// How many rows of the table are taken.
static USED: AtomicU32 = AtomicU32::new(0);
/// The first free page: a tag in the upper half, against ABA (a page popped and pushed back
/// between another thread's look and its exchange), its row below.
static FREE: CachePadded<AtomicU64> = CachePadded(AtomicU64::new(0));

/// A page's place in the table, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Row(NonZeroU32);

impl Row {
    /// The row of this number, unless it is 0.
    pub(super) fn new(number: u32) -> Option<Row> {
        NonZeroU32::new(number).map(Row)
    }

    pub(super) fn number(self) -> u32 {
        self.0.get()
    }

    /// The page of this row.
    pub(super) fn page(self) -> Option<&'static Page> {
        let page = PAGES.get(self.index())?.load(Ordering::Acquire);
        // SAFETY: a page that was mapped, and is never unmapped, or null.
        unsafe { page.as_ref() }
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A page that has one owner, who may touch it, and its row.
pub(super) struct Owned {
    pub(super) page: &'static Page,
    pub(super) row: Row,
}

/// Why there is no page.
pub(super) enum NoPage {
    /// No memory, or no row: for now, for this thread.
    Now,
    /// This kernel does not wipe on fork: no thread will ever be moved.
    Ever,
}

/// A zeroed page: a free one, or a new one.
pub(super) fn allocate() -> Result<Owned, NoPage> {
    if let Some(owned) = pop() {
        return Ok(owned);
    }
    if USED.load(Ordering::Relaxed) as usize >= MOST {
        return Err(NoPage::Now);
    }
    let page = map()?;
    let index = USED.fetch_add(1, Ordering::Relaxed);
    // Two threads may have passed the check at the last row: the later one leaves its
    // page unused, and the row count stays where it is.
    let place = PAGES.get(index as usize);
    let (Some(place), Some(row)) = (place, Row::new(index + 1)) else {
        USED.store(MOST as u32, Ordering::Relaxed);
        return Err(NoPage::Now);
    };
    place.store(page, Ordering::Release);
    let page = row.page().ok_or(NoPage::Now)?;
    Ok(Owned { page, row })
}

/// The row of the page at this address: `guess`, or found by looking.
pub(super) fn row_of(address: usize, guess: Option<Row>) -> Option<Row> {
    let is_it = |row: &Row| {
        row.page()
            .is_some_and(|page| ptr::addr_eq(page, address as *const Page))
    };
    let used = USED.load(Ordering::Relaxed);
    guess
        .filter(is_it)
        .or_else(|| (1..=used).filter_map(Row::new).find(is_it))
}

/// Erases a page and lets another thread have it.
pub(super) fn release(owned: Owned) {
    erase(owned.page);
    push(owned.row);
}

/// Zeroes a page, its magic first; then from the end down, so that the vDSO's state loses
/// its generation, by which the vDSO knows a wiped one, before its bytes. The caller owns
/// the page.
fn erase(page: &'static Page) {
    page.magic.store(0, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let words = (&raw const *page).cast::<u64>().cast_mut();
    for word in (0..PAGE / size_of::<u64>()).rev() {
        // SAFETY: within the page, which is writable, aligned, all of it cells and atomics,
        // and the caller's alone. Volatile, or the compiler could leave it out: the page
        // is not read again here.
        unsafe { words.add(word).write_volatile(0) };
    }
}

/// Every page there is, used or free.
pub(super) fn each() -> impl Iterator<Item = &'static Page> {
    let used = USED.load(Ordering::Relaxed);
    (1..=used).filter_map(Row::new).filter_map(Row::page)
}

fn pop() -> Option<Owned> {
    let mut head = FREE.load(Ordering::Acquire);
    loop {
        let row = Row::new(head as u32)?;
        let next = NEXT.get(row.index())?.load(Ordering::Relaxed);
        match FREE.compare_exchange_weak(
            head,
            tagged(head, next),
            Ordering::Acquire,
            Ordering::Acquire,
        ) {
            Ok(_) => return row.page().map(|page| Owned { page, row }),
            Err(changed) => head = changed,
        }
    }
}

fn push(row: Row) {
    let Some(next) = NEXT.get(row.index()) else {
        return;
    };
    let mut head = FREE.load(Ordering::Relaxed);
    loop {
        next.store(head as u32, Ordering::Relaxed);
        // Release: the erased page is seen erased by the thread that pops it.
        match FREE.compare_exchange_weak(
            head,
            tagged(head, row.number()),
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
    // MAP_DROPPABLE (Linux 6.11) is wiped on fork, kept out of core dumps and swap by
    // nature. Mapped just as the vDSO asks, so that its state can live in the page; where
    // there is no vDSO getrandom there is no MAP_DROPPABLE either.
    if let Some((prot, flags)) = vdso::mapping() {
        return sys::map_page(prot, flags)
            .map(|page| page.cast())
            .map_err(|_| NoPage::Now);
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let page = sys::map_page(libc::PROT_READ | libc::PROT_WRITE, flags).map_err(|_| NoPage::Now)?;
    // SAFETY: the page is new and ours; each advice is what we want of it.
    let advise = |advice| unsafe { sys::advise(page, advice) }.map_err(|error| error.0);
    // A refused page stays mapped: it is one page, once, and munmap would be one more
    // system call that a sandbox may not know.
    if wipe_on_fork::make(advise) {
        Ok(page.cast())
    } else {
        Err(NoPage::Ever)
    }
}
