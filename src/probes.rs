//! Static probes: where a tracer may look in without slowing the program.
//!
//! Promises: a probe that is not watched is one `nop`, and none is on the fast
//! path. bpftrace, perf and gdb find them as `ownpool:move`, `ownpool:refill`,
//! `ownpool:fell_through` and `ownpool:reseed` in the notes of the library
//! (SystemTap's sdt.h format). Must never compute anything for a watcher's sake.
//! The trace point `urandom_read` of the 2015 kernel is their ancestor.

use ownpool_core::counts::Reason;

/// A thread is about to be given a page: the request's length, the bucket's level.
#[inline(always)]
pub(crate) fn moving(len: usize, level: u64) {
    probe::probe!(ownpool, move, len, level);
}

/// The buffer was refilled: bytes that can now be handed out, and whether fresh
/// kernel bytes were folded in (1) or not (0).
#[inline(always)]
pub(crate) fn refill(bytes: usize, reseeded: bool) {
    probe::probe!(ownpool, refill, bytes, reseeded);
}

/// A request was left to the kernel for another cause than the allowance: the
/// cause, as the order of `fell_through` in the report, and the length.
#[inline(always)]
pub(crate) fn fell_through(reason: Reason, len: usize) {
    probe::probe!(ownpool, fell_through, reason, len);
}

/// The kernel gave a seed: bytes, and its source (0 system call, 1 vDSO).
#[inline(always)]
pub(crate) fn reseed(bytes: usize, by_vdso: bool) {
    probe::probe!(ownpool, reseed, bytes, by_vdso);
}
