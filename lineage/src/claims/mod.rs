//! What the threads said, held against what was measured in this run.
//!
//! Promises: each verdict is computed from the figures, none is written down beforehand. "Not shown" is
//! for claims about more cores than there are.

mod better;
mod ints;
mod pools;
mod races;

use crate::measured::Measured;
pub(crate) use better::better_than_ours;

/// A claim and what became of it.
pub(crate) struct Claim {
    pub(crate) label: &'static str,
    pub(crate) said: &'static str,
    pub(crate) here: String,
    pub(crate) verdict: &'static str,
}

impl Claim {
    /// A claim that this run can judge.
    fn judged(label: &'static str, said: &'static str, here: String, holds: bool) -> Self {
        let verdict = if holds { "confirmed" } else { "not confirmed" };
        Self {
            label,
            said,
            here,
            verdict,
        }
    }

    /// A claim that it cannot judge, and why not.
    fn not_shown(label: &'static str, said: &'static str, why: impl Into<String>) -> Self {
        Self {
            label,
            said,
            here: why.into(),
            verdict: "not shown",
        }
    }
}

/// All claims that this run can say something about.
pub(crate) fn claims(measured: &Measured) -> Vec<Claim> {
    let mut claims = pools::about(measured);
    claims.extend(races::about(&measured.observed));
    claims.extend(ints::about(measured));
    claims
}
