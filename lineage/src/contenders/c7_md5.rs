//! C7: MD5 chaining, as the old `get_random_int` and `get_random_long` did it. The process number, the
//! time and the cycle counter are added to the first of four words, the four words go through MD5's
//! compression with a fixed secret as the message, and the first one or two of them are the result.
//!
//! Promises: the compression is RustCrypto's own, the one that its `Md5` digest runs on; the test
//! builds RFC 1321's digests from it.
//! Not here: the old code asked RDRAND first and did all this only without it. That is C9.

use super::{Ints, cycles, jiffies};

/// MD5's compression of one block, the primitive that everything here goes through.
#[inline(always)]
pub(crate) fn compress(hash: &mut [u32; 4], block: &[u8; 64]) {
    md5::block_api::compress(hash, core::slice::from_ref(block));
}

/// A CPU's hash, and the secret that all CPUs share.
pub(crate) struct Md5Chain {
    hash: [u32; 4],
    secret: [u8; 64],
    pid: u32,
}

impl Md5Chain {
    pub(crate) fn new(secret: &[u8; 64]) -> Self {
        Self {
            hash: [0; 4],
            secret: *secret,
            pid: std::process::id(),
        }
    }

    #[inline(always)]
    fn turn(&mut self) {
        let now = cycles();
        let noise = u64::from(self.pid)
            .wrapping_add(jiffies(now))
            .wrapping_add(now);
        self.hash[0] = self.hash[0].wrapping_add(noise as u32);
        compress(&mut self.hash, &self.secret);
    }
}

impl Ints for Md5Chain {
    fn u32(&mut self) -> u32 {
        self.turn();
        self.hash[0]
    }

    fn u64(&mut self) -> u64 {
        self.turn();
        u64::from(self.hash[0]) | u64::from(self.hash[1]) << 32
    }
}
