//! `ownpool check`: will the library help this program, and if not, why?
//!
//! Promises: one verdict line and the reasons under it; the exit status says the same. The
//! program is not started unless `--run` asks for it. A file that cannot be judged (missing,
//! not executable, not ELF, damaged) is one line and status 125, whatever is in it.

pub(crate) mod binary;
pub(crate) mod env_command;
mod evidence;
pub(crate) mod find_program;
mod go_program;
mod host;
mod inactive;
mod judge;
mod loaded_files;
mod loader_list;
mod observe;
mod preloadable;
mod program_kind;
mod secure_mode;
mod verdict;
mod watched_names;

use crate::output::{self, printable};
use crate::{regular_file, report};
use binary::Binary;
use core::fmt::Write as _;
use find_program::{FoundProgram, find_program};
use host::Host;
use loaded_files::{LoadedFile, LoadedFiles};
use observe::Observed;
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use verdict::{Judgement, Verdict};

#[derive(clap::Args)]
#[command(after_long_help = "\
PROGRAM is found as the shell finds it; scripts are followed to their interpreter.

Exit status:
  0    helps: the program asks the kernel for randomness by names that the library answers
  1    no effect: it loads, but there is nothing to serve, or it stays out
  2    cannot load: static, set-user-id, another C library, another machine
  125  ownpool failed, or PROGRAM is missing, not executable, not a program, or damaged

Without --run the files are judged, not what the program does: whether it asks for enough to
be moved, and what it loads later by dlopen(3), only running it tells.

Examples:
  ownpool check php
  ownpool check --json /usr/bin/java
  ownpool check python3 --run -c 'import uuid; [uuid.uuid4() for _ in range(1000)]'")]
pub(crate) struct Args {
    /// JSON instead of text
    #[arg(long)]
    json: bool,
    /// The program, or a script
    #[arg(value_name = "PROGRAM")]
    program: OsString,
    /// Run it too, with these arguments, in mode observe: what is seen decides
    #[arg(long, value_name = "ARGS", num_args = 0.., allow_hyphen_values = true)]
    run: Option<Vec<OsString>>,
}

/// The answer as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    asked: String,
    program: String,
    verdict: Verdict,
    reasons: &'a [String],
    steps: &'a [String],
    libraries: Vec<Library>,
    host: &'a Host,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<&'a [report::record::Process]>,
}

/// The program or one of its libraries, with the names that matter.
#[derive(Serialize)]
struct Library {
    path: String,
    imports: Vec<&'static str>,
}

impl Library {
    fn of(file: &LoadedFile) -> Library {
        Library {
            path: file.shown(),
            imports: file.binary.imports.keys().copied().collect(),
        }
    }
}

pub(crate) fn main(args: &Args) -> ExitCode {
    answer(args).unwrap_or_else(output::failure)
}

/// The verdict, written to standard output.
///
/// # Errors
/// Why there is none, in words.
fn answer(args: &Args) -> Result<ExitCode, String> {
    let found = find_program(&args.program)?;
    let path = printable(found.path.as_os_str().as_bytes());
    let (binary, obstacles) = read(&found).map_err(|why| format!("{path}: {why}"))?;
    let host = Host::probe();
    let mut libraries = Vec::new();
    let mut observed = None;
    let mut judgement = match obstacles {
        Some(judgement) => judgement,
        None => {
            let files = LoadedFiles::of(found.path.clone(), binary);
            libraries.extend(files.all().map(Library::of));
            let against = inactive::reasons(&found, &host);
            let is_inactive = !against.is_empty();
            let mut judgement = judge::judge(&files, &host, against);
            let is_worth_it = !is_inactive && judgement.verdict != Verdict::CannotLoad;
            if let Some(arguments) = args.run.as_ref().filter(|_| is_worth_it) {
                let seen = observe::observe(&args.program, arguments, args.json)?;
                seen.decide(&mut judgement);
                observed = Some(seen);
            }
            if args.run.is_none() && judgement.verdict == Verdict::Helps {
                let words = "whether it asks for enough to be moved, no file tells: --run does";
                judgement.reasons.push(words.into());
            }
            judgement
        }
    };
    if args.run.is_some() && observed.is_none() {
        let words = "not run: there would be nothing to see";
        judgement.reasons.push(words.into());
    }
    let asked = printable(args.program.as_bytes());
    let text = if args.json {
        let answer = Answer {
            asked,
            program: path,
            verdict: judgement.verdict,
            reasons: &judgement.reasons,
            steps: &found.steps,
            libraries,
            host: &host,
            ended: observed.as_ref().map(|seen| seen.ended.as_str()),
            observed: observed.as_ref().map(|seen| seen.processes.as_slice()),
        };
        serde_json::to_string(&answer).unwrap_or_default() + "\n"
    } else {
        let program = match asked == path {
            true => asked,
            false => format!("{asked} ({path})"),
        };
        in_words(&program, &judgement, &found.steps, &host, observed.as_ref())
    };
    Ok(output::result(&text, judgement.verdict as u8))
}

/// The program's own file, and why the library does not get into it, if it does not.
fn read(found: &FoundProgram) -> Result<(Binary, Option<Judgement>), String> {
    let bytes = regular_file::read(&found.path).map_err(|error| error.to_string())?;
    let binary = Binary::read(&bytes).map_err(|error| error.to_string())?;
    let obstacles = preloadable::obstacles(found, &binary)?;
    Ok((binary, obstacles))
}

fn in_words(
    program: &str,
    judgement: &Judgement,
    steps: &[String],
    host: &Host,
    observed: Option<&Observed>,
) -> String {
    let mut text = format!("{program}: {}\n", judgement.verdict.words());
    for line in judgement.reasons.iter().chain(steps) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  this machine: {}", host.line());
    if let Some(seen) = observed {
        let _ = writeln!(text, "  seen in mode observe: {}", seen.ended);
        for process in &seen.processes {
            let _ = write!(text, "\n{}", report::table::table(process));
        }
    }
    text
}
