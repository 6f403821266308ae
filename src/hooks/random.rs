//! getrandom and its relatives, and `syscall`, by which some programs reach it.
//!
//! Each comes in two: the exported name with the fast path, and what it jumps to,
//! by way of `who_called`, when that is not enough. A jump, because a call would
//! make the fast path save registers. (`arc4random_uniform`, which may draw more
//! than once, has its fast path behind the jump.)

use super::{like_libc, who_called};
use crate::generator::Take;
use crate::next_symbol;
use crate::policy::{self, Outcome};
use crate::seccomp;
use crate::stats::Door;
use core::ffi::{c_int, c_long, c_uint, c_void};
use libc::{size_t, ssize_t};

like_libc! {
    getrandom: unsafe extern "C" fn(*mut c_void, size_t, c_uint) -> ssize_t;
    getentropy: unsafe extern "C" fn(*mut c_void, size_t) -> c_int;
}

/// getrandom(2)
///
/// # Safety
/// As getrandom(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn getrandom(
    dest: *mut c_void,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: the caller's contract with getrandom(2).
    unsafe {
        match policy::quickly(dest, len, flags, Door::Getrandom) {
            Take::Done => len as ssize_t,
            so_far => getrandom_called(dest, len, flags, so_far),
        }
    }
}

who_called! {
    getrandom_called(dest: *mut c_void, len: size_t, flags: c_uint, so_far: Take) -> ssize_t,
    in "r8" => getrandom_slowly
}

unsafe extern "C" fn getrandom_slowly(
    dest: *mut c_void,
    len: size_t,
    flags: c_uint,
    so_far: Take,
    caller: usize,
) -> ssize_t {
    // SAFETY: the caller's contract with getrandom(2).
    unsafe {
        match policy::getrandom(dest, len, flags, Door::Getrandom, caller, so_far) {
            Outcome::Served(done) => done as ssize_t,
            Outcome::FallThrough => next_symbol::getrandom(dest, len, flags),
        }
    }
}

/// getentropy(3): at most 256 bytes (EIO beyond), all or nothing.
///
/// # Safety
/// As getentropy(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn getentropy(dest: *mut c_void, len: size_t) -> c_int {
    // SAFETY: the caller's contract with getentropy(3).
    unsafe {
        let so_far = if len <= 256 {
            policy::quickly(dest, len, 0, Door::Getentropy)
        } else {
            Take::Absent
        };
        if so_far == Take::Done {
            0
        } else {
            getentropy_called(dest, len, so_far)
        }
    }
}

who_called! {
    getentropy_called(dest: *mut c_void, len: size_t, so_far: Take) -> c_int,
    in "rcx" => getentropy_slowly
}

unsafe extern "C" fn getentropy_slowly(
    dest: *mut c_void,
    len: size_t,
    so_far: Take,
    caller: usize,
) -> c_int {
    // SAFETY: the caller's contract with getentropy(3).
    unsafe {
        if len <= 256
            && let Outcome::Served(done) =
                policy::getrandom(dest, len, 0, Door::Getentropy, caller, so_far)
            && done == len
        {
            return 0;
        }
        next_symbol::getentropy(dest, len)
    }
}

/// arc4random(3)
///
/// # Safety
/// None to keep.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn arc4random() -> u32 {
    match policy::word_quickly(Door::Arc4random) {
        Some(word) => word,
        // SAFETY: no preconditions.
        None => unsafe { arc4random_called() },
    }
}

who_called! {
    arc4random_called() -> u32,
    in "rdi" => arc4random_slowly
}

unsafe extern "C" fn arc4random_slowly(caller: usize) -> u32 {
    let mut word = [0; 4];
    let (dest, len) = (word.as_mut_ptr().cast(), word.len());
    // SAFETY: four bytes of our own.
    match unsafe { policy::getrandom(dest, len, 0, Door::Arc4random, caller, Take::Absent) } {
        Outcome::Served(4) => u32::from_ne_bytes(word),
        // SAFETY: no preconditions.
        _ => unsafe { next_symbol::arc4random() },
    }
}

/// arc4random_buf(3)
///
/// # Safety
/// As arc4random_buf(3).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn arc4random_buf(dest: *mut c_void, len: size_t) {
    // SAFETY: the caller's contract with arc4random_buf(3).
    unsafe {
        match policy::quickly(dest, len, 0, Door::Arc4random) {
            Take::Done => {}
            so_far => arc4random_buf_called(dest, len, so_far),
        }
    }
}

who_called! {
    arc4random_buf_called(dest: *mut c_void, len: size_t, so_far: Take),
    in "rcx" => arc4random_buf_slowly
}

unsafe extern "C" fn arc4random_buf_slowly(
    dest: *mut c_void,
    len: size_t,
    so_far: Take,
    caller: usize,
) {
    // SAFETY: the caller's contract with arc4random_buf(3).
    unsafe {
        match policy::getrandom(dest, len, 0, Door::Arc4random, caller, so_far) {
            Outcome::Served(done) if done == len => {}
            _ => next_symbol::arc4random_buf(dest, len),
        }
    }
}

who_called! {
    /// arc4random_uniform(3)
    #[unsafe(no_mangle)]
    arc4random_uniform(upper_bound: u32) -> u32,
    in "rsi" => arc4random_uniform_from
}

unsafe extern "C" fn arc4random_uniform_from(upper_bound: u32, caller: usize) -> u32 {
    ownpool_core::uniform::uniform(upper_bound, || {
        match policy::word_quickly(Door::Arc4random) {
            Some(word) => word,
            // SAFETY: no preconditions.
            None => unsafe { arc4random_slowly(caller) },
        }
    })
}

/// syscall(2). Only SYS_getrandom is served; seccomp and prctl(PR_SET_SECCOMP)
/// are noted; everything else is handed on untouched, with a jump, so that a
/// raw clone onto a new stack finds nothing of ours on the old one.
///
/// # Safety
/// As syscall(2).
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn syscall() -> c_long {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {getrandom}",
        "je 2f",
        "cmp rdi, {seccomp}",
        "je 3f",
        "cmp rdi, {prctl}",
        "je 4f",
        "5:",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "jmp {work}",
        "3:", // SECCOMP_SET_MODE_STRICT and SECCOMP_SET_MODE_FILTER; higher ones only ask
        "cmp esi, {filter}",
        "ja 5b",
        "mov byte ptr [rip + {confined}], 1",
        "jmp 5b",
        "4:",
        "cmp esi, {set_seccomp}",
        "jne 5b",
        "mov byte ptr [rip + {confined}], 1",
        "jmp 5b",
        ".cfi_endproc",
        getrandom = const libc::SYS_getrandom,
        seccomp = const libc::SYS_seccomp,
        prctl = const libc::SYS_prctl,
        filter = const libc::SECCOMP_SET_MODE_FILTER,
        set_seccomp = const libc::PR_SET_SECCOMP,
        real = sym next_symbol::pointer::syscall,
        work = sym syscall_getrandom,
        confined = sym seccomp::CONFINED,
    )
}

unsafe extern "C" fn syscall_getrandom(dest: *mut c_void, len: size_t, flags: c_uint) -> c_long {
    // SAFETY: the caller's contract with getrandom(2).
    unsafe {
        match policy::quickly(dest, len, flags, Door::Syscall) {
            Take::Done => len as c_long,
            so_far => syscall_getrandom_called(dest, len, flags, so_far),
        }
    }
}

who_called! {
    syscall_getrandom_called(dest: *mut c_void, len: size_t, flags: c_uint, so_far: Take) -> c_long,
    in "r8" => syscall_getrandom_slowly
}

unsafe extern "C" fn syscall_getrandom_slowly(
    dest: *mut c_void,
    len: size_t,
    flags: c_uint,
    so_far: Take,
    caller: usize,
) -> c_long {
    // SAFETY: the caller's contract with getrandom(2).
    unsafe {
        match policy::getrandom(dest, len, flags, Door::Syscall, caller, so_far) {
            Outcome::Served(done) => done as c_long,
            Outcome::FallThrough => {
                let (dest, len, flags) = (dest as c_long, len as c_long, c_long::from(flags));
                next_symbol::syscall(libc::SYS_getrandom, dest, len, flags, 0, 0, 0)
            }
        }
    }
}

/// prctl(2), to notice PR_SET_SECCOMP. Variadic in C: the four further
/// arguments are in their registers all the same.
///
/// # Safety
/// As prctl(2).
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn prctl(
    option: c_int,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        seccomp::note();
    }
    // SAFETY: the caller's contract.
    unsafe { next_symbol::prctl(option, a, b, c, d) }
}
