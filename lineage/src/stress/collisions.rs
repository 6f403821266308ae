//! Does a reader get what another reader got?

use super::threads::together;
use crate::contenders::Pool;
use crate::contenders::register::OUTPUT_LEN;
use crate::placement::Placement;

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
    placement: &Placement,
    threads: usize,
    each: usize,
) -> Collisions {
    let drawn = together(placement, threads, |cpu| {
        let mut reader = pool.reader(cpu);
        let mut outputs = vec![([0; OUTPUT_LEN], cpu.number); each];
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
