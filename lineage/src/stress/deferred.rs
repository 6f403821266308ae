//! C5: is a mix-back ever forgotten, and does the last reader out ever leave?

use super::threads::{Rounds, in_step, together};
use crate::contenders::Pool;
use crate::contenders::c5_deferred::{DeferredPool, Nonce};
use crate::contenders::register::OUTPUT_LEN;
use crate::placement::Placement;
use core::time::Duration;
use std::time::Instant;

/// How often two readers of C5 came at the same instant, and how often both left with a mix-back to do.
pub(crate) fn forgotten(placement: &Placement, rounds: Rounds) -> (usize, usize) {
    let pool = DeferredPool::new(&[7; 32]);
    let (mut meetings, mut forgotten) = (0, 0);
    in_step(
        placement,
        rounds,
        |cpu| pool.reader(cpu),
        |nonce: &mut Nonce| pool.read(nonce, &mut [0; OUTPUT_LEN]),
        || {
            meetings += 1;
            forgotten += usize::from(pool.pending());
        },
    );
    (meetings, forgotten)
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

/// All threads read single hashes from C5 for so long.
pub(crate) fn liveness(placement: &Placement, threads: usize, time: Duration) -> Liveness {
    let pool = DeferredPool::new(&[7; 32]);
    let fared = together(placement, threads, |cpu| {
        let mut nonce: Nonce = pool.reader(cpu);
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
        (reads, nonce, slowest)
    });
    let reads = || fared.iter().map(|(reads, ..)| *reads);
    let mixes: u64 = fared.iter().map(|(_, nonce, _)| nonce.mixes).sum();
    let longest = fared.iter().map(|(_, nonce, _)| nonce.longest).max();
    let slowest = fared.iter().map(|(.., slowest)| *slowest).max();
    Liveness {
        threads: threads as u64,
        reads: reads().sum(),
        fewest: reads().min().unwrap_or_default(),
        mixes_per_hash: mixes as f64 / reads().sum::<u64>().max(1) as f64,
        longest: longest.unwrap_or_default(),
        slowest: slowest.unwrap_or_default(),
    }
}
