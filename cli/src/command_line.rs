//! The command's arguments.

use crate::{bench, check, report, run};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "ownpool", version, about, long_about = None)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a program under the library
    Run(run::Args),
    /// Say whether the library would help a program, and why not
    Check(check::Args),
    /// Print what OWNPOOL_STATS wrote as tables, with the names of callers
    Report(report::Args),
    /// Measure kernel, vDSO, ownpool and its peers on this machine
    Bench(bench::Args),
}
