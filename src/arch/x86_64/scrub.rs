//! Zeroing what the cipher leaves outside the page: the stack below, registers.
//!
//! Promises: after [`scrub`] nothing of a key is left where a call that has just
//! returned may have put it (registers that a callee must keep are the caller's own
//! again by then); unwinders find their way from any of its instructions.
//! Must never reach deeper than callers have room for, or write below the stack pointer.
//! What the kernel saves of the registers when a signal falls into the cipher lies
//! beyond its reach.

use super::WIDE;
use core::arch::naked_asm;
use core::sync::atomic::Ordering::Relaxed;

/// What one run of the cipher may use of the stack, and more.
const SCRUBBED: usize = 1408;
/// The same by the AVX-512 backend, in whole pairs of cache lines (its frames: 920 bytes).
const SCRUBBED_WIDE: usize = 1152;

/// The general registers that a call may change (System V ABI, x86-64).
macro_rules! zero_general_registers {
    () => {
        "xor eax, eax; xor ecx, ecx; xor edx, edx; xor esi, esi; xor edi, edi; \
         xor r8d, r8d; xor r9d, r9d; xor r10d, r10d; xor r11d, r11d"
    };
}

/// Zeroes the stack below and the registers that a call may change: what a call that has just
/// returned may have left there of a key. It reaches less than 2 KiB below the hook's
/// caller, 300 to 900 bytes deeper than the cipher has just been.
#[inline(always)]
pub(crate) fn scrub() {
    // SAFETY: each clobbers what the ABI lets a function clobber; registers from 16 on
    // exist where `WIDE` says so.
    unsafe {
        if WIDE.load(Relaxed) {
            scrub_wide();
        } else {
            scrub_narrow();
        }
    }
}

/// # Safety
/// The processor has AVX-512 F.
#[unsafe(naked)]
unsafe extern "C" fn scrub_wide() {
    // The stack is taken before it is written to: memory checkers look. Whole lines,
    // since a store across two of them costs twice; hence one more than is zeroed.
    naked_asm!(
        ".cfi_startproc",
        ".irp number, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
        "vpxord zmm\\number, zmm\\number, zmm\\number",
        ".endr",
        "vzeroall", // the upper parts of the others too
        "mov rax, rsp",
        "sub rsp, {size} + 64",
        ".cfi_adjust_cfa_offset {size} + 64",
        "vmovdqu64 [rax - 64], zmm16",
        "and rax, -64",
        "mov ecx, {size} / 128",
        "2:",
        "vmovdqa64 [rax - 64], zmm16",
        "vmovdqa64 [rax - 128], zmm16",
        "sub rax, 128",
        "dec ecx",
        "jnz 2b",
        "add rsp, {size} + 64",
        ".cfi_adjust_cfa_offset -({size} + 64)",
        zero_general_registers!(),
        "ret",
        ".cfi_endproc",
        size = const SCRUBBED_WIDE,
    )
}

/// # Safety
/// None to keep.
#[unsafe(naked)]
unsafe extern "C" fn scrub_narrow() {
    // The upper parts of the registers are zero: AVX2 code ends in `vzeroupper`.
    naked_asm!(
        ".cfi_startproc",
        ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
        "xorps xmm\\number, xmm\\number",
        ".endr",
        "mov rax, rsp",
        "sub rsp, {size}",
        ".cfi_adjust_cfa_offset {size}",
        "2:",
        "sub rax, 16",
        "movups [rax], xmm0",
        "cmp rax, rsp",
        "ja 2b",
        "add rsp, {size}",
        ".cfi_adjust_cfa_offset -{size}",
        zero_general_registers!(),
        "ret",
        ".cfi_endproc",
        size = const SCRUBBED,
    )
}
