//! C5: deferred mix-back. Readers hash one pool concurrently, each with its CPU's number and a
//! counter as nonce, and raise a flag: "mix-back needed". A reader that gets the lock without waiting
//! mixes back for all of them; one that finds it held leaves, since the holder looks at the flag again
//! before it goes.
//!
//! Promises: a reader never waits for another, and no nonce is used twice. A reader's bytes may leave
//! before the pool has moved on: for that moment a thief of the pool can rebuild them.
//! The objection of the thread: the last one out may be kept at work by the others for ever. So each
//! reader counts how often it had to go round.

use super::c1_spinlock::SpinLock;
use super::register::{self, HASH_LEN, START, WORDS};
use super::{Cpu, Pool};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

/// One pool, read without the lock and written under it.
pub(crate) struct DeferredPool {
    words: [AtomicU32; WORDS],
    needed: AtomicBool,
    position: SpinLock<u32>,
}

/// A CPU's nonce, and what its mix-backs cost it.
pub(crate) struct Nonce {
    cpu: u32,
    count: u64,
    /// Mix-backs done, for itself and for others.
    pub(crate) mixes: u64,
    /// The longest stay: mix-backs done in one go before the flag was found lowered.
    pub(crate) longest: u64,
}

impl Nonce {
    pub(crate) fn new(cpu: usize) -> Self {
        Self {
            cpu: cpu as u32,
            count: 0,
            mixes: 0,
            longest: 0,
        }
    }

    /// The start value of the next hash.
    #[inline(always)]
    fn start(&mut self) -> [u32; 5] {
        self.count += 1;
        let [a, b, c, d, e] = START;
        [
            a ^ self.cpu,
            b ^ self.count as u32,
            c ^ (self.count >> 32) as u32,
            d,
            e,
        ]
    }
}

impl DeferredPool {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        let pool = Self {
            words: [const { AtomicU32::new(0) }; WORDS],
            needed: AtomicBool::new(false),
            position: SpinLock::new(0),
        };
        pool.position.with(|position| pool.mix(position, seed));
        pool
    }

    #[inline(always)]
    fn word(&self, i: usize) -> u32 {
        self.words[i].load(Ordering::Relaxed)
    }

    /// Hashes the pool while others may be writing it.
    #[inline(always)]
    pub(crate) fn hash(&self, nonce: &mut Nonce) -> [u32; 5] {
        register::hash(nonce.start(), |i| self.word(i))
    }

    /// Mixes bytes in; `position` proves that the lock is held.
    #[inline(always)]
    fn mix(&self, position: &mut u32, bytes: &[u8]) {
        for &byte in bytes {
            *position = position.wrapping_sub(1);
            let new = register::mixed(|i| self.word(i), *position, byte);
            self.words[register::slot(*position)].store(new, Ordering::Relaxed);
        }
    }

    /// Sees to it that the pool moves on after the caller's hash, without ever waiting.
    #[inline(always)]
    pub(crate) fn mix_back(&self, nonce: &mut Nonce, hash: &[u32; 5]) {
        let mut stay = 0;
        let mut bytes: [u8; HASH_LEN] = register::bytes(hash);
        self.needed.store(true, Ordering::Relaxed);
        loop {
            // One fence between raising the flag and trying the lock, one between giving the lock back
            // and looking at the flag. Without either, a reader can find the lock still held while
            // the holder finds the flag still lowered: both leave, and the mix-back is forgotten.
            fence(Ordering::SeqCst);
            if !self.needed.load(Ordering::Relaxed) {
                break;
            }
            let mixed = self.position.try_with(|position| {
                let wanted = self.needed.swap(false, Ordering::Relaxed);
                if wanted {
                    self.mix(position, &bytes);
                }
                wanted
            });
            match mixed {
                None => break,
                Some(wanted) => stay += u64::from(wanted),
            }
            // Going round again, for others: they need the pool moved on by something new.
            if self.needed.load(Ordering::Relaxed) {
                bytes = register::bytes(&self.hash(nonce));
            }
        }
        nonce.mixes += stay;
        nonce.longest = nonce.longest.max(stay);
    }

    /// Whether a mix-back is still asked for.
    pub(crate) fn pending(&self) -> bool {
        self.needed.load(Ordering::SeqCst)
    }
}

impl Pool for DeferredPool {
    type Reader = Nonce;

    fn reader(&self, cpu: Cpu) -> Nonce {
        Nonce::new(cpu.number)
    }

    fn read(&self, reader: &mut Nonce, dest: &mut [u8]) {
        register::fill(dest, || {
            let hash = self.hash(reader);
            self.mix_back(reader, &hash);
            register::fold(&hash)
        });
    }

    fn seed(&self, _reader: &mut Nonce, fresh: &[u8; 32]) {
        self.position.with(|position| self.mix(position, fresh));
    }
}
