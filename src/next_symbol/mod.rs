//! The next definition of every function that we stand in front of.
//!
//! Promises: every name can be called at any time, from the first instruction
//! of the process on. Until `init` has looked the names up, and for names that
//! this libc lacks, they go to the kernel directly ([`before_lookup`]). Nothing is looked
//! up later (but for fopen before the constructor), so no hook can allocate or
//! lock in a lookup. Must never go through
//! the PLT: the program may define a function of the same name.
//!
//! The macro keeps one name of the `redhook` crate, `real!`. The
//! crate itself is refused: it needs std, takes a `Once` in every hook (which
//! deadlocks when a signal handler re-enters it), and aborts the host when a
//! name is missing.

mod before_lookup;

pub(crate) use before_lookup::{set_errno, syscall as raw_syscall};

use crate::loaded_image::Image;
use crate::loaded_image::files::each_loaded;
use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use libc::{FILE, iovec, off_t, size_t, ssize_t};

/// Declares the real functions: for each a pointer, a function that calls through it, and a
/// row for [`resolve`]. A pointer is null until its name is found, and means [`before_lookup`] then. Null,
/// and not the address of a function, which would be one only when the loader has relocated
/// us: an IFUNC resolver of another library may call a hook before that.
macro_rules! real {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
        /// Where each name leads now.
        #[allow(non_upper_case_globals, reason = "they are named after the functions")]
        pub(crate) mod pointer {
            use super::*;
            $(pub(crate) static $name: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());)*
        }
        $($(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name.
        #[inline(always)]
        pub(crate) unsafe fn $name($($arg: $type),*) $(-> $ret)? {
            type Function = unsafe extern "C" fn($($type),*) $(-> $ret)?;
            let found = pointer::$name.load(Relaxed);
            if found.is_null() {
                // SAFETY: the arguments are those of the function of this name.
                return unsafe { before_lookup::$name($($arg),*) };
            }
            // SAFETY: the pointer is libc's function of this name and type.
            unsafe { transmute::<*mut (), Function>(found)($($arg),*) }
        })*
        static NAMES: &[(&CStr, &AtomicPtr<()>)] = &[$((
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
            &pointer::$name,
        ),)*];
    };
}

real! {
    /// getrandom(2)
    getrandom(dest: *mut c_void, len: size_t, flags: c_uint) -> ssize_t;
    /// getentropy(3)
    getentropy(dest: *mut c_void, len: size_t) -> c_int;
    /// arc4random(3), glibc 2.36
    arc4random() -> u32;
    /// arc4random_buf(3), glibc 2.36
    arc4random_buf(dest: *mut c_void, len: size_t);
    /// syscall(2)
    syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long;
    /// prctl(2)
    prctl(option: c_int, a: c_long, b: c_long, c: c_long, d: c_long) -> c_int;
    /// open(2). Variadic in C: the third argument is in its register all the same.
    open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    /// open64, the same on x86-64
    open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    /// openat(2), variadic as open
    openat(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    /// openat64, the same on x86-64
    openat64(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    /// open without a mode, checked (_FORTIFY_SOURCE)
    __open_2(path: *const c_char, flags: c_int) -> c_int;
    /// open64 without a mode, checked
    __open64_2(path: *const c_char, flags: c_int) -> c_int;
    /// openat without a mode, checked
    __openat_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int;
    /// openat64 without a mode, checked
    __openat64_2(dir: c_int, path: *const c_char, flags: c_int) -> c_int;
    /// fopen(3)
    fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    /// fopen64, the same on x86-64
    fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE;
    /// fileno(3)
    fileno(stream: *mut FILE) -> c_int;
    /// read(2)
    read(fd: c_int, dest: *mut c_void, len: size_t) -> ssize_t;
    /// read into a buffer of a known size
    __read_chk(fd: c_int, dest: *mut c_void, len: size_t, room: size_t) -> ssize_t;
    /// pread(2)
    pread(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t) -> ssize_t;
    /// pread64, the same on x86-64
    pread64(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t) -> ssize_t;
    /// pread into a buffer of a known size
    __pread_chk(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t) -> ssize_t;
    /// pread64 into a buffer of a known size
    __pread64_chk(fd: c_int, dest: *mut c_void, len: size_t, offset: off_t, room: size_t) -> ssize_t;
    /// readv(2)
    readv(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t;
    /// preadv(2)
    preadv(fd: c_int, vectors: *const iovec, count: c_int, offset: off_t) -> ssize_t;
    /// preadv64, the same on x86-64
    preadv64(fd: c_int, vectors: *const iovec, count: c_int, offset: off_t) -> ssize_t;
    /// preadv2(2), glibc 2.26
    preadv2(fd: c_int, vectors: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t;
    /// preadv64v2, the same on x86-64
    preadv64v2(fd: c_int, vectors: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t;
    /// gnu_get_libc_version(3); null without glibc
    gnu_get_libc_version() -> *const c_char;
    /// pthread_testcancel(3)
    pthread_testcancel();
    /// pthread_key_create(3)
    pthread_key_create(key: *mut c_uint, end: unsafe extern "C" fn(*mut c_void)) -> c_int;
    /// pthread_setspecific(3)
    pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
    /// What pthread_atfork(3) calls
    __register_atfork(
        before: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
        dso: *mut c_void
    ) -> c_int;
}

/// Lets the thread be cancelled here if that was asked for. May not return.
#[inline]
pub(crate) fn testcancel() {
    // SAFETY: no preconditions; frames from here to the caller hold nothing.
    unsafe { pthread_testcancel() }
}

/// Looks every name up, once: in the images after us, as RTLD_NEXT does, or, if we were
/// loaded by dlopen and libc stands before us, in those, the program itself excepted.
pub(crate) fn resolve() {
    const { assert!(NAMES.len() < u64::BITS as usize) };
    let own = resolve as *const () as usize;
    // The vDSO has functions of libc's names too.
    // SAFETY: getauxval has no preconditions.
    let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    // A bit a name: still to be found after us, and found before us for want of a later one.
    let (mut missing, mut early) = ((1u64 << NAMES.len()) - 1, 0u64);
    let mut passed = false;
    each_loaded(|file| {
        let ourselves = file.holds(own);
        passed |= ourselves;
        let Some(dynamic) = file.dynamic() else {
            return false;
        };
        if ourselves || file.number == 0 || file.holds(vdso) {
            return false;
        }
        // SAFETY: the loader's own record of a loaded image.
        let image = unsafe { Image::new(file.bias, dynamic) };
        for (number, (name, pointer)) in NAMES.iter().enumerate() {
            let bit = 1u64 << number;
            if missing & bit == 0 || (!passed && early & bit != 0) {
                continue;
            }
            if let Some(address) = image.function(name) {
                pointer.store(address.get() as *mut (), Relaxed);
                match passed {
                    true => missing &= !bit,
                    false => early |= bit,
                }
            }
        }
        false
    });
}
