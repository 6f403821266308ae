//! The `ownpool` command: runs programs under the library and tells about them.
//!
//! Each subcommand is a file of its own with its arguments and one `main`.
//! Exit status 125 is always our own failure, as with env(1).

#[path = "../../settings.rs"]
#[allow(dead_code, reason = "the library uses the rest of the table")]
mod settings;

mod bench;
mod library;
mod run;

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
    /// Measure kernel, vDSO, ownpool and its peers on this machine
    Bench(bench::Args),
}

/// Exit status for a failure of this command itself, as env(1) has it.
pub(crate) const OUR_FAILURE: u8 = 125;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => run::main(args),
        Command::Bench(args) => bench::main(args),
    }
}
