//! The questions of the thread that are not about speed, answered by counting: does anybody get what a
//! neighbour got, is every word of the pool mixed alike, does the last one out ever leave, and what does
//! a full buffer cost.
//!
//! Promises: numbers, no verdicts. The benchmark prints them, `tests/lineage` holds them to what each
//! design claims.

pub(crate) mod evenness;

use crate::contenders::c5_deferred::{DeferredPool, Nonce};
use crate::contenders::c6_ring::{Full, PLACES, RingPool};
use crate::contenders::register::OUTPUT_LEN;
use crate::contenders::{Pool, Seat};
use crate::seats::Seats;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;

use std::sync::Barrier;
use std::time::Instant;

/// Runs `work` on so many pinned threads at once and collects what they bring.
fn together<T: Send>(seats: &Seats, threads: usize, work: impl Fn(Seat) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(threads);
    let run = |cpu| {
        let seat = seats.sit(cpu);
        start.wait();
        work(seat)
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|cpu| scope.spawn(move || run(cpu)))
            .collect();
        handles
            .into_iter()
            .filter_map(|handle| handle.join().ok())
            .collect()
    })
}

/// Rounds of two threads, and the time after which they stop all the same: on a busy machine a meeting can
/// take milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) most: usize,
    pub(crate) time: Duration,
}

/// Lets two pinned threads do `work` at the same instant, round after round; `after` runs when both have.
fn in_step<R>(
    seats: &Seats,
    rounds: Rounds,
    reader: impl Fn(Seat) -> R + Sync,
    work: impl Fn(&mut R) + Sync,
    mut after: impl FnMut(),
) {
    let came = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    // A barrier of the spinning kind: a thread that sleeps would come too late to race.
    let meet = |time: usize| {
        came.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0_u32;
        while came.load(Ordering::Acquire) < 2 * time {
            core::hint::spin_loop();
            spins += 1;
            if spins.is_multiple_of(4096) {
                std::thread::yield_now();
            }
        }
    };
    let play = |cpu, after: &mut dyn FnMut()| {
        let mut reader = reader(seats.sit(cpu));
        let begun = Instant::now();
        for round in 0..rounds.most {
            meet(2 * round + 1);
            work(&mut reader);
            // Between two meetings, so that both see the same at the next.
            if cpu == 0 && begun.elapsed() > rounds.time {
                over.store(true, Ordering::Relaxed);
            }
            meet(2 * round + 2);
            after();
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| play(1, &mut || ()));
        play(0, &mut after);
    });
    seats.release();
}

/// How often two readers of C5 came at the same instant, and how often both left with a mix-back to do.
pub(crate) fn deferred_forgotten(seats: &Seats, rounds: Rounds) -> (usize, usize) {
    let pool = DeferredPool::new(&[7; 32]);
    let (mut meetings, mut forgotten) = (0, 0);
    in_step(
        seats,
        rounds,
        |seat| pool.reader(seat),
        |nonce: &mut Nonce| pool.read(nonce, &mut [0; OUTPUT_LEN]),
        || {
            meetings += 1;
            forgotten += usize::from(pool.pending());
        },
    );
    (meetings, forgotten)
}

/// How many outputs were the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collisions {
    pub(crate) outputs: usize,
    /// Outputs that another CPU had too.
    pub(crate) between: usize,
    /// Outputs that the same CPU had had before.
    pub(crate) within: usize,
}

/// Has every thread draw single hashes of 10 bytes at full speed and compares all of them. By chance,
/// n outputs of 80 bits hold an equal pair with odds of n^2 / 2^81: below 2^-41 up to a million.
pub(crate) fn collisions<P: Pool>(
    pool: &P,
    seats: &Seats,
    threads: usize,
    each: usize,
) -> Collisions {
    let drawn = together(seats, threads, |seat| {
        let mut reader = pool.reader(seat);
        let mut outputs = vec![([0; OUTPUT_LEN], seat.cpu); each];
        for (output, _) in &mut outputs {
            pool.read(&mut reader, output);
        }
        outputs
    });
    let mut all: Vec<_> = drawn.into_iter().flatten().collect();
    all.sort_unstable();
    let equal = all.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    let (within, between): (Vec<_>, Vec<_>) = equal.partition(|pair| pair[0].1 == pair[1].1);
    Collisions {
        outputs: all.len(),
        between: between.len(),
        within: within.len(),
    }
}

/// How C5 fared under load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Liveness {
    pub(crate) threads: u64,
    pub(crate) reads: u64,
    /// Reads of the thread that got the fewest.
    pub(crate) fewest: u64,
    /// Mix-backs for each hash that left; below 1 where one mix-back served several.
    pub(crate) mixes_per_hash: f64,
    /// The longest stay of one reader, in mix-backs.
    pub(crate) longest: u64,
    /// The slowest read, which includes time off the core where threads outnumber cores.
    pub(crate) slowest: Duration,
}

impl Liveness {
    /// Whether some thread got less than a hundredth of its share: it was kept at work for others.
    pub(crate) fn starved(&self) -> bool {
        self.fewest * 100 * self.threads < self.reads
    }
}

/// Everybody reads C5 single hashes for so long.
pub(crate) fn deferred_liveness(seats: &Seats, threads: usize, time: Duration) -> Liveness {
    let pool = DeferredPool::new(&[7; 32]);
    let fared = together(seats, threads, |seat| {
        let mut nonce: Nonce = pool.reader(seat);
        let mut output = [0; OUTPUT_LEN];
        let (mut reads, mut slowest) = (0_u64, Duration::ZERO);
        let begun = Instant::now();
        let mut last = begun;
        while last.duration_since(begun) < time {
            pool.read(&mut nonce, &mut output);
            let now = Instant::now();
            slowest = slowest.max(now.duration_since(last));
            last = now;
            reads += 1;
        }
        (reads, nonce.mixes, nonce.longest, slowest)
    });
    let reads: u64 = fared.iter().map(|&(reads, ..)| reads).sum();
    let mixes: u64 = fared.iter().map(|&(_, mixes, ..)| mixes).sum();
    Liveness {
        threads: threads as u64,
        reads,
        fewest: fared
            .iter()
            .map(|&(reads, ..)| reads)
            .min()
            .unwrap_or_default(),
        mixes_per_hash: mixes as f64 / reads.max(1) as f64,
        longest: fared
            .iter()
            .map(|&(.., longest, _)| longest)
            .max()
            .unwrap_or_default(),
        slowest: fared
            .iter()
            .map(|&(.., slowest)| slowest)
            .max()
            .unwrap_or_default(),
    }
}

/// What a full buffer cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullBuffer {
    /// Blocks made while nobody read.
    pub(crate) made: u64,
    /// CPU time spent meanwhile, as a share of the time that passed.
    pub(crate) busy: f64,
    /// Blocks from before a seed that readers still got after it.
    pub(crate) stale: usize,
}

/// Lets C6 fill up, leaves it alone for so long, seeds it, and reads until the seed shows.
pub(crate) fn full_buffer(full: Full, time: Duration) -> FullBuffer {
    let begun = Instant::now();
    let mut pool = RingPool::new(full, &[7; 32]);
    std::thread::sleep(time);
    pool.mix(&[8; 32]);
    // Time for a helper that is at work to replace every block.
    std::thread::sleep(time / 4);
    let idle = begun.elapsed();
    let before = pool.effort();
    // One more than the buffer holds: the helper has a block in hand.
    let blocks: Vec<_> = (0..4 * PLACES).map(|_| pool.take()).collect();
    let stale = blocks.iter().filter(|block| block.seeds == 0).count();
    let end = pool.stop();
    // A helper that rests has noted its time when it lay down, one that does not only at the end.
    let busy_ns = if full == Full::Rest {
        before.busy_ns
    } else {
        end.busy_ns
    };
    FullBuffer {
        made: before.made,
        busy: busy_ns as f64 / idle.as_nanos() as f64,
        stale,
    }
}

/// How readers fare when together they could read faster than C6's helper can make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hunger {
    pub(crate) reads: u64,
    /// Reads that found nothing and had to wait.
    pub(crate) waited: u64,
}

/// Everybody reads C6 for so long.
pub(crate) fn ring_hunger(seats: &Seats, threads: usize, time: Duration) -> Hunger {
    let mut pool = RingPool::new(Full::Rest, &[7; 32]);
    let reads = together(seats, threads, |_| {
        let begun = Instant::now();
        let mut reads = 0;
        while begun.elapsed() < time {
            pool.take();
            reads += 1;
        }
        reads
    });
    Hunger {
        reads: reads.into_iter().sum(),
        waited: pool.stop().starved,
    }
}
