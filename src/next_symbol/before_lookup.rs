//! What stands in for a libc function before it is looked up, or where this
//! libc lacks it: the system call itself.
//!
//! Promises: results and errno as libc would give them. Must never be used once
//! the real function is known: these are no cancellation points.

use crate::sys::{self, Errno, kernel_call};
use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
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

/// A word that the loader fills in when it relocates this library, before any name of another
/// one is bound: until then no function of libc can be called.
static RELOCATED: AtomicPtr<()> = AtomicPtr::new(is_relocated as *mut ());

fn is_relocated() -> bool {
    !RELOCATED.load(Relaxed).is_null()
}

/// Sets errno, if there is one yet.
pub(crate) fn set_errno(number: c_int) {
    if is_relocated() {
        // SAFETY: the address of this thread's errno.
        unsafe { *libc::__errno_location() = number };
    }
}

/// getentropy(3): at most 256 bytes, all or nothing.
pub(super) unsafe extern "C" fn getentropy(dest: *mut c_void, len: size_t) -> c_int {
    if len > 256 {
        set_errno(libc::EIO);
        return -1;
    }
    // Up to 256 bytes are never cut short once the kernel is seeded (getrandom(2)).
    // SAFETY: getentropy(3) wants `dest` good for `len` bytes.
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
    // SAFETY: arc4random_buf(3) wants `dest` good for `len` bytes.
    unsafe { crate::kernel_bytes::fill(dest.cast(), len) };
}

/// Functions a row each: a system call, another function of these, or a constant.
macro_rules! raw {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $ret:ty = $work:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            #[allow(unused_unsafe, reason = "some are constants")]
            // SAFETY: the arguments are those of the call of this name.
            unsafe {
                $work
            }
        }
    )*};
}

raw! {
    getrandom(dest: *mut c_void, len: size_t, flags: c_uint) -> ssize_t = answer(sys::getrandom(dest, len, flags));
    syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long
        = answer(sys::call(number, [a, b, c, d, e, f].map(|argument| argument as usize))) as c_long;
    prctl(option: c_int, a: c_long, b: c_long, c: c_long, d: c_long) -> c_int
        = answer(kernel_call!(SYS_prctl, option, a, b, c, d)) as c_int;
    open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int = openat(libc::AT_FDCWD, path, flags, mode);
    openat(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int
        = answer(kernel_call!(SYS_openat, dir, path, flags, mode)) as c_int;
    /// The checked forms end the process when a mode is missing; so early, and only then,
    /// the check is left out.
    __open_2(path: *const c_char, flags: c_int) -> c_int = openat(libc::AT_FDCWD, path, flags, 0);
    __openat_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int = openat(dir, path, flags, 0);
    fileno(_stream: *mut FILE) -> c_int = -1;
    read(fd: c_int, dest: *mut c_void, len: size_t) -> ssize_t = answer(kernel_call!(SYS_read, fd, dest, len));
    /// The checked forms end the process when the buffer is too small. So early, a read that
    /// would overflow is cut to the room there is.
    __read_chk(fd: c_int, dest: *mut c_void, len: size_t, room: size_t) -> ssize_t = read(fd, dest, len.min(room));
    pread(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t) -> ssize_t
        = answer(kernel_call!(SYS_pread64, fd, dest, len, offset));
    __pread_chk(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t) -> ssize_t
        = pread(fd, dest, len.min(room), offset);
    readv(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t = answer(kernel_call!(SYS_readv, fd, vectors, count));
    preadv(fd: c_int, vectors: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = answer(kernel_call!(SYS_preadv, fd, vectors, count, offset));
    preadv2(fd: c_int, vectors: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        = answer(kernel_call!(SYS_preadv2, fd, vectors, count, offset, 0, flags));
    /// Another libc.
    gnu_get_libc_version() -> *const c_char = ptr::null();
    /// Without libpthread no thread can be cancelled.
    pthread_testcancel() -> () = ();
    /// Nothing to register with: the caller does without.
    pthread_key_create(_key: *mut c_uint, _end: unsafe extern "C" fn(*mut c_void)) -> c_int = libc::ENOSYS;
    pthread_setspecific(_key: c_uint, _value: *const c_void) -> c_int = libc::ENOSYS;
    __register_atfork(
        _before: Option<unsafe extern "C" fn()>,
        _parent: Option<unsafe extern "C" fn()>,
        _child: Option<unsafe extern "C" fn()>,
        _dso: *mut c_void
    ) -> c_int = libc::ENOSYS;
}

// On 64-bit architectures these are the same calls.
pub(super) use {
    __open_2 as __open64_2, __openat_2 as __openat64_2, __pread_chk as __pread64_chk,
    fopen as fopen64, open as open64, openat as openat64, pread as pread64, preadv as preadv64,
    preadv2 as preadv64v2,
};

/// Streams cannot be made without libc: look everything up now.
pub(super) unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
    if is_relocated() {
        super::resolve();
    }
    if super::pointer::fopen.load(Relaxed).is_null() {
        set_errno(libc::ENOSYS);
        return ptr::null_mut();
    }
    // SAFETY: libc's is known, and the arguments are the program's.
    unsafe { super::fopen(path, mode) }
}
