//! Every contender at every size, in rounds, on pinned threads.
//!
//! Promises: within a size the rounds are interleaved (each round visits every
//! number of threads and every contender once), so that what disturbs the
//! machine for a while disturbs all alike; the figures are medians. Threads of
//! one cell start together. Must never: print, allocate or take a lock between
//! the two readings of the clock.

use super::comparisons::Comparison;
use super::contenders::{Call, Caller, Contender, Functions};
use super::rendezvous::Rendezvous;
use super::report::{Absent, Event, Row};
use super::schedule::Schedule;
use core::hint::black_box;
use core_affinity::CoreId;
use ownpool_measure::table;
use std::time::Instant;

/// What is to be measured, and where.
pub(super) struct Plan<'a> {
    pub(super) functions: Functions,
    pub(super) comparisons: &'a [Comparison],
    /// Numbers of threads.
    pub(super) counts: &'a [usize],
    pub(super) schedule: Schedule,
    /// Where threads go, in order. Asked before any is bound.
    pub(super) cores: &'a [CoreId],
}

/// Where rows and failures go as soon as they are there.
type Send<'a> = &'a (dyn Fn(Event) + Sync);

/// One of the measuring threads; number 0 also keeps the figures.
struct Thread<'a> {
    index: usize,
    caller: Caller,
    rendezvous: &'a Rendezvous,
    plan: &'a Plan<'a>,
}

/// Measures all comparisons with each number of threads, and tells whether every thread
/// had a core of its own. The calling thread is the first of them, so that one
/// thread is measured in a process of one thread: with more, the kernel counts
/// references to descriptors, which costs 15 ns a call.
///
/// # Errors
/// What a thread could not have, or do.
pub(super) fn run(plan: &Plan<'_>, send: Send<'_>) -> Result<bool, String> {
    let most = plan.counts.iter().copied().max().unwrap_or(1);
    let rendezvous = Rendezvous::of(most);
    std::thread::scope(|scope| {
        let rendezvous = &rendezvous;
        let others: Vec<_> = (1..most)
            .map(|index| scope.spawn(move || run_thread(rendezvous, index, plan, send)))
            .collect();
        run_thread(rendezvous, 0, plan, send)?;
        let panicked = || String::from("a measuring thread panicked");
        others
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| panicked())?)
    })?;
    Ok(rendezvous.all_have_cores())
}

/// One thread's part, from its core to the last round.
fn run_thread(
    rendezvous: &Rendezvous,
    index: usize,
    plan: &Plan<'_>,
    send: Send<'_>,
) -> Result<(), String> {
    let core = plan.cores.get(index).copied();
    rendezvous.count_core(core.is_some_and(core_affinity::set_for_current));
    let short = || String::from("the library's getrandom or read answered short");
    let caller = Caller::new(plan.functions).and_then(|caller| {
        let heavy = caller.become_heavy(plan.schedule.heavy_calls);
        if heavy { Ok(caller) } else { Err(short()) }
    });
    let all_ready = rendezvous.all_ready(caller.is_ok());
    let mut thread = Thread {
        index,
        caller: caller?,
        rendezvous,
        plan,
    };
    if all_ready {
        for comparison in plan.comparisons {
            for &bytes in comparison.sizes {
                thread.one_size(comparison, bytes, send);
            }
        }
    }
    Ok(())
}

impl Thread<'_> {
    fn one_size(&mut self, comparison: &Comparison, bytes: usize, send: Send<'_>) {
        self.caller.renew_vdso_state();
        let schedule = &self.plan.schedule;
        // Each number of threads with each contender.
        let turns: Vec<(usize, Contender)> = self
            .plan
            .counts
            .iter()
            .flat_map(|&threads| comparison.contenders.iter().map(move |&one| (threads, one)))
            .collect();
        let mut cells = Vec::new();
        if self.index == 0 {
            let alone = comparison.contenders.iter();
            let alone: Vec<u64> = alone
                .map(|contender| self.calls_per_turn(contender.call, bytes))
                .collect();
            let turns = turns.iter().zip(alone.iter().cycle());
            cells.extend(turns.map(|(turn, &calls)| Cell::new(calls, turn.0)));
        }
        for round in 0..schedule.rounds {
            let late = (self.index == 0).then(|| schedule.is_late() && round > 0);
            if self.rendezvous.is_over(late) {
                break;
            }
            for (nth, &(threads, contender)) in turns.iter().enumerate() {
                let cell = cells.get_mut(nth);
                let calls = cell.as_ref().map(|cell| cell.calls);
                let work = |calls| time(contender.call, &self.caller, bytes, calls);
                let sample = self.rendezvous.turn(self.index, threads, calls, work);
                if let (Some(cell), Some(sample)) = (cell, sample) {
                    cell.samples.push(sample);
                    if round == 0 && threads > 1 {
                        cell.calls = schedule.fit(sample.0);
                    }
                }
            }
        }
        self.rendezvous.close();
        for (cell, &(threads, contender)) in cells.iter().zip(&turns) {
            send(cell.outcome(comparison.entry, contender.who, threads, bytes));
        }
    }

    /// How many calls fill a turn; also warms the contender up. 0: it fails.
    fn calls_per_turn(&self, call: Call, bytes: usize) -> u64 {
        let schedule = &self.plan.schedule;
        let time = |calls| {
            let [start, end] = time(call, &self.caller, bytes, calls)?;
            Some((end - start).as_nanos() as f64 / calls as f64)
        };
        // The first calls are slow ones; a tenth of a turn tells more.
        let first = time(schedule.least_calls.min(4));
        let warm = first.and_then(|ns| time((schedule.fit(ns) / 10).max(1)));
        warm.map_or(0, |ns| schedule.fit(ns))
    }
}

/// What thread 0 keeps of a contender with a number of threads.
struct Cell {
    /// In each thread and round; 0: it cannot.
    calls: u64,
    /// Nanoseconds per call, and calls per second of all threads.
    samples: Vec<(f64, f64)>,
}

impl Cell {
    /// `calls` fill a turn of one thread. Until the first round has told, it is
    /// assumed that threads queue up for a lock.
    fn new(calls: u64, threads: usize) -> Cell {
        Cell {
            calls: calls.div_ceil(threads as u64),
            samples: Vec::new(),
        }
    }

    /// A row, or that the contender could not answer this size.
    fn outcome(&self, entry: &str, who: &str, threads: usize, bytes: usize) -> Event {
        let (calls, samples) = (self.calls, &self.samples);
        if calls > 0 && samples.iter().all(|(ns, _)| ns.is_finite()) {
            Event::Row(Row::from_samples(
                entry, who, threads, bytes, calls, samples,
            ))
        } else {
            Event::Absent(Absent {
                who: who.into(),
                why: format!("failed at {}", table::size(bytes)),
            })
        }
    }
}

/// When so many calls in a row began and ended.
fn time(call: Call, caller: &Caller, bytes: usize, calls: u64) -> Option<[Instant; 2]> {
    let call = black_box(call);
    let start = Instant::now();
    for _ in 0..calls {
        if call(caller, bytes) != bytes.cast_signed() {
            return None;
        }
    }
    Some([start, Instant::now()])
}
