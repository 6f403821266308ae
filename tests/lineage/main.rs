//! The contenders of `benches/lineage`, held to what each of their designs claims, and shown to have the
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

#[path = "../../benches/lineage/contenders/mod.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    reason = "the benchmark uses the rest, and says why it indexes"
)]
mod contenders;
mod ints;
#[path = "../../benches/lineage/machine.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    reason = "the benchmark uses the rest, and says why it indexes"
)]
mod machine;
mod pools;
#[path = "../../benches/lineage/stress/mod.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    reason = "the benchmark uses the rest, and says why it indexes"
)]
mod stress;
