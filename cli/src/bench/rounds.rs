//! The clockwork: every contender at every size, in rounds, on pinned threads.
//!
//! Promises: within a size the rounds are interleaved (each round visits every
//! number of threads and every contender once), so that what disturbs the
//! machine for a while disturbs all alike; the figures are medians. Threads of
//! one cell start together. Must never: print, allocate or take a lock between
//! the two readings of the clock.

use super::comparisons::Comparison;
use super::contenders::{Call, Caller, Contender, Functions};
use super::rendezvous::Rendezvous;
use super::report::Row;
use super::schedule::Schedule;
use core::hint::black_box;
use core_affinity::CoreId;
use std::time::Instant;

/// What goes out while measuring.
pub(super) enum Outcome {
    Row(Row),
    /// A contender could not answer this size.
    Failed(Contender, usize),
}

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

/// One of the measuring threads; number 0 also keeps the books.
struct Thread<'a> {
    index: usize,
    caller: Caller,
    rendezvous: &'a Rendezvous,
    plan: &'a Plan<'a>,
}

/// Measures all cases with each number of threads, and says whether every thread
/// had a core of its own. The calling thread is the first of them, so that one
/// thread is measured in a process of one thread: with more, the kernel counts
/// references to descriptors, which costs 15 ns a call.
///
/// # Errors
/// What a thread could not have, or do.
pub(super) fn run(plan: &Plan<'_>, tell: &(dyn Fn(Outcome) + Sync)) -> Result<bool, String> {
    let most = plan.counts.iter().copied().max().unwrap_or(1);
    let rendezvous = Rendezvous::of(most);
    std::thread::scope(|scope| {
        let rendezvous = &rendezvous;
        let others: Vec<_> = (1..most)
            .map(|index| scope.spawn(move || attend(rendezvous, index, plan, tell)))
            .collect();
        attend(rendezvous, 0, plan, tell)?;
        let fell = || String::from("a measuring thread fell over");
        others
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| fell())?)
    })?;
    Ok(rendezvous.all_have_cores())
}

/// One thread's part, from its core to the last round.
fn attend(
    rendezvous: &Rendezvous,
    index: usize,
    plan: &Plan<'_>,
    tell: &(dyn Fn(Outcome) + Sync),
) -> Result<(), String> {
    let core = plan.cores.get(index).copied();
    let pinned = core.is_some_and(core_affinity::set_for_current);
    rendezvous.note_core(pinned);
    let short = || String::from("the library's getrandom or read came short");
    let caller = Caller::new(plan.functions).and_then(|caller| {
        let heavy = caller.drive_heavy(plan.schedule.heavy_calls);
        if heavy { Ok(caller) } else { Err(short()) }
    });
    let all_ready = rendezvous.is_complete(caller.is_ok());
    let caller = caller?;
    if all_ready {
        Thread {
            index,
            caller,
            rendezvous,
            plan,
        }
        .all_cases(tell);
    }
    Ok(())
}

impl Thread<'_> {
    fn all_cases(&mut self, tell: &(dyn Fn(Outcome) + Sync)) {
        for comparison in self.plan.comparisons {
            for &bytes in comparison.sizes {
                self.one_size(comparison, bytes, tell);
            }
        }
    }

    fn one_size(&mut self, comparison: &Comparison, bytes: usize, tell: &(dyn Fn(Outcome) + Sync)) {
        self.caller.renew();
        let contenders = || comparison.contenders.iter().copied();
        let counts = self.plan.counts.iter();
        let turns: Vec<_> = counts
            .flat_map(|&threads| contenders().map(move |contender| (threads, contender)))
            .collect();
        let mut books = Vec::new();
        if self.index == 0 {
            let plans: Vec<u64> = contenders()
                .map(|contender| self.calls_per_turn(contender.call, bytes))
                .collect();
            let cells = turns.iter().zip(plans.iter().cycle());
            books.extend(cells.map(|(turn, &calls)| Cell::new(calls, turn.0)));
        }
        for round in 0..self.plan.schedule.rounds {
            let late = (self.index == 0).then(|| self.plan.schedule.is_late() && round > 0);
            if self.rendezvous.is_over(late) {
                break;
            }
            for (nth, &(threads, contender)) in turns.iter().enumerate() {
                let cell = books.get_mut(nth);
                let calls = cell.as_ref().map(|cell| cell.calls);
                let work = |calls| time(contender.call, &self.caller, bytes, calls);
                let sample = self.rendezvous.turn(self.index, threads, calls, work);
                if let (Some(cell), Some(sample)) = (cell, sample) {
                    cell.samples.push(sample);
                    if round == 0 && threads > 1 {
                        cell.calls = self.plan.schedule.fit(sample.0);
                    }
                }
            }
        }
        self.rendezvous.close();
        for (cell, &(threads, contender)) in books.iter().zip(&turns) {
            let good = cell.calls > 0 && cell.samples.iter().all(|(ns, _)| ns.is_finite());
            let (entry, who, samples) = (comparison.entry, contender.who, &cell.samples);
            tell(match good {
                true => Outcome::Row(Row::from_samples(
                    entry, who, threads, bytes, cell.calls, samples,
                )),
                false => Outcome::Failed(contender, bytes),
            });
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
        let calls = calls.div_ceil(threads as u64);
        Cell {
            calls,
            samples: Vec::new(),
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
