//! The questions of the thread that are not about speed, answered by counting: does anybody get what a
//! neighbour got, is every word of the pool mixed alike, does the last one out ever leave, and what does
//! a full buffer cost.
//!
//! Promises: numbers, no verdicts. The benchmark prints them, `tests/lineage.rs` holds them to what each
//! design claims.

use crate::contenders::c1_spinlock::OnePool;
use crate::contenders::c3_salted::{Counted, Salt, SaltedPool};
use crate::contenders::c5_deferred::{DeferredPool, Nonce};
use crate::contenders::c6_ring::{Full, PLACES, RingPool};
use crate::contenders::register::{HASH_LEN, OUTPUT_LEN, WORDS};
use crate::contenders::{Pool, Seat};
use crate::machine::Machine;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Barrier;
use std::time::Instant;

/// Runs `work` on so many pinned threads at once and collects what they bring.
fn together<T: Send>(machine: &Machine, threads: usize, work: impl Fn(Seat) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(threads);
    let run = |cpu| {
        let seat = machine.sit(cpu);
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
    machine: &Machine,
    threads: usize,
    each: usize,
) -> Collisions {
    let drawn = together(machine, threads, |seat| {
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

/// How evenly a pool's words are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evenness {
    /// Fewest and most writes of one word in any window of eight mix-backs; five if all is even.
    pub(crate) fewest: u64,
    pub(crate) most: u64,
    /// Of all words in all windows, the share that did not get five.
    pub(crate) off: f64,
    /// Of all writes, the share that a neighbour's write took away.
    pub(crate) lost: f64,
}

/// Mix-backs in a window: 8 times 20 bytes are 5 for each of 32 words.
const WINDOW: usize = 8;
/// Writes that each word is due in a window.
const DUE: u64 = (WINDOW * HASH_LEN / WORDS) as u64;

/// Compares each window's writes with what was due.
struct Judge {
    last: [u64; WORDS],
    windows: usize,
    evenness: Evenness,
}

impl Judge {
    fn new(start: [u64; WORDS]) -> Self {
        let evenness = Evenness {
            fewest: u64::MAX,
            most: 0,
            off: 0.0,
            lost: 0.0,
        };
        Self {
            last: start,
            windows: 0,
            evenness,
        }
    }

    fn window(&mut self, now: [u64; WORDS]) {
        for (now, last) in now.iter().zip(self.last) {
            let writes = now - last;
            self.evenness.fewest = self.evenness.fewest.min(writes);
            self.evenness.most = self.evenness.most.max(writes);
            self.evenness.off += f64::from(u8::from(writes != DUE));
            self.evenness.lost += DUE as f64 - writes as f64;
        }
        self.last = now;
        self.windows += 1;
    }

    fn verdict(self) -> Evenness {
        let words = (self.windows * WORDS) as f64;
        let Evenness { off, lost, .. } = self.evenness;
        Evenness {
            off: off / words,
            lost: lost / (words * DUE as f64),
            ..self.evenness
        }
    }
}

/// C3 under two CPUs: windows of eight mix-backs, four each at the same time.
pub(crate) fn salted_evenness(machine: &Machine, windows: usize) -> Evenness {
    let pool = SaltedPool::<Counted>::new(&[7; 32]);
    let turn = AtomicUsize::new(0);
    let mut judge = Judge::new(pool.landed());
    // A barrier of the spinning kind: a thread that sleeps would come too late to race.
    let meet = |round: usize| {
        turn.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0_u32;
        while turn.load(Ordering::Acquire) < 2 * round {
            core::hint::spin_loop();
            spins += 1;
            if spins.is_multiple_of(4096) {
                std::thread::yield_now();
            }
        }
    };
    let mix = |cpu| {
        let salt: Salt = pool.reader(machine.sit(cpu));
        let mut reader = salt;
        let mut output = [0; OUTPUT_LEN];
        move |pool: &SaltedPool<Counted>| {
            for _ in 0..WINDOW / 2 {
                pool.read(&mut reader, &mut output);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut mix = mix(1);
            for window in 0..windows {
                meet(2 * window + 1);
                mix(&pool);
                meet(2 * window + 2);
            }
        });
        scope.spawn(|| {
            let mut mix = mix(0);
            for window in 0..windows {
                meet(2 * window + 1);
                mix(&pool);
                meet(2 * window + 2);
                judge.window(pool.landed());
            }
        });
    });
    judge.verdict()
}

/// C1 for comparison: the lock makes two CPUs' mix-backs the same as one's.
pub(crate) fn locked_evenness(machine: &Machine, windows: usize) -> Evenness {
    let pool = OnePool::<true>::new(&[7; 32]);
    let writes = |pool: &OnePool<true>| pool.pool.with(|words| words.writes.map(u64::from));
    let mut judge = Judge::new(writes(&pool));
    for _ in 0..windows {
        together(machine, 2, |_| {
            let mut output = [0; OUTPUT_LEN * WINDOW / 2];
            pool.read(&mut (), &mut output);
        });
        judge.window(writes(&pool));
    }
    judge.verdict()
}

/// How C5 fared under load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Liveness {
    pub(crate) reads: u64,
    /// Reads of the thread that got the fewest.
    pub(crate) fewest: u64,
    /// Mix-backs for each hash that left; below 1 where one mix-back served several.
    pub(crate) mixes_per_hash: f64,
    /// The longest stay of one reader, in mix-backs.
    pub(crate) longest: u64,
    /// Whether a mix-back was still asked for when all had left.
    pub(crate) forgotten: bool,
    /// The slowest read, which includes time off the core where threads outnumber cores.
    pub(crate) slowest: Duration,
}

/// Everybody reads C5 single hashes for so long.
pub(crate) fn deferred_liveness(machine: &Machine, threads: usize, time: Duration) -> Liveness {
    let pool = DeferredPool::new(&[7; 32]);
    let fared = together(machine, threads, |seat| {
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
        forgotten: pool.pending(),
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
pub(crate) fn ring_hunger(machine: &Machine, threads: usize, time: Duration) -> Hunger {
    let mut pool = RingPool::new(Full::Rest, &[7; 32]);
    let reads = together(machine, threads, |_| {
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
