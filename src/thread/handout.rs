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

use crate::apart::Apart;
use core::arch::asm;
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
