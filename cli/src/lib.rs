//! The `ownpool` command: runs programs under the library and tells about them.
//!
//! Each subcommand is a module of its own with its arguments and one `main`.
//! Exit status 125 is always our own failure, as with env(1).

mod bench;
mod check;
mod command_line;
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

use clap::Parser;
use command_line::{Command, CommandLine};
use std::process::ExitCode;

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    match CommandLine::try_parse().map(|line| line.command) {
        Ok(Command::Run(args)) => run::main(&args),
        Ok(Command::Check(args)) => check::main(&args),
        Ok(Command::Report(args)) => report::main(&args),
        Ok(Command::Bench(args)) => bench::main(&args),
        Err(error) => output::usage(&error),
    }
}
