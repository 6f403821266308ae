//! Everything measured in one run, as plain numbers.
//!
//! Promises: rounds are interleaved; each cell keeps its rounds, so that a report can give the median and
//! the spread. A row that did not run keeps its reason.

use crate::contenders::p1_ownpool::Ownpool;
use crate::harness::ticks_per_ns;
use crate::placement::Placement;
use crate::plan::Plan;
use crate::rows;
use crate::stress::observed::{Observed, observe};
use core::time::Duration;
use ownpool_measure::image::Sizes;
use ownpool_measure::machine::Machine;
use ownpool_measure::samples::{extremes, median};

/// A row of figures: one cell a column, or the reason for none.
pub(crate) struct Figures {
    pub(crate) label: &'static str,
    pub(crate) name: &'static str,
    pub(crate) memory: &'static str,
    pub(crate) cells: Result<Vec<f64>, String>,
    /// The widest (highest - lowest) / median of its cells.
    pub(crate) spread: f64,
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
    pub(crate) observed: Observed,
    /// What our library takes.
    pub(crate) size: Option<Sizes>,
}

impl Figures {
    /// The label, if it has one, and the name.
    pub(crate) fn title(&self) -> String {
        match self.label {
            rows::UNLABELLED => self.name.into(),
            label => format!("{label} {}", self.name),
        }
    }
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
    let columns: Vec<Vec<f64>> = (0..columns)
        .map(|i| rounds.iter().map(|round| round[i]).collect())
        .collect();
    let spread = |column: &Vec<f64>| {
        let (lowest, highest) = extremes(column.iter().copied());
        (highest - lowest) / median(column)
    };
    Figures {
        label: row.label,
        name: row.name,
        memory: row.memory,
        cells: row
            .run
            .map(|_| columns.iter().map(|column| median(column)).collect()),
        spread: columns.iter().map(spread).fold(0.0, f64::max),
    }
}

/// As many rows, each with its rounds.
fn summaries<Run>(rows: Vec<rows::Row<Run>>, rounds: &[Vec<Vec<f64>>]) -> Vec<Figures> {
    let rows = rows.into_iter().zip(rounds);
    rows.map(|(row, rounds)| summary(row, rounds)).collect()
}

/// Measures everything; shows on the error stream how far it is.
pub(crate) fn measure(plan: Plan, ours: &Result<Ownpool, String>) -> Measured {
    let placement = Placement::new();
    let nodes = placement.real_nodes;
    let machine = format!(
        "{}; {nodes} memory {}",
        Machine::look().sentence(),
        if nodes == 1 { "node" } else { "nodes" }
    );
    let threads = placement.thread_counts();
    let ticks_per_ns = ticks_per_ns(Duration::from_millis(100));
    let (pools, mut small) = (rows::pools(ours), rows::small(ours));
    let mut pool_rounds = vec![Vec::new(); pools.len()];
    let mut small_rounds = vec![Vec::new(); small.len()];
    // Before anything else: threads that end may leave something behind for later ones.
    let firsts: Vec<_> = pools
        .iter()
        .map(|row| row.run.as_ref().map_or(0.0, |run| (run.first)(&placement)))
        .collect();
    for round in 1..=plan.rounds {
        eprintln!("lineage: round {round} of {}", plan.rounds);
        let mut cells = vec![Vec::new(); pools.len()];
        for &threads in &threads {
            for (row, cells) in pools.iter().zip(&mut cells) {
                if let Ok(run) = &row.run {
                    cells.push((run.rate)(&placement, threads, plan.rate));
                }
            }
        }
        for ((mut cells, &first), rounds) in cells.into_iter().zip(&firsts).zip(&mut pool_rounds) {
            cells.push(first);
            rounds.push(cells);
        }
        // One core for all of them, so that all have the same one.
        placement.pin(0);
        for (row, rounds) in small.iter_mut().zip(&mut small_rounds) {
            let run = row.run.as_mut();
            rounds.push(run.map_or(Vec::new(), |run| run(plan.ints).to_vec()));
        }
        placement.unpin();
    }
    eprintln!("lineage: counting");
    let observed = observe(&placement, plan, ours);
    Measured {
        machine,
        cores: placement.cores.len(),
        real_nodes: placement.real_nodes,
        plan,
        ticks_per_ns,
        threads,
        pools: summaries(pools, &pool_rounds),
        ints: summaries(small, &small_rounds),
        observed,
        size: ours.as_ref().ok().map(|ours| ours.size),
    }
}
