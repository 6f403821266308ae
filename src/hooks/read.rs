//! Reads of descriptors that were hinted at.
//!
//! Promises: a read of any other descriptor costs one bit test and a jump. On 64-bit
//! architectures the names with 64 are the same calls.

use super::{like_libc, return_address};
use crate::policy::{self, Outcome, Pieces, Vectors, Whole};
use crate::{config, next_symbol, urandom_fd};
use core::ffi::{c_int, c_void};
use core::slice;
use libc::{iovec, off_t, size_t, ssize_t};
use ownpool_core::settings::Mode;

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
/// function, a hinted one goes on to `$work` by way of `$trampoline`.
macro_rules! read_hook {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*), $trampoline:ident => $work:path) => {
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
                    $trampoline($($arg),*)
                } else {
                    next_symbol::$name($($arg),*)
                }
            }
        }
        return_address! { $trampoline($($arg: $type),*) -> ssize_t => $work }
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
    read(fd: c_int, dest: *mut c_void, len: size_t), read_trampoline => read_slow
}

unsafe extern "C" fn read_slow(
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
    __read_chk(fd: c_int, dest: *mut c_void, len: size_t, room: size_t), read_chk_trampoline => read_chk_slow
}

unsafe extern "C" fn read_chk_slow(
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
    ($($(#[$doc:meta])* $name:ident, $trampoline:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t), $trampoline => $work
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
    pread, pread_trampoline, pread_slow;
    /// pread64
    pread64, pread64_trampoline, pread64_slow;
}

/// The checked preads.
macro_rules! checked_preads {
    ($($(#[$doc:meta])* $name:ident, $trampoline:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t), $trampoline => $work
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
    __pread_chk, pread_chk_trampoline, pread_chk_slow;
    /// pread64, checked
    __pread64_chk, pread64_chk_trampoline, pread64_chk_slow;
}

/// The vectors of a hinted descriptor's read, if they are ones that can be looked at
/// here: 1 to 1,024 of them (IOV_MAX), in user memory, and none of them in memory that is
/// read into. The kernel copies the list before it writes; without a copy, later vectors
/// would be found overwritten.
///
/// # Safety
/// As readv(2).
#[inline]
unsafe fn vectors<'a>(vectors: *const iovec, count: c_int) -> Option<Vectors<'a>> {
    if config::mode() == Mode::Off {
        return None;
    }
    let count = usize::try_from(count)
        .ok()
        .filter(|count| (1..=1024).contains(count))?;
    let size = count * size_of::<iovec>();
    if !policy::is_user_range(vectors.cast_mut().cast(), size) || !vectors.is_aligned() {
        return None;
    }
    let start = vectors as usize;
    // SAFETY: the caller's contract; what the kernel would refuse outright is left to it.
    let list = unsafe { slice::from_raw_parts(vectors, count) };
    let beside = list.iter().all(|vector| {
        let dest = vector.iov_base as usize;
        dest >= start + size || dest.saturating_add(vector.iov_len) <= start
    });
    beside.then_some(Vectors(list))
}

read_hook! {
    /// readv(2)
    readv(fd: c_int, list: *const iovec, count: c_int), readv_trampoline => readv_slow
}

unsafe extern "C" fn readv_slow(
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
    ($($(#[$doc:meta])* $name:ident, $trampoline:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, list: *const iovec, count: c_int, offset: off_t), $trampoline => $work
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
    preadv, preadv_trampoline, preadv_slow;
    /// preadv64
    preadv64, preadv64_trampoline, preadv64_slow;
}

/// The preadv2 family. An offset of -1 means the file's own position, which the
/// device does not have; any flag is the kernel's to judge.
macro_rules! preadv2s {
    ($($(#[$doc:meta])* $name:ident, $trampoline:ident, $work:ident;)*) => {$(
        read_hook! {
            $(#[$doc])*
            $name(fd: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int), $trampoline => $work
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
    preadv2, preadv2_trampoline, preadv2_slow;
    /// preadv64v2
    preadv64v2, preadv64v2_trampoline, preadv64v2_slow;
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
