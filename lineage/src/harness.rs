//! How everything is timed: pinned threads, rounds in which the contenders take turns, medians.
//!
//! Promises: within a round every contender runs once at every thread count, so that a machine that gets
//! slower for a while slows all of them; each figure is the median of the rounds. Threads warm up
//! before they are let go together, and a rate counts all calls until the last thread has stopped.
//! Cycles are ticks of the time-stamp counter, whose rate is measured once against the monotonic
//! clock. It is constant: a core that runs faster than it does more work in a tick.

use crate::contenders::c10_kernel::fresh;
use crate::contenders::{Ints, Pool, cycles};
use crate::placement::Placement;
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use ownpool_measure::samples::median;
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Instant;

/// Bytes of one read, as in the thread's test.
pub(crate) const READ_LEN: usize = 64;
/// Calls between two looks at the stop flag.
const STRIDE: u64 = 16;
/// Calls of a reader between two doses of fresh entropy. Chosen: rare enough to cost nothing, often
/// enough for every design's way of taking it in to be exercised.
const SEED_EVERY: u64 = 4096;
/// Calls in one timing of small integers, as in the thread's test.
const BATCH: u32 = 1000;

/// One read, as a call of its own for every contender.
#[inline(never)]
fn read<P: Pool>(pool: &P, reader: &mut P::Reader, dest: &mut [u8; READ_LEN]) {
    pool.read(reader, dest);
}

/// Calls per second of so many threads, for about so long.
pub(crate) fn rate<P: Pool>(
    pool: &P,
    placement: &Placement,
    threads: usize,
    time: Duration,
) -> f64 {
    let stop = AtomicBool::new(false);
    let start = Barrier::new(threads + 1);
    let worker = |cpu: usize| {
        let cpu = placement.pin(cpu);
        let mut reader = pool.reader(cpu);
        let mut dest = [0; READ_LEN];
        for _ in 0..64 {
            read(pool, &mut reader, &mut dest);
        }
        start.wait();
        let begun = Instant::now();
        let mut calls = 0;
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..STRIDE {
                read(pool, &mut reader, &mut dest);
                black_box(&mut dest);
            }
            calls += STRIDE;
            if calls.is_multiple_of(SEED_EVERY) {
                pool.seed(&mut reader, &fresh());
            }
        }
        (calls, begun, Instant::now())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|cpu| scope.spawn(move || worker(cpu)))
            .collect();
        start.wait();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let done: Vec<_> = workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect();
        let calls: u64 = done.iter().map(|&(calls, ..)| calls).sum();
        let begun = done.iter().map(|&(_, begun, _)| begun).min();
        let ended = done.iter().map(|&(.., ended)| ended).max();
        match (begun, ended) {
            (Some(begun), Some(ended)) => calls as f64 / ended.duration_since(begun).as_secs_f64(),
            _ => 0.0,
        }
    })
}

/// Nanoseconds that a new thread waits for its first 64 bytes: making a reader and one read. The threads
/// come one after another and stay until all have had theirs, so that none inherits what another left.
pub(crate) fn first_read<P: Pool>(pool: &P, placement: &Placement) -> f64 {
    const THREADS: usize = 31;
    let times = Mutex::new(Vec::new());
    let leave = Barrier::new(THREADS);
    let come = &|cpu: usize| {
        let cpu = placement.pin(cpu);
        {
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            let begun = Instant::now();
            let mut reader = pool.reader(cpu);
            let mut dest = [0; READ_LEN];
            read(pool, &mut reader, &mut dest);
            times.push(begun.elapsed().as_nanos() as f64);
            black_box(&mut dest);
        }
        leave.wait();
    };
    std::thread::scope(|scope| {
        for cpu in 0..THREADS {
            scope.spawn(move || come(cpu));
        }
    });
    median(&times.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Cycles for a thousand calls.
#[inline(always)]
fn thousand<R>(mut call: impl FnMut() -> R) -> f64 {
    let begun = fenced_cycles();
    for _ in 0..BATCH {
        black_box(call());
    }
    (fenced_cycles() - begun) as f64
}

/// The cycle counter once everything before has retired.
fn fenced_cycles() -> u64 {
    // SAFETY: LFENCE is in SSE2, which every x86-64 processor has.
    unsafe { core::arch::x86_64::_mm_lfence() };
    cycles()
}

#[inline(never)]
fn call_u32<I: Ints>(ints: &mut I) -> u32 {
    ints.u32()
}

#[inline(never)]
fn call_u64<I: Ints>(ints: &mut I) -> u64 {
    ints.u64()
}

/// Cycles for a thousand calls of 4 and of 8 bytes: medians over many thousands.
pub(crate) fn thousands<I: Ints>(ints: &mut I, time: Duration) -> [f64; 2] {
    [
        over(time, || thousand(|| call_u32(ints))),
        over(time, || thousand(|| call_u64(ints))),
    ]
}

/// The median of as many turns as fit; the first is for warming up.
fn over(time: Duration, mut turn: impl FnMut() -> f64) -> f64 {
    let begun = Instant::now();
    turn();
    let mut times = vec![turn()];
    while begun.elapsed() < time {
        times.push(turn());
    }
    median(&times)
}

/// Ticks of the time-stamp counter in a nanosecond, against the monotonic clock.
pub(crate) fn ticks_per_ns(time: Duration) -> f64 {
    let (clock, counter) = (Instant::now(), fenced_cycles());
    std::thread::sleep(time);
    let ticks = fenced_cycles() - counter;
    ticks as f64 / clock.elapsed().as_nanos() as f64
}
