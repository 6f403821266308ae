//! How long each contender is measured, how often, and when a run is cut short.
//!
//! A turn has to be long beside a reading of the clock (30 ns) and short beside
//! what disturbs a machine (milliseconds and up). The numbers are chosen so that a
//! full run takes some seconds a number of threads, and a quick one two.

use core::time::Duration;
use std::time::Instant;

/// How long and how often.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    pub(super) rounds: usize,
    /// Each contender's turn in a round.
    pub(super) turn: Duration,
    /// At least so many calls a turn, however long they take.
    pub(super) least_calls: u64,
    /// Calls by which a thread shows itself heavy, before anything is timed.
    pub(super) heavy_calls: u32,
    /// When the remaining rounds are given up, the first of each size excepted.
    pub(super) deadline: Option<Instant>,
}

impl Schedule {
    /// Nine rounds of 4 ms.
    pub(super) fn full() -> Schedule {
        Schedule {
            rounds: 9,
            turn: Duration::from_millis(4),
            least_calls: 20,
            heavy_calls: 20_000,
            deadline: None,
        }
    }

    /// Nine rounds of 0.3 ms; a slow machine gives up rounds after 12 seconds.
    pub(super) fn quick() -> Schedule {
        Schedule {
            turn: Duration::from_micros(300),
            least_calls: 2,
            heavy_calls: 2_000,
            deadline: Some(Instant::now() + Duration::from_secs(12)),
            ..Schedule::full()
        }
    }

    /// How many calls of so many nanoseconds fill a turn.
    pub(super) fn fit(&self, ns: f64) -> u64 {
        let calls = self.turn.as_nanos() as f64 / ns.max(0.1);
        (calls as u64).max(self.least_calls)
    }

    /// Whether the rest is to be cut short.
    pub(super) fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() > deadline)
    }
}
