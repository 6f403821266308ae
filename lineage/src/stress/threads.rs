//! Threads let go at once: as many as are wanted, or two in step, round after round.

use crate::contenders::Cpu;
use crate::placement::Placement;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use ownpool_measure::spin;
use std::sync::Barrier;
use std::time::Instant;

/// Runs `work` on so many pinned threads at once and collects their results.
pub(super) fn together<T: Send>(
    placement: &Placement,
    threads: usize,
    work: impl Fn(Cpu) -> T + Sync,
) -> Vec<T> {
    let start = Barrier::new(threads);
    let run = |number| {
        let cpu = placement.pin(number);
        start.wait();
        work(cpu)
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || run(number)))
            .collect();
        handles
            .into_iter()
            .filter_map(|handle| handle.join().ok())
            .collect()
    })
}

/// Rounds of two threads, and the time after which they stop all the same: on a busy machine a meeting can
/// take milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) most: usize,
    pub(crate) time: Duration,
}

/// Lets two pinned threads do `work` at the same instant, round after round; `after` runs when both have.
pub(super) fn in_step<R>(
    placement: &Placement,
    rounds: Rounds,
    reader: impl Fn(Cpu) -> R + Sync,
    work: impl Fn(&mut R) + Sync,
    mut after: impl FnMut(),
) {
    let came = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    // A barrier that spins: a thread that sleeps would come too late to race.
    let meet = |time: usize| {
        came.fetch_add(1, Ordering::AcqRel);
        spin::until(|| came.load(Ordering::Acquire) >= 2 * time);
    };
    let play = |number, after: &mut dyn FnMut()| {
        let mut reader = reader(placement.pin(number));
        let begun = Instant::now();
        for round in 0..rounds.most {
            meet(2 * round + 1);
            work(&mut reader);
            // Between two meetings, so that both see the same at the next.
            if number == 0 && begun.elapsed() > rounds.time {
                over.store(true, Ordering::Relaxed);
            }
            meet(2 * round + 2);
            after();
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| play(1, &mut || ()));
        play(0, &mut after);
    });
    placement.unpin();
}
