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

/// A read of a hinted descriptor, if `policy` serves it.
///
/// # Safety
/// As [`policy::read`].
#[inline]
unsafe fn served(fd: c_int, wanted: &impl Pieces, caller: usize) -> Option<ssize_t> {
    // SAFETY: `wanted` names the memory that the program gave for this read.
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

/// Tells the compiler that what calls it is rare, so that the way to the real function
/// stays within one cache line: another one costs 1 to 2 ns after a system call.
#[cold]
#[inline(always)]
fn rare() {}

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

/// The vectors of preadv2(2). An offset of -1 means the file's own position, which the
/// device does not have; any flag is the kernel's to judge.
///
/// # Safety
/// As preadv2(2).
#[inline]
unsafe fn vectors_at<'a>(
    list: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> Option<Vectors<'a>> {
    // SAFETY: `list` and `count` are the program's, as preadv2(2) wants them.
    let wanted = (flags == 0).then(|| unsafe { vectors(list, count) })??;
    (offset == -1 || in_range(offset, wanted.total())).then_some(wanted)
}

/// Exports reads, a row each: name and arguments, of which the first is the descriptor, and
/// the pieces that are asked for, where the kernel would take the request as it is. An
/// unhinted descriptor costs one bit test and a jump to the real function.
macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident($fd:ident: c_int $(, $arg:ident: $type:ty)*) => $pieces:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($fd: c_int $(, $arg: $type)*) -> ssize_t {
            return_address! { trampoline($fd: c_int $(, $arg: $type)*) -> ssize_t => slow }

            unsafe extern "C" fn slow($fd: c_int $(, $arg: $type)*, caller: usize) -> ssize_t {
                // SAFETY: the arguments are the program's, and go on to the function it called.
                unsafe {
                    if let Some(pieces) = $pieces
                        && let Some(done) = served($fd, &pieces, caller)
                    {
                        return done;
                    }
                    next_symbol::$name($fd $(, $arg)*)
                }
            }

            // SAFETY: the arguments are the program's, and go on to the function it called.
            unsafe {
                if urandom_fd::hinted($fd) {
                    rare();
                    trampoline($fd $(, $arg)*)
                } else {
                    next_symbol::$name($fd $(, $arg)*)
                }
            }
        }
    )*};
}

reads! {
    /// read(2)
    read(fd: c_int, dest: *mut c_void, len: size_t) => Some(Whole(dest, len));
    /// read, checked: the real one ends the program when `len` exceeds `room`.
    __read_chk(fd: c_int, dest: *mut c_void, len: size_t, room: size_t)
        => (len <= room).then_some(Whole(dest, len));
    /// pread(2)
    pread(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t)
        => in_range(offset, len).then_some(Whole(dest, len));
    /// pread64
    pread64(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t)
        => in_range(offset, len).then_some(Whole(dest, len));
    /// pread, checked
    __pread_chk(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t)
        => (len <= room && in_range(offset, len)).then_some(Whole(dest, len));
    /// pread64, checked
    __pread64_chk(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t)
        => (len <= room && in_range(offset, len)).then_some(Whole(dest, len));
    /// readv(2)
    readv(fd: c_int, list: *const iovec, count: c_int) => vectors(list, count);
    /// preadv(2)
    preadv(fd: c_int, list: *const iovec, count: c_int, offset: off_t)
        => vectors(list, count).filter(|wanted| in_range(offset, wanted.total()));
    /// preadv64
    preadv64(fd: c_int, list: *const iovec, count: c_int, offset: off_t)
        => vectors(list, count).filter(|wanted| in_range(offset, wanted.total()));
    /// preadv2(2)
    preadv2(fd: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int)
        => vectors_at(list, count, offset, flags);
    /// preadv64v2
    preadv64v2(fd: c_int, list: *const iovec, count: c_int, offset: off_t, flags: c_int)
        => vectors_at(list, count, offset, flags);
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
