//! `ownpool bench`: kernel, vDSO, ownpool and its peers on this machine.
//!
//! The library is measured as a program gets it: the command starts itself again
//! with the library in LD_PRELOAD and measures there, in one process, what the
//! hooked names, the raw system call, the vDSO and the peers take for the same
//! request. This side shows progress and makes tables, JSON and plot of what comes
//! back. Promises: settings in the environment hold as for any program, only
//! OWNPOOL_ONLY and OWNPOOL_SKIP are taken away (the bench was asked for by name).
//! Must never: measure without the library, or leave out a contender that was faster.

mod args;
mod collect;
mod comparisons;
mod contenders;
mod lookup;
mod measuring_process;
mod memory;
mod plot;
mod rendezvous;
mod report;
mod rounds;
mod scaling;
mod schedule;
mod table;

use crate::library;
use crate::output::{self, OUR_FAILURE};
pub(crate) use args::Args;
use ownpool_measure::regions;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn main(args: &Args) -> ExitCode {
    let done = if args.inner {
        measuring_process::main(args).map(|()| String::new())
    } else {
        measure_and_write(args)
    };
    match done {
        Ok(text) => output::result(&text, 0),
        // The measuring process has written itself why it failed.
        Err(line) if line.is_empty() => ExitCode::from(OUR_FAILURE),
        Err(line) => output::failure(format_args!("bench: {line}")),
    }
}

/// Measures, writes the files that are asked for, and gives what goes to standard output.
fn measure_and_write(args: &Args) -> Result<String, String> {
    let library = library::find().map_err(|trouble| trouble.to_string())?;
    let report = collect::measure(args, &library)?;
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
        write(path, &format!("{json}\n"))?;
    }
    if let Some(path) = &args.svg {
        write(path, &plot::svg(&report)?)?;
    }
    if let Some(path) = &args.markdown {
        let old = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            other => other.map_err(|error| format!("{}: {error}", path.display())),
        };
        let text = regions::update(&old?, "ownpool bench", &table::markdown(&report))
            .map_err(|why| format!("{}: {why}", path.display()))?;
        write(path, &text)?;
    }
    Ok(table::text(&report))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
