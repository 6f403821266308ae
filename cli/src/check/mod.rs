//! `ownpool check`: will the library help this program, and if not, why?
//!
//! Promises: one verdict line and the reasons under it; the exit status says the same. The
//! program is not started unless `--run` asks for it. A file that cannot be judged (missing,
//! not executable, not ELF, damaged) is one line and status 125, whatever is in it.

mod answer;
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
use crate::regular_file;
use answer::Answer;
use binary::Binary;
use find_program::{FoundProgram, find_program};
use host::Host;
use loaded_files::LoadedFiles;
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
    let mut files = None;
    let mut observed = None;
    let mut judgement = match obstacles {
        Some(judgement) => judgement,
        None => {
            let files = files.insert(LoadedFiles::of(found.path.clone(), binary));
            let against = inactive::reasons(&found, &host);
            let is_inactive = !against.is_empty();
            let mut judgement = judge::judge(files, &host, against);
            let is_worth_it = !is_inactive && judgement.verdict != Verdict::CannotLoad;
            if let Some(arguments) = args.run.as_ref().filter(|_| is_worth_it) {
                let seen = observed.insert(observe::observe(&args.program, arguments, args.json)?);
                seen.decide(&mut judgement);
            }
            judgement
        }
    };
    let remark = match (&args.run, &observed) {
        (None, _) if judgement.verdict == Verdict::Helps => {
            Some("the files cannot tell whether it asks for enough to be moved; --run can")
        }
        (Some(_), None) => Some("not run: there would be nothing to see"),
        _ => None,
    };
    judgement.reasons.extend(remark.map(String::from));
    let status = judgement.verdict as u8;
    let answer = Answer {
        asked: printable(args.program.as_bytes()),
        program: path,
        judgement,
        steps: found.steps,
        files,
        host,
        observed,
    };
    let text = match args.json {
        true => answer.json(),
        false => answer.words(),
    };
    Ok(output::result(&text, status))
}

/// The program's own file, and why the library does not get into it, if it does not.
fn read(found: &FoundProgram) -> Result<(Binary, Option<Judgement>), String> {
    let bytes = regular_file::read(&found.path).map_err(|error| error.to_string())?;
    let binary = Binary::read(&bytes).map_err(|error| error.to_string())?;
    let obstacles = preloadable::obstacles(found, &binary)?;
    Ok((binary, obstacles))
}
