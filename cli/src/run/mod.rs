//! `ownpool run`: put the library in front of a program and become it.
//!
//! Promises: the program gets its arguments, environment, working directory, signals and
//! descriptors as we got them, but for LD_PRELOAD and the settings that were asked for;
//! what was preloaded before stays preloaded, behind us. Nothing is started silently
//! without the library. Must do nothing slow: whatever it does is added to the program's start.

mod manual;

use crate::output::{self, printable};
use crate::{inherited_state, library};
use manual::manual;
use ownpool_core::settings::{Complaint, Settings};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::ExitCode;

/// As env(1): found, but could not be started.
const NOT_EXECUTABLE: u8 = 126;

/// As env(1): not found.
const NOT_FOUND: u8 = 127;

#[derive(clap::Args)]
#[command(after_long_help = manual())]
pub(crate) struct Args {
    /// Who is served by a private generator: auto, always, vdso, observe or off
    #[arg(long, value_name = "MODE")]
    mode: Option<OsString>,
    /// Bytes per second that a thread may draw from the kernel for long
    #[arg(long, value_name = "BYTES")]
    rate: Option<OsString>,
    /// Bytes that a thread may draw from the kernel at once
    #[arg(long, value_name = "BYTES")]
    burst: Option<OsString>,
    /// One request larger than this is heavy by itself
    #[arg(long, value_name = "BYTES")]
    bulk: Option<OsString>,
    /// Seconds of light behaviour after which a thread returns to the kernel; 0: never
    #[arg(long, value_name = "SECS")]
    forgive: Option<OsString>,
    /// Bytes between reseeds from the kernel; 0: at every refill
    #[arg(long, value_name = "BYTES")]
    reseed_bytes: Option<OsString>,
    /// Age of a key at which it is reseeded all the same
    #[arg(long, value_name = "SECS")]
    reseed_secs: Option<OsString>,
    /// Report when the program ends, to FILE or, without =FILE, to standard error
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "stderr",
          value_hint = clap::ValueHint::FilePath)]
    stats: Option<OsString>,
    /// One line on standard error with the settings in force
    #[arg(long)]
    verbose: bool,
    /// The program and its arguments; options after COMMAND are COMMAND's own
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true,
          value_hint = clap::ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

impl Args {
    /// Setting and value of the options that were given.
    ///
    /// # Errors
    /// Which option has a bad value, in words.
    fn settings(&self) -> Result<Vec<(&'static str, OsString)>, String> {
        let verbose = self.verbose.then(|| OsString::from("1"));
        let options = [
            ("--mode", "OWNPOOL_MODE", &self.mode),
            ("--rate", "OWNPOOL_RATE", &self.rate),
            ("--burst", "OWNPOOL_BURST", &self.burst),
            ("--bulk", "OWNPOOL_BULK", &self.bulk),
            ("--forgive", "OWNPOOL_FORGIVE_SECS", &self.forgive),
            ("--reseed-bytes", "OWNPOOL_RESEED_BYTES", &self.reseed_bytes),
            ("--reseed-secs", "OWNPOOL_RESEED_SECS", &self.reseed_secs),
            ("--stats", "OWNPOOL_STATS", &self.stats),
            ("--verbose", "OWNPOOL_VERBOSE", &verbose),
        ];
        let mut settings = Vec::new();
        for (option, setting, value) in options {
            let Some(mut value) = value.clone() else {
                continue;
            };
            if setting == "OWNPOOL_STATS" {
                value = placed(&value)
                    .map_err(|error| format!("--stats: working directory: {error}"))?;
            }
            // An empty value would mean the default to the library; as an option it is a slip.
            let mut trial = Settings::DEFAULT;
            let judged = match value.is_empty() {
                true => Err("empty"),
                false => trial
                    .set(setting.as_bytes(), value.as_bytes())
                    .map_err(Complaint::words),
            };
            if let Err(words) = judged {
                let value = printable(value.as_bytes());
                return Err(format!("{option} ({setting}): {words}: \"{value}\""));
            }
            settings.push((setting, value));
        }
        Ok(settings)
    }
}

/// Becomes the program; returns only if that failed.
pub(crate) fn main(args: &Args) -> ExitCode {
    start(args).unwrap_or_else(output::failure)
}

fn start(args: &Args) -> Result<ExitCode, String> {
    let settings = args.settings()?;
    let library = library::find()?;
    for (setting, value) in &settings {
        put(setting, value);
    }
    let existing = std::env::var_os("LD_PRELOAD");
    put("LD_PRELOAD", &library::preload(&library, existing));
    let (program, arguments) = args.command.split_first().ok_or("no COMMAND")?;
    Ok(become_program(program, arguments))
}

/// The exec. No environment is handed to `Command`: it would sort it, drop what has no
/// `=` and merge duplicates, and the program is to see it as we did.
fn become_program(program: &OsStr, arguments: &[OsString]) -> ExitCode {
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    inherited_state::restore_in(&mut command);
    let error = command.exec();
    let name = match program.is_empty() {
        true => "\"\"".into(),
        false => printable(program.as_bytes()),
    };
    output::complain(format_args!("{name}: {error}"));
    ExitCode::from(match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        _ => NOT_EXECUTABLE,
    })
}

/// Sets a variable in our own environment. All its duplicates go first: ld.so obeys the
/// last LD_PRELOAD that it meets, setenv(3) replaces the first.
fn put(name: &str, value: &OsStr) {
    // SAFETY: the command has one thread, so the environment is not read meanwhile.
    unsafe {
        std::env::remove_var(name);
        std::env::set_var(name, value);
    }
}

/// A report path that still holds after the program has changed its directory.
fn placed(value: &OsStr) -> std::io::Result<OsString> {
    if value.is_empty() || value == "stderr" || Path::new(value).is_absolute() {
        return Ok(value.to_os_string());
    }
    Ok(std::env::current_dir()?.join(value).into_os_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_paths_are_placed_once() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(placed(OsStr::new("r.json")).unwrap(), here.join("r.json"));
        assert_eq!(placed(OsStr::new("/r.json")).unwrap(), "/r.json");
        assert_eq!(placed(OsStr::new("stderr")).unwrap(), "stderr");
    }
}
