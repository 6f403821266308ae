//! C4: one pool, no lock, atomic additions. A writer reserves its places with one atomic subtraction
//! from the position and changes each word by adding the difference between its new value and its
//! old one, so that two writers of one word both leave their mark.
//!
//! Promises: no write and no reservation is ever lost. Reads are not ordered with writes: two readers
//! that hash before either has mixed back see the same pool and give the same output, unless the
//! CPU's number is in the hash as in C3. Both kinds are here (`SALTED`).

use super::c3_salted::Salt;
use super::register::{self, HASH_LEN, START, WORDS};
use super::{Cpu, Pool};
use core::sync::atomic::{AtomicU32, Ordering};

/// One pool that all CPUs add to.
pub(crate) struct AtomicPool<const SALTED: bool = false> {
    words: [AtomicU32; WORDS],
    position: AtomicU32,
}

impl<const SALTED: bool> AtomicPool<SALTED> {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        let pool = Self {
            words: [const { AtomicU32::new(0) }; WORDS],
            position: AtomicU32::new(0),
        };
        pool.mix(seed);
        pool
    }

    /// Hashes the pool as it is, or as it was in several moments.
    #[inline(always)]
    pub(crate) fn hash(&self, salt: Salt) -> [u32; 5] {
        let start = if SALTED { salt.start() } else { START };
        register::hash(start, |i| self.words[i].load(Ordering::Relaxed))
    }

    /// Mixes bytes in, at places that are this call's alone.
    #[inline(always)]
    pub(crate) fn mix(&self, bytes: &[u8]) {
        let mut at = self
            .position
            .fetch_sub(bytes.len() as u32, Ordering::Relaxed);
        for &byte in bytes {
            at = at.wrapping_sub(1);
            let word = &self.words[register::slot(at)];
            let old = word.load(Ordering::Relaxed);
            let new = register::mixed(|i| self.words[i].load(Ordering::Relaxed), at, byte);
            word.fetch_add(new.wrapping_sub(old), Ordering::Relaxed);
        }
    }

    /// How many bytes were ever mixed in.
    pub(crate) fn mixed(&self) -> u32 {
        self.position.load(Ordering::Relaxed).wrapping_neg()
    }

    #[inline(always)]
    fn extract(&self, salt: Salt) -> [u32; 5] {
        let hash = self.hash(salt);
        let bytes: [u8; HASH_LEN] = register::bytes(&hash);
        self.mix(&bytes);
        hash
    }
}

impl<const SALTED: bool> Pool for AtomicPool<SALTED> {
    type Reader = Salt;

    fn reader(&self, cpu: Cpu) -> Salt {
        Salt::new(cpu.number)
    }

    fn read(&self, reader: &mut Salt, dest: &mut [u8]) {
        register::fill(dest, || register::fold(&self.extract(*reader)));
    }

    fn seed(&self, _reader: &mut Salt, fresh: &[u8; 32]) {
        self.mix(fresh);
    }
}
