//! C6: a helper thread fills a circular buffer with blocks, readers take them out. It was rejected over a
//! question: what happens when the buffer is full? The helper can rest, and then every byte in the buffer is
//! as old as the last reader's pause, or it can go on and put new blocks for old, and then one CPU
//! is busy for no reader. Both are here ([`Full`]), and what each costs is measured.
//!
//! Promises: a block is given to one reader, once. Readers wait when the buffer is empty: they cannot
//! be faster together than the helper is alone.
//! The buffer is a bounded queue in which each place has a turn number, so that neither side locks.

use super::c1_spinlock::OnePool;
use super::{Cpu, Pool};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::{JoinHandle, Thread};

/// Blocks in the buffer: a page in all.
pub(crate) const PLACES: usize = 64;
/// Bytes in a block.
pub(crate) const BLOCK_LEN: usize = 64;

/// What the helper does when the buffer is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Full {
    /// It sleeps until a reader has made room.
    Rest,
    /// It throws the oldest block away and makes a new one.
    Replace,
}

/// A block, and how many seeds had gone in when it was made.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) bytes: [u8; BLOCK_LEN],
    pub(crate) seeds: u64,
}

struct Place {
    turn: AtomicUsize,
    block: UnsafeCell<Block>,
}

struct Shared {
    places: [Place; PLACES],
    head: AtomicUsize,
    tail: AtomicUsize,
    pool: OnePool,
    seeds: AtomicU64,
    made: AtomicU64,
    busy_ns: AtomicU64,
    starved: AtomicU64,
    stop: AtomicBool,
    full: Full,
}

// SAFETY: a place's block is touched only by the thread that won its turn (see `put` and `take`).
unsafe impl Sync for Shared {}

impl Shared {
    /// Puts a block at the head; false when the buffer is full. The helper alone calls it.
    fn put(&self, block: Block) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        let place = &self.places[head % PLACES];
        if place.turn.load(Ordering::Acquire) != head {
            return false;
        }
        // SAFETY: the turn says that the place is empty, and only the helper fills places.
        unsafe { *place.block.get() = block };
        place.turn.store(head + 1, Ordering::Release);
        self.head.store(head + 1, Ordering::Relaxed);
        true
    }

    /// Takes the oldest block.
    fn take(&self) -> Option<Block> {
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            let place = &self.places[tail % PLACES];
            let turn = place.turn.load(Ordering::Acquire);
            if turn == tail {
                return None;
            }
            if turn != tail + 1 {
                tail = self.tail.load(Ordering::Relaxed);
                continue;
            }
            match self.tail.compare_exchange_weak(
                tail,
                tail + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Err(now) => tail = now,
                Ok(_) => {
                    // SAFETY: the exchange gave this turn to this thread, and the helper writes here
                    // again only after the store below.
                    let block = unsafe { *place.block.get() };
                    place.turn.store(tail + PLACES, Ordering::Release);
                    return Some(block);
                }
            }
        }
    }

    /// The helper's life.
    fn help(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let seeds = self.seeds.load(Ordering::Acquire);
            let mut block = Block {
                bytes: [0; BLOCK_LEN],
                seeds,
            };
            self.pool.fill(&mut block.bytes);
            while !self.put(block) && !self.stop.load(Ordering::Relaxed) {
                match self.full {
                    Full::Rest => {
                        self.busy_ns.store(thread_cpu_ns(), Ordering::Relaxed);
                        std::thread::park();
                    }
                    Full::Replace => drop(self.take()),
                }
            }
            self.made.fetch_add(1, Ordering::Relaxed);
        }
        self.busy_ns.store(thread_cpu_ns(), Ordering::Relaxed);
    }
}

/// CPU time of the calling thread.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a timespec that the call may write.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The buffer and its helper.
pub(crate) struct RingPool {
    shared: Arc<Shared>,
    helper: Thread,
    handle: Option<JoinHandle<()>>,
}

/// What the helper did so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Blocks made.
    pub(crate) made: u64,
    /// CPU time, as of the last rest or the end.
    pub(crate) busy_ns: u64,
    /// Reads that found the buffer empty and had to wait.
    pub(crate) starved: u64,
}

impl RingPool {
    pub(crate) fn new(full: Full, seed: &[u8; 32]) -> Self {
        let empty = Block {
            bytes: [0; BLOCK_LEN],
            seeds: 0,
        };
        let shared = Arc::new(Shared {
            places: core::array::from_fn(|i| Place {
                turn: AtomicUsize::new(i),
                block: UnsafeCell::new(empty),
            }),
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            pool: OnePool::new(seed),
            seeds: AtomicU64::new(0),
            made: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            starved: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            full,
        });
        let own = Arc::clone(&shared);
        let handle = std::thread::spawn(move || own.help());
        Self {
            shared,
            helper: handle.thread().clone(),
            handle: Some(handle),
        }
    }

    /// Takes one block, after waiting for one if need be.
    pub(crate) fn take(&self) -> Block {
        let mut waited = false;
        let block = loop {
            match self.shared.take() {
                Some(block) => break block,
                None => {
                    waited = true;
                    self.helper.unpark();
                    std::thread::yield_now();
                }
            }
        };
        self.shared
            .starved
            .fetch_add(u64::from(waited), Ordering::Relaxed);
        // Half empty: wake the helper. Each reader's own wake-up would cost a system call a block.
        let tail = self.shared.tail.load(Ordering::Relaxed);
        if self.shared.full == Full::Rest && tail.is_multiple_of(PLACES / 2) {
            self.helper.unpark();
        }
        block
    }

    /// Gives the pool behind the buffer fresh entropy.
    pub(crate) fn mix(&self, fresh: &[u8; 32]) {
        self.shared.pool.mix(fresh);
        self.shared.seeds.fetch_add(1, Ordering::Release);
    }

    /// Stops the helper and says what it did.
    pub(crate) fn stop(&mut self) -> Effort {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.helper.unpark();
        if let Some(handle) = self.handle.take() {
            // A helper that panicked has aborted the process already.
            let _ = handle.join();
        }
        self.effort()
    }

    /// What the helper did so far.
    pub(crate) fn effort(&self) -> Effort {
        Effort {
            made: self.shared.made.load(Ordering::Relaxed),
            busy_ns: self.shared.busy_ns.load(Ordering::Relaxed),
            starved: self.shared.starved.load(Ordering::Relaxed),
        }
    }
}

impl Drop for RingPool {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Pool for RingPool {
    type Reader = ();

    fn reader(&self, _cpu: Cpu) {}

    fn read(&self, _reader: &mut (), dest: &mut [u8]) {
        for piece in dest.chunks_mut(BLOCK_LEN) {
            piece.copy_from_slice(&self.take().bytes[..piece.len()]);
        }
    }

    fn seed(&self, _reader: &mut (), fresh: &[u8; 32]) {
        self.mix(fresh);
    }
}
