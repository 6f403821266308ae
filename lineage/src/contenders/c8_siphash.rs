//! C8: SipHash-2-4 chaining. The previous output, the time, the cycle counter and the process number
//! are hashed under a secret of 16 bytes; the result is given out and is the next link.
//!
//! Promises: every output comes out of [`siphash`], and so do the 64 official vectors in the test.
//! A link that was given out is known to its caller: the secret alone, and what the counter adds, keep the
//! next one from it. There is no backtracking resistance against a thief of the secret.

use super::{Ints, cycles, jiffies};
use siphasher::sip::SipHasher24;

/// SipHash-2-4 of `input` under `secret`.
#[inline(always)]
pub(crate) fn siphash(secret: &[u8; 16], input: &[u8]) -> u64 {
    SipHasher24::new_with_key(secret).hash(input)
}

/// A CPU's last output, and the secret that all CPUs share.
pub(crate) struct SipChain {
    last: u64,
    secret: [u8; 16],
    pid: u32,
}

impl SipChain {
    pub(crate) fn new(secret: &[u8; 16]) -> Self {
        Self {
            last: 0,
            secret: *secret,
            pid: std::process::id(),
        }
    }

    #[inline(always)]
    fn turn(&mut self) -> u64 {
        let now = cycles();
        let mut input = [0; 32];
        for (dest, word) in
            input
                .chunks_exact_mut(8)
                .zip([self.last, jiffies(now), now, u64::from(self.pid)])
        {
            dest.copy_from_slice(&word.to_le_bytes());
        }
        self.last = siphash(&self.secret, &input);
        self.last
    }
}

impl Ints for SipChain {
    fn u32(&mut self) -> u32 {
        self.turn() as u32
    }

    fn u64(&mut self) -> u64 {
        self.turn()
    }
}
