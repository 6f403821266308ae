//! What a run of the bench found, as plain values.
//!
//! The measuring process writes [`Event`]s, a JSON object a line; the command
//! gathers them into one [`Report`], which `--json` writes and from which the
//! tables and the plot are made. Fields are only ever added.

use super::contenders::{KERNEL, VDSO};
use super::memory::Memory;
use ownpool_measure::machine::Machine;
use ownpool_measure::samples::{quantile, sorted};
use serde::{Deserialize, Serialize};

/// The figures of one contender at one size with one number of threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    /// The name that a program would call: getrandom, read, ...; "door" in JSON, as it
    /// was first called.
    #[serde(rename = "door")]
    pub(super) entry: String,
    pub(super) who: String,
    pub(super) threads: usize,
    pub(super) bytes: usize,
    /// Calls in each thread and round.
    pub(super) calls: u64,
    pub(super) rounds: usize,
    /// Nanoseconds per call in a thread: median, quartiles and extremes of the rounds.
    pub(super) ns: f64,
    pub(super) ns_q1: f64,
    pub(super) ns_q3: f64,
    pub(super) ns_min: f64,
    pub(super) ns_max: f64,
    /// Of all threads together, median of the rounds.
    pub(super) calls_per_s: f64,
    /// Of all threads together, in 10^9 bytes.
    pub(super) gb_per_s: f64,
}

impl Row {
    /// The figures of some rounds: ns per call, and calls per second of all threads.
    pub(super) fn from_samples(
        entry: &str,
        who: &str,
        threads: usize,
        bytes: usize,
        calls: u64,
        samples: &[(f64, f64)],
    ) -> Row {
        let ns = sorted(samples.iter().map(|sample| sample.0).collect());
        let calls_per_s = sorted(samples.iter().map(|sample| sample.1).collect());
        let calls_per_s = quantile(&calls_per_s, 0.5);
        Row {
            entry: entry.into(),
            who: who.into(),
            threads,
            bytes,
            calls,
            rounds: samples.len(),
            ns: quantile(&ns, 0.5),
            ns_q1: quantile(&ns, 0.25),
            ns_q3: quantile(&ns, 0.75),
            ns_min: quantile(&ns, 0.0),
            ns_max: quantile(&ns, 1.0),
            calls_per_s,
            gb_per_s: calls_per_s * bytes as f64 / 1e9,
        }
    }
}

/// A contender that is not on this machine, or failed, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Absent {
    pub(super) who: String,
    pub(super) why: String,
}

/// One contender, described.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) who: String,
    pub(super) what: String,
}

/// What was found before the first measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// `ownpool_version()`, backend included.
    pub(super) version: String,
    pub(super) backend: String,
    /// `ownpool_mode()`
    pub(super) mode: String,
    pub(super) peers: Vec<Peer>,
    pub(super) absent: Vec<Absent>,
    pub(super) machine: Machine,
    /// How many rows will follow.
    pub(super) planned: usize,
}

/// A line from the measuring process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// First of all.
    Setup(Setup),
    /// One more cell is measured.
    Row(Row),
    /// A contender that failed at some size.
    Absent(Absent),
    /// What threads cost.
    Memory(Memory),
    /// Last: whether each thread had a core of its own.
    Pinned(bool),
}

/// Everything that one run found.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// Of this format.
    pub(super) format: u32,
    pub(super) quick: bool,
    /// Whether each thread was bound to a core of its own.
    pub(super) pinned: bool,
    pub(super) setup: Setup,
    pub(super) rows: Vec<Row>,
    pub(super) memory: Option<Memory>,
}

impl Report {
    /// The rows of the same requests, whichever contender answered them.
    fn alike<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a Row> {
        self.of(&row.entry, row.threads)
            .filter(|other| other.bytes == row.bytes)
    }

    /// How many times faster a row is than this contender's.
    fn times(&self, row: &Row, who: &str) -> Option<f64> {
        let other = self.alike(row).find(|other| other.who == who)?;
        Some(other.ns / row.ns)
    }

    /// How many times faster than the raw system call.
    pub(super) fn times_syscall(&self, row: &Row) -> Option<f64> {
        self.times(row, KERNEL)
    }

    /// How many times faster than the vDSO.
    pub(super) fn times_vdso(&self, row: &Row) -> Option<f64> {
        self.times(row, VDSO)
    }

    /// Whether no contender answers more of these requests in the same time.
    pub(super) fn fastest(&self, row: &Row) -> bool {
        self.alike(row)
            .all(|other| other.calls_per_s <= row.calls_per_s)
    }

    /// Rows of one entry and number of threads, in the order of measuring.
    pub(super) fn of<'a>(
        &'a self,
        entry: &'a str,
        threads: usize,
    ) -> impl Iterator<Item = &'a Row> {
        self.rows
            .iter()
            .filter(move |row| row.entry == entry && row.threads == threads)
    }

    /// Each thing once, in order of appearance.
    pub(super) fn distinct<T: PartialEq>(things: impl Iterator<Item = T>) -> Vec<T> {
        let mut list = Vec::new();
        for thing in things {
            if !list.contains(&thing) {
                list.push(thing);
            }
        }
        list
    }
}
