//! The measuring process: the command again, under the library.
//!
//! It is started by `ownpool bench` with the library in LD_PRELOAD and writes one
//! JSON object a line. Promises: nothing is measured unless the library is shown
//! to be in front of every name that is called; without it the status is 125.

use super::args::Args;
use super::report::{Event, Setup};
use super::rounds::{self, Plan};
use super::schedule::Schedule;
use super::{comparisons, lookup, memory};
use ownpool_measure::machine::Machine;
use std::io::Write as _;

/// Measures what the arguments ask for.
///
/// # Errors
/// One line.
pub(super) fn main(args: &Args) -> Result<(), String> {
    let found = lookup::find()?;
    let machine = Machine::look();
    // Before a thread is bound: afterwards only its own core is seen.
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let most = args.threads.unwrap_or(machine.cores).max(1);
    let counts = counts(most, args.quick, args.scaling);
    let comparisons = match (args.scaling, args.memory) {
        (true, _) => vec![comparisons::scaling(&found.functions)],
        (false, true) => Vec::new(),
        (false, false) => comparisons::entries(&found.functions),
    };
    let cells = comparisons
        .iter()
        .map(|comparison| comparison.sizes.len() * comparison.contenders.len());
    send(&Event::Setup(Setup {
        backend: backend(&found.version),
        version: found.version,
        mode: found.mode,
        peers: found.peers,
        absent: found.absent,
        machine,
        planned: cells.sum::<usize>() * counts.len(),
    }))?;
    if args.memory {
        let memory = memory::measure(found.functions, found.library.as_ref())?;
        send(&Event::Memory(memory))?;
    }
    if comparisons.is_empty() {
        return Ok(());
    }
    let schedule = if args.quick {
        Schedule::quick()
    } else {
        Schedule::full()
    };
    // What threads do to each other is measured in rounds that they share;
    // else one thread first, while the process has no other.
    let alone = counts.partition_point(|&count| count == 1);
    let (first, rest) = counts.split_at(if args.scaling { 0 } else { alone });
    let mut pinned = true;
    for counts in [first, rest].into_iter().filter(|part| !part.is_empty()) {
        let plan = Plan {
            functions: found.functions,
            comparisons: &comparisons,
            counts,
            schedule,
            cores: &cores,
        };
        // The reader is gone only when the command was stopped.
        pinned &= rounds::run(&plan, &|event| drop(send(&event)))?;
    }
    send(&Event::Pinned(pinned))
}

/// 1, 2, 4 and so on up to all; quick: one and all; scaling: every number.
fn counts(most: usize, quick: bool, scaling: bool) -> Vec<usize> {
    let wanted = |count: usize| match (quick, scaling) {
        (true, _) => count == 1,
        (false, true) => true,
        (false, false) => count.is_power_of_two(),
    };
    (1..=most)
        .filter(|&count| wanted(count) || count == most)
        .collect()
}

/// The words in brackets at the end of `ownpool 0.1.0 (avx512)`.
fn backend(version: &str) -> String {
    let words = version
        .rsplit_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    words.map_or("unknown", |(words, _)| words).to_owned()
}

fn send(event: &Event) -> Result<(), String> {
    let line = serde_json::to_string(event).map_err(|error| error.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads() {
        assert_eq!(counts(1, false, false), [1]);
        assert_eq!(counts(6, false, false), [1, 2, 4, 6]);
        assert_eq!(counts(6, true, false), [1, 6]);
        assert_eq!(counts(3, false, true), [1, 2, 3]);
        assert_eq!(counts(1, true, true), [1]);
    }

    #[test]
    fn the_backend_is_what_the_version_says() {
        assert_eq!(backend("ownpool 0.1.0 (avx512)"), "avx512");
        assert_eq!(backend("ownpool 0.1.0"), "unknown");
    }
}
