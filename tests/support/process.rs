//! Programs: run bare or under the library, and what they leave behind.

use super::library;
use std::ffi::OsStr;
use std::process::{Command, Output};

/// A program without the library and without settings of ours. `tests/c/proof.h`
/// checks that the library is indeed not there.
pub fn bare(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OWNPOOL_") {
            command.env_remove(name);
        }
    }
    command.env_remove("LD_PRELOAD").env("HOOKED", "0");
    command
}

/// A program under the library. `tests/c/proof.h` checks that it is there; for
/// foreign programs the caller must see a trace of it.
pub fn preloaded(program: impl AsRef<OsStr>) -> Command {
    let mut command = bare(program);
    command.env("LD_PRELOAD", library()).env("HOOKED", "1");
    command
}

/// The same with these settings.
pub fn preloaded_with(program: impl AsRef<OsStr>, settings: &[(&str, &str)]) -> Command {
    let mut command = preloaded(program);
    command.envs(settings.iter().copied());
    command
}

/// What a finished program left behind, as text.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    /// Exit status, or the signal's number negated.
    pub status: i32,
}

/// Runs a program to its end.
pub fn ran(command: &mut Command) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let output = command.output().expect("the program starts");
    Ran {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output
            .status
            .code()
            .or_else(|| output.status.signal().map(|number| -number))
            .expect("a status or a signal"),
    }
}

/// Runs a program that must end well and silently; what it printed.
pub fn succeeds(command: &mut Command) -> String {
    let ran = ran(command);
    assert!(
        ran.status == 0 && ran.stderr.is_empty(),
        "{command:?}: {ran:?}"
    );
    ran.stdout
}

/// Runs it to its end; fails the test with all it printed unless it ends with status 0.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The same; its standard output as text.
pub fn prints(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stdout).expect("text")
}

/// The number after `word` and a space.
pub fn number_after(text: &str, word: &str) -> u64 {
    let start = text.find(&format!("{word} ")).map(|at| at + word.len() + 1);
    let digits = start.map(|start| &text[start..]).unwrap_or_default();
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end]
        .parse()
        .unwrap_or_else(|_| panic!("no number after {word:?} in {text:?}"))
}
