//! Reads of descriptors that may be urandom: judge, ask, serve.
//!
//! Promises: a read within the allowance stays the one system call that it was; over it,
//! the kernel is asked what the descriptor is, at every read; pieces are filled in place,
//! all of them or none. Must never serve a descriptor that the kernel has not just called
//! urandom (`urandom_fd` has what can pass for it), or ask while the program is confined.

use super::decide::{charge, decide_heavy, refund};
use super::{LONGEST, Outcome, fall_through, is_user_range};
use crate::generator::{self, Draw, SMALL, Standing};
use crate::stats::{self, Call, call_sites};
use crate::urandom_fd::{self, Answer};
use crate::{config, next_symbol, seccomp};
use core::ffi::{c_int, c_void};
use core::{iter, ptr};
use ownpool_core::counts::{Entry, Reason};
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

/// The pieces of a request, once they are known to be user memory.
struct Wanted {
    /// The first piece that is not empty.
    first: *mut u8,
    first_len: usize,
    /// The sum of all.
    len: usize,
}

/// Looks at every piece. `Err`: the kernel must judge them; how long they are together.
fn look_at(pieces: &impl Pieces) -> Result<Wanted, usize> {
    let mut wanted = Wanted {
        first: ptr::null_mut(),
        first_len: 0,
        len: 0,
    };
    let mut good = true;
    for (dest, len) in pieces.pieces() {
        good &= is_user_range(dest.cast(), len);
        if wanted.len == 0 {
            (wanted.first, wanted.first_len) = (dest, len);
        }
        wanted.len = wanted.len.saturating_add(len);
    }
    good &= wanted.len.wrapping_sub(1) < LONGEST;
    if good { Ok(wanted) } else { Err(wanted.len) }
}

/// A read of a hinted descriptor: judge, ask, serve.
///
/// # Safety
/// As readv(2): every piece is writable for its length, or is something that the kernel
/// would refuse.
#[inline(never)]
pub(crate) unsafe fn read(fd: c_int, pieces: &impl Pieces, caller: usize) -> Outcome {
    let mode = config::mode();
    if mode == Mode::Off {
        return Outcome::FallThrough;
    }
    let call = |len| Call::new(Entry::Read, caller, len);
    let wanted = match look_at(pieces) {
        Ok(wanted) => wanted,
        Err(len) => return fall_through(call(len), Reason::Pointer),
    };
    let call = call(wanted.len);
    if seccomp::confined() {
        return fall_through(call, Reason::Confined);
    }
    if urandom_fd::is_suspect(fd) && !urandom_fd::settle_suspect(fd) {
        return Outcome::FallThrough;
    }
    // SAFETY: `wanted` names the memory that the program gave for this read.
    if let Err(reason) = unsafe { decide(mode, fd, &wanted, &call) } {
        // Not a request for randomness at all: nothing is counted but that.
        if reason == Reason::NotUrandom {
            stats::count_not_urandom();
            return Outcome::FallThrough;
        }
        return fall_through(call, reason);
    }
    // read(2) is a cancellation point. Before the page is taken: this may not return.
    next_symbol::testcancel();
    let Wanted {
        first,
        first_len,
        len,
    } = wanted;
    // SAFETY: the caller's contract; every piece was looked at.
    let done = unsafe {
        match mode {
            // A read of the device never waits for the kernel's generator to be seeded: if
            // it is not, the real read knows what to do.
            Mode::Vdso => {
                let flags = libc::GRND_NONBLOCK;
                generator::fill_by_vdso(pieces.pieces(), len, flags, Entry::Read)
            }
            _ if first_len == len && len <= SMALL => draw_or_fill(first, len),
            _ => generator::fill(pieces.pieces(), Entry::Read).map(|()| len),
        }
    };
    match done {
        Ok(done) => Outcome::Served(done),
        Err(reason) => fall_through(call, reason),
    }
}

/// One small piece, by the fast path if the buffer has enough.
///
/// # Safety
/// `dest` is writable for `len`.
#[inline]
unsafe fn draw_or_fill(dest: *mut u8, len: usize) -> Result<usize, Reason> {
    // SAFETY: `dest` is the program's, good for `len` bytes.
    unsafe {
        match generator::draw(dest, len, Entry::Read) {
            Draw::Served => Ok(len),
            Draw::Lost => Err(Reason::Unseeded),
            Draw::Absent | Draw::Short => {
                generator::fill(iter::once((dest, len)), Entry::Read).map(|()| len)
            }
        }
    }
}

/// Judges a read, and asks what the descriptor is only if the caller is over its allowance:
/// a light read stays the one system call that it was.
///
/// The standing is looked at first, so that a thread is moved only for a descriptor that is
/// urandom.
///
/// # Safety
/// The first piece is where the caller wants random bytes.
#[inline]
unsafe fn decide(mode: Mode, fd: c_int, wanted: &Wanted, call: &Call) -> Result<(), Reason> {
    let standing = generator::standing();
    let judged = standing == Standing::Light && matches!(mode, Mode::Auto | Mode::Observe);
    if standing == Standing::KernelOnly {
        return Err(Reason::Busy);
    }
    if judged && charge(call.len) == Verdict::Within {
        call_sites::record_judged(call, false);
        return Err(Reason::Light);
    }
    // SAFETY: the first piece is the program's, good for its length.
    let answer = unsafe { urandom_fd::ask(fd, wanted.first.cast::<c_void>(), wanted.first_len) };
    let reason = match answer {
        Answer::Urandom => return decide_heavy(mode, standing, call),
        Answer::Other => Reason::NotUrandom,
        Answer::BadPointer => Reason::Pointer,
    };
    if judged {
        refund(call.len);
    }
    Err(reason)
}
