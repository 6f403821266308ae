//! Moving bytes out of the buffer: load, erase, then store to the caller.
//!
//! Promises: exactly `len` bytes are read, erased and written, in that order
//! within every chunk of at most 64 bytes, with nothing of them left but in
//! registers. Must never touch a byte beside them, call anything, or be
//! reordered: each chunk is one `asm!` block, which the compiler keeps whole and
//! in its place, so the order can be read off the source.
//!
//! Plain moves of 64 bytes where AVX-512 is there, and overlapping ones of 4, 8
//! and 16: masked AVX-512 copies cost 3 ns more a call, and `rep movsb` 20. A tail
//! is loaded whole before any of it is erased, since its two moves overlap. Vector
//! registers throughout: the fast path then needs no register that it would have
//! to save.
//!
//! The refill's two pieces of assembly stand below: [`join`], which spares it a
//! wait, and [`scrub`], which leaves nothing of a key outside the page.

use crate::apart::Apart;
use core::arch::{asm, naked_asm};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether the AVX-512 backend is in use. Set once, before anybody draws.
pub(super) static WIDE: Apart<AtomicBool> = Apart(AtomicBool::new(false));

/// Moves `len` bytes from `from` to `dest`, erasing them.
///
/// # Safety
/// `from` and `dest` are readable and writable for `len` and do not overlap.
#[inline(always)]
pub(super) unsafe fn hand_out(mut from: *mut u8, mut dest: *mut u8, mut len: usize) {
    // SAFETY: each arm touches `len` bytes or fewer at both places; the caller's contract.
    unsafe {
        if len >= 64 {
            let wide = WIDE.load(Relaxed);
            while len >= 64 {
                if wide {
                    chunk_64_wide(from, dest)
                } else {
                    chunk_64(from, dest)
                };
                from = from.add(64);
                dest = dest.add(64);
                len -= 64;
            }
            if len == 0 {
                return;
            }
        }
        match len {
            33.. => tail_33_to_63(from, dest, len),
            16.. => tail_16_to_32(from, dest, len),
            8.. => tail_8_to_16(from, dest, len),
            4.. => tail_4_to_8(from, dest, len),
            _ => tail_0_to_3(from, dest, len),
        }
    }
}

/// Takes and erases 4 bytes.
///
/// # Safety
/// `from` is readable and writable for 4 bytes.
#[inline(always)]
pub(super) unsafe fn word_32(from: *mut u8) -> u32 {
    let word;
    // SAFETY: the caller's contract.
    unsafe {
        asm!(
            "mov {word:e}, dword ptr [{from}]",
            "mov dword ptr [{from}], 0",
            from = in(reg) from, word = out(reg) word,
            options(nostack, preserves_flags),
        );
    }
    word
}

/// Takes and erases 8 bytes.
///
/// # Safety
/// `from` is readable and writable for 8 bytes.
#[inline(always)]
pub(super) unsafe fn word_64(from: *mut u8) -> u64 {
    let word;
    // SAFETY: the caller's contract.
    unsafe {
        asm!(
            "mov {word}, qword ptr [{from}]",
            "mov qword ptr [{from}], 0",
            from = in(reg) from, word = out(reg) word,
            options(nostack, preserves_flags),
        );
    }
    word
}

/// # Safety
/// As [`hand_out`], for 64 bytes, on a processor with AVX-512 F.
#[inline(always)]
unsafe fn chunk_64_wide(from: *mut u8, dest: *mut u8) {
    // Registers from 16 on have no older halves, so no `vzeroupper` is owed.
    // SAFETY: 64 bytes at both places, the caller's contract.
    unsafe {
        asm!(
            "vmovdqu64 zmm16, [{from}]",
            "vpxord zmm17, zmm17, zmm17",
            "vmovdqu64 [{from}], zmm17",
            "vmovdqu64 [{dest}], zmm16",
            from = in(reg) from, dest = in(reg) dest,
            out("zmm16") _, out("zmm17") _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As [`hand_out`], for 64 bytes.
#[inline(always)]
unsafe fn chunk_64(from: *mut u8, dest: *mut u8) {
    // SAFETY: 64 bytes at both places, the caller's contract.
    unsafe {
        asm!(
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + 32]",
            "movups {d}, [{from} + 48]",
            "xorps {zero}, {zero}",
            "movups [{from}], {zero}",
            "movups [{from} + 16], {zero}",
            "movups [{from} + 32], {zero}",
            "movups [{from} + 48], {zero}",
            "movups [{dest}], {a}",
            "movups [{dest} + 16], {b}",
            "movups [{dest} + 32], {c}",
            "movups [{dest} + 48], {d}",
            from = in(reg) from, dest = in(reg) dest,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            zero = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As [`hand_out`], for 33 to 63 bytes.
#[inline(always)]
unsafe fn tail_33_to_63(from: *mut u8, dest: *mut u8, len: usize) {
    // SAFETY: the first and the last 32 bytes cover `len` and no more.
    unsafe {
        asm!(
            "movups {a}, [{from}]",
            "movups {b}, [{from} + 16]",
            "movups {c}, [{from} + {len} - 32]",
            "movups {d}, [{from} + {len} - 16]",
            "xorps {zero}, {zero}",
            "movups [{from}], {zero}",
            "movups [{from} + 16], {zero}",
            "movups [{from} + {len} - 32], {zero}",
            "movups [{from} + {len} - 16], {zero}",
            "movups [{dest}], {a}",
            "movups [{dest} + 16], {b}",
            "movups [{dest} + {len} - 32], {c}",
            "movups [{dest} + {len} - 16], {d}",
            from = in(reg) from, dest = in(reg) dest, len = in(reg) len,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            zero = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As [`hand_out`], for 16 to 32 bytes.
#[inline(always)]
unsafe fn tail_16_to_32(from: *mut u8, dest: *mut u8, len: usize) {
    // SAFETY: the first and the last 16 bytes cover `len` and no more.
    unsafe {
        asm!(
            "movups {a}, [{from}]",
            "movups {b}, [{from} + {len} - 16]",
            "xorps {zero}, {zero}",
            "movups [{from}], {zero}",
            "movups [{from} + {len} - 16], {zero}",
            "movups [{dest}], {a}",
            "movups [{dest} + {len} - 16], {b}",
            from = in(reg) from, dest = in(reg) dest, len = in(reg) len,
            a = out(xmm_reg) _, b = out(xmm_reg) _, zero = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As [`hand_out`], for 8 to 16 bytes.
#[inline(always)]
unsafe fn tail_8_to_16(from: *mut u8, dest: *mut u8, len: usize) {
    // SAFETY: the first and the last 8 bytes cover `len` and no more.
    unsafe {
        asm!(
            "movq {a}, qword ptr [{from}]",
            "movq {b}, qword ptr [{from} + {len} - 8]",
            "mov qword ptr [{from}], 0",
            "mov qword ptr [{from} + {len} - 8], 0",
            "movq qword ptr [{dest}], {a}",
            "movq qword ptr [{dest} + {len} - 8], {b}",
            from = in(reg) from, dest = in(reg) dest, len = in(reg) len,
            a = out(xmm_reg) _, b = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As [`hand_out`], for 4 to 8 bytes.
#[inline(always)]
unsafe fn tail_4_to_8(from: *mut u8, dest: *mut u8, len: usize) {
    // SAFETY: the first and the last 4 bytes cover `len` and no more.
    unsafe {
        asm!(
            "movd {a}, dword ptr [{from}]",
            "movd {b}, dword ptr [{from} + {len} - 4]",
            "mov dword ptr [{from}], 0",
            "mov dword ptr [{from} + {len} - 4], 0",
            "movd dword ptr [{dest}], {a}",
            "movd dword ptr [{dest} + {len} - 4], {b}",
            from = in(reg) from, dest = in(reg) dest, len = in(reg) len,
            a = out(xmm_reg) _, b = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As [`hand_out`], for 0 to 3 bytes, one by one.
#[inline(always)]
unsafe fn tail_0_to_3(mut from: *mut u8, mut dest: *mut u8, len: usize) {
    for _ in 0..len {
        // SAFETY: `len` bytes at both places, the caller's contract.
        unsafe {
            asm!(
                "movzx {a:e}, byte ptr [{from}]",
                "mov byte ptr [{from}], 0",
                "mov byte ptr [{dest}], {a:l}",
                from = in(reg) from, dest = in(reg) dest, a = out(reg) _,
                options(nostack, preserves_flags),
            );
            from = from.add(1);
            dest = dest.add(1);
        }
    }
}

/// Rewrites 32 bytes as two whole vectors. The vDSO has stored them in four pieces just
/// now, and a vector loaded across two stores that are still on their way waits for the
/// cache: 5 ns a refill. (The pieces one by one do not, nor what is stored whole.)
///
/// # Safety
/// `place` is readable and writable for 32 bytes.
#[inline(always)]
pub(super) unsafe fn join(place: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        asm!(
            "movq {a}, qword ptr [{place}]",
            "movhps {a}, qword ptr [{place} + 8]",
            "movq {b}, qword ptr [{place} + 16]",
            "movhps {b}, qword ptr [{place} + 24]",
            "movups [{place}], {a}",
            "movups [{place} + 16], {b}",
            place = in(reg) place, a = out(xmm_reg) _, b = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// What one run of the cipher may use of the stack, and more.
const SCRUBBED: usize = 1536;
/// The same by the AVX-512 backend, in whole pairs of cache lines (its frames: 920 bytes).
const SCRUBBED_WIDE: usize = 1152;

/// Zeroes the stack below and the vector registers: what a call that has just
/// returned may have left there of a key. It reaches less than 2 KiB below the hook's
/// caller, 300 to 900 bytes deeper than the cipher has just been.
#[inline(always)]
pub(super) fn scrub() {
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
        "ret",
        ".cfi_endproc",
        size = const SCRUBBED,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_len_bytes_move_and_are_erased() {
        for len in 1..=1024 {
            for shift in 0..3 {
                let mut from: Vec<u8> = (0..len + 64).map(|i| (i % 251) as u8 + 1).collect();
                let whole = from.clone();
                let mut dest = vec![0xee; len + 64];
                // SAFETY: both are longer than `shift + len`.
                unsafe {
                    hand_out(
                        from[shift..].as_mut_ptr(),
                        dest[32 - shift..].as_mut_ptr(),
                        len,
                    )
                };
                assert_eq!(dest[32 - shift..][..len], whole[shift..][..len], "{len}");
                assert!(
                    dest[..32 - shift]
                        .iter()
                        .chain(&dest[32 - shift + len..])
                        .all(|&b| b == 0xee)
                );
                assert!(
                    from[shift..][..len].iter().all(|&b| b == 0),
                    "{len} not erased"
                );
                assert_eq!(from[..shift], whole[..shift]);
                assert_eq!(from[shift + len..], whole[shift + len..]);
            }
        }
    }
}
