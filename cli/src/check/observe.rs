//! `--run`: the program itself, once, in mode `observe`.
//!
//! Promises: the program's behaviour is its own (no caller is served in `observe`); the report
//! goes to a private directory that is gone afterwards, and what it says decides.

use super::verdict::{Judgement, Verdict};
use crate::output::{counted, grouped, printable};
use crate::report::{lines::each_line, record::Process, symbolizer::Symbolizer};
use crate::{inherited_state, library};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::BufReader;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// What was seen.
pub(crate) struct Observed {
    pub(crate) ended: String,
    /// By a signal: the program itself left no report, however much it drew.
    killed: bool,
    pub(crate) processes: Vec<Process>,
}

/// Runs the program. `aside`: its standard output goes to standard error.
pub(crate) fn observe(
    program: &OsStr,
    arguments: &[OsString],
    aside: bool,
) -> Result<Observed, String> {
    let library = library::find()?;
    let directory = tempfile::Builder::new()
        .prefix("ownpool-check.")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .and_then(|directory| Ok((std::path::absolute(directory.path())?, directory)));
    let (path, _directory) = directory.map_err(|error| format!("temporary directory: {error}"))?;
    let report = path.join("report");
    let mut command = Command::new(program);
    let preload = library::preload(&library, std::env::var_os("LD_PRELOAD"));
    command
        .args(arguments)
        .env("LD_PRELOAD", preload)
        .env("OWNPOOL_MODE", "observe")
        .env("OWNPOOL_STATS", &report);
    if aside {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        command.stdout(stderr.map_or_else(|_| Stdio::null(), Stdio::from));
    }
    inherited_state::restore_in(&mut command);
    let told = |error| format!("{}: {error}", printable(program.as_bytes()));
    let mut child = command.spawn().map_err(told)?;
    // As system(3): an interrupt from the terminal is for the program; we stay to tell.
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: SIG_IGN is a valid disposition and replaces no handler of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let status = child.wait().map_err(told)?;
    Ok(Observed {
        ended: ended(status),
        killed: status.signal().is_some(),
        processes: processes(&report),
    })
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// Every process that reported, the program's children too.
fn processes(report: &Path) -> Vec<Process> {
    let mut processes = Vec::new();
    let Ok(file) = File::open(report) else {
        return processes;
    };
    let mut symbolizer = Symbolizer::default();
    // A line that is torn (a process killed in its write) is no reason to lose the others.
    let _ = each_line(BufReader::new(file), |_, line| {
        if let Ok(mut process) = line.and_then(Process::parse) {
            symbolizer.name(&mut process.callers);
            processes.push(process);
        }
        true
    });
    processes
}

impl Observed {
    /// What was seen decides, whatever the files said; their reasons follow. If nothing could
    /// be seen, the verdict from the files stands.
    pub(crate) fn decide(&self, before: &mut Judgement) {
        let sum =
            |of: fn(&Process) -> u64| self.processes.iter().map(of).fold(0, u64::saturating_add);
        let bytes = grouped(sum(|process| process.kernel.bytes));
        let calls = counted(sum(|process| process.kernel.calls), "call");
        let moved = sum(|process| process.would_move.threads);
        let heavy = sum(|process| process.would_move.calls);
        let (verdict, seen) = if self.processes.is_empty() && self.killed {
            (
                before.verdict,
                "it was killed by a signal, which leaves no report".into(),
            )
        } else if self.processes.is_empty() {
            (Verdict::NoEffect, "it drew nothing that passes the library (or it ended by _exit or exec, which leave no report)".into())
        } else if moved > 0 || heavy > 0 {
            let (threads, heavy) = (counted(moved, "thread"), counted(heavy, "call"));
            let seen = format!(
                "it drew {bytes} bytes in {calls}; {threads} would have been moved, with {heavy}"
            );
            (Verdict::Helps, seen)
        } else {
            let seen = format!("it drew {bytes} bytes in {calls}, all within the allowance");
            (Verdict::NoEffect, seen)
        };
        before.verdict = verdict;
        before.reasons.insert(0, format!("when run, {seen}"));
    }
}
