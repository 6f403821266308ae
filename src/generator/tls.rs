//! What a thread keeps outside its page: where it stands, its page's token, its bucket.
//!
//! A page's *token* is its address, and it exists at one place at most: in the slot of one
//! thread, or with the call that has taken it from there. Only its holder may touch the
//! page. So whatever stops a call, and on whichever kernel thread it goes on, there are
//! never two callers in a page: a token that is put into the slot of another thread takes
//! that thread's own out of circulation, and a thread whose token is gone stays on the
//! kernel. Promises: each step is one instruction ([`crate::arch::tls`]).

use super::page::Page;
use crate::arch::tls::{exchange, is_set_up, load, store};
use ownpool_core::leaky_bucket::Bucket;

/// Where the thread stands: one of those below, or the address of its page.
const HOME: usize = 0;
/// The token of its page; 0 while a call is in flight, or without a page.
const SLOT: usize = 1;
/// A light thread's bucket.
const LEVEL: usize = 2;
const LAST_MS: usize = 3;

/// `home`: the kernel answers, the bucket judges.
pub(super) const LIGHT: usize = 0;
/// `home`: the kernel answers for good.
pub(super) const KERNEL_ONLY: usize = 1;
/// `home`: the kernel answers; `observe` has seen this thread over its allowance.
pub(super) const OBSERVED_HEAVY: usize = 2;
/// `home`: the thread is being moved.
pub(super) const MOVING: usize = 3;

/// Where this thread stands. One that libc has not set up has no words of ours: it stays on
/// the kernel, and nothing is written where they would be.
#[inline(always)]
pub(super) fn home() -> usize {
    if is_set_up() {
        load::<HOME>()
    } else {
        KERNEL_ONLY
    }
}

/// Changes where this thread stands, if it stands as `from` says.
#[inline]
pub(super) fn change_home(from: usize, to: usize) -> bool {
    exchange::<HOME>(from, to)
}

/// Takes this thread's token. `None`: a call is in flight, or the thread has no page.
///
/// The exchange may fail after the look: a signal handler has taken the token and not put
/// it back (it jumped away, or stopped a user-level thread in its draw), or this one goes
/// on in another kernel thread by now.
#[inline(always)]
pub(super) fn take_slot() -> Option<&'static Page> {
    if !is_set_up() {
        return None;
    }
    let token = load::<SLOT>();
    if token == 0 || !exchange::<SLOT>(token, 0) {
        return None;
    }
    // SAFETY: a token is the address of a page, and pages are never unmapped.
    Some(unsafe { &*(token as *const Page) })
}

/// Puts a token into this thread's slot: the page is idle.
#[inline(always)]
pub(super) fn put_slot(page: &'static Page) {
    store::<SLOT>(&raw const *page as usize);
}

/// This thread's bucket. A signal handler that draws between this and [`set_bucket`] may
/// lose a charge: the caller is judged slightly too light.
#[inline]
pub(crate) fn bucket() -> Bucket {
    Bucket {
        level: load::<LEVEL>() as u64,
        last_ms: load::<LAST_MS>() as u64,
    }
}

/// Sets this thread's bucket.
#[inline]
pub(crate) fn set_bucket(bucket: Bucket) {
    store::<LEVEL>(bucket.level as usize);
    store::<LAST_MS>(bucket.last_ms as usize);
}
