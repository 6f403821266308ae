//! What the library counts, and who asked.

pub(crate) mod call_sites;
pub(crate) mod counters;

pub(crate) use counters::*;
