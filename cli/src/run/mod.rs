//! `ownpool run`: put the library in front of a program and become it.
//!
//! Promises: the program gets its arguments, environment, working directory, signals and
//! descriptors as we got them, but for LD_PRELOAD and the settings that were asked for;
//! what was preloaded before stays preloaded, behind us. Nothing is started silently
//! without the library. Must do nothing slow: whatever it does is added to the program's start.

use super::{OUR_FAILURE, inherited_state, library, output, settings};
use settings::{Complaint, Settings, TABLE};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
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
    /// Option, setting and value, of those that were given.
    fn chosen(&self) -> Vec<(&'static str, &'static str, OsString)> {
        let options = [
            ("--mode", "OWNPOOL_MODE", &self.mode),
            ("--rate", "OWNPOOL_RATE", &self.rate),
            ("--burst", "OWNPOOL_BURST", &self.burst),
            ("--bulk", "OWNPOOL_BULK", &self.bulk),
            ("--forgive", "OWNPOOL_FORGIVE_SECS", &self.forgive),
            ("--reseed-bytes", "OWNPOOL_RESEED_BYTES", &self.reseed_bytes),
            ("--reseed-secs", "OWNPOOL_RESEED_SECS", &self.reseed_secs),
            ("--stats", "OWNPOOL_STATS", &self.stats),
        ];
        let mut chosen: Vec<_> = options
            .into_iter()
            .filter_map(|(option, setting, value)| Some((option, setting, value.clone()?)))
            .collect();
        if self.verbose {
            chosen.push(("--verbose", "OWNPOOL_VERBOSE", OsString::from("1")));
        }
        chosen
    }
}

/// Becomes the program; returns only if that failed.
pub(crate) fn main(args: Args) -> ExitCode {
    let mut settings = args.chosen();
    for (option, setting, value) in &mut settings {
        if *setting == "OWNPOOL_STATS" {
            match placed(value) {
                Ok(path) => *value = path,
                Err(error) => {
                    return output::failure(format_args!("--stats: working directory: {error}"));
                }
            }
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
            return output::failure(format_args!(
                "{option} ({setting}): {words}: \"{}\"",
                output::printable(value.as_bytes())
            ));
        }
    }
    let library = match library::find() {
        Ok(path) => path,
        Err(error) => return output::failure(error),
    };
    for (_, setting, value) in &settings {
        put(setting, value);
    }
    put(
        "LD_PRELOAD",
        &preload(&library, std::env::var_os("LD_PRELOAD")),
    );
    let Some((program, arguments)) = args.command.split_first() else {
        return ExitCode::from(OUR_FAILURE);
    };
    become_program(program, arguments)
}

/// The exec. No environment is handed to `Command`: it would sort it, drop what has no
/// `=` and merge doubles, and the program is to see it as we did.
fn become_program(program: &OsStr, arguments: &[OsString]) -> ExitCode {
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    inherited_state::restore_in(&mut command);
    let error = command.exec();
    let name = match program.is_empty() {
        true => "\"\"".into(),
        false => output::printable(program.as_bytes()),
    };
    output::complain(format_args!("{name}: {error}"));
    ExitCode::from(if error.kind() == ErrorKind::NotFound {
        NOT_FOUND
    } else {
        NOT_EXECUTABLE
    })
}

/// Sets a variable in our own environment. All of its doubles go first: ld.so obeys the
/// last LD_PRELOAD that it meets, setenv(3) replaces the first.
fn put(name: &str, value: &OsStr) {
    // SAFETY: the command has one thread, so nobody reads the environment meanwhile.
    unsafe {
        std::env::remove_var(name);
        std::env::set_var(name, value);
    }
}

/// The library in front of what was preloaded already.
pub(crate) fn preload(library: &Path, existing: Option<OsString>) -> OsString {
    let library = library.as_os_str();
    let Some(existing) = existing.filter(|list| !list.is_empty()) else {
        return library.to_os_string();
    };
    let mut parts = existing
        .as_bytes()
        .split(|&byte| byte == b':' || byte == b' ');
    if parts.next() == Some(library.as_bytes()) {
        return existing;
    }
    OsString::from_vec([library.as_bytes(), b":", existing.as_bytes()].concat())
}

/// A report path that still holds after the program has changed its directory.
fn placed(value: &OsStr) -> std::io::Result<OsString> {
    if value.is_empty() || value == "stderr" || Path::new(value).is_absolute() {
        return Ok(value.to_os_string());
    }
    Ok(std::env::current_dir()?.join(value).into_os_string())
}

/// What `--help` says beyond the options.
fn manual() -> String {
    let mut text = String::from(
        "COMMAND is looked up in PATH and started with libownpool.so in front of what LD_PRELOAD\n\
         holds already. The library is taken from the folder of this command, or from ../lib,\n\
         ../lib/<multiarch> or ../lib64 beside it. Options override the environment. A relative\n\
         FILE is taken from the present directory; %p in it stands for the pid, %n for the program.\n\n\
         Exit status:\n  \
           125  ownpool failed: bad option or value, library missing or not nameable\n  \
           126  COMMAND was found but could not be started\n  \
           127  COMMAND was not found\n  \
           otherwise the status of COMMAND, which takes the place of this command\n\n\
         OWNPOOL_STATS to a terminal shows nothing of programs that close descriptor 2 before\n\
         they end, as dd and other coreutils do: name a FILE.\n\n\
         Sizes take K, M and G. Environment settings, with their defaults:\n",
    );
    for row in TABLE.iter().filter(|row| row.name != "OWNPOOL_TEST") {
        let default = match row.default {
            "" => " (unset)".to_owned(),
            default => format!("={default}"),
        };
        text.push_str(&format!(
            "  {}{default}\n      {} ({})\n",
            row.name, row.help, row.unit
        ));
    }
    text.push_str(
        "\nExamples:\n  \
           ownpool run python3 app.py\n  \
           ownpool run --mode observe --stats -- php worker.php\n  \
           ownpool run --stats=/var/log/ownpool.%p.json --burst 64K ./server --port 80\n\n\
         Static and set-user-id programs cannot be helped this way: see ownpool check.",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_goes_first_and_the_rest_stays() {
        let library = Path::new("/x/libownpool.so");
        for (before, after) in [
            ("", "/x/libownpool.so"),
            ("libjemalloc.so.2", "/x/libownpool.so:libjemalloc.so.2"),
            ("a.so b.so", "/x/libownpool.so:a.so b.so"),
            ("/x/libownpool.so:a.so", "/x/libownpool.so:a.so"),
            (
                "a.so:/x/libownpool.so",
                "/x/libownpool.so:a.so:/x/libownpool.so",
            ),
        ] {
            assert_eq!(preload(library, Some(OsString::from(before))), after);
        }
        assert_eq!(preload(library, None), "/x/libownpool.so");
    }

    #[test]
    fn the_manual_names_every_setting_of_users() {
        let text = manual();
        for row in TABLE.iter().filter(|row| row.name != "OWNPOOL_TEST") {
            assert!(
                text.contains(&format!("{}={}", row.name, row.default)) || row.default.is_empty()
            );
            assert!(
                text.contains(row.name) && text.contains(row.help),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn report_paths_are_placed_once() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(placed(OsStr::new("r.json")).unwrap(), here.join("r.json"));
        assert_eq!(placed(OsStr::new("/r.json")).unwrap(), "/r.json");
        assert_eq!(placed(OsStr::new("stderr")).unwrap(), "stderr");
    }
}
