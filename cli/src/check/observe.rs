//! `--run`: the program itself, once, in mode `observe`.
//!
//! Promises: the program's behaviour is its own (nobody is served in `observe`); the report
//! goes to a private folder that is gone afterwards, and what it says decides.

use super::judge::{Judgement, Verdict};
use crate::output::{counted, grouped, plain};
use crate::report::{each_line, record::Process, symbolizer::Symbolizer};
use crate::{inherited_state, library, run};
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::BufReader;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
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
    let library = library::find().map_err(|trouble| trouble.to_string())?;
    let folder = Folder::new().map_err(|error| format!("temporary folder: {error}"))?;
    let report = folder.0.join("report");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env(
            "LD_PRELOAD",
            run::preload(&library, std::env::var_os("LD_PRELOAD")),
        )
        .env("OWNPOOL_MODE", "observe")
        .env("OWNPOOL_STATS", &report);
    if aside {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        command.stdout(stderr.map_or_else(|_| Stdio::null(), Stdio::from));
    }
    // SAFETY: `restore` makes only async-signal-safe calls.
    unsafe {
        command.pre_exec(|| {
            inherited_state::restore();
            Ok(())
        });
    }
    let shown = plain(program.as_bytes());
    let mut child = command
        .spawn()
        .map_err(|error| format!("{shown}: {error}"))?;
    // As system(3): an interrupt from the terminal is for the program; we stay to tell.
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: SIG_IGN is a valid disposition and replaces no handler of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let status = child.wait().map_err(|error| format!("{shown}: {error}"))?;
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
    let mut functions = Symbolizer::default();
    // A line that is torn (a process killed in its write) is no reason to lose the others.
    let _ = each_line(BufReader::new(file), |_, line| {
        if let Ok(mut process) = line.and_then(Process::parse) {
            functions.name(&mut process.callers);
            processes.push(process);
        }
        true
    });
    processes
}

impl Observed {
    /// What was seen decides, whatever the files said; their reasons follow. If nothing could
    /// be seen, the files' word stands.
    pub(crate) fn decide(&self, before: &mut Judgement) {
        if self.processes.is_empty() && self.killed {
            let words = "when run, it was killed by a signal, which leaves no report";
            return before.reasons.insert(0, words.into());
        }
        let sum =
            |of: fn(&Process) -> u64| self.processes.iter().map(of).fold(0, u64::saturating_add);
        let (calls, bytes) = (
            sum(|process| process.kernel.calls),
            sum(|process| process.kernel.bytes),
        );
        let (moved, heavy) = (
            sum(|process| process.would_move.threads),
            sum(|process| process.would_move.calls),
        );
        let drew = format!(
            "it drew {} bytes in {}",
            grouped(bytes),
            counted(calls, "call")
        );
        let (verdict, reason) = if self.processes.is_empty() {
            let why = "it drew nothing that passes the library (or it ended by _exit or exec, which leave no report)";
            (Verdict::NoEffect, format!("when run, {why}"))
        } else if moved > 0 || heavy > 0 {
            let who = counted(moved, "thread");
            (
                Verdict::Helps,
                format!(
                    "when run, {drew}; {who} would have been moved, with {}",
                    counted(heavy, "call")
                ),
            )
        } else {
            (
                Verdict::NoEffect,
                format!("when run, {drew}, all within the allowance"),
            )
        };
        before.verdict = verdict;
        before.reasons.insert(0, reason);
    }
}

/// A folder of our own, removed with everything in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        let base = std::path::absolute(std::env::temp_dir())?;
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let path = base.join(format!(
            "ownpool-check.{}.{}",
            std::process::id(),
            now.as_nanos()
        ));
        // Fails if somebody was there first: it is ours alone or none.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
