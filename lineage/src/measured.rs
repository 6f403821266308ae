//! Everything measured in one run, as plain numbers.
//!
//! Promises: rounds are interleaved; each cell keeps its rounds, so that a report can give the median and
//! the spread. A row that did not run keeps its reason.

use crate::contenders::c3_salted::SaltedPool;
use crate::contenders::c4_atomic::AtomicPool;
use crate::contenders::c5_deferred::DeferredPool;
use crate::contenders::c6_ring::Full;
use crate::contenders::c10_kernel::fresh;
use crate::contenders::p1_ownpool::Ownpool;
use crate::contenders::register::HASH_LEN;
use crate::harness::ticks_per_ns;
use crate::rows;
use crate::seats::Seats;
use crate::stress::evenness::{self, Evenness};
use crate::stress::{self, Collisions, FullBuffer, Hunger, Liveness, Rounds};
use core::time::Duration;
use ownpool_measure::machine::Machine;
use ownpool_measure::samples::median;

/// How long to measure.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) rounds: usize,
    /// One rate.
    pub(crate) rate: Duration,
    /// One generator of small integers, one size.
    pub(crate) ints: Duration,
    /// Outputs a thread when looking for equal ones.
    pub(crate) outputs: usize,
    /// Windows of eight mix-backs.
    pub(crate) windows: usize,
    /// C5 under load, C6 left alone.
    pub(crate) load: Duration,
}

/// A row of figures: one cell a column, or the reason for none.
pub(crate) struct Figures {
    pub(crate) label: &'static str,
    pub(crate) name: &'static str,
    pub(crate) memory: &'static str,
    pub(crate) cells: Result<Vec<f64>, String>,
    /// The widest (highest - lowest) / median of its cells.
    pub(crate) spread: f64,
}

/// The questions that are not about speed.
pub(crate) struct Observations {
    pub(crate) collisions: Vec<(&'static str, Collisions)>,
    pub(crate) locked: Evenness,
    pub(crate) salted: Evenness,
    pub(crate) alone: Liveness,
    pub(crate) crowded: Liveness,
    /// Times that two readers of C5 met, and mix-backs that were forgotten.
    pub(crate) forgotten: (usize, usize),
    pub(crate) rest: FullBuffer,
    pub(crate) replace: FullBuffer,
    pub(crate) hunger: Hunger,
    /// Bytes that C4 should have mixed in under stress, and those it did.
    pub(crate) reserved: (u32, u32),
}

/// One run.
pub(crate) struct Measured {
    pub(crate) machine: String,
    pub(crate) cores: usize,
    pub(crate) real_nodes: usize,
    pub(crate) plan: Plan,
    pub(crate) ticks_per_ns: f64,
    pub(crate) threads: Vec<usize>,
    /// Calls per second at each thread count, then nanoseconds of a first call.
    pub(crate) pools: Vec<Figures>,
    /// Cycles for a thousand calls of 4 and 8 bytes.
    pub(crate) ints: Vec<Figures>,
    pub(crate) observed: Observations,
    /// Our library's code and thread-local bytes.
    pub(crate) size: Option<(u64, u64)>,
}

impl Measured {
    /// The column of so many threads as there are cores, or nearly: the last before cores are shared.
    pub(crate) fn full(&self) -> usize {
        self.threads
            .iter()
            .rposition(|&threads| threads <= self.cores)
            .unwrap_or_default()
    }

    /// The cells of a pool, by label and the beginning of its name.
    pub(crate) fn pool(&self, label: &str, name: &str) -> Option<&[f64]> {
        find(&self.pools, label, name)
    }

    /// The cells of a generator of small integers.
    pub(crate) fn small(&self, label: &str, name: &str) -> Option<&[f64]> {
        find(&self.ints, label, name)
    }
}

fn find<'a>(figures: &'a [Figures], label: &str, name: &str) -> Option<&'a [f64]> {
    let row = figures
        .iter()
        .find(|row| row.label == label && row.name.starts_with(name))?;
    row.cells.as_deref().ok()
}

/// Turns rounds of cells into medians.
fn summary<Run>(row: rows::Row<Run>, rounds: &[Vec<f64>]) -> Figures {
    let columns = rounds.first().map_or(0, Vec::len);
    let column = |i: usize| -> Vec<f64> { rounds.iter().map(|round| round[i]).collect() };
    let spread = |values: &[f64]| {
        let highest = values.iter().copied().fold(f64::MIN, f64::max);
        let lowest = values.iter().copied().fold(f64::MAX, f64::min);
        (highest - lowest) / median(values)
    };
    let cells = (0..columns).map(|i| median(&column(i))).collect();
    let widest = (0..columns).map(|i| spread(&column(i))).fold(0.0, f64::max);
    let cells = row.run.map(|_| cells);
    Figures {
        label: row.label,
        name: row.name,
        memory: row.memory,
        cells,
        spread: widest,
    }
}

/// The machine, in a sentence.
fn describe(seats: &Seats) -> String {
    let nodes = if seats.real_nodes == 1 {
        "node"
    } else {
        "nodes"
    };
    format!(
        "{}; {} memory {nodes}",
        Machine::look().sentence(),
        seats.real_nodes
    )
}

/// Measures everything; tells on the error stream how far it is.
pub(crate) fn measure(plan: Plan, ours: &Result<Ownpool, String>) -> Measured {
    let seats = Seats::new();
    let description = describe(&seats);
    let threads = seats.thread_counts();
    let ticks_per_ns = ticks_per_ns(Duration::from_millis(100));
    let (mut pools, mut small) = (rows::pools(ours), rows::small(ours));
    let mut pool_rounds = vec![Vec::new(); pools.len()];
    let mut small_rounds = vec![Vec::new(); small.len()];
    // Before anything else: threads that end may leave something behind for later ones.
    let firsts: Vec<_> = pools
        .iter()
        .map(|row| row.run.as_ref().map_or(0.0, |run| (run.first)(&seats)))
        .collect();
    for round in 1..=plan.rounds {
        eprintln!("lineage: round {round} of {}", plan.rounds);
        let mut cells = vec![Vec::new(); pools.len()];
        for &threads in &threads {
            for (row, cells) in pools.iter().zip(&mut cells) {
                if let Ok(run) = &row.run {
                    cells.push((run.rate)(&seats, threads, plan.rate));
                }
            }
        }
        for ((mut cells, &first), rounds) in cells.into_iter().zip(&firsts).zip(&mut pool_rounds) {
            cells.push(first);
            rounds.push(cells);
        }
        // One core for all of them, so that all have the same one.
        seats.sit(0);
        for (row, rounds) in small.iter_mut().zip(&mut small_rounds) {
            rounds.push(
                row.run
                    .as_mut()
                    .map_or(Vec::new(), |run| run(plan.ints).to_vec()),
            );
        }
        seats.release();
    }
    eprintln!("lineage: counting");
    let observed = observe(&seats, plan, ours);
    Measured {
        machine: description,
        cores: seats.cores.len(),
        real_nodes: seats.real_nodes,
        plan,
        ticks_per_ns,
        threads,
        pools: pools
            .drain(..)
            .zip(&pool_rounds)
            .map(|(row, rounds)| summary(row, rounds))
            .collect(),
        ints: small
            .drain(..)
            .zip(&small_rounds)
            .map(|(row, rounds)| summary(row, rounds))
            .collect(),
        observed,
        size: ours.as_ref().ok().map(|ours| (ours.code, ours.tls)),
    }
}

/// Counts.
fn observe(seats: &Seats, plan: Plan, ours: &Result<Ownpool, String>) -> Observations {
    let seed: [u8; 32] = fresh();
    let rounds = Rounds {
        most: plan.windows,
        time: 2 * plan.load,
    };
    let threads = seats.cores.len().max(2);
    // Up to 2^20 outputs in all, see `stress::collisions`.
    let each = plan.outputs.min((1 << 20) / threads);
    let c4 = AtomicPool::<false>::new(&seed);
    let c4_found = stress::collisions(&c4, seats, threads, each);
    let due = seed.len() + threads * each * HASH_LEN;
    let mut collisions = vec![
        (
            "C3",
            stress::collisions::<SaltedPool>(&SaltedPool::new(&seed), seats, threads, each),
        ),
        ("C4", c4_found),
        (
            "C4, C3's salt",
            stress::collisions(&AtomicPool::<true>::new(&seed), seats, threads, each),
        ),
        (
            "C5",
            stress::collisions(&DeferredPool::new(&seed), seats, threads, each),
        ),
    ];
    if let Ok(ours) = ours {
        collisions.push(("P1", stress::collisions(ours, seats, threads, each)));
    }
    Observations {
        collisions,
        locked: evenness::locked_evenness(seats, rounds),
        salted: evenness::salted_evenness(seats, rounds),
        alone: stress::deferred_liveness(seats, 1, plan.load),
        crowded: stress::deferred_liveness(seats, 2 * seats.cores.len(), plan.load),
        forgotten: stress::deferred_forgotten(seats, rounds),
        rest: stress::full_buffer(Full::Rest, plan.load),
        replace: stress::full_buffer(Full::Replace, plan.load),
        hunger: stress::ring_hunger(seats, threads, plan.load),
        reserved: (due as u32, c4.mixed()),
    }
}
