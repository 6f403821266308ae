//! P9 as the kernel had it in 2016 and 2020: one 64-byte ChaCha20 block handed out in pieces of 4 or 8
//! bytes, and a new one when it is empty. A batch a CPU for each size, no lock.
//!
//! Promises: each block is handed out whole. (The first draft compared with the last piece instead of
//! the end and threw that piece away; the test counts.) Nothing is erased: what was handed out stays in
//! memory until the next block, as it did in 2016. Ours, the row beside it, erases.
//! The cipher is the `chacha20` crate, which is made for many blocks at once: a lone block costs it more
//! than it cost the kernel's plain code.

use super::Ints;
use chacha20::ChaCha20LegacyCore;
use chacha20::cipher::{KeyIvInit, StreamCipherCore};

const BLOCK_LEN: usize = 64;

/// One block and how much of it is handed out.
struct Batch {
    block: [u8; BLOCK_LEN],
    used: usize,
}

impl Batch {
    /// The next piece.
    #[inline(always)]
    fn next<const N: usize>(&mut self, refill: impl FnOnce(&mut [u8; BLOCK_LEN])) -> [u8; N] {
        // Pieces of one size divide the block, so it is empty exactly at its end.
        if self.used == BLOCK_LEN {
            refill(&mut self.block);
            self.used = 0;
        }
        let mut piece = [0; N];
        piece.copy_from_slice(&self.block[self.used..self.used + N]);
        self.used += N;
        piece
    }
}

/// A CPU's two batches and the generator that fills them.
pub(crate) struct Batched {
    cipher: ChaCha20LegacyCore,
    ints: Batch,
    longs: Batch,
    /// Blocks made.
    pub(crate) blocks: u64,
}

impl Batched {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let empty = || Batch {
            block: [0; BLOCK_LEN],
            used: BLOCK_LEN,
        };
        Self {
            cipher: ChaCha20LegacyCore::new(&(*key).into(), &[0; 8].into()),
            ints: empty(),
            longs: empty(),
            blocks: 0,
        }
    }
}

/// Writes the cipher's next block and counts it.
fn refill(cipher: &mut ChaCha20LegacyCore, blocks: &mut u64, dest: &mut [u8; BLOCK_LEN]) {
    cipher.write_keystream_block(dest.into());
    *blocks += 1;
}

impl Ints for Batched {
    fn u32(&mut self) -> u32 {
        let Self {
            cipher,
            ints,
            blocks,
            ..
        } = self;
        u32::from_le_bytes(ints.next(|dest| refill(cipher, blocks, dest)))
    }

    fn u64(&mut self) -> u64 {
        let Self {
            cipher,
            longs,
            blocks,
            ..
        } = self;
        u64::from_le_bytes(longs.next(|dest| refill(cipher, blocks, dest)))
    }
}
