//! C11: the SipRound generator of 2020. Four words a CPU, two rounds a call, the sum of two words out.
//! Code with something unpredictable at hand (times, pointers) leaves it as noise: four values through
//! one round, of which only the last word is kept, to be folded in by the next call.
//!
//! Promises: unpredictable to someone who sees some of the output. Not cryptographic, by intention: it
//! shows what unpredictability alone costs. Words are of 32 bits; 8 bytes are two calls.

use super::{Ints, cycles, jiffies};

/// One round of SipHash on four words.
#[inline(always)]
pub(crate) fn round(v: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *v;
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    b = b.rotate_left(13) ^ a;
    d = d.rotate_left(16) ^ c;
    a = a.rotate_left(32);
    a = a.wrapping_add(d);
    c = c.wrapping_add(b);
    d = d.rotate_left(21) ^ a;
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *v = [a, b, c, d];
}

/// A CPU's state.
pub(crate) struct SipRng {
    v: [u64; 4],
    noise: u64,
}

impl SipRng {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        let mut v = [0; 4];
        for (word, bytes) in v.iter_mut().zip(seed.chunks_exact(8)) {
            *word = bytes
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        Self { v, noise: 0 }
    }

    /// Leaves noise for the next call.
    #[inline(always)]
    pub(crate) fn add_noise(&mut self, values: [u64; 4]) {
        let mut v = values;
        v[0] ^= self.noise;
        round(&mut v);
        self.noise = v[3];
    }

    #[inline(always)]
    fn turn(&mut self) -> u32 {
        self.v[3] ^= self.noise;
        round(&mut self.v);
        round(&mut self.v);
        self.v[0] ^= self.noise;
        self.v[1].wrapping_add(self.v[3]) as u32
    }
}

impl Ints for SipRng {
    fn u32(&mut self) -> u32 {
        self.turn()
    }

    fn u64(&mut self) -> u64 {
        u64::from(self.turn()) | u64::from(self.turn()) << 32
    }
}

/// The same with noise before every call: the most it can cost. In the kernel a packet or a timer
/// leaves some, and several calls may share it.
pub(crate) struct NoisySipRng(pub(crate) SipRng);

impl NoisySipRng {
    #[inline(always)]
    fn leave(&mut self) {
        let now = cycles();
        let here = &raw const self.0 as u64;
        self.0
            .add_noise([now, jiffies(now), here, u64::from(self.0.v[2] as u32)]);
    }
}

impl Ints for NoisySipRng {
    fn u32(&mut self) -> u32 {
        self.leave();
        self.0.u32()
    }

    fn u64(&mut self) -> u64 {
        self.leave();
        self.0.u64()
    }
}
