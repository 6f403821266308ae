//! The contenders, held to what each of their designs claims, and shown to have the
//! faults that the old thread found in them.
//!
//! Promises: a claim ("no two readers get the same output") is tested under stress, a fault by an order
//! of events played by hand, so that it shows on any machine. The benchmark measures how often.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends where it stands"
)]

mod ints;
mod pools;
