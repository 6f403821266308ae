//! The one decision: served here, or left to the kernel and why.
//!
//! Promises: what it serves is good to the last byte, and all that it is not certain of
//! falls through to the real function, which answers as it always did. errno is never
//! touched. Must never invent an error, wait, or decide by anything but the request (flags,
//! address, length, descriptor), the mode, and how the thread and the process stand.

mod decide;
mod read;

pub(crate) use read::{Pieces, Vectors, Whole, read};

use crate::arch::USER_END;
use crate::config::{self, is_serving};
use crate::generator::{self, Draw, SMALL};
use crate::stats::{self, Call};
use crate::{next_symbol, probes};
use core::ffi::{c_uint, c_void};
use core::iter;
use ownpool_core::counts::{Entry, Reason};
use ownpool_core::settings::Mode;

/// What became of a request.
pub(crate) enum Outcome {
    /// This many bytes were served.
    Served(usize),
    /// The real function answers.
    FallThrough,
}

/// Changes the mode. Every thread's next byte is decided anew.
pub(crate) fn set_mode(mode: Mode) {
    config::set_mode(mode);
    generator::new_epoch();
}

/// The lowest address that is served: below lie null and what is never mapped
/// (vm.mmap_min_addr).
const LOWEST: usize = 64 << 10;
/// The highest end that is served: where user space ends, less a margin.
const HIGHEST: usize = USER_END - (64 << 10);
/// The most that one read gives (MAX_RW_COUNT, read(2)).
const LONGEST: usize = 0x7fff_f000;

/// Whether a copy from here to `dest` behaves as the kernel's would.
#[inline(always)]
pub(crate) fn is_user_range(dest: *mut c_void, len: usize) -> bool {
    // One comparison: an address below LOWEST wraps to a huge number.
    len.wrapping_sub(1) < LONGEST && (dest as usize).wrapping_sub(LOWEST) <= HIGHEST - LOWEST - len
}

/// linux/random.h, since Linux 5.6; not in every libc.
const GRND_INSECURE: c_uint = 4;

/// Whether the kernel must answer: GRND_RANDOM, and flags that are not known. A seeded
/// generator satisfies GRND_NONBLOCK and GRND_INSECURE as it is.
#[inline(always)]
fn are_for_kernel(flags: c_uint) -> bool {
    flags & !(libc::GRND_NONBLOCK | GRND_INSECURE) != 0
}

/// The fast path of getrandom(2) and all that amounts to it: small, user memory, and this
/// thread has enough. Anything but [`Draw::Served`] goes on to [`getrandom`].
///
/// # Safety
/// As getrandom(2): `dest` is writable for `len`, or is something that the kernel would
/// refuse.
#[inline(always)]
pub(crate) unsafe fn draw(dest: *mut c_void, len: usize, flags: c_uint, entry: Entry) -> Draw {
    if !are_for_kernel(flags) && len <= SMALL && is_user_range(dest, len) && is_serving() {
        // SAFETY: the caller's contract; the range was looked at.
        unsafe { generator::draw(dest.cast(), len, entry) }
    } else {
        Draw::Absent
    }
}

/// The same for 4 bytes that stay in a register.
#[inline(always)]
pub(crate) fn draw_u32(entry: Entry) -> Option<u32> {
    if is_serving() {
        generator::draw_u32(entry)
    } else {
        None
    }
}

/// getrandom(2) and all that amounts to it, after the fast path came to `so_far`.
///
/// # Safety
/// As [`draw`].
#[inline(never)]
pub(crate) unsafe fn getrandom(
    dest: *mut c_void,
    flags: c_uint,
    call: Call,
    so_far: Draw,
) -> Outcome {
    let mode = config::mode();
    let len = call.len;
    let decided = match so_far {
        // The fast path has looked at all the rest, the mode of that moment too, and a
        // moved thread is not judged.
        Draw::Short => decide::as_moved(&call),
        _ if mode == Mode::Off => return Outcome::FallThrough,
        Draw::Lost => Err(Reason::Unseeded),
        _ if are_for_kernel(flags) => Err(Reason::Flags),
        _ if !is_user_range(dest, len) => Err(Reason::Pointer),
        _ => decide::decide(mode, &call),
    };
    if let Err(reason) = decided {
        return fall_through(call, reason);
    }
    // glibc before 2.41 makes getrandom a cancellation point, and a thread that loops on it
    // must stay cancellable, and so by ownpool_getrandom; its relatives are none. Before
    // the page is taken: this may not return.
    if matches!(call.entry, Entry::Getrandom | Entry::Api) {
        next_symbol::testcancel();
    }
    let piece = iter::once((dest.cast(), len));
    // SAFETY: the caller's contract; the range was looked at.
    let done = unsafe {
        match mode {
            Mode::Vdso => generator::fill_by_vdso(piece, len, flags, call.entry),
            _ => generator::fill(piece, call.entry).map(|()| len),
        }
    };
    match done {
        Ok(done) => Outcome::Served(done),
        Err(reason) => fall_through(call, reason),
    }
}

/// Counted are at most the bytes that the kernel gives at once: a length may be anything,
/// and one of -1 would make the sum smaller.
#[inline]
fn fall_through(call: Call, reason: Reason) -> Outcome {
    let call = Call {
        len: call.len.min(LONGEST),
        ..call
    };
    stats::count_kernel(&call, reason);
    if !matches!(reason, Reason::Light | Reason::Mode | Reason::Observed) {
        probes::fell_through(reason, call.len);
    }
    Outcome::FallThrough
}
