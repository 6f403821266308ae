//! C1, the baseline: one pool, one spinlock. Each 10 bytes out cost a hash of the pool and 20 bytes
//! mixed back, both with the lock held; a read of 64 bytes takes it seven times.
//!
//! Promises: no two readers ever see the same pool, so no two get the same output.
//! User space: a holder of a kernel spinlock is never taken off its CPU, ours can be. A waiter
//! therefore gives up its turn after a while, or a machine with more threads than cores would
//! measure the scheduler's patience instead of the lock.

use super::register::{self, HASH_LEN, START, WORDS};
use super::{Cpu, Pool};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// Turns of waiting before a thread lets another run. Chosen, not measured.
const PATIENCE: u32 = 1000;

/// A value under a spinlock: test, then test-and-set.
pub(crate) struct SpinLock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the one thread that holds the lock.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `work` with the lock held, if it is free now.
    #[inline(always)]
    pub(crate) fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.held.load(Ordering::Relaxed) || self.held.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: the swap found the lock free, so until the store below no other reference lives.
        let result = work(unsafe { &mut *self.value.get() });
        self.held.store(false, Ordering::Release);
        Some(result)
    }

    /// Runs `work` with the lock held, after waiting for it.
    #[inline(always)]
    pub(crate) fn with<R>(&self, mut work: impl FnMut(&mut T) -> R) -> R {
        let mut turns = 0_u32;
        loop {
            if let Some(result) = self.try_with(&mut work) {
                return result;
            }
            turns += 1;
            if turns.is_multiple_of(PATIENCE) {
                std::thread::yield_now();
            }
            core::hint::spin_loop();
        }
    }
}

/// The pool itself, for one thread at a time.
pub(crate) struct Words {
    words: [u32; WORDS],
    position: u32,
    /// How often each word was written, if `WATCH`.
    writes: [u32; WORDS],
}

impl Words {
    pub(crate) fn new() -> Self {
        Self {
            words: [0; WORDS],
            position: 0,
            writes: [0; WORDS],
        }
    }

    /// Mixes bytes in.
    #[inline(always)]
    pub(crate) fn mix<const WATCH: bool>(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.position = self.position.wrapping_sub(1);
            let i = register::slot(self.position);
            self.words[i] = register::mixed(|i| self.words[i], self.position, byte);
            if WATCH {
                self.writes[i] += 1;
            }
        }
    }

    /// Hashes the pool and mixes the hash back.
    #[inline(always)]
    pub(crate) fn extract<const WATCH: bool>(&mut self) -> [u32; 5] {
        let hash = register::hash(START, |i| self.words[i]);
        let bytes: [u8; HASH_LEN] = register::bytes(&hash);
        self.mix::<WATCH>(&bytes);
        hash
    }
}

/// One pool for all readers.
pub(crate) struct OnePool<const WATCH: bool = false> {
    pool: SpinLock<Words>,
}

impl<const WATCH: bool> OnePool<WATCH> {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        let mut words = Words::new();
        words.mix::<false>(seed);
        Self {
            pool: SpinLock::new(words),
        }
    }

    /// How often each word was written.
    pub(crate) fn writes(&self) -> [u64; WORDS] {
        self.pool.with(|pool| pool.writes.map(u64::from))
    }

    pub(crate) fn mix(&self, bytes: &[u8]) {
        self.pool.with(|pool| pool.mix::<false>(bytes));
    }

    pub(crate) fn fill(&self, dest: &mut [u8]) {
        register::fill(dest, || {
            register::fold(&self.pool.with(|pool| pool.extract::<WATCH>()))
        });
    }
}

impl<const WATCH: bool> Pool for OnePool<WATCH> {
    type Reader = ();

    fn reader(&self, _cpu: Cpu) {}

    fn read(&self, _reader: &mut (), dest: &mut [u8]) {
        self.fill(dest);
    }

    fn seed(&self, _reader: &mut (), fresh: &[u8; 32]) {
        self.mix(fresh);
    }
}
