//! C3: one pool, no lock, salted by CPU. The CPU's number goes into the hash's start value, so that
//! two CPUs that see the same pool still give different output, and into the place where the output
//! is mixed back. Everything else races, and the races are tolerated.
//!
//! Promises: no more than the design did: different output on different CPUs. Writes can be lost, and
//! with them seed entropy; the position can be lost too, so that some words are mixed twice and others
//! not at all. A word can count the writes that landed in it ([`Counted`]), which shows both.
//! Must never: use an atomic read-modify-write. The relaxed loads and stores here compile to plain ones.

use super::register::{self, HASH_LEN, START, WORDS};
use super::{Cpu, Pool};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A word of the pool that is read and written without any care for neighbours.
pub(crate) trait Word: Default + Sync {
    fn load(&self) -> u32;
    /// Stores `new`, computed from the word as it was at the start of `change`.
    fn change(&self, new: impl FnOnce() -> u32);
    /// Writes that are not lost; 0 where they are not counted.
    fn landed(&self) -> u64;
}

/// The word as the design has it.
#[derive(Default)]
pub(crate) struct Plain(AtomicU32);

impl Word for Plain {
    #[inline(always)]
    fn load(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn change(&self, new: impl FnOnce() -> u32) {
        self.0.store(new(), Ordering::Relaxed);
    }

    fn landed(&self) -> u64 {
        0
    }
}

/// A word with a counter beside it in the same 64 bits: a write that overtakes another takes its count
/// away with it, so what is missing in the end is what was lost.
#[derive(Default)]
pub(crate) struct Counted(AtomicU64);

impl Word for Counted {
    #[inline(always)]
    fn load(&self) -> u32 {
        self.0.load(Ordering::Relaxed) as u32
    }

    #[inline(always)]
    fn change(&self, new: impl FnOnce() -> u32) {
        let landed = self.landed() + 1;
        self.0
            .store(landed << 32 | u64::from(new()), Ordering::Relaxed);
    }

    fn landed(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> 32
    }
}

/// One pool that all CPUs read and write at once.
pub(crate) struct SaltedPool<W: Word = Plain> {
    words: [W; WORDS],
    position: AtomicU32,
}

/// What a CPU's number was hashed to.
#[derive(Clone, Copy)]
pub(crate) struct Salt(u32);

impl Salt {
    pub(crate) fn new(cpu: usize) -> Self {
        // Multiplication by 2^32 over the golden ratio: distinct for distinct CPUs, and it begins
        // with its top bits, which is where the offset is taken from.
        Self((cpu as u32).wrapping_mul(0x9e37_79b9))
    }

    /// The start value of this CPU's hashes.
    #[inline(always)]
    pub(crate) fn start(self) -> [u32; 5] {
        let [a, rest @ ..] = START;
        let [b, c, d, e] = rest;
        [a ^ self.0, b, c, d, e]
    }

    /// How far from the common position this CPU mixes back.
    #[inline(always)]
    fn offset(self) -> u32 {
        self.0 >> 27
    }
}

impl<W: Word> SaltedPool<W> {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        let pool = Self {
            words: core::array::from_fn(|_| W::default()),
            position: AtomicU32::new(0),
        };
        pool.mix(Salt(0), pool.position(), seed);
        pool
    }

    /// Where the next mix-back begins; a neighbour may be told the same.
    #[inline(always)]
    pub(crate) fn position(&self) -> u32 {
        self.position.load(Ordering::Relaxed)
    }

    /// Hashes the pool as it is, or as it was in several moments.
    #[inline(always)]
    pub(crate) fn hash(&self, salt: Salt) -> [u32; 5] {
        register::hash(salt.start(), |i| self.words[i].load())
    }

    /// Mixes bytes in from a position read before.
    #[inline(always)]
    pub(crate) fn mix(&self, salt: Salt, position: u32, bytes: &[u8]) {
        let mut at = position.wrapping_add(salt.offset());
        for &byte in bytes {
            at = at.wrapping_sub(1);
            self.words[register::slot(at)]
                .change(|| register::mixed(|i| self.words[i].load(), at, byte));
        }
        self.position
            .store(position.wrapping_sub(bytes.len() as u32), Ordering::Relaxed);
    }

    /// The writes that landed in each word.
    pub(crate) fn landed(&self) -> [u64; WORDS] {
        core::array::from_fn(|i| self.words[i].landed())
    }

    #[inline(always)]
    fn extract(&self, salt: Salt) -> [u32; 5] {
        let hash = self.hash(salt);
        let bytes: [u8; HASH_LEN] = register::bytes(&hash);
        self.mix(salt, self.position(), &bytes);
        hash
    }
}

impl<W: Word> Pool for SaltedPool<W> {
    type Reader = Salt;

    fn reader(&self, cpu: Cpu) -> Salt {
        Salt::new(cpu.number)
    }

    fn read(&self, reader: &mut Salt, dest: &mut [u8]) {
        register::fill(dest, || register::fold(&self.extract(*reader)));
    }

    fn seed(&self, reader: &mut Salt, fresh: &[u8; 32]) {
        self.mix(*reader, self.position(), fresh);
    }
}
