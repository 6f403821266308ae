//! Is this descriptor the urandom device? Asked at every request.
//!
//! A wrong yes would put random bytes into a program's data. So what is kept is
//! a hint, one bit a number, that asking may be worth it, and which question has
//! been asked of that number before; never the answer. Whatever closes, replaces or
//! passes descriptors behind our back, the kernel is asked what is there now.
//!
//! Promises: an unhinted descriptor costs one bit test; the answer is the kernel's own, of
//! this moment. Must never ask with any call but fstat, ioctl and, once, a read of no bytes,
//! or trust a path, or a device that says yes to an ioctl without answering it.
//!
//! Not told from urandom is what gives urandom's own answer to the ioctl, and only on a
//! number that was urandom before and was replaced behind our back (docs/limits.md):
//! - /dev/random, whose bytes are as good;
//! - a urandom opened write-only or by O_PATH, whose read would have failed;
//! - a FUSE file whose daemon answers so;
//! - a device that says yes and writes nothing, where the caller's buffer holds that answer
//!   already.

use crate::{seccomp, sys};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};

/// Numbers from here on are never hinted: the kernel answers them.
const NUMBERS: usize = 1 << 16;

/// One bit a descriptor number.
struct Bits([AtomicU64; NUMBERS / 64]);

/// Numbers that are worth asking about.
static HINTS: Bits = Bits::none();
/// Numbers that fstat has called urandom since they were last hinted. The cheaper
/// question cannot tell /dev/random from urandom, so it is never the first.
static ASKED: Bits = Bits::none();

impl Bits {
    const fn none() -> Bits {
        Bits([const { AtomicU64::new(0) }; NUMBERS / 64])
    }

    #[inline(always)]
    fn has(&self, fd: c_int) -> bool {
        match self.0.get(fd as u32 as usize / 64) {
            Some(word) => word.load(Relaxed) & bit(fd) != 0,
            None => false,
        }
    }

    /// Writes to the shared line only if the bit changes: most opens are of
    /// something else, on a number that never was urandom.
    #[inline]
    fn set(&self, fd: c_int, to: bool) {
        if let Some(word) = self.0.get(fd as u32 as usize / 64)
            && (word.load(Relaxed) & bit(fd) != 0) != to
        {
            if to {
                word.fetch_or(bit(fd), Relaxed);
            } else {
                word.fetch_and(!bit(fd), Relaxed);
            }
        }
    }
}

/// The count of entropy that urandom gave last, right after fstat had called it that:
/// bits, the same 256 always since Linux 5.18. Some devices answer 0 to any ioctl and
/// write nothing (btrfs-control does); what lies in the caller's buffer then is not
/// this, but by chance. At first a value that no `int` has.
static COUNT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Bit per standard descriptor: hinted, but not asked about since.
static SUSPECTS: AtomicU8 = AtomicU8::new(0);

/// From this length on fstat is the better question: it knows /dev/random, and devices
/// that would answer any ioctl, from urandom. It costs 120 ns more (measured:
/// 265 against 146), which is a tenth of such a request, but a sixth of 4 KiB.
const BY_FSTAT: usize = 8192;

/// Whether asking may be worth it.
#[inline(always)]
pub(crate) fn hinted(fd: c_int) -> bool {
    HINTS.has(fd)
}

/// Sets or clears the hint of a number. What was asked before is void.
#[inline]
pub(crate) fn hint(fd: c_int, worth_asking: bool) {
    ASKED.set(fd, false);
    HINTS.set(fd, worth_asking);
}

/// A urandom was opened as `opened`: it may be put on a standard descriptor next
/// (dd and shells do, by dup2, which is not seen). So those are worth asking
/// about, once each, before anything else is made of a read of them.
pub(crate) fn suspect_standard(opened: c_int) {
    for fd in (0..=2).filter(|&fd| fd != opened) {
        hint(fd, true);
    }
    let itself = if (0..=2).contains(&opened) {
        1 << opened
    } else {
        0
    };
    SUSPECTS.store(0b111 & !itself, Relaxed);
}

/// Whether a standard descriptor was hinted, but not asked about since.
#[inline]
pub(crate) fn is_suspect(fd: c_int) -> bool {
    (0..=2).contains(&fd) && SUSPECTS.load(Relaxed) & (1 << fd) != 0
}

/// Asks about a suspect: it keeps its hint, or loses it.
#[cold]
pub(crate) fn settle_suspect(fd: c_int) -> bool {
    SUSPECTS.fetch_and(!(1 << fd), Relaxed);
    look(fd)
}

/// Asks about a number that nothing is known of, for its hint. A shell may have
/// put a urandom there that is only to be written to.
pub(crate) fn hint_if_urandom(fd: c_int) {
    let _ = look(fd);
}

/// The same; what was found.
fn look(fd: c_int) -> bool {
    let yes = sys::identity(fd).is_ok_and(|identity| identity.is_urandom()) && sys::readable(fd);
    hint(fd, yes);
    yes
}

fn bit(fd: c_int) -> u64 {
    1 << (fd as u32 % 64)
}

/// Whether the last component of a path ends in "random", as the device's does
/// under every usual name for it.
///
/// # Safety
/// `path` is a C string: the kernel has just read it to its end.
pub(crate) unsafe fn sounds_random(path: *const u8) -> bool {
    let mut last = [0u8; 6];
    let mut at = path;
    // SAFETY: read up to the NUL and no further.
    unsafe {
        while *at != 0 {
            last.rotate_left(1);
            let [.., end] = &mut last;
            *end = *at;
            at = at.add(1);
        }
    }
    last == *b"random"
}

/// What a descriptor is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Urandom,
    /// Anything else; its hint is cleared.
    Other,
    /// The kernel could not write to the caller's memory: its own read will say so.
    BadPointer,
}

/// Asks the kernel whether `fd` is the urandom device now.
///
/// # Safety
/// `dest` is where the caller wants `len` random bytes: an `int` may be written there, if
/// there is room for one and the answer is yes.
#[inline]
pub(crate) unsafe fn ask(fd: c_int, dest: *mut c_void, len: usize) -> Answer {
    let small = (size_of::<c_int>()..BY_FSTAT).contains(&len) && may_ask_by_ioctl();
    let by_ioctl = small && ASKED.has(fd);
    if !by_ioctl && !ask_by_fstat(fd) {
        return Answer::Other;
    }
    if !small {
        return Answer::Urandom;
    }
    // SAFETY: the caller's contract. A bad pointer is EFAULT, and the real read then says
    // so. On anything but a random device the answer is ENOTTY (or EBADF), and nothing is
    // written.
    match unsafe { sys::entropy_count(fd, dest) } {
        Ok(()) => {
            // SAFETY: the device has just written there.
            let count = i64::from(unsafe { dest.cast::<c_int>().read_unaligned() });
            let known = COUNT.load(Relaxed) == count;
            if by_ioctl && !known && !ask_by_fstat(fd) {
                return Answer::Other;
            }
            if !known {
                COUNT.store(count, Relaxed);
            }
            Answer::Urandom
        }
        // The descriptor may well be urandom: keep the hint.
        Err(sys::Errno(libc::EFAULT)) => Answer::BadPointer,
        // Closed, or opened for its path alone, which fstat cannot tell.
        Err(sys::Errno(libc::EBADF)) => {
            hint(fd, false);
            Answer::Other
        }
        Err(_) if ask_by_fstat(fd) => {
            // Urandom all the same: the ioctl is of no use here (gVisor does not have it,
            // Landlock and filters refuse it).
            IOCTL_REFUSED.store(true, Relaxed);
            Answer::Urandom
        }
        Err(_) => Answer::Other,
    }
}

/// Whether the ioctl was refused for a urandom: fstat alone from then on.
static IOCTL_REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether the cheaper question may be asked: a filter that was in force at exec may kill
/// for it.
#[inline]
fn may_ask_by_ioctl() -> bool {
    !IOCTL_REFUSED.load(Relaxed) && !seccomp::inherited()
}

/// What fstat says. A no clears the hint.
fn ask_by_fstat(fd: c_int) -> bool {
    let yes = sys::identity(fd).is_ok_and(|identity| identity.is_urandom());
    if yes {
        ASKED.set(fd, true);
    } else {
        hint(fd, false);
    }
    yes
}
