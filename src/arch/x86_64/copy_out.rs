//! Moving bytes out of the buffer: load, erase, then store to the caller.
//!
//! Promises: exactly `len` bytes are read, erased and written, in that order
//! within every piece of at most 128 bytes, and nothing of them is left in registers. Must never touch a byte beside them, call anything, or be
//! reordered: it is one `asm!` block, which the compiler keeps whole and in its
//! place, so the order can be read off the source.
//!
//! Plain moves of 64 bytes where AVX-512 is there, and overlapping ones of 4, 8
//! and 16: masked AVX-512 copies cost 3 ns more a call, and `rep movsb` 20. What
//! overlaps is loaded whole before any of it is erased. Vector registers for all but
//! single bytes: the fast path then needs no register that it would have to save.
//!
//! Jumps and cache lines of code are what such a call is made of, not instructions:
//! the most common lengths meet few that are taken, and each arm starts a line. The
//! compiler's own layout of the same moves was slower at every length.
//!
//! | bytes | with AVX-512 | without |
//! |---|---|---|
//! | 0 to 3 | `8:` | `8:` |
//! | 4 to 7, 8 to 15, 16 to 32 | `5:`, `4:`, `3:` | `5:`, `4:`, `3:` |
//! | 33 to 63 | `7:` | `7:` |
//! | 64 | at the top | `7:` |
//! | 65 and more | `6:` | `7:` |

use super::WIDE;
use core::arch::asm;

/// The first and the last `$size` bytes, which cover a length of up to twice that.
macro_rules! both_ends {
    ($mov:literal, $size:literal) => {
        concat!(
            $mov,
            " {a}, [{from}]\n",
            $mov,
            " {b}, [{from} + {len} - ",
            $size,
            "]\n",
            "xorps {zero}, {zero}\n",
            $mov,
            " [{from}], {zero}\n",
            $mov,
            " [{from} + {len} - ",
            $size,
            "], {zero}\n",
            $mov,
            " [{dest}], {a}\n",
            $mov,
            " [{dest} + {len} - ",
            $size,
            "], {b}\n",
            "xorps {a}, {a}\n",
            "xorps {b}, {b}\n",
            "jmp 9f",
        )
    };
}

/// Moves `len` bytes from `from` to `dest`, erasing them.
///
/// # Safety
/// `from` and `dest` are readable and writable for `len`, at most `isize::MAX`, and do not
/// overlap.
#[inline(always)]
pub(crate) unsafe fn copy_out(from: *mut u8, dest: *mut u8, len: usize) {
    // SAFETY: each arm touches `len` bytes or fewer at both places; the caller's
    // contract. Wide registers from 16 on have no older halves, so no `vzeroupper`
    // is owed.
    unsafe {
        asm!(
            // 64, wide.
            "cmp {len}, 64",
            "jne 3f",
            "cmp byte ptr [rip + {wide}], 0",
            "je 7f",
            "vmovdqu64 zmm16, [{from}]",
            "vpxord zmm18, zmm18, zmm18",
            "vmovdqu64 [{from}], zmm18",
            "vmovdqu64 [{dest}], zmm16",
            "vpxord zmm16, zmm16, zmm16",
            "jmp 9f",
            // 16 to 32.
            ".p2align 6",
            "3:",
            "ja 6f",
            "cmp {len}, 16",
            "jb 4f",
            "cmp {len}, 32",
            "ja 7f",
            both_ends!("movups", 16),
            // 8 to 15.
            ".p2align 6",
            "4:",
            "cmp {len}, 8",
            "jb 5f",
            both_ends!("movq", 8),
            // 4 to 7.
            ".p2align 6",
            "5:",
            "cmp {len}, 4",
            "jb 8f",
            both_ends!("movd", 4),
            // 65 and more, wide: 64 by 64 while more than 128 are left, then both ends
            // of those.
            ".p2align 6",
            "6:",
            "cmp byte ptr [rip + {wide}], 0",
            "je 7f",
            "vpxord zmm18, zmm18, zmm18",
            "xor {at:e}, {at:e}",
            "lea {end}, [{len} - 128]",
            "test {end}, {end}",
            "jle 22f",
            "21:",
            "vmovdqu64 zmm16, [{from} + {at}]",
            "vmovdqu64 [{from} + {at}], zmm18",
            "vmovdqu64 [{dest} + {at}], zmm16",
            "add {at}, 64",
            "cmp {at}, {end}",
            "jl 21b",
            "22:",
            "vmovdqu64 zmm16, [{from} + {at}]",
            "vmovdqu64 zmm17, [{from} + {len} - 64]",
            "vmovdqu64 [{from} + {at}], zmm18",
            "vmovdqu64 [{from} + {len} - 64], zmm18",
            "vmovdqu64 [{dest} + {at}], zmm16",
            "vmovdqu64 [{dest} + {len} - 64], zmm17",
            "vpxord zmm16, zmm16, zmm16",
            "vpxord zmm17, zmm17, zmm17",
            "jmp 9f",
            // 33 and more: 32 by 32 while more than 64 are left, then both ends of those.
            ".p2align 6",
            "7:",
            "xorps {zero}, {zero}",
            "xor {at:e}, {at:e}",
            "lea {end}, [{len} - 64]",
            "test {end}, {end}",
            "jle 24f",
            "23:",
            "movups {a}, [{from} + {at}]",
            "movups {b}, [{from} + {at} + 16]",
            "movups [{from} + {at}], {zero}",
            "movups [{from} + {at} + 16], {zero}",
            "movups [{dest} + {at}], {a}",
            "movups [{dest} + {at} + 16], {b}",
            "add {at}, 32",
            "cmp {at}, {end}",
            "jl 23b",
            "24:",
            "movups {a}, [{from} + {at}]",
            "movups {b}, [{from} + {at} + 16]",
            "movups {c}, [{from} + {len} - 32]",
            "movups {d}, [{from} + {len} - 16]",
            "movups [{from} + {at}], {zero}",
            "movups [{from} + {at} + 16], {zero}",
            "movups [{from} + {len} - 32], {zero}",
            "movups [{from} + {len} - 16], {zero}",
            "movups [{dest} + {at}], {a}",
            "movups [{dest} + {at} + 16], {b}",
            "movups [{dest} + {len} - 32], {c}",
            "movups [{dest} + {len} - 16], {d}",
            "xorps {a}, {a}",
            "xorps {b}, {b}",
            "xorps {c}, {c}",
            "xorps {d}, {d}",
            "jmp 9f",
            // 0 to 3, one by one.
            "8:",
            "xor {at:e}, {at:e}",
            "25:",
            "xor {end:e}, {end:e}",
            "cmp {at}, {len}",
            "jae 9f",
            "movzx {end:e}, byte ptr [{from} + {at}]",
            "mov byte ptr [{from} + {at}], 0",
            "mov byte ptr [{dest} + {at}], {end:l}",
            "inc {at}",
            "jmp 25b",
            ".p2align 6",
            "9:",
            from = in(reg) from, dest = in(reg) dest, len = in(reg) len,
            wide = sym WIDE,
            at = out(reg) _, end = out(reg) _,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            zero = out(xmm_reg) _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _,
            options(nostack),
        );
    }
}

/// Takes and erases 4 bytes.
///
/// # Safety
/// `from` is readable and writable for 4 bytes.
#[inline(always)]
pub(crate) unsafe fn word_32(from: *mut u8) -> u32 {
    let word;
    // SAFETY: `from` is good for these 4 bytes.
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
pub(crate) unsafe fn word_64(from: *mut u8) -> u64 {
    let word;
    // SAFETY: `from` is good for these 8 bytes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering::Relaxed;

    #[test]
    fn exactly_len_bytes_move_and_are_erased() {
        for wide in [false, is_x86_feature_detected!("avx512f")] {
            WIDE.store(wide, Relaxed);
            for len in 0..=1024 {
                for shift in 0..3 {
                    moves_and_erases(len, shift);
                }
            }
        }
    }

    fn moves_and_erases(len: usize, shift: usize) {
        let mut from: Vec<u8> = (0..len + 64).map(|i| (i % 251) as u8 + 1).collect();
        let whole = from.clone();
        let mut dest = vec![0xee; len + 64];
        // SAFETY: both are longer than `shift + len`.
        unsafe {
            copy_out(
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
