//! The clockwork: every contender at every size, in rounds, on pinned threads.
//!
//! Promises: within a size the rounds are interleaved (each round visits every
//! number of threads and every contender once), so that what disturbs the
//! machine for a while disturbs all alike; the figures are medians. Threads of
//! one cell start together. Must never: print, allocate or take a lock between
//! the two readings of the clock.

use super::cases::Case;
use super::contenders::{Call, Contender, Doors, Seat};
use super::meeting::Meeting;
use super::pace::Pace;
use super::report::Row;
use core::hint::black_box;
use core_affinity::CoreId;
use std::time::Instant;

/// What goes out while measuring.
pub(super) enum News {
    Row(Row),
    /// A contender could not answer this size.
    Failed(Contender, usize),
}

/// What is to be measured, and where.
pub(super) struct Job<'a> {
    pub(super) doors: Doors,
    pub(super) cases: &'a [Case],
    /// Numbers of threads.
    pub(super) counts: &'a [usize],
    pub(super) pace: Pace,
    /// Where threads go, in order. Asked before any is bound.
    pub(super) cores: &'a [CoreId],
}

/// One of the measuring threads; number 0 also keeps the books.
struct Thread<'a> {
    index: usize,
    seat: Seat,
    meeting: &'a Meeting,
    job: &'a Job<'a>,
}

/// Measures all cases with each number of threads, and says whether every thread
/// had a core of its own. The calling thread is the first of them, so that one
/// thread is measured in a process of one thread: with more, the kernel counts
/// references to descriptors, which costs 15 ns a call.
///
/// # Errors
/// What a thread could not have, or do.
pub(super) fn run(job: &Job<'_>, tell: &(dyn Fn(News) + Sync)) -> Result<bool, String> {
    let most = job.counts.iter().copied().max().unwrap_or(1);
    let meeting = Meeting::of(most);
    std::thread::scope(|scope| {
        let meeting = &meeting;
        let others: Vec<_> = (1..most)
            .map(|index| scope.spawn(move || attend(meeting, index, job, tell)))
            .collect();
        attend(meeting, 0, job, tell)?;
        let fell = || String::from("a measuring thread fell over");
        others
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| fell())?)
    })?;
    Ok(meeting.all_have_cores())
}

/// One thread's part, from its core to the last round.
fn attend(
    meeting: &Meeting,
    index: usize,
    job: &Job<'_>,
    tell: &(dyn Fn(News) + Sync),
) -> Result<(), String> {
    let core = job.cores.get(index).copied();
    let pinned = core.is_some_and(core_affinity::set_for_current);
    meeting.note_core(pinned);
    let short = || String::from("the library's getrandom or read came short");
    let seat = Seat::take(job.doors).and_then(|seat| {
        let heavy = seat.drive_heavy(job.pace.heavy_calls);
        if heavy { Ok(seat) } else { Err(short()) }
    });
    let everybody = meeting.is_complete(seat.is_ok());
    let seat = seat?;
    if everybody {
        Thread {
            index,
            seat,
            meeting,
            job,
        }
        .all_cases(tell);
    }
    Ok(())
}

impl Thread<'_> {
    fn all_cases(&mut self, tell: &(dyn Fn(News) + Sync)) {
        for case in self.job.cases {
            for &bytes in case.sizes {
                self.one_size(case, bytes, tell);
            }
        }
    }

    fn one_size(&mut self, case: &Case, bytes: usize, tell: &(dyn Fn(News) + Sync)) {
        self.seat.renew();
        let contenders = || case.contenders.iter().copied();
        let counts = self.job.counts.iter();
        let turns: Vec<_> = counts
            .flat_map(|&threads| contenders().map(move |contender| (threads, contender)))
            .collect();
        let mut books = Vec::new();
        if self.index == 0 {
            let plans: Vec<u64> = contenders()
                .map(|contender| self.plan(contender.call, bytes))
                .collect();
            let cells = turns.iter().zip(plans.iter().cycle());
            books.extend(cells.map(|(turn, &calls)| Cell::new(calls, turn.0)));
        }
        for round in 0..self.job.pace.rounds {
            let late = (self.index == 0).then(|| self.job.pace.is_late() && round > 0);
            if self.meeting.is_over(late) {
                break;
            }
            for (nth, &(threads, contender)) in turns.iter().enumerate() {
                let cell = books.get_mut(nth);
                let calls = cell.as_ref().map(|cell| cell.calls);
                let work = |calls| time(contender.call, &self.seat, bytes, calls);
                let sample = self.meeting.turn(self.index, threads, calls, work);
                if let (Some(cell), Some(sample)) = (cell, sample) {
                    cell.samples.push(sample);
                    if round == 0 && threads > 1 {
                        cell.calls = self.job.pace.fit(sample.0);
                    }
                }
            }
        }
        self.meeting.close();
        for (cell, &(threads, contender)) in books.iter().zip(&turns) {
            let good = cell.calls > 0 && cell.samples.iter().all(|(ns, _)| ns.is_finite());
            let (door, who, samples) = (case.door, contender.who, &cell.samples);
            tell(match good {
                true => News::Row(Row::from_samples(
                    door, who, threads, bytes, cell.calls, samples,
                )),
                false => News::Failed(contender, bytes),
            });
        }
    }

    /// How many calls fill a turn; also warms the contender up. 0: it fails.
    fn plan(&self, call: Call, bytes: usize) -> u64 {
        let pace = &self.job.pace;
        let time = |calls| {
            let [start, end] = time(call, &self.seat, bytes, calls)?;
            Some((end - start).as_nanos() as f64 / calls as f64)
        };
        // The first calls are slow ones; a tenth of a turn tells more.
        let first = time(pace.least_calls.min(4));
        let warm = first.and_then(|ns| time((pace.fit(ns) / 10).max(1)));
        warm.map_or(0, |ns| pace.fit(ns))
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
fn time(call: Call, seat: &Seat, bytes: usize, calls: u64) -> Option<[Instant; 2]> {
    let call = black_box(call);
    let start = Instant::now();
    for _ in 0..calls {
        if call(seat, bytes) != bytes.cast_signed() {
            return None;
        }
    }
    Some([start, Instant::now()])
}
