//! System calls by the raw instruction, so that no hook in front of libc is measured instead.

/// A system call of three arguments; gives what the kernel answered.
///
/// # Safety
/// The arguments are what that call wants; an address to write to is of exposed provenance.
#[inline(always)]
pub unsafe fn raw(number: libc::c_long, first: usize, second: usize, third: usize) -> isize {
    let answer: isize;
    // SAFETY: the kernel changes rax, rcx and r11 alone, and writes where the caller's arguments
    // allow it to.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") first, in("rsi") second, in("rdx") third,
            lateout("rcx") _, lateout("r11") _, options(nostack),
        );
    }
    answer
}
