//! The generator: ChaCha20 with fast key erasure, on plain values.
//!
//! ```text
//!             ┌────────── one run of keystream, 3,072 bytes ──────────┐
//!   before    │ key │ bytes not yet handed out ... │ erased, erased   │
//!             └──┬──┴──────────────────────────────┴──────────────────┘
//!   seed ─ XOR ─►│ expand
//!             ┌──▼──┬─────────────────────────────────────────────────┐
//!   after     │ key'│ 3,040 fresh bytes, handed out from the end down │
//!             └─────┴─────────────────────────────────────────────────┘
//! ```
//!
//! Promises:
//! - Backtracking resistance: a refill overwrites the key by the generator's own
//!   output before any byte of that output can leave, and bytes are erased as
//!   they are handed out. A stolen state tells nothing about bytes already given.
//! - Prediction resistance: whatever stands in the seed is folded into the key by
//!   XOR *before* the key is expanded, so that refill is already covered, and a bad
//!   seed can only fail to improve the key, never weaken it. It is as good as the
//!   seed: one that a thief of the state could compute adds nothing, nor does the
//!   zero that stands there when none was drawn.
//! - A large request gets a key of its own ([`Crng::draw_subkey`]), taken from
//!   the buffer like any bytes, used for one run and erased.
//! - Every secret lives inside the value, so the owner decides which memory that
//!   is. All-zero memory is a valid value and means "unseeded".
//!
//! Must never: know libc, a clock, a thread or where seeds come from; hand out a
//! byte by itself. How much of the buffer is left is the caller's to keep,
//! because that number takes part in the protocol against signals and forks.
//!
//! Construction: Bernstein, "Fast-key-erasure random-number generators" (2017),
//! as in OpenBSD's arc4random(3) and Linux's random.c since 5.18.

pub mod keystream;

use keystream::{KEY, Keystream, STRIDE};
use zeroize::Zeroize;

/// Bytes of one run: three strides, so that no block is ever made alone.
pub const RUN: usize = 3 * STRIDE;

/// Bytes that a refill leaves to be handed out.
pub const YIELD: usize = RUN - KEY;

/// The same of a short refill, of one stride: 31 subkeys.
pub const SHORT_YIELD: usize = STRIDE - KEY;

/// The generator's whole state.
#[repr(C)]
pub struct Crng {
    /// Cipher state while a run is made; erased otherwise.
    cipher: Keystream,
    /// Key of one large request; erased once used.
    subkey: [u8; KEY],
    /// Where fresh kernel bytes are put; zero once they are folded in.
    seed: [u8; KEY],
    /// The key, then the bytes not yet handed out.
    run: [u8; RUN],
}

impl Crng {
    /// An unseeded generator: the same as all-zero memory, which is how the library's begin.
    pub fn unseeded() -> Crng {
        Crng {
            cipher: Keystream::erased(),
            subkey: [0; KEY],
            seed: [0; KEY],
            run: [0; RUN],
        }
    }

    /// Where the caller puts 32 fresh kernel bytes, for the next [`refill`](Self::refill)
    /// or [`stream`](Self::stream) to fold in. Left alone, it adds nothing.
    #[inline(always)]
    pub fn seed_mut(&mut self) -> &mut [u8; KEY] {
        &mut self.seed
    }

    /// Expands the key, with the seed folded in, into the next key and [`YIELD`]
    /// fresh bytes; erases the seed.
    #[inline(always)]
    pub fn refill(&mut self) {
        self.expand(RUN);
    }

    /// The same with [`SHORT_YIELD`] fresh bytes, in a third of the time: for a
    /// caller that wants no more than subkeys of them. What the old key made and was not
    /// handed out stays behind those until the next whole refill, and never will be.
    #[inline(always)]
    pub fn refill_short(&mut self) {
        self.expand(STRIDE);
    }

    /// The first `len` bytes of the key's stream, over the key and what follows it.
    #[inline(always)]
    fn expand(&mut self, len: usize) {
        if let Some(key) = self.run.first_chunk::<KEY>() {
            self.cipher.key(&xor(key, &self.seed));
        }
        erase(&mut self.seed);
        // The run starts with the key, so the old key is gone after the first block.
        self.cipher
            .fill(self.run.get_mut(..len).unwrap_or_default());
        self.cipher.erase();
    }

    /// The bytes to hand out: [`YIELD`] of them after a refill, the first
    /// [`SHORT_YIELD`] after a short one.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8; YIELD] {
        let (_key, bytes) = self.run.split_at_mut(KEY);
        // The length is a constant, so the other arm does not exist in the build.
        match bytes.first_chunk_mut::<YIELD>() {
            Some(bytes) => bytes,
            None => unreachable!(),
        }
    }

    /// Moves the last 32 of the `available` unread bytes into the subkey, erasing
    /// them. Fewer than 32 available leaves the subkey as it was: refill first.
    #[inline(always)]
    pub fn draw_subkey(&mut self, available: usize) {
        let (_key, bytes) = self.run.split_at_mut(KEY);
        let unread = bytes.get_mut(..available).unwrap_or_default();
        if let Some(last) = unread.last_chunk_mut::<KEY>() {
            self.subkey.copy_from_slice(last);
            erase(last);
        }
    }

    /// Fills `dest`, a whole number of blocks, from the subkey with the seed folded
    /// in, and erases both.
    #[inline(always)]
    pub fn stream(&mut self, dest: &mut [u8]) {
        self.cipher.key(&xor(&self.subkey, &self.seed));
        erase(&mut self.subkey);
        erase(&mut self.seed);
        self.cipher.fill(dest);
        self.cipher.erase();
    }
}

impl core::fmt::Debug for Crng {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Crng { .. }")
    }
}

fn xor(key: &[u8; KEY], seed: &[u8; KEY]) -> [u8; KEY] {
    // By value: the sum goes straight into the cipher, by way of registers.
    let mut sum = *key;
    for (k, s) in sum.iter_mut().zip(seed) {
        *k ^= s;
    }
    sum
}

fn erase(secret: &mut [u8; KEY]) {
    // One store of a vector; `zeroize` on bytes would make 32 of one each.
    *secret = [0; KEY];
    zeroize::optimization_barrier(secret);
}

/// Whether the cipher on this machine makes the keystream of RFC 8439 section
/// 2.3.2's construction: the first 64 and the last 64 bytes of one run under the
/// key 00 01 .. 1f. `expect_wrong` is the tests' way to see a mismatch acted on.
pub fn known_answer(crng: &mut Crng, expect_wrong: bool) -> bool {
    for (number, byte) in (0u8..).zip(crng.seed.iter_mut()) {
        *byte = number;
    }
    crng.refill();
    let first = crng.run.first_chunk::<64>();
    let last = crng.run.last_chunk::<64>();
    let right = first == Some(&KNOWN_FIRST) && last == Some(&KNOWN_LAST);
    crng.run.zeroize();
    right && !expect_wrong
}

/// Block 0 of the known answer, made by an independent implementation of RFC 8439.
const KNOWN_FIRST: [u8; 64] = [
    0x39, 0xfd, 0x2b, 0x7d, 0xd9, 0xc5, 0x19, 0x6a, 0x8d, 0xbd, 0x03, 0x77, 0xb8, 0xdc, 0x4a, 0x49,
    0x8a, 0x35, 0xd8, 0x6f, 0xbc, 0xde, 0x6a, 0xcc, 0xb2, 0xcc, 0x7d, 0x4c, 0xd8, 0xea, 0x24, 0x92,
    0x2b, 0x23, 0xcc, 0xe7, 0xa2, 0x60, 0x23, 0xab, 0x3f, 0x0e, 0xef, 0x69, 0x3a, 0xc8, 0x7f, 0x64,
    0x25, 0x82, 0x35, 0xea, 0xb1, 0xf7, 0xa3, 0x2d, 0xc2, 0x27, 0x62, 0xa0, 0x48, 0x5b, 0x41, 0x0c,
];

/// Block 47 of the known answer: the last that a refill makes.
const KNOWN_LAST: [u8; 64] = [
    0x9d, 0xa8, 0x39, 0x03, 0x26, 0x1a, 0xc5, 0x1c, 0x7a, 0x72, 0x13, 0xd2, 0xc5, 0x00, 0x54, 0x15,
    0x93, 0x1d, 0x4d, 0x7d, 0x71, 0xc5, 0x4a, 0x77, 0xe8, 0x7a, 0x83, 0x5c, 0x43, 0xb8, 0x66, 0x02,
    0xf4, 0xee, 0xa3, 0xa4, 0x3d, 0xee, 0x4d, 0x11, 0xc9, 0xdb, 0xaa, 0x05, 0x6d, 0x89, 0x7d, 0xea,
    0xc2, 0x82, 0xb0, 0xbb, 0x15, 0x4b, 0x9e, 0xc8, 0xe0, 0x61, 0xe2, 0xee, 0xd0, 0xc2, 0xeb, 0xc3,
];

#[cfg(test)]
mod tests;
