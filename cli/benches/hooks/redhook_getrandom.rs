//! The same hook made with the `redhook` crate, for comparison.
//!
//! The library does not use it: it needs std, takes a `Once` in every call and
//! panics in the host where a symbol is missing. What that costs a call is
//! measured by `benches/hooks`.

#![allow(
    missing_docs,
    reason = "the macro makes items that cannot be commented"
)]

use core::ffi::{c_uint, c_void};

redhook::hook! {
    unsafe fn getrandom(dest: *mut c_void, len: usize, flags: c_uint) -> isize => through_redhook {
        // SAFETY: the caller's contract with getrandom(2) is passed on.
        unsafe { redhook::real!(getrandom)(dest, len, flags) }
    }
}
