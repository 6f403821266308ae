//! The designs of the old threads on scaling the kernel's generator, side by side with ours.
//!
//!     cargo bench --bench lineage                    all of it, some minutes
//!     cargo bench --bench lineage -- --quick         within three minutes
//!     cargo bench --bench lineage -- --write-docs    and put the figures into docs/lineage.md
//!
//! Promises: every label prints a row, C1 to C11, P1 and P9; a row that cannot be had says why, and if it is
//! ours, the run fails. Under `cargo test` everything runs once and briefly, to show that it runs; what the
//! contenders claim is tested in `tests`.
#![allow(
    clippy::indexing_slicing,
    reason = "words of a pool are indexed modulo its size; a benchmark that panics harms no program"
)]

mod claims;
mod contenders;
mod harness;
mod measured;
mod page;
mod placement;
mod plan;
mod plot;
mod published;
mod rows;
mod stress;
mod table;
#[cfg(test)]
mod tests;

use contenders::p1_ownpool::Ownpool;
use plan::{FULL, GLANCE, QUICK};
use std::process::ExitCode;

/// Runs the benchmark with the arguments of the process.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let given = |name: &str| arguments.iter().any(|argument| argument == name);
    // What cargo passes to every benchmark, after the user's own arguments.
    let (bench, quick, write) = (given("--bench"), given("--quick"), given("--write-docs"));
    let known = ["--bench", "--quick", "--write-docs"];
    // Without --bench, others are meant for the test harness that this is not.
    if bench
        && let Some(other) = arguments
            .iter()
            .find(|word| !known.contains(&word.as_str()))
    {
        eprintln!("lineage: unknown argument {other:?}; known are --quick and --write-docs");
        return ExitCode::FAILURE;
    }
    let plan = match (bench, quick) {
        (false, _) => GLANCE,
        (true, true) => QUICK,
        (true, false) => FULL,
    };
    let ours = Ownpool::load();
    let measured = measured::measure(plan, &ours);
    println!("\n{}\n", page::about(&measured));
    for table in [table::pools(&measured), table::small(&measured)] {
        println!("{}", table.text());
    }
    // A glance is too short to judge by, and made of unoptimised code.
    if bench {
        let claims = claims::claims(&measured);
        println!(
            "What was said, and what this run shows\n\n{}",
            table::verdicts(&claims)
        );
        println!("Where another does better than ours\n");
        for line in claims::better_than_ours(&measured) {
            println!("{line}");
        }
    }
    if let Err(why) = &ours {
        eprintln!("lineage: P1 and P9 did not run: {why}");
        return ExitCode::FAILURE;
    }
    if write && let Err(why) = page::write(&measured) {
        eprintln!("lineage: {why}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
