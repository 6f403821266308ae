//! The `ownpool` command: runs programs under the library and tells about them.
//!
//! Each subcommand is a file or folder of its own with its arguments and one `main`.
//! Exit status 125 is always our own failure, as with env(1).

mod bench;
mod check;
mod elf;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod generated_docs;
mod inherited_state;
mod library;
mod output;
mod regular_file;
mod report;
mod run;

pub(crate) use ownpool_core::settings;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "ownpool", version, about, long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program under the library
    Run(run::Args),
    /// Say whether the library would help a program, and why not
    Check(check::Args),
    /// Print what OWNPOOL_STATS wrote as tables, with the names of callers
    Report(report::Args),
    /// Measure kernel, vDSO, ownpool and its peers on this machine
    Bench(bench::Args),
}

/// Exit status for a failure of this command itself, as env(1) has it.
pub(crate) const OUR_FAILURE: u8 = 125;

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    match Cli::try_parse().map(|cli| cli.command) {
        Ok(Command::Run(args)) => run::main(args),
        Ok(Command::Check(args)) => check::main(&args),
        Ok(Command::Report(args)) => report::main(&args),
        Ok(Command::Bench(args)) => bench::main(&args),
        Err(error) => output::usage(&error),
    }
}
