//! The control: C1's arithmetic on a pool of the thread's own. Nothing is shared and nothing is locked,
//! so its factors are those of the machine: what no design that hashes 32 words can beat here.
//!
//! It is no contender: a pool a thread would spread the kernel's entropy over as many pools.

use super::c1_spinlock::Words;
use super::{Cpu, Pool, register};

/// Seeds for private pools.
pub(crate) struct PrivatePools {
    seed: [u8; 32],
}

impl PrivatePools {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self { seed: *seed }
    }
}

impl Pool for PrivatePools {
    type Reader = Words;

    fn reader(&self, cpu: Cpu) -> Words {
        let mut words = Words::new();
        words.mix::<false>(&self.seed);
        words.mix::<false>(&cpu.number.to_le_bytes());
        words
    }

    fn read(&self, reader: &mut Words, dest: &mut [u8]) {
        register::fill(dest, || register::fold(&reader.extract::<false>()));
    }

    fn seed(&self, reader: &mut Words, fresh: &[u8; 32]) {
        reader.mix::<false>(fresh);
    }
}
