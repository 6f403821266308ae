//! How long a run measures, and how often: a full run, a quick one, and one that only shows that
//! everything runs.

use core::time::Duration;

/// How long and how often.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) rounds: usize,
    /// One rate.
    pub(crate) rate: Duration,
    /// One generator of small integers, one size.
    pub(crate) ints: Duration,
    /// Outputs a thread when looking for equal ones.
    pub(crate) outputs: usize,
    /// Windows of eight mix-backs.
    pub(crate) windows: usize,
    /// C5 under load, C6 left alone.
    pub(crate) load: Duration,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) const FULL: Plan = Plan {
    name: "Full run",
    rounds: 15,
    rate: ms(250),
    ints: ms(100),
    outputs: 1 << 19,
    windows: 100_000,
    load: ms(2000),
};

pub(crate) const QUICK: Plan = Plan {
    name: "Quick run",
    rounds: 5,
    rate: ms(80),
    ints: ms(30),
    windows: 20_000,
    load: ms(500),
    ..FULL
};

/// Enough to pass through every line once.
pub(crate) const GLANCE: Plan = Plan {
    name: "A glance",
    rounds: 1,
    rate: ms(5),
    ints: ms(2),
    outputs: 1000,
    windows: 100,
    load: ms(20),
};
