//! How the measuring threads wait for each other.
//!
//! Promises: the threads of a turn start together, none leaves while another waits
//! for it, and whatever thread 0 announces (how many calls, that it is over) is read
//! by all before it announces anything else. Must never: be in the way between two
//! readings of the clock.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use ownpool_measure::spin;
use std::sync::Barrier;
use std::time::Instant;

/// The threads of one measurement. Relaxed would do for the figures, since the barrier
/// orders them; sequential order is free here, outside of what is timed.
pub(super) struct Rendezvous {
    all: Barrier,
    ready: AtomicUsize,
    stop: AtomicBool,
    /// Threads that have all that they need, and those that have a core.
    equipped: AtomicUsize,
    pinned: AtomicUsize,
    /// Calls of each thread in the present cell; 0: it is left out.
    calls: AtomicU64,
    /// When each thread began and ended its part of the present cell, in
    /// nanoseconds since `origin`; ended before it began: it could not.
    spans: Vec<[AtomicU64; 2]>,
    origin: Instant,
}

impl Rendezvous {
    /// Of so many threads.
    pub(super) fn of(most: usize) -> Rendezvous {
        Rendezvous {
            all: Barrier::new(most),
            ready: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            equipped: AtomicUsize::new(0),
            pinned: AtomicUsize::new(0),
            calls: AtomicU64::new(0),
            spans: (0..most).map(|_| Default::default()).collect(),
            origin: Instant::now(),
        }
    }

    /// Counts one more thread that has a core of its own, or has none.
    pub(super) fn count_core(&self, pinned: bool) {
        self.pinned.fetch_add(usize::from(pinned), SeqCst);
    }

    /// Whether each has.
    pub(super) fn all_have_cores(&self) -> bool {
        self.pinned.load(SeqCst) == self.spans.len()
    }

    /// Waits for all threads; whether all have what they need. No thread may leave
    /// before, or the others would wait for ever.
    pub(super) fn all_ready(&self, good: bool) -> bool {
        self.equipped.fetch_add(usize::from(good), SeqCst);
        self.all.wait();
        self.equipped.load(SeqCst) == self.spans.len()
    }

    /// Whether no further round begins; thread 0 decides.
    pub(super) fn is_over(&self, stop: Option<bool>) -> bool {
        if let Some(stop) = stop {
            self.stop.store(stop, SeqCst);
        }
        self.all.wait();
        self.stop.load(SeqCst)
    }

    /// The end of a size. Without it a thread that reads `stop` late could read
    /// what was meant for the next size, go round again, and wait for threads that are gone.
    pub(super) fn close(&self) {
        self.all.wait();
    }

    /// One cell of one round: the first `threads` threads do their work at once.
    /// Thread 0 announces how many calls each makes, and is told what came of it.
    pub(super) fn turn(
        &self,
        index: usize,
        threads: usize,
        calls: Option<u64>,
        work: impl FnOnce(u64) -> Option<[Instant; 2]>,
    ) -> Option<(f64, f64)> {
        if let Some(calls) = calls {
            self.calls.store(calls, SeqCst);
            self.ready.store(0, SeqCst);
        }
        self.all.wait();
        let calls = self.calls.load(SeqCst);
        if let Some([start, end]) = self.spans.get(index)
            && calls > 0
            && index < threads
        {
            // The barrier wakes its sleepers one by one; what is left is waited for awake.
            self.ready.fetch_add(1, SeqCst);
            spin::until(|| self.ready.load(SeqCst) >= threads);
            let since = |time: Instant| time.duration_since(self.origin).as_nanos() as u64;
            let span = work(calls).map_or([1, 0], |span| span.map(since));
            start.store(span[0], SeqCst);
            end.store(span[1], SeqCst);
        }
        self.all.wait();
        (index == 0 && calls > 0).then(|| self.sample(threads, calls))
    }

    /// The cell that was just measured: mean nanoseconds per call in a thread, and
    /// calls per second of all threads, from the first one's start to the last
    /// one's end. (Adding up each thread's own rate would flatter threads that
    /// took turns on a core.)
    fn sample(&self, threads: usize, calls: u64) -> (f64, f64) {
        let (mut sum, mut first, mut last) = (0.0, f64::INFINITY, 0.0f64);
        for [start, end] in self.spans.iter().take(threads) {
            let [start, end] = [start, end].map(|time| time.load(SeqCst) as f64);
            if end < start {
                return (f64::NAN, f64::NAN);
            }
            sum += end - start;
            (first, last) = (first.min(start), last.max(end));
        }
        let all = calls as f64 * threads as f64;
        (sum / all, all * 1e9 / (last - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_all_is_from_the_first_start_to_the_last_end() {
        let rendezvous = Rendezvous::of(3);
        let spans = [(100, 200), (150, 350), (0, 0)];
        for ([start, end], span) in rendezvous.spans.iter().zip(spans) {
            start.store(span.0, SeqCst);
            end.store(span.1, SeqCst);
        }
        // Ten calls each: 300 ns of work in 250 ns.
        assert_eq!(rendezvous.sample(2, 10), (15.0, 8e7));
        rendezvous.spans[1][1].store(149, SeqCst);
        assert!(rendezvous.sample(2, 10).0.is_nan() && rendezvous.sample(1, 10).0 == 10.0);
    }

    /// Many more threads than cores, announcements that change each time: no
    /// thread is lost, and each turn is worked by as many as it names.
    #[test]
    fn no_thread_is_lost() {
        const THREADS: usize = 16;
        let rendezvous = Rendezvous::of(THREADS);
        let worked = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for index in 0..THREADS {
                let (rendezvous, worked) = (&rendezvous, &worked);
                scope.spawn(move || {
                    for size in 0..20 {
                        for round in 0u64..4 {
                            if rendezvous.is_over((index == 0).then_some(round == size % 5)) {
                                break;
                            }
                            for threads in [1, THREADS] {
                                let calls = (index == 0).then_some(round % 3);
                                rendezvous.turn(index, threads, calls, |calls| {
                                    assert_eq!(calls, round % 3);
                                    worked.fetch_add(1, SeqCst);
                                    Some([Instant::now(); 2])
                                });
                            }
                        }
                        rendezvous.close();
                    }
                });
            }
        });
        // Four times each of five lengths; a round of 0 calls is not worked:
        // rounds 1 and 2 of 0, 1, 2, 3 and 4 rounds are 0, 0, 1, 2 and 2.
        assert_eq!(worked.load(SeqCst), 4 * 5 * (1 + THREADS));
    }
}
