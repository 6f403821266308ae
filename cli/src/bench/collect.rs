//! The command's side of a run: it starts the measuring process, shows how far that is, and
//! gathers what it finds.

use super::args::Args;
use super::report::{Event, Report};
use crate::library;
use crate::output::OUR_FAILURE;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ownpool_measure::table::size;
use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the measuring process and gathers what it finds.
pub(super) fn measure(args: &Args, library: &Path) -> Result<Report, String> {
    let mut child = command(args, library)
        .spawn()
        .map_err(|error| format!("cannot start itself again: {error}"))?;
    let lines = child
        .stdout
        .take()
        .map(BufReader::new)
        .ok_or("no pipe to the measuring process")?;
    let mut setup = None;
    let (mut rows, mut absent) = (Vec::new(), Vec::new());
    let (mut memory, mut pinned) = (None, true);
    let progress = ProgressBar::hidden();
    for line in lines.lines() {
        // A line that is none of ours would be another preload's.
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Event::Setup(found)) => {
                show(&progress, found.planned);
                setup = Some(found);
            }
            Some(Event::Row(row)) => {
                progress.set_message(format!("{} {}", row.entry, size(row.bytes)));
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
    let switches = switches.iter().filter(|switch| switch.1);
    command.args(switches.map(|switch| switch.0));
    command.args(args.threads.map(|count| format!("--threads={count}")));
    command
        .env("LD_PRELOAD", preload)
        .env_remove("OWNPOOL_ONLY")
        .env_remove("OWNPOOL_SKIP");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Shows the bar from now on, if standard error is a terminal.
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
