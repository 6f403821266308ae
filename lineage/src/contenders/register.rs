//! What C1 to C6 share: the pool of 32 words of the 2015 kernel, hashed by SHA-1, and the twisted
//! shift register with five taps by which 20 bytes of each hash are mixed back.
//!
//! Promises: the arithmetic alone, on words that the caller loads and stores in its own way (plain
//! under a lock, racing, or atomic): that way is what the contenders differ in.
//! Must never: hold a pool. The hash is RustCrypto's SHA-1 compression. It uses the processor's SHA
//! instructions, which no machine of the 2015 thread had, so these pools look better than they did.

use sha1::digest::generic_array::GenericArray;

/// Words in a pool.
pub(crate) const WORDS: usize = 32;
/// Bytes of a hash, all of which are mixed back.
pub(crate) const HASH_LEN: usize = 20;
/// Bytes of a hash, folded in two, that a reader gets.
pub(crate) const OUTPUT_LEN: usize = 10;

/// The start value of SHA-1 (FIPS 180-4, section 5.3.1).
pub(crate) const START: [u32; 5] = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];

/// The register's polynomial, x^32 + x^26 + x^19 + x^14 + x^7 + x + 1, as distances.
const TAPS: [usize; 5] = [26, 19, 14, 7, 1];

/// The twist: division by the polynomial of CRC-32, three bits at a time.
const TWIST: [u32; 8] = {
    let mut table = [0; 8];
    let mut i = 0;
    while i < 8 {
        let mut word = i as u32;
        let mut bit = 0;
        while bit < 3 {
            word = if word & 1 == 1 {
                (word >> 1) ^ 0xedb8_8320
            } else {
                word >> 1
            };
            bit += 1;
        }
        table[i] = word;
        i += 1;
    }
    table
};

/// The word that a position of the register stands on. The position counts down and wraps: it is
/// all the state there is, since the rotation follows from it.
#[inline(always)]
pub(crate) fn slot(position: u32) -> usize {
    position as usize % WORDS
}

/// How far a byte is rotated before it goes in at `position`: seven bits more at each step and seven
/// more at each lap, so that input is spread over all bits of a word.
#[inline(always)]
fn rotation(position: u32) -> u32 {
    let steps = position.wrapping_neg().wrapping_sub(1);
    7 * (steps + steps / WORDS as u32) % 32
}

/// The new value of the word at `position` once `byte` is mixed in.
#[inline(always)]
pub(crate) fn mixed(word: impl Fn(usize) -> u32, position: u32, byte: u8) -> u32 {
    let i = slot(position);
    let mut mixed = u32::from(byte).rotate_left(rotation(position)) ^ word(i);
    for tap in TAPS {
        mixed ^= word((i + tap) % WORDS);
    }
    (mixed >> 3) ^ TWIST[mixed as usize % 8]
}

/// The hash of the whole pool, 16 words at a time, from this start value.
#[inline(always)]
pub(crate) fn hash(start: [u32; 5], word: impl Fn(usize) -> u32) -> [u32; 5] {
    let mut state = start;
    for half in 0..2 {
        let mut block = GenericArray::from([0; 64]);
        for (i, bytes) in block.chunks_exact_mut(4).enumerate() {
            bytes.copy_from_slice(&word(half * 16 + i).to_le_bytes());
        }
        sha1::compress(&mut state, core::slice::from_ref(&block));
    }
    state
}

/// The 20 bytes of a hash.
#[inline(always)]
pub(crate) fn bytes(hash: &[u32; 5]) -> [u8; HASH_LEN] {
    let mut bytes = [0; HASH_LEN];
    for (dest, word) in bytes.chunks_exact_mut(4).zip(hash) {
        dest.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The 10 bytes that a reader gets: the hash folded in two.
#[inline(always)]
pub(crate) fn fold(hash: &[u32; 5]) -> [u8; OUTPUT_LEN] {
    let [a, b, c, d, e] = *hash;
    let mut output = [0; OUTPUT_LEN];
    output[..4].copy_from_slice(&(a ^ d).to_le_bytes());
    output[4..8].copy_from_slice(&(b ^ e).to_le_bytes());
    output[8..].copy_from_slice(&(c ^ c.rotate_left(16)).to_le_bytes()[..2]);
    output
}

/// Fills `dest` with folded hashes, 10 bytes at a time.
#[inline(always)]
pub(crate) fn fill(dest: &mut [u8], mut extract: impl FnMut() -> [u8; OUTPUT_LEN]) {
    for piece in dest.chunks_mut(OUTPUT_LEN) {
        piece.copy_from_slice(&extract()[..piece.len()]);
    }
}
