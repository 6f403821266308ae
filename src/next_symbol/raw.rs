//! What stands in for a libc function before it is looked up, or where this
//! libc lacks it: the system call itself.
//!
//! Promises: results and errno as libc would give them. Must never be used once
//! the real function is known: these are no cancellation points.

use crate::sys::{self, Errno};
use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use libc::{FILE, iovec, off_t, size_t, ssize_t};

/// A kernel result in libc's form.
fn answer(result: Result<usize, Errno>) -> ssize_t {
    match result {
        Ok(value) => value as ssize_t,
        Err(Errno(number)) => {
            set_errno(number);
            -1
        }
    }
}

/// Sets errno.
pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the address of this thread's errno.
    unsafe { *libc::__errno_location() = number };
}

pub(super) unsafe extern "C" fn getrandom(
    dest: *mut c_void,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: the caller's contract.
    answer(unsafe { sys::getrandom(dest, len, flags) })
}

/// getentropy(3): at most 256 bytes, all or nothing.
pub(super) unsafe extern "C" fn getentropy(dest: *mut c_void, len: size_t) -> c_int {
    if len > 256 {
        set_errno(libc::EIO);
        return -1;
    }
    // Up to 256 bytes are never cut short once the kernel is seeded (getrandom(2)).
    // SAFETY: the caller's contract.
    if answer(unsafe { sys::getrandom(dest, len, 0) }) == len as ssize_t {
        0
    } else {
        -1
    }
}

pub(super) unsafe extern "C" fn arc4random() -> u32 {
    let mut word = [0; 4];
    // SAFETY: four bytes of our own.
    unsafe { crate::kernel_bytes::fill(word.as_mut_ptr(), word.len()) };
    u32::from_ne_bytes(word)
}

pub(super) unsafe extern "C" fn arc4random_buf(dest: *mut c_void, len: size_t) {
    // SAFETY: the caller's contract.
    unsafe { crate::kernel_bytes::fill(dest.cast(), len) };
}

#[rustfmt::skip]
pub(super) unsafe extern "C" fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long {
    // SAFETY: the caller's contract.
    answer(unsafe { sys::call(number, [a, b, c, d, e, f].map(|argument| argument as usize)) }) as c_long
}

pub(super) unsafe extern "C" fn prctl(
    option: c_int,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { syscall(libc::SYS_prctl, c_long::from(option), a, b, c, d, 0) as c_int }
}

pub(super) unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { openat(libc::AT_FDCWD, path, flags, mode) }
}
pub(super) use open as open64;

pub(super) unsafe extern "C" fn openat(
    dir: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    let arguments = [
        dir as usize,
        path as usize,
        flags as usize,
        mode as usize,
        0,
        0,
    ];
    // SAFETY: the caller's contract.
    answer(unsafe { sys::call(libc::SYS_openat, arguments) }) as c_int
}
pub(super) use openat as openat64;

/// The checked forms end the process when a mode is missing; so early, and only
/// then, the check is left out.
pub(super) unsafe extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { openat(libc::AT_FDCWD, path, flags, 0) }
}
pub(super) use __open_2 as __open64_2;

pub(super) unsafe extern "C" fn __openat_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { openat(dir, path, flags, 0) }
}
pub(super) use __openat_2 as __openat64_2;

/// Streams cannot be made without libc: look everything up now.
pub(super) unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
    super::resolve();
    if core::ptr::eq(
        super::pointer::fopen.load(super::Relaxed),
        fopen as *const (),
    ) {
        set_errno(libc::ENOSYS);
        return core::ptr::null_mut();
    }
    // SAFETY: the caller's contract.
    unsafe { super::fopen(path, mode) }
}
pub(super) use fopen as fopen64;

pub(super) unsafe extern "C" fn fileno(_stream: *mut FILE) -> c_int {
    -1
}

pub(super) unsafe extern "C" fn read(fd: c_int, dest: *mut c_void, len: size_t) -> ssize_t {
    // SAFETY: the caller's contract.
    answer(unsafe { sys::call(libc::SYS_read, [fd as usize, dest as usize, len, 0, 0, 0]) })
}

/// The checked forms end the process when the buffer is too small. So early, a
/// read that would overflow is cut to the room there is.
pub(super) unsafe extern "C" fn __read_chk(
    fd: c_int,
    dest: *mut c_void,
    len: size_t,
    room: size_t,
) -> ssize_t {
    // SAFETY: the caller's contract.
    unsafe { read(fd, dest, len.min(room)) }
}

pub(super) unsafe extern "C" fn pread(
    fd: c_int,
    dest: *mut c_void,
    len: size_t,
    offset: off_t,
) -> ssize_t {
    let arguments = [fd as usize, dest as usize, len, offset as usize, 0, 0];
    // SAFETY: the caller's contract.
    answer(unsafe { sys::call(libc::SYS_pread64, arguments) })
}
pub(super) use pread as pread64;

#[rustfmt::skip]
pub(super) unsafe extern "C" fn __pread_chk(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t) -> ssize_t {
    // SAFETY: the caller's contract.
    unsafe { pread(fd, dest, len.min(room), offset) }
}
pub(super) use __pread_chk as __pread64_chk;

pub(super) unsafe extern "C" fn readv(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t {
    let arguments = [fd as usize, vectors as usize, count as usize, 0, 0, 0];
    // SAFETY: the caller's contract.
    answer(unsafe { sys::call(libc::SYS_readv, arguments) })
}

pub(super) unsafe extern "C" fn preadv(
    fd: c_int,
    vectors: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    let arguments = [
        fd as usize,
        vectors as usize,
        count as usize,
        offset as usize,
        0,
        0,
    ];
    // SAFETY: the caller's contract.
    answer(unsafe { sys::call(libc::SYS_preadv, arguments) })
}
pub(super) use preadv as preadv64;

#[rustfmt::skip]
pub(super) unsafe extern "C" fn preadv2(fd: c_int, vectors: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t {
    let arguments = [fd as usize, vectors as usize, count as usize, offset as usize, 0, flags as usize];
    // SAFETY: the caller's contract.
    answer(unsafe { sys::call(libc::SYS_preadv2, arguments) })
}
pub(super) use preadv2 as preadv64v2;

/// Another libc.
pub(super) unsafe extern "C" fn gnu_get_libc_version() -> *const c_char {
    core::ptr::null()
}

/// Without libpthread no thread can be cancelled.
pub(super) unsafe extern "C" fn pthread_testcancel() {}

/// Nothing to register with: the caller does without.
pub(super) unsafe extern "C" fn pthread_key_create(
    _key: *mut c_uint,
    _end: unsafe extern "C" fn(*mut c_void),
) -> c_int {
    libc::ENOSYS
}

pub(super) unsafe extern "C" fn pthread_setspecific(_key: c_uint, _value: *const c_void) -> c_int {
    libc::ENOSYS
}

#[rustfmt::skip]
pub(super) unsafe extern "C" fn __register_atfork(_before: Option<unsafe extern "C" fn()>, _parent: Option<unsafe extern "C" fn()>, _child: Option<unsafe extern "C" fn()>, _dso: *mut c_void) -> c_int {
    libc::ENOSYS
}
