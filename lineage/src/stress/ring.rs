//! C6: what does a full buffer cost, and what an empty one?

use super::threads::together;
use crate::contenders::c6_ring::{Full, PLACES, RingPool};
use crate::placement::Placement;
use core::time::Duration;
use std::time::Instant;

/// What a full buffer cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullBuffer {
    /// Blocks made while there was no reader.
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
    // A helper that rests stores its time before it rests, one that does not only at the end.
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

/// All threads read C6 for so long.
pub(crate) fn hunger(placement: &Placement, threads: usize, time: Duration) -> Hunger {
    let mut pool = RingPool::new(Full::Rest, &[7; 32]);
    let reads = together(placement, threads, |_| {
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
