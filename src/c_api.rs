//! The C API. `include/ownpool.h` is generated from this file; the comments on
//! its functions are written for C readers.
//!
//! Promises: every function may be called at any time, on any thread, in signal
//! handlers, in forked children, before constructors and after a thread's
//! destructors; where a private generator cannot be used, the kernel's bytes
//! are given instead. Must never give a weak byte, and never end the process
//! but in the integer functions, when the kernel gives no randomness at all.

use crate::generator::{self, Draw, Standing};
use crate::policy::{self, Outcome};
use crate::stats::{self, Call};
use crate::{config, kernel_bytes, next_symbol, seccomp, sys};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::{iter, mem, ptr};
use libc::{size_t, ssize_t};
use ownpool_core::counts::{Entry, Reason, TOTALS};
use ownpool_core::crng::keystream::Backend;
use ownpool_core::settings::Mode;
use ownpool_core::uniform::uniform;

/// Counts of this process since it started, or since it was forked: calls are
/// requests, bytes are bytes handed out. Where the kernel takes a generator's page
/// back under memory pressure, the counts in it are lost with the page.
///
/// The struct may grow at its end in later versions; ownpool_stats() is told
/// the caller's size and never writes beyond it.
#[allow(non_camel_case_types, reason = "C's name for it")]
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct ownpool_stats {
    /// Threads that were given a private generator.
    pub threads_moved: u64,
    /// Requests that the kernel answered.
    pub kernel_calls: u64,
    /// Bytes of those requests.
    pub kernel_bytes: u64,
    /// Requests that private generators answered.
    pub private_calls: u64,
    /// Bytes of those requests.
    pub private_bytes: u64,
    /// Mode observe: threads that would have been moved.
    pub would_move_threads: u64,
    /// Mode observe: requests that would have been answered privately.
    pub would_move_calls: u64,
    /// Bytes of those requests.
    pub would_move_bytes: u64,
    /// Refills of private generators' buffers.
    pub refills: u64,
    /// Seeds of 32 bytes that the kernel gave to private generators.
    pub reseeds: u64,
}

// The fields are the totals of the process, in their order.
const _: () = assert!(mem::size_of::<ownpool_stats>() == TOTALS.len() * mem::size_of::<u64>());

/// ownpool_fill: fills `dest` with `len` random bytes from this thread's private
/// generator, in every mode. Where there can be none (before the library's
/// constructor, after the thread's destructors, in a signal handler that
/// interrupts another draw, on a kernel that cannot wipe memory on fork) the
/// kernel's bytes are given instead.
///
/// Returns 0, or -1 with errno set: EFAULT if `dest` or its end is no address of a
/// program, or what getrandom(2) says where there is neither a private generator nor a
/// kernel that gives bytes (ENOSYS, EPERM). After -1 the contents of `dest` are
/// not to be used. `len` may be 0; then `dest` is not looked at. Any other `len`
/// is filled whole; only where the kernel answers may it wait, until the kernel's
/// generator is seeded early at boot. An address that faults, faults.
///
/// Thread-safe, async-signal-safe, and safe after fork(2): a child never draws
/// its parent's bytes.
///
/// # Safety
/// `dest` is writable for `len`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ownpool_fill(dest: *mut c_void, len: size_t) -> c_int {
    if len.wrapping_sub(1) < generator::SMALL && policy::is_user_range(dest, len) {
        // SAFETY: ownpool.h wants `dest` good for `len` bytes.
        if unsafe { generator::draw(dest.cast(), len, Entry::Api) } == Draw::Served {
            return 0;
        }
    }
    // SAFETY: ownpool.h wants `dest` good for `len` bytes.
    unsafe { fill_slow(dest.cast(), len) }
}

/// # Safety
/// As [`ownpool_fill`].
#[inline(never)]
unsafe extern "C" fn fill_slow(mut dest: *mut u8, mut len: usize) -> c_int {
    // The whole range first: a length that was computed wrongly is an error, not a
    // good start and a fault.
    if len > 0 && !within_reach(dest, len) {
        next_symbol::set_errno(libc::EFAULT);
        return -1;
    }
    // Longer than any one request may be: piece by piece.
    const PIECE: usize = 1 << 30;
    while len > 0 {
        let now = len.min(PIECE);
        // SAFETY: `now` bytes from `dest` on are what is left of the caller's buffer.
        if unsafe { from_generator(dest, now).is_err() && !from_kernel(dest, now) } {
            return -1;
        }
        // SAFETY: at most the end of the caller's memory.
        dest = unsafe { dest.add(now) };
        len -= now;
    }
    0
}

/// Whether both ends of a range are addresses of a program.
fn within_reach(dest: *mut u8, len: usize) -> bool {
    let last = (dest as usize).checked_add(len.saturating_sub(1));
    last.is_some_and(|last| {
        policy::is_user_range(dest.cast(), 1) && policy::is_user_range(last as *mut c_void, 1)
    })
}

/// Fills from this thread's generator, giving it one if need be. Where that
/// cannot be, the request is counted as the kernel's.
///
/// # Safety
/// `dest` is writable for `len`.
unsafe fn from_generator(dest: *mut u8, len: usize) -> Result<(), Reason> {
    let moved = match generator::standing() {
        Standing::Moved => Ok(()),
        Standing::KernelOnly => Err(Reason::Busy),
        _ if seccomp::confined() => Err(Reason::Confined),
        _ => generator::move_thread().map_err(|_| Reason::Unseeded),
    };
    let call = Call::new(Entry::Api, 0, len);
    let piece = iter::once((dest, len));
    // SAFETY: `piece` lies in the caller's buffer.
    let done = moved.and_then(|()| unsafe { generator::fill(piece, call.entry) });
    if let Err(reason) = done {
        stats::count_kernel(&call, reason);
    }
    done
}

/// Fills from getrandom(2), all of it, or sets errno.
///
/// # Safety
/// `dest` is writable for `len`.
unsafe fn from_kernel(dest: *mut u8, len: usize) -> bool {
    let mut done = 0;
    while done < len {
        // SAFETY: within `dest`.
        match unsafe { sys::getrandom(dest.add(done).cast(), len - done, 0) } {
            Ok(got) => done += got,
            Err(sys::Errno(libc::EINTR)) => {}
            Err(sys::Errno(number)) => {
                next_symbol::set_errno(number);
                return false;
            }
        }
    }
    true
}

/// ownpool_getrandom: getrandom(2) through the policy: as long as this thread
/// asks for little the kernel answers, and when it asks for much, or at a high
/// rate, its private generator does. ownpool_set_mode() changes that.
///
/// Arguments, result (bytes written, which may be fewer than `len` where the
/// kernel answers) and errno are those of getrandom(2); `flags` are 0 or of
/// GRND_NONBLOCK, GRND_RANDOM (always the kernel) and GRND_INSECURE. As
/// getrandom(2) of glibc before 2.41, it is a cancellation point.
///
/// Thread-safe, async-signal-safe, and safe after fork(2).
///
/// # Safety
/// `dest` is writable for `len`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ownpool_getrandom(
    dest: *mut c_void,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: ownpool.h wants `dest` good for `len` bytes.
    unsafe {
        let so_far = policy::draw(dest, len, flags, Entry::Api);
        if so_far == Draw::Served {
            return len as ssize_t;
        }
        match policy::getrandom(dest, flags, Call::new(Entry::Api, 0, len), so_far) {
            Outcome::Served(done) => done as ssize_t,
            Outcome::FallThrough => next_symbol::getrandom(dest, len, flags),
        }
    }
}

/// ownpool_u32: a random number of 32 bits, from this thread's private generator
/// as ownpool_fill().
///
/// There is no error return: it waits until the kernel's generator is seeded,
/// and ends the process by abort(3)'s signal, SIGABRT, with one line on
/// descriptor 2, if getrandom(2) and /dev/urandom are both refused.
///
/// Thread-safe, async-signal-safe, and safe after fork(2).
#[unsafe(no_mangle)]
pub extern "C" fn ownpool_u32() -> u32 {
    match generator::draw_u32(Entry::Api) {
        Some(word) => word,
        None => u64_slow() as u32,
    }
}

/// ownpool_u64: a random number of 64 bits; otherwise as ownpool_u32().
#[unsafe(no_mangle)]
pub extern "C" fn ownpool_u64() -> u64 {
    match generator::draw_u64(Entry::Api) {
        Some(word) => word,
        None => u64_slow(),
    }
}

#[inline(never)]
extern "C" fn u64_slow() -> u64 {
    let mut word = [0; 8];
    // SAFETY: eight bytes of our own.
    unsafe {
        if from_generator(word.as_mut_ptr(), word.len()).is_err() {
            kernel_bytes::fill(word.as_mut_ptr(), word.len());
        }
    }
    u64::from_ne_bytes(word)
}

/// ownpool_uniform: a random number below `upper_bound`, each exactly as likely
/// as any other; 0 for bounds of 0 and 1. Otherwise as ownpool_u32(), which it
/// asks less than twice on average.
#[unsafe(no_mangle)]
pub extern "C" fn ownpool_uniform(upper_bound: u32) -> u32 {
    uniform(upper_bound, || ownpool_u32())
}

/// ownpool_reseed: makes every thread's generator take 32 fresh kernel bytes
/// into its key, and drop what it has buffered, before its next byte.
///
/// Call it when the process's memory may exist twice: in each copy, after a
/// virtual machine or a checkpoint was restored and before anything is drawn.
/// fork(2) needs no call. It returns at once and cannot fail.
///
/// Thread-safe, lock-free and async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn ownpool_reseed() {
    generator::new_epoch();
}

/// ownpool_stats: writes this process's counts, of all threads, to `out`.
///
/// `size` is sizeof(struct ownpool_stats) as the caller was compiled with: that
/// many bytes are written, so an older caller gets the fields that it knows, and
/// fields that this library does not know are zeroed. Returns 0, or -1 with errno
/// EINVAL if `out` is null or `size` is less than 8.
///
/// Thread-safe and async-signal-safe; other threads may be counting meanwhile, so
/// the fields may be a call apart. In a forked child counts start at 0.
///
/// # Safety
/// `out` is null or writable for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ownpool_stats(out: *mut ownpool_stats, size: size_t) -> c_int {
    if out.is_null() || size < mem::size_of::<u64>() {
        next_symbol::set_errno(libc::EINVAL);
        return -1;
    }
    let totals = generator::counts().totals;
    // SAFETY: `size` bytes are the caller's; bytewise, since the caller may have aligned
    // its struct as it likes.
    unsafe {
        ptr::write_bytes(out.cast::<u8>(), 0, size);
        let known = size.min(mem::size_of_val(&totals));
        ptr::copy_nonoverlapping(totals.as_ptr().cast::<u8>(), out.cast::<u8>(), known);
    }
    0
}

/// ownpool_set_mode: changes who is answered by a private generator, for the
/// whole process: "auto", "always", "vdso", "observe" or "off", as OWNPOOL_MODE
/// (see ownpool(7)).
///
/// Returns 0, or -1 with errno EINVAL and the mode as it was. Every thread's next
/// request is decided by the new mode, and its generator reseeds first.
/// ownpool_fill() and the integer functions use the private generator in every
/// mode; ownpool_getrandom() and the libc functions that the library answers are
/// what the mode decides. A call before the library's constructor is undone by it.
///
/// Thread-safe, lock-free and async-signal-safe.
///
/// # Safety
/// `mode` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ownpool_set_mode(mode: *const c_char) -> c_int {
    let name = if mode.is_null() {
        b""
    } else {
        // SAFETY: not null, so it is the C string that ownpool.h wants.
        unsafe { CStr::from_ptr(mode) }.to_bytes()
    };
    match Mode::parse(name) {
        Some(mode) => {
            policy::set_mode(mode);
            0
        }
        None => {
            next_symbol::set_errno(libc::EINVAL);
            -1
        }
    }
}

/// ownpool_mode: the name of the mode in force, one of those that
/// ownpool_set_mode() takes; "off" until the library's constructor has run.
///
/// The string is static: it is not freed. Thread-safe and async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn ownpool_mode() -> *const c_char {
    config::mode().c_name().as_ptr()
}

/// ownpool_version: the library's version and the ChaCha20 backend in use, a
/// string such as "ownpool 0.1.0 (avx512)"; the others are avx2 and sse2.
///
/// The string is static: it is not freed. Thread-safe and async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn ownpool_version() -> *const c_char {
    macro_rules! version {
        ($backend:literal) => {
            concat!("ownpool ", env!("CARGO_PKG_VERSION"), " (", $backend, ")\0").as_bytes()
        };
    }
    let version = match generator::backend() {
        Backend::Avx512 => version!("avx512"),
        Backend::Avx2 => version!("avx2"),
        Backend::Sse2 => version!("sse2"),
        Backend::Soft => version!("soft"),
    };
    version.as_ptr().cast()
}
