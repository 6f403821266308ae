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
        "vpxord zmm16, zmm16, zmm16",
        "vpxord zmm17, zmm17, zmm17",
        "vpxord zmm18, zmm18, zmm18",
        "vpxord zmm19, zmm19, zmm19",
        "vpxord zmm20, zmm20, zmm20",
        "vpxord zmm21, zmm21, zmm21",
        "vpxord zmm22, zmm22, zmm22",
        "vpxord zmm23, zmm23, zmm23",
        "vpxord zmm24, zmm24, zmm24",
        "vpxord zmm25, zmm25, zmm25",
        "vpxord zmm26, zmm26, zmm26",
        "vpxord zmm27, zmm27, zmm27",
        "vpxord zmm28, zmm28, zmm28",
        "vpxord zmm29, zmm29, zmm29",
        "vpxord zmm30, zmm30, zmm30",
        "vpxord zmm31, zmm31, zmm31",
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
        "xorps xmm0, xmm0",
        "xorps xmm1, xmm1",
        "xorps xmm2, xmm2",
        "xorps xmm3, xmm3",
        "xorps xmm4, xmm4",
        "xorps xmm5, xmm5",
        "xorps xmm6, xmm6",
        "xorps xmm7, xmm7",
        "xorps xmm8, xmm8",
        "xorps xmm9, xmm9",
        "xorps xmm10, xmm10",
        "xorps xmm11, xmm11",
        "xorps xmm12, xmm12",
        "xorps xmm13, xmm13",
        "xorps xmm14, xmm14",
        "xorps xmm15, xmm15",
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
