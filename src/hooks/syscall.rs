//! syscall(2), by which some programs reach getrandom, and prctl(2): both may confine the
//! process.

use super::return_address;
use crate::arch::syscall_stub;
use crate::generator::Draw;
use crate::policy::{self, Outcome};
use crate::stats::Call;
use crate::{next_symbol, seccomp};
use core::ffi::{c_int, c_long, c_uint, c_void};
use libc::size_t;
use ownpool_core::counts::Entry;

syscall_stub! {
    /// syscall(2)
    ///
    /// # Safety
    /// As syscall(2).
    next = next_symbol::pointer::syscall,
    raw = next_symbol::raw_syscall,
    work = syscall_getrandom,
    confined = seccomp::CONFINED,
    dispatch = seccomp::PR_SET_SYSCALL_USER_DISPATCH,
}

unsafe extern "C" fn syscall_getrandom(dest: *mut c_void, len: size_t, flags: c_uint) -> c_long {
    // SAFETY: the caller's contract with getrandom(2).
    unsafe {
        match policy::draw(dest, len, flags, Entry::Syscall) {
            Draw::Served => len as c_long,
            so_far => syscall_getrandom_trampoline(dest, len, flags, so_far),
        }
    }
}

return_address! {
    syscall_getrandom_trampoline(dest: *mut c_void, len: size_t, flags: c_uint, so_far: Draw) -> c_long => syscall_getrandom_slow
}

unsafe extern "C" fn syscall_getrandom_slow(
    dest: *mut c_void,
    len: size_t,
    flags: c_uint,
    so_far: Draw,
    caller: usize,
) -> c_long {
    // SAFETY: the caller's contract with getrandom(2).
    unsafe {
        match policy::getrandom(dest, flags, Call::new(Entry::Syscall, caller, len), so_far) {
            Outcome::Served(done) => done as c_long,
            Outcome::FallThrough => {
                let (dest, len, flags) = (dest as c_long, len as c_long, c_long::from(flags));
                next_symbol::syscall(libc::SYS_getrandom, dest, len, flags, 0, 0, 0)
            }
        }
    }
}

/// prctl(2), to notice a process that confines itself. Variadic in C: the four further
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
    if seccomp::confines(option) {
        seccomp::note_confinement();
    }
    // SAFETY: the arguments are the program's, and go on to the function it called.
    unsafe { next_symbol::prctl(option, a, b, c, d) }
}
