//! `ownpool bench`: kernel, vDSO, ownpool and its peers on this machine.
//!
//! The library is measured as a program gets it: the command starts itself again
//! with the library in LD_PRELOAD and measures there, in one process, what the
//! hooked names, the raw system call, the vDSO and the peers take for the same
//! request. This side shows progress and makes tables, JSON and plot from what it
//! is told. Promises: settings in the environment hold as for any program, only
//! OWNPOOL_ONLY and OWNPOOL_SKIP are taken away (the bench was asked for by name).
//! Must never: measure without the library, or leave out who was faster.

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
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ownpool_measure::regions;
use report::{Event, Report};
use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Short rounds; ends within 20 seconds
    #[arg(long)]
    quick: bool,
    /// Measure with up to so many threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Measure how 64-byte calls scale with threads; the main table is left out
    #[arg(long)]
    scaling: bool,
    /// Measure what threads cost in memory; the main table is left out
    #[arg(long)]
    memory: bool,
    /// Write everything to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw ns per call and GB/s of the main table to FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scaling", "memory"])]
    svg: Option<PathBuf>,
    /// Write tables to FILE as Markdown, into the regions marked for them, or at the end
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Be the measuring process
    #[arg(long, hide = true)]
    inner: bool,
}

pub(crate) fn main(args: &Args) -> ExitCode {
    let done = if args.inner {
        measuring_process::main(args).map(|()| String::new())
    } else {
        outer(args)
    };
    match done {
        Ok(text) => output::result(&text, 0),
        // The measuring process has said itself what it died of.
        Err(line) if line.is_empty() => ExitCode::from(OUR_FAILURE),
        Err(line) => output::failure(format_args!("bench: {line}")),
    }
}

/// So many threads are taken on any machine, more where there are more cores. Each has
/// stacks and buffers of its own and takes its turn: without an end, a slip of the finger
/// takes the machine's memory and an hour.
const MOST_THREADS: usize = 64;

fn threads(text: &str) -> Result<usize, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = cores.max(MOST_THREADS);
    text.parse()
        .ok()
        .filter(|count| (1..=most).contains(count))
        .ok_or_else(|| format!("not a number of threads from 1 to {most}"))
}

/// Everything that goes to standard output, when all files are written.
fn outer(args: &Args) -> Result<String, String> {
    let library = library::find().map_err(|error| error.to_string())?;
    let report = measure(args, &library)?;
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

/// Runs the measuring process and gathers what it says.
fn measure(args: &Args, library: &Path) -> Result<Report, String> {
    let mut child = command(args, library)
        .spawn()
        .map_err(|error| format!("cannot start itself again: {error}"))?;
    let lines = child
        .stdout
        .take()
        .map(BufReader::new)
        .ok_or("no pipe to the measuring process")?;
    let mut setup = None;
    let mut rows = Vec::new();
    let mut memory = None;
    let mut absent = Vec::new();
    let mut pinned = true;
    let progress = ProgressBar::hidden();
    for line in lines.lines() {
        // What is not ours there would be another preload's talk.
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Event::Setup(found)) => {
                show(&progress, found.planned);
                setup = Some(found);
            }
            Some(Event::Row(row)) => {
                progress.set_message(format!("{} {}", row.entry, table::size(row.bytes)));
                progress.inc(1);
                rows.push(row);
            }
            Some(Event::Absent(who)) => {
                progress.inc(1);
                absent.push(who);
            }
            Some(Event::Memory(found)) => memory = Some(found),
            Some(Event::Pinned(all)) => pinned = all,
            None => {}
        }
    }
    progress.finish_and_clear();
    let status = child.wait().map_err(|error| error.to_string())?;
    match (status.code(), setup) {
        (Some(0), Some(mut setup)) => {
            setup.absent.extend(absent);
            Ok(Report {
                format: 1,
                quick: args.quick,
                pinned,
                setup,
                rows,
                memory,
            })
        }
        (Some(code), _) if code == i32::from(OUR_FAILURE) => Err(String::new()),
        _ => Err(format!("the measuring process ended with {status}")),
    }
}

/// The command again, with the library in front.
fn command(args: &Args, library: &Path) -> Command {
    let preload = library::preload(library, std::env::var_os("LD_PRELOAD"));
    let mut command = Command::new("/proc/self/exe");
    command.arg0("ownpool").args(["bench", "--inner"]);
    let switches = [
        ("--quick", args.quick),
        ("--scaling", args.scaling),
        ("--memory", args.memory),
    ];
    command.args(
        switches
            .iter()
            .filter(|switch| switch.1)
            .map(|switch| switch.0),
    );
    command.args(args.threads.map(|count| format!("--threads={count}")));
    command
        .env("LD_PRELOAD", preload)
        .env_remove("OWNPOOL_ONLY")
        .env_remove("OWNPOOL_SKIP");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// From now on the bar is seen, if there is somebody to see it.
fn show(progress: &ProgressBar, planned: usize) {
    if planned == 0 || !std::io::stderr().is_terminal() {
        return;
    }
    progress.set_length(planned as u64);
    if let Ok(style) =
        ProgressStyle::with_template("{elapsed_precise} {wide_bar} {pos}/{len} {msg}")
    {
        progress.set_style(style);
    }
    progress.set_draw_target(ProgressDrawTarget::stderr());
}
