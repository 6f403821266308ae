//! `ownpool check`: will the library help this program, and if not, why?
//!
//! Promises: one verdict line and the reasons under it; the exit status says the same. The
//! program is not started unless `--run` asks for it. A file that cannot be judged (missing,
//! not executable, not ELF, damaged) is one line and status 125, whatever is in it.

pub(crate) mod binary;
pub(crate) mod cache;
mod closure;
pub(crate) mod env_command;
mod evidence;
pub(crate) mod find_program;
mod host;
mod judge;
mod loader;
mod observe;
mod preloadable;
mod program_kind;
mod secure_mode;
mod watched_names;

use super::{output, regular_file, report, settings};
use core::fmt::Write as _;
use judge::{Judgement, Verdict};
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

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
    host: &'a host::Host,
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

pub(crate) fn main(args: &Args) -> ExitCode {
    let asked = output::plain(args.program.as_bytes());
    let found = match find_program::program(&args.program) {
        Ok(found) => found,
        Err(why) => return output::failure(why),
    };
    let path = output::plain(found.path.as_os_str().as_bytes());
    let read = regular_file::read(&found.path)
        .map_err(|error| error.to_string())
        .and_then(|bytes| binary::Binary::read(&bytes).map_err(|error| error.to_string()))
        .and_then(|binary| Ok((preloadable::refused(&found, &binary)?, binary)));
    let (early, binary) = match read {
        Ok(read) => read,
        Err(why) => return output::failure(format_args!("{path}: {why}")),
    };
    let host = host::Host::probe();
    let environment: Vec<_> = std::env::vars_os().collect();
    let mut libraries = Vec::new();
    let mut observed = None;
    let mut judgement = match early {
        Some(judgement) => judgement,
        None => {
            let closure = closure::Closure::of(found.path.clone(), binary, &loader::Loader::here());
            let against = judge::stays_out(&found, &host, &in_force(&environment));
            let idle = !against.is_empty();
            let mut judgement = judge::by_closure(&closure, &host, against);
            libraries = listed(&closure);
            let worth_it = !idle && judgement.verdict != Verdict::CannotLoad;
            if let Some(arguments) = args.run.as_ref().filter(|_| worth_it) {
                match observe::observe(&args.program, arguments, args.json) {
                    Ok(seen) => {
                        seen.decide(&mut judgement);
                        observed = Some(seen);
                    }
                    Err(why) => return output::failure(why),
                }
            }
            if args.run.is_none() && judgement.verdict == Verdict::Helps {
                judgement.reasons.push(
                    "whether it asks for enough to be moved, no file tells: --run does".into(),
                );
            }
            judgement
        }
    };
    if args.run.is_some() && observed.is_none() {
        judgement
            .reasons
            .push("not run: there would be nothing to see".into());
    }
    let status = judgement.verdict as u8;
    if args.json {
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
        let text = serde_json::to_string(&answer).unwrap_or_default() + "\n";
        return output::result(&text, status);
    }
    let program = if asked == path {
        asked
    } else {
        format!("{asked} ({path})")
    };
    let mut text = told(&program, &judgement, &found.steps, &host);
    if let Some(seen) = &observed {
        let _ = writeln!(text, "  seen in mode observe: {}", seen.ended);
        for process in &seen.processes {
            text.push('\n');
            text.push_str(&report::table::table(process));
        }
    }
    output::result(&text, status)
}

/// The settings of this environment; the library complains about bad ones, so this need not.
fn in_force(environment: &[(OsString, OsString)]) -> settings::Settings<'_> {
    let mut in_force = settings::Settings::DEFAULT;
    for (name, value) in environment {
        if name.as_bytes().starts_with(b"OWNPOOL_") {
            let _ = in_force.set(name.as_bytes(), value.as_bytes());
        }
    }
    in_force
}

fn listed(closure: &closure::Closure) -> Vec<Library> {
    let each = closure.objects.iter().map(|object| Library {
        path: output::plain(object.path.as_os_str().as_bytes()),
        imports: object.binary.imports.keys().copied().collect(),
    });
    each.collect()
}

fn told(program: &str, judgement: &Judgement, steps: &[String], host: &host::Host) -> String {
    let mut text = format!("{program}: {}\n", judgement.verdict.words());
    for line in judgement.reasons.iter().chain(steps) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  this machine: {}", host.line());
    text
}
