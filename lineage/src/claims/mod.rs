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

fn verdict(holds: bool) -> &'static str {
    if holds { "confirmed" } else { "not confirmed" }
}

/// All claims that this run can say something about.
pub(crate) fn claims(measured: &Measured) -> Vec<Claim> {
    let mut claims = Vec::new();
    pools::about(measured, &mut claims);
    races::about(measured, &mut claims);
    ints::about(measured, &mut claims);
    claims
}
