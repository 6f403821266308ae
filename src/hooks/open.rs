//! Opens, which hint at descriptors that may be urandom.
//!
//! The variadic opens take their mode as a fixed argument: whether the caller passed one or
//! not, that register is handed on as it came, so the mode of O_CREAT and O_TMPFILE is kept.
//! On 64-bit architectures the names with 64 are the same calls.

use crate::{next_symbol, urandom_fd};
use core::ffi::{c_char, c_int, c_uint};
use libc::FILE;

/// Sets or clears the hint of a descriptor that an open has returned.
#[inline]
fn set_hint(fd: c_int, sounds_random: bool) {
    urandom_fd::hint(fd, sounds_random);
    if sounds_random {
        urandom_fd::suspect_standard(fd);
    }
}

/// Hints a descriptor that an open has just given.
///
/// # Safety
/// `path` is the C string that the open succeeded with, unless `fd` is negative.
#[inline]
unsafe fn opened(fd: c_int, path: *const c_char, flags: c_int) -> c_int {
    if fd >= 0 {
        // The fourth access mode, 3, gives a descriptor for ioctl alone (open(2)).
        let readable = matches!(flags & libc::O_ACCMODE, libc::O_RDONLY | libc::O_RDWR)
            && flags & libc::O_PATH == 0;
        // An open with O_TRUNC is not meant for a device, and may have truncated the file
        // that the path itself was mapped from.
        let readable = readable && flags & libc::O_TRUNC == 0;
        // SAFETY: the open has just succeeded with `path`, so it is a C string.
        set_hint(
            fd,
            readable && unsafe { urandom_fd::sounds_random(path.cast()) },
        );
    }
    fd
}

/// The open family: each is the real function, and a hint by two of its arguments.
macro_rules! opens {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) by $path:ident, $flags:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: the caller's contract; an open that succeeded has read the path.
            unsafe { opened(next_symbol::$name($($arg),*), $path, $flags) }
        }
    )*};
}

opens! {
    /// open(2)
    open(path: *const c_char, flags: c_int, mode: c_uint) by path, flags;
    /// open64
    open64(path: *const c_char, flags: c_int, mode: c_uint) by path, flags;
    /// openat(2)
    openat(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) by path, flags;
    /// openat64
    openat64(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) by path, flags;
    /// open, checked: no mode given
    __open_2(path: *const c_char, flags: c_int) by path, flags;
    /// open64, checked
    __open64_2(path: *const c_char, flags: c_int) by path, flags;
    /// openat, checked
    __openat_2(dir: c_int, path: *const c_char, flags: c_int) by path, flags;
    /// openat64, checked
    __openat64_2(dir: c_int, path: *const c_char, flags: c_int) by path, flags;
}

/// Hints a stream's descriptor: C++ streams and std::random_device read it by read(2).
///
/// # Safety
/// `path` and `mode` are the C strings that fopen succeeded with, unless `stream` is null.
#[inline]
unsafe fn streamed(stream: *mut FILE, path: *const c_char, mode: *const c_char) -> *mut FILE {
    if !stream.is_null() {
        // SAFETY: the caller's contract; libc has read both strings.
        unsafe {
            let fd = next_symbol::fileno(stream);
            if fd >= 0 {
                let readable = *mode.cast::<u8>() == b'r';
                set_hint(fd, readable && urandom_fd::sounds_random(path.cast()));
            }
        }
    }
    stream
}

/// fopen(3)
///
/// # Safety
/// As fopen(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: `path` and `mode` are the program's, for this very function.
    unsafe { streamed(next_symbol::fopen(path, mode), path, mode) }
}

/// fopen64
///
/// # Safety
/// As fopen(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: `path` and `mode` are the program's, for this very function.
    unsafe { streamed(next_symbol::fopen64(path, mode), path, mode) }
}

const _: [unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE; 3] = {
    #[allow(clippy::disallowed_methods, reason = "compared, not called")]
    [fopen, fopen64, libc::fopen]
};
