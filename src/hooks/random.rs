//! getrandom and its relatives.

use super::{like_libc, return_address};
use crate::generator::Draw;
use crate::next_symbol;
use crate::policy::{self, Outcome};
use crate::stats::Call;
use core::ffi::{c_int, c_uint, c_void};
use libc::{size_t, ssize_t};
use ownpool_core::counts::Entry;
use ownpool_core::uniform::uniform;

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
        match policy::draw(dest, len, flags, Entry::Getrandom) {
            Draw::Served => len as ssize_t,
            so_far => getrandom_trampoline(dest, len, flags, so_far),
        }
    }
}

return_address! {
    getrandom_trampoline(dest: *mut c_void, len: size_t, flags: c_uint, so_far: Draw) -> ssize_t => getrandom_slow
}

unsafe extern "C" fn getrandom_slow(
    dest: *mut c_void,
    len: size_t,
    flags: c_uint,
    so_far: Draw,
    caller: usize,
) -> ssize_t {
    // SAFETY: the caller's contract with getrandom(2).
    unsafe {
        match policy::getrandom(
            dest,
            flags,
            Call::new(Entry::Getrandom, caller, len),
            so_far,
        ) {
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
            policy::draw(dest, len, 0, Entry::Getentropy)
        } else {
            Draw::Absent
        };
        if so_far == Draw::Served {
            0
        } else {
            getentropy_trampoline(dest, len, so_far)
        }
    }
}

return_address! {
    getentropy_trampoline(dest: *mut c_void, len: size_t, so_far: Draw) -> c_int => getentropy_slow
}

unsafe extern "C" fn getentropy_slow(
    dest: *mut c_void,
    len: size_t,
    so_far: Draw,
    caller: usize,
) -> c_int {
    // SAFETY: the caller's contract with getentropy(3).
    unsafe {
        if len <= 256
            && let Outcome::Served(done) =
                policy::getrandom(dest, 0, Call::new(Entry::Getentropy, caller, len), so_far)
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
    match policy::draw_u32(Entry::Arc4random) {
        Some(word) => word,
        // SAFETY: no preconditions.
        None => unsafe { arc4random_trampoline() },
    }
}

return_address! {
    arc4random_trampoline() -> u32 => arc4random_slow
}

unsafe extern "C" fn arc4random_slow(caller: usize) -> u32 {
    let mut word = [0; 4];
    let (dest, len) = (word.as_mut_ptr().cast(), word.len());
    // SAFETY: four bytes of our own.
    match unsafe {
        policy::getrandom(
            dest,
            0,
            Call::new(Entry::Arc4random, caller, len),
            Draw::Absent,
        )
    } {
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
        match policy::draw(dest, len, 0, Entry::Arc4random) {
            Draw::Served => {}
            so_far => arc4random_buf_trampoline(dest, len, so_far),
        }
    }
}

return_address! {
    arc4random_buf_trampoline(dest: *mut c_void, len: size_t, so_far: Draw) => arc4random_buf_slow
}

unsafe extern "C" fn arc4random_buf_slow(
    dest: *mut c_void,
    len: size_t,
    so_far: Draw,
    caller: usize,
) {
    // SAFETY: the caller's contract with arc4random_buf(3).
    unsafe {
        match policy::getrandom(dest, 0, Call::new(Entry::Arc4random, caller, len), so_far) {
            Outcome::Served(done) if done == len => {}
            _ => next_symbol::arc4random_buf(dest, len),
        }
    }
}

return_address! {
    /// arc4random_uniform(3)
    #[unsafe(no_mangle)]
    arc4random_uniform(upper_bound: u32) -> u32 => arc4random_uniform_slow
}

unsafe extern "C" fn arc4random_uniform_slow(upper_bound: u32, caller: usize) -> u32 {
    uniform(upper_bound, || {
        match policy::draw_u32(Entry::Arc4random) {
            Some(word) => word,
            // SAFETY: no preconditions.
            None => unsafe { arc4random_slow(caller) },
        }
    })
}
