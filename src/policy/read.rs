//! Reads of descriptors that may be urandom: judge, ask, serve.
//!
//! Promises: a read within the allowance stays the one system call that it was;
//! over it, the kernel is asked what the descriptor is, at every read; pieces
//! are filled in place, all of them or none. Must never serve a descriptor that
//! the kernel has not just called urandom (`urandom` has what can pass for it), or ask while the program is confined.
//! `hooks` call it for hinted descriptors.

use super::decide::{charge, over, refund, seen};
use super::{LONGEST, Outcome, fall_through, mode, plain};
use crate::generator::{self, SMALL, Standing, Take};
use crate::stats::{Door, Reason, counters as stats};
use crate::{next_symbol, seccomp, urandom_fd};
use core::ffi::{c_int, c_void};
use core::iter;
use ownpool_core::leaky_bucket::Verdict;
use ownpool_core::settings::Mode;

/// What a request for descriptors asks for, once its pieces are known to be plain.
pub(crate) trait Pieces {
    /// Each destination and its length, in order.
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)>;
}

/// One buffer.
pub(crate) struct Whole(pub(crate) *mut c_void, pub(crate) usize);

impl Pieces for Whole {
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)> {
        iter::once((self.0.cast(), self.1))
    }
}

/// The vectors of readv(2).
pub(crate) struct Vectors<'a>(pub(crate) &'a [libc::iovec]);

impl Vectors<'_> {
    /// The sum of their lengths.
    pub(crate) fn total(&self) -> usize {
        self.0
            .iter()
            .fold(0, |sum, vector| sum.saturating_add(vector.iov_len))
    }
}

impl Pieces for Vectors<'_> {
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)> {
        self.0
            .iter()
            .map(|vector| (vector.iov_base.cast(), vector.iov_len))
    }
}

/// A read of a hinted descriptor: judge, ask, serve.
///
/// # Safety
/// As readv(2): every piece is writable for its length, or is something that
/// the kernel would refuse.
#[inline(never)]
pub(crate) unsafe fn read(fd: c_int, wanted: &impl Pieces, caller: usize) -> Outcome {
    let mode = mode();
    if mode == Mode::Off {
        return Outcome::FallThrough;
    }
    let mut len = 0usize;
    let mut first = core::ptr::null_mut();
    let mut first_len = 0;
    for (dest, piece) in wanted.pieces() {
        if !plain(dest.cast(), piece) {
            let all = wanted
                .pieces()
                .fold(0usize, |sum, (_, piece)| sum.saturating_add(piece));
            return fall_through(all, Door::Read, Reason::Pointer);
        }
        if len == 0 {
            (first, first_len) = (dest, piece);
        }
        len = len.saturating_add(piece);
    }
    if len.wrapping_sub(1) >= LONGEST {
        return fall_through(len, Door::Read, Reason::Pointer);
    }
    if seccomp::confined() {
        return fall_through(len, Door::Read, Reason::Confined);
    }
    if urandom_fd::unsure(fd) && !urandom_fd::make_sure(fd) {
        return Outcome::FallThrough;
    }
    if let Err(reason) = judge_read(mode, fd, first.cast(), first_len, len, caller) {
        // Not a request for randomness at all: nothing is counted but that.
        if reason == Reason::NotUrandom {
            stats::count_not_urandom();
            return Outcome::FallThrough;
        }
        return fall_through(len, Door::Read, reason);
    }
    // read(2) is a cancellation point. Before the slot is taken: this may not return.
    next_symbol::testcancel();
    // SAFETY: the caller's contract; every piece is plain.
    let done = unsafe {
        match mode {
            // A read of the device never waits for the kernel's generator to be
            // seeded: if it is not, the real read knows what to do.
            Mode::Vdso => generator::fill_by_vdso(wanted.pieces(), libc::GRND_NONBLOCK, Door::Read),
            _ if first_len == len && len <= SMALL => take_or_fill(first, len),
            _ => generator::fill(wanted.pieces(), Door::Read).map(|()| len),
        }
    };
    match done {
        Ok(done) => Outcome::Served(done),
        Err(reason) => fall_through(len, Door::Read, reason),
    }
}

/// One small piece, by the fast path if the buffer has enough.
///
/// # Safety
/// `dest` is writable for `len`.
#[inline]
unsafe fn take_or_fill(dest: *mut u8, len: usize) -> Result<usize, Reason> {
    // SAFETY: the caller's contract.
    unsafe {
        match generator::take(dest, len, Door::Read) {
            Take::Done => Ok(len),
            Take::Lost => Err(Reason::Unseeded),
            Take::Absent | Take::Short => {
                generator::fill(iter::once((dest, len)), Door::Read).map(|()| len)
            }
        }
    }
}

/// Judges a read, and asks what the descriptor is only if the caller is over its
/// allowance: a light read stays the one system call that it was.
///
/// The standing is looked at first, so that a thread is moved only for a
/// descriptor that is urandom.
#[inline]
fn judge_read(
    mode: Mode,
    fd: c_int,
    dest: *mut c_void,
    dest_len: usize,
    len: usize,
    caller: usize,
) -> Result<(), Reason> {
    let standing = generator::standing();
    let judged = matches!(standing, Standing::Light) && matches!(mode, Mode::Auto | Mode::Observe);
    if matches!(standing, Standing::Never) {
        return Err(Reason::Busy);
    }
    if judged && charge(len) == Verdict::Within {
        seen(len, Door::Read, caller, false);
        return Err(Reason::Light);
    }
    // SAFETY: `dest` is the caller's buffer, in which it wants random bytes.
    if !unsafe { urandom_fd::ask(fd, dest, dest_len) } {
        if judged {
            refund(len);
        }
        return Err(if urandom_fd::hinted(fd) {
            Reason::Pointer
        } else {
            Reason::NotUrandom
        });
    }
    over(mode, standing, len, Door::Read, caller)
}
