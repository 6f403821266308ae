//! x86-64.

mod copy_out;
#[cfg(not(test))]
mod memory_functions;
#[cfg(not(test))]
mod return_address;
mod scrub;
#[cfg(not(test))]
mod syscall_stub;
pub(crate) mod tls;

pub(crate) use copy_out::{copy_out, word_32, word_64};
#[cfg(not(test))]
pub(crate) use return_address::{register_after, return_address};
pub(crate) use scrub::scrub;
#[cfg(not(test))]
pub(crate) use syscall_stub::syscall_stub;

use crate::cache_padded::CachePadded;
use core::arch::asm;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
/// Where user space ends (four-level page tables).
pub(crate) const USER_END: usize = 1 << 47;
/// The vDSO's getrandom, Linux 6.11.
pub(crate) const VDSO_GETRANDOM: &CStr = c"__vdso_getrandom";
/// The vDSO's clock_gettime.
pub(crate) const VDSO_CLOCK_GETTIME: &CStr = c"__vdso_clock_gettime";

/// Whether registers of 64 bytes may be used. Set once, before the first draw.
static WIDE: CachePadded<AtomicBool> = CachePadded(AtomicBool::new(false));

/// The processor has AVX-512, and the cipher uses it. Once, at the start.
pub(crate) fn use_wide_registers(wide: bool) {
    WIDE.store(wide, Relaxed);
    WIDE.keep_whole();
}

/// Makes a system call of up to six arguments; what the kernel left in rax.
///
/// # Safety
/// The arguments are sound for the call: pointers valid as it needs them.
#[inline(always)]
pub(crate) unsafe fn system_call(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the kernel's convention (syscall(2)): number in rax, arguments in rdi rsi
    // rdx r10 r8 r9; rcx and r11 are overwritten. What the call does to memory is the
    // caller's contract.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Adds to a counter that only this thread writes: one instruction, so that a signal
/// handler that counts too cannot fall into it, but not a locked one, which costs 5 ns.
#[inline(always)]
pub(crate) fn add_unlocked(counter: &AtomicU64, amount: u64) {
    // SAFETY: the counter is aligned and borrowed.
    unsafe {
        asm!(
            "add qword ptr [{counter}], {amount}",
            counter = in(reg) counter.as_ptr(), amount = in(reg) amount,
            options(nostack),
        );
    }
}

/// Rewrites 32 bytes as two whole vectors. The vDSO has stored them in four pieces just
/// now, and a vector loaded across two stores that are still on their way waits for the
/// cache: 5 ns a refill. (The pieces one by one do not, nor what is stored whole.)
#[inline(always)]
pub(crate) fn rewrite_whole(place: &mut [u8; 32]) {
    // SAFETY: within `place`.
    unsafe {
        asm!(
            "movq {a}, qword ptr [{place}]",
            "movhps {a}, qword ptr [{place} + 8]",
            "movq {b}, qword ptr [{place} + 16]",
            "movhps {b}, qword ptr [{place} + 24]",
            "movups [{place}], {a}",
            "movups [{place} + 16], {b}",
            place = in(reg) place.as_mut_ptr(), a = out(xmm_reg) _, b = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}
