//! The one decision: served here, or left to the kernel and why.
//!
//! Promises: what it answers is good to the last byte, and everything it is not
//! sure of falls through to the real function, which answers as it always did.
//! errno is never touched. Must never invent an error, wait, or decide by anything
//! but the request (flags, address, length, descriptor), the mode, and how the thread
//! and the process stand. `hooks` and `api` call it; `init` starts it.

mod decide;
mod read;

pub(crate) use read::{Pieces, Vectors, Whole, read};

use crate::cache_padded::CachePadded;
use crate::generator::{self, SMALL, Take, Tls};
use crate::stats::{Door, Reason, counters as stats};
use crate::{next_symbol, probes};
use core::ffi::{c_uint, c_void};
use core::iter;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use ownpool_core::leaky_bucket::Policy;
use ownpool_core::settings::{Mode, Settings};

/// What became of a request.
pub(crate) enum Outcome {
    /// Answered with this many bytes.
    Served(usize),
    /// The real function answers.
    FallThrough,
}

/// The mode in force. `Off` until `init` has run: other libraries' constructors
/// and .preinit_array come before ours.
static MODE: CachePadded<AtomicU8> = CachePadded(AtomicU8::new(Mode::Off as u8));
static RATE: AtomicU64 = AtomicU64::new(0);
static BURST: AtomicU64 = AtomicU64::new(0);
static BULK: AtomicU64 = AtomicU64::new(0);

pub(crate) fn mode() -> Mode {
    Mode::from_u8(MODE.load(Ordering::Relaxed))
}

/// Whether hooks leave everything to the kernel: then nothing need be looked at.
pub(crate) fn off() -> bool {
    mode() == Mode::Off
}

/// Whether hooks may take from private generators in this mode: `auto` or `always`. The C
/// API draws from the same pages in every mode.
#[inline(always)]
fn serving() -> bool {
    MODE.load(Ordering::Relaxed) >= Mode::Auto as u8
}
const _: () =
    assert!((Mode::Observe as u8) < Mode::Auto as u8 && (Mode::Auto as u8) < Mode::Always as u8);

/// Changes the mode. Every thread's next byte is decided anew. One store: a signal handler
/// or another thread may change it at the same time.
pub(crate) fn set_mode(mode: Mode) {
    MODE.store(mode as u8, Ordering::Release);
    generator::new_epoch();
}

/// Once, from `init`.
pub(crate) fn start(settings: &Settings<'_>) {
    MODE.keep_whole();
    RATE.store(settings.rate_per_s, Ordering::Relaxed);
    BURST.store(settings.burst, Ordering::Relaxed);
    BULK.store(settings.bulk, Ordering::Relaxed);
    set_mode(settings.mode);
}

fn policy() -> Policy {
    Policy {
        rate_per_s: RATE.load(Ordering::Relaxed),
        burst: BURST.load(Ordering::Relaxed),
        bulk: BULK.load(Ordering::Relaxed),
    }
}

/// The lowest address that is served: below lie null and what is never mapped
/// (vm.mmap_min_addr).
const LOWEST: usize = 64 << 10;
/// Where user space ends, less a margin (x86-64, four-level page tables).
const HIGHEST: usize = (1 << 47) - (64 << 10);
/// The most that one read gives (MAX_RW_COUNT, read(2)).
const LONGEST: usize = 0x7fff_f000;

/// Whether a user-space copy to `dest` behaves as the kernel's would.
#[inline(always)]
pub(crate) fn plain(dest: *mut c_void, len: usize) -> bool {
    // One comparison: an address below LOWEST wraps to a huge number.
    len.wrapping_sub(1) < LONGEST && (dest as usize).wrapping_sub(LOWEST) <= HIGHEST - LOWEST - len
}

/// linux/random.h, since Linux 5.6; not in every libc.
const GRND_INSECURE: c_uint = 4;

/// Whether the kernel must answer: GRND_RANDOM, and flags that are not known. A seeded
/// generator satisfies GRND_NONBLOCK and GRND_INSECURE as it is.
#[inline(always)]
fn unknown(flags: c_uint) -> bool {
    flags & !(libc::GRND_NONBLOCK | GRND_INSECURE) != 0
}

/// The fast path of getrandom(2) and everything that amounts to it: small, plain,
/// and this thread has enough. Anything but [`Take::Done`] goes on to [`getrandom`].
///
/// # Safety
/// As getrandom(2): `dest` is writable for `len`, or is something that the
/// kernel would refuse.
#[inline(always)]
pub(crate) unsafe fn quickly(dest: *mut c_void, len: usize, flags: c_uint, door: Door) -> Take {
    if !unknown(flags) && len <= SMALL && plain(dest, len) && serving() {
        // SAFETY: the caller's contract; the range is plain.
        unsafe { generator::take(dest.cast(), len, door) }
    } else {
        Take::Absent
    }
}

/// The same for 4 bytes that stay in a register. A page that is lost on the way is
/// seeded anew for the same request.
#[inline(always)]
pub(crate) fn word_quickly(door: Door) -> Option<u32> {
    if serving() {
        generator::take_u32(door)
    } else {
        None
    }
}

/// getrandom(2) and everything that amounts to it, after the fast path came to
/// `so_far`. `caller` is the return address of whoever asks.
///
/// # Safety
/// As [`quickly`].
#[inline(never)]
pub(crate) unsafe fn getrandom(
    dest: *mut c_void,
    len: usize,
    flags: c_uint,
    door: Door,
    caller: usize,
    so_far: Take,
) -> Outcome {
    let mode = mode();
    let judged = match so_far {
        // The fast path has looked at all the rest, the mode of that moment too, and a
        // moved thread is not judged.
        Take::Short => decide::moved(len, door, caller),
        _ if mode == Mode::Off => return Outcome::FallThrough,
        Take::Lost => Err(Reason::Unseeded),
        _ if unknown(flags) => Err(Reason::Flags),
        _ if !plain(dest, len) => Err(Reason::Pointer),
        _ => decide::judge(mode, len, door, caller),
    };
    if let Err(reason) = judged {
        return fall_through(len, door, reason);
    }
    // glibc before 2.41 makes getrandom a cancellation point, and a thread that
    // loops on it must stay cancellable, and so by ownpool_getrandom; its relatives
    // are none. Before the slot is taken: this may not return.
    if matches!(door, Door::Getrandom | Door::Api) {
        next_symbol::testcancel();
    }
    // SAFETY: the caller's contract; the range is plain.
    let done = unsafe {
        match mode {
            Mode::Vdso => generator::fill_by_vdso(iter::once((dest.cast(), len)), flags, door),
            _ => generator::fill(iter::once((dest.cast(), len)), door).map(|()| len),
        }
    };
    match done {
        Ok(done) => Outcome::Served(done),
        Err(reason) => fall_through(len, door, reason),
    }
}

/// Counted are at most the bytes that the kernel gives at once: a length may be
/// anything, and one of -1 would make the sum smaller.
#[inline]
fn fall_through(len: usize, door: Door, reason: Reason) -> Outcome {
    let len = len.min(LONGEST);
    stats::count_kernel(Tls::here() as usize, door, len, reason);
    if !matches!(reason, Reason::Light | Reason::Mode | Reason::Observed) {
        probes::fell_through(reason, len);
    }
    Outcome::FallThrough
}
