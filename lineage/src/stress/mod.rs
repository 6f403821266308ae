//! The questions of the thread that are not about speed, answered by counting: does a reader get what a
//! neighbour got, is every word of the pool mixed alike, does the last one out ever leave, and what does
//! a full buffer cost.
//!
//! Promises: numbers, no verdicts. The benchmark prints them, the tests hold them to what each design
//! claims.

pub(crate) mod collisions;
pub(crate) mod deferred;
pub(crate) mod evenness;
pub(crate) mod observed;
pub(crate) mod ring;
pub(crate) mod threads;
