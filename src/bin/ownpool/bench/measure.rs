//! The clockwork: every contender at every size, in rounds, on pinned threads.
//!
//! Promises: within a size the rounds are interleaved (each round visits every
//! number of threads and every contender once), so that what disturbs the
//! machine for a while disturbs all alike; the figures are medians. Threads of
//! one cell start together. Must never: print, allocate or take a lock between
//! the two readings of the clock.

use super::cases::Case;
use super::contenders::{Call, Contender, Doors, Seat};
use super::pace::Pace;
use super::report::Row;
use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use core_affinity::CoreId;
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Instant;

/// What goes out while measuring.
pub(super) enum News {
    Row(Row),
    /// A contender could not answer this size.
    Failed(Contender, usize),
}

/// Where the threads meet. Relaxed would do for the figures, since the barrier
/// orders them; sequential order is free here, outside of what is timed.
struct Meeting {
    all: Barrier,
    ready: AtomicUsize,
    stop: AtomicBool,
    /// Threads that have all that they need, and those that have a core.
    seated: AtomicUsize,
    pinned: AtomicUsize,
    /// Calls of each contender in the present size; 0: it cannot.
    calls: Mutex<Vec<u64>>,
    /// Nanoseconds per call of each thread in the present cell, as bits.
    taken: Vec<AtomicU64>,
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
    let meeting = Meeting {
        all: Barrier::new(most),
        ready: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        seated: AtomicUsize::new(0),
        pinned: AtomicUsize::new(0),
        calls: Mutex::new(Vec::new()),
        taken: (0..most).map(|_| AtomicU64::new(0)).collect(),
    };
    std::thread::scope(|scope| {
        let meeting = &meeting;
        let others: Vec<_> = (1..most)
            .map(|index| scope.spawn(move || meeting.attend(index, job, tell)))
            .collect();
        meeting.attend(0, job, tell)?;
        let fell = || String::from("a measuring thread fell over");
        others
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| fell())?)
    })?;
    Ok(meeting.pinned.load(Ordering::SeqCst) == most)
}

impl Meeting {
    /// One thread's part, from its core to the last round.
    fn attend(
        &self,
        index: usize,
        job: &Job<'_>,
        tell: &(dyn Fn(News) + Sync),
    ) -> Result<(), String> {
        let core = job.cores.get(index).copied();
        let pinned = core.is_some_and(core_affinity::set_for_current);
        self.pinned.fetch_add(usize::from(pinned), Ordering::SeqCst);
        let short = || String::from("the library's getrandom or read came short");
        let seat = Seat::take(job.doors).and_then(|seat| {
            let heavy = seat.drive_heavy(job.pace.heavy_calls);
            if heavy { Ok(seat) } else { Err(short()) }
        });
        // Nobody may leave while others wait for him at the barrier.
        self.seated
            .fetch_add(usize::from(seat.is_ok()), Ordering::SeqCst);
        self.all.wait();
        let seat = seat?;
        if self.seated.load(Ordering::SeqCst) == self.taken.len() {
            let meeting = self;
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
        if self.index == 0 {
            let calls = case
                .contenders
                .iter()
                .map(|contender| self.plan(contender.call, bytes))
                .collect();
            *self
                .meeting
                .calls
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = calls;
        }
        self.meeting.all.wait();
        let calls = self
            .meeting
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut cells: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.job.counts.len() * calls.len()];
        for round in 0..self.job.pace.rounds {
            if self.index == 0 {
                let late = self
                    .job
                    .pace
                    .deadline
                    .is_some_and(|deadline| Instant::now() > deadline);
                self.meeting.stop.store(late && round > 0, Ordering::SeqCst);
            }
            self.meeting.all.wait();
            if self.meeting.stop.load(Ordering::SeqCst) {
                break;
            }
            let turns = self.job.counts.iter().flat_map(|&threads| {
                case.contenders
                    .iter()
                    .zip(&calls)
                    .map(move |turn| (threads, turn))
            });
            for (cell, (threads, (contender, &calls))) in cells.iter_mut().zip(turns) {
                if calls > 0 {
                    cell.push(self.turn(threads, contender.call, bytes, calls));
                }
            }
        }
        if self.index == 0 {
            let turns = self.job.counts.iter().flat_map(|&threads| {
                case.contenders
                    .iter()
                    .zip(&calls)
                    .map(move |turn| (threads, turn))
            });
            for (cell, (threads, (contender, &calls))) in cells.iter().zip(turns) {
                match calls > 0 && cell.iter().all(|(ns, _)| ns.is_finite()) {
                    true => tell(News::Row(Row::from_samples(
                        case.door,
                        contender.who,
                        threads,
                        bytes,
                        calls,
                        cell,
                    ))),
                    false => tell(News::Failed(*contender, bytes)),
                }
            }
        }
    }

    /// How many calls fill a turn; also warms the contender up. 0: it fails.
    fn plan(&self, call: Call, bytes: usize) -> u64 {
        let Some(first) = time(call, &self.seat, bytes, self.job.pace.least_calls.min(4)) else {
            return 0;
        };
        let fit = |ns: f64| (self.job.pace.turn.as_nanos() as f64 / ns.max(0.1)) as u64;
        // The first calls are slow ones; a tenth of a turn tells more.
        let Some(warm) = time(call, &self.seat, bytes, (fit(first) / 10).max(1)) else {
            return 0;
        };
        fit(warm).max(self.job.pace.least_calls)
    }

    /// One cell of one round: mean nanoseconds per call, and calls per second
    /// of all threads. Only thread 0 gets the sum of the others.
    fn turn(&self, threads: usize, call: Call, bytes: usize, calls: u64) -> (f64, f64) {
        if self.index == 0 {
            self.meeting.ready.store(0, Ordering::SeqCst);
        }
        self.meeting.all.wait();
        if self.index < threads {
            // The barrier wakes its sleepers one by one: the last bit is spun.
            self.meeting.ready.fetch_add(1, Ordering::SeqCst);
            let mut spins = 0u32;
            while self.meeting.ready.load(Ordering::SeqCst) < threads {
                spins = spins.wrapping_add(1);
                // Fewer free cores than threads: let the others come.
                if spins.is_multiple_of(1 << 12) {
                    std::thread::yield_now()
                } else {
                    spin_loop()
                }
            }
            let ns = time(call, &self.seat, bytes, calls).unwrap_or(f64::NAN);
            if let Some(taken) = self.meeting.taken.get(self.index) {
                taken.store(ns.to_bits(), Ordering::SeqCst);
            }
        }
        self.meeting.all.wait();
        let taken = self
            .meeting
            .taken
            .iter()
            .take(threads)
            .map(|bits| f64::from_bits(bits.load(Ordering::SeqCst)));
        let (sum, rate) = taken.fold((0.0, 0.0), |(sum, rate), ns| (sum + ns, rate + 1e9 / ns));
        (sum / threads as f64, rate)
    }
}

/// Nanoseconds per call of so many calls in a row.
fn time(call: Call, seat: &Seat, bytes: usize, calls: u64) -> Option<f64> {
    let call = black_box(call);
    let start = Instant::now();
    for _ in 0..calls {
        if !call(seat, bytes) {
            return None;
        }
    }
    Some(start.elapsed().as_nanos() as f64 / calls as f64)
}
