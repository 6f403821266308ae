//! Opens, which hint at descriptors that may be urandom, and reads of those.
//!
//! The variadic opens take their mode as a fixed argument: whether the caller
//! passed one or not, that register is handed on as it came, so the mode of
//! O_CREAT and O_TMPFILE is kept. On x86-64 the names with 64 are the same calls.

use super::{like_libc, who_called};
use crate::policy::{self, Outcome, Pieces, Vectors, Whole};
use crate::{next_symbol, urandom_fd};
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::slice;
use libc::{FILE, iovec, off_t, size_t, ssize_t};

/// What an open has given may be urandom, or is not.
#[inline]
fn found(fd: c_int, sounds_random: bool) {
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
        // Who truncates wants no device, and may have truncated the file that the
        // path itself was mapped from.
        let readable = readable && flags & libc::O_TRUNC == 0;
        // SAFETY: the caller's contract.
        found(
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
                found(fd, readable && urandom_fd::sounds_random(path.cast()));
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
    // SAFETY: the caller's contract.
    unsafe { streamed(next_symbol::fopen(path, mode), path, mode) }
}

/// fopen64
///
/// # Safety
/// As fopen(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller's contract.
    unsafe { streamed(next_symbol::fopen64(path, mode), path, mode) }
}

const _: [unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE; 3] = {
    #[allow(clippy::disallowed_methods, reason = "compared, not called")]
    [fopen, fopen64, libc::fopen]
};

/// A read of a hinted descriptor, if `serve` answers it.
///
/// # Safety
/// As [`policy::read`].
#[inline]
unsafe fn served(fd: c_int, wanted: &impl Pieces, caller: usize) -> Option<ssize_t> {
    // SAFETY: the caller's contract.
    match unsafe { policy::read(fd, wanted, caller) } {
        Outcome::Served(done) => Some(done as ssize_t),
        Outcome::FallThrough => None,
    }
}

/// Whether a read of `len` bytes from `offset` on is one that the kernel would
/// take: not negative, and no overflow at the end.
fn in_range(offset: off_t, len: size_t) -> bool {
    offset >= 0 && off_t::try_from(len).is_ok_and(|len| offset.checked_add(len).is_some())
}

/// Exports a read: an unhinted descriptor costs one bit test and a jump to the real
/// function, a hinted one goes on to `$work` by way of `$called`.
macro_rules! read_hook {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*), in $register:literal => $called:ident => $work:path) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> ssize_t {
            // SAFETY: the caller's contract.
            unsafe {
                if read_hook!(@first $($arg),*) {
                    rare();
                    $called($($arg),*)
                } else {
                    next_symbol::$name($($arg),*)
                }
            }
        }
        who_called! { $called($($arg: $type),*) -> ssize_t, in $register => $work }
    };
    (@first $fd:ident $(, $arg:ident)*) => { urandom_fd::hinted($fd) };
}

/// Tells the compiler that what calls it is rare, so that the way to the real function
/// stays within one cache line: another one costs 1 to 2 ns after a system call.
#[cold]
#[inline(always)]
fn rare() {}

read_hook! {
    /// read(2)
    read(fd: c_int, dest: *mut c_void, len: size_t), in "rcx" => read_called => read_from
}

unsafe extern "C" fn read_from(
    fd: c_int,
    dest: *mut c_void,
    len: size_t,
    caller: usize,
) -> ssize_t {
    // SAFETY: the caller's contract with read(2).
    unsafe {
        if let Some(done) = served(fd, &Whole(dest, len), caller) {
            return done;
        }
        next_symbol::read(fd, dest, len)
    }
}

read_hook! {
    /// read, checked: the real one ends the program when `len` exceeds `room`.
    __read_chk(fd: c_int, dest: *mut c_void, len: size_t, room: size_t), in "r8" => read_chk_called => read_chk_from
}

unsafe extern "C" fn read_chk_from(
    fd: c_int,
    dest: *mut c_void,
    len: size_t,
    room: size_t,
    caller: usize,
) -> ssize_t {
    // SAFETY: the caller's contract with read(2).
    unsafe {
        if len <= room
            && let Some(done) = served(fd, &Whole(dest, len), caller)
        {
            return done;
        }
        next_symbol::__read_chk(fd, dest, len, room)
    }
}

/// The pread family.
macro_rules! preads {
    ($($(#[$doc:meta])* $name:ident, $called:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t), in "r8" => $called => $work
        }

        unsafe extern "C" fn $work(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, caller: usize) -> ssize_t {
            // SAFETY: the caller's contract with pread(2).
            unsafe {
                if in_range(offset, len)
                    && let Some(done) = served(fd, &Whole(dest, len), caller)
                {
                    return done;
                }
                next_symbol::$name(fd, dest, len, offset)
            }
        }
    )*};
}

preads! {
    /// pread(2)
    pread, pread_called, pread_from;
    /// pread64
    pread64, pread64_called, pread64_from;
}

/// The checked preads.
macro_rules! checked_preads {
    ($($(#[$doc:meta])* $name:ident, $called:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t), in "r9" => $called => $work
        }

        unsafe extern "C" fn $work(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t, caller: usize) -> ssize_t {
            // SAFETY: the caller's contract with pread(2).
            unsafe {
                if len <= room
                    && in_range(offset, len)
                    && let Some(done) = served(fd, &Whole(dest, len), caller)
                {
                    return done;
                }
                next_symbol::$name(fd, dest, len, offset, room)
            }
        }
    )*};
}

checked_preads! {
    /// pread, checked: the real one ends the program when `len` exceeds `room`.
    __pread_chk, pread_chk_called, pread_chk_from;
    /// pread64, checked
    __pread64_chk, pread64_chk_called, pread64_chk_from;
}

/// The vectors of a hinted descriptor's read, if they are ones that can be looked
/// at here: 1 to 1,024 of them (IOV_MAX) at a place where user memory can be, and
/// none of which is read into. The kernel copies the list before it writes; we,
/// who do not, would find the later vectors overwritten.
///
/// # Safety
/// As readv(2).
#[inline]
unsafe fn vectors<'a>(vectors: *const iovec, count: c_int) -> Option<Vectors<'a>> {
    if policy::off() {
        return None;
    }
    let count = usize::try_from(count)
        .ok()
        .filter(|count| (1..=1024).contains(count))?;
    let size = count * size_of::<iovec>();
    if !policy::plain(vectors.cast_mut().cast(), size) || !vectors.is_aligned() {
        return None;
    }
    let start = vectors as usize;
    // SAFETY: the caller's contract; what the kernel would refuse outright is left to it.
    let list = unsafe { slice::from_raw_parts(vectors, count) };
    let apart = list.iter().all(|vector| {
        let dest = vector.iov_base as usize;
        dest >= start + size || dest.saturating_add(vector.iov_len) <= start
    });
    apart.then_some(Vectors(list))
}

read_hook! {
    /// readv(2)
    readv(fd: c_int, list: *const iovec, count: c_int), in "rcx" => readv_called => readv_from
}

unsafe extern "C" fn readv_from(
    fd: c_int,
    list: *const iovec,
    count: c_int,
    caller: usize,
) -> ssize_t {
    // SAFETY: the caller's contract with readv(2).
    unsafe {
        if let Some(wanted) = vectors(list, count)
            && let Some(done) = served(fd, &wanted, caller)
        {
            return done;
        }
        next_symbol::readv(fd, list, count)
    }
}

/// The preadv family.
macro_rules! preadvs {
    ($($(#[$doc:meta])* $name:ident, $called:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, list: *const iovec, count: c_int, offset: off_t), in "r8" => $called => $work
        }

        unsafe extern "C" fn $work(fd: c_int, list: *const iovec, count: c_int, offset: off_t, caller: usize) -> ssize_t {
            // SAFETY: the caller's contract with preadv(2).
            unsafe {
                if let Some(wanted) = vectors(list, count)
                    && in_range(offset, wanted.total())
                    && let Some(done) = served(fd, &wanted, caller)
                {
                    return done;
                }
                next_symbol::$name(fd, list, count, offset)
            }
        }
    )*};
}

preadvs! {
    /// preadv(2)
    preadv, preadv_called, preadv_from;
    /// preadv64
    preadv64, preadv64_called, preadv64_from;
}

/// The preadv2 family. An offset of -1 means the file's own position, which the
/// device does not have; any flag is the kernel's to judge.
macro_rules! preadv2s {
    ($($(#[$doc:meta])* $name:ident, $called:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int), in "r9" => $called => $work
        }

        unsafe extern "C" fn $work(fd: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int, caller: usize) -> ssize_t {
            // SAFETY: the caller's contract with preadv2(2).
            unsafe {
                if flags == 0
                    && let Some(wanted) = vectors(list, count)
                    && (offset == -1 || in_range(offset, wanted.total()))
                    && let Some(done) = served(fd, &wanted, caller)
                {
                    return done;
                }
                next_symbol::$name(fd, list, count, offset, flags)
            }
        }
    )*};
}

preadv2s! {
    /// preadv2(2)
    preadv2, preadv2_called, preadv2_from;
    /// preadv64v2
    preadv64v2, preadv64v2_called, preadv64v2_from;
}

like_libc! {
    read: unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t;
    pread: unsafe extern "C" fn(c_int, *mut c_void, size_t, off_t) -> ssize_t;
    pread64: unsafe extern "C" fn(c_int, *mut c_void, size_t, off_t) -> ssize_t;
    readv: unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t;
    preadv: unsafe extern "C" fn(c_int, *const iovec, c_int, off_t) -> ssize_t;
    preadv64: unsafe extern "C" fn(c_int, *const iovec, c_int, off_t) -> ssize_t;
    preadv2: unsafe extern "C" fn(c_int, *const iovec, c_int, off_t, c_int) -> ssize_t;
    preadv64v2: unsafe extern "C" fn(c_int, *const iovec, c_int, off_t, c_int) -> ssize_t;
}
