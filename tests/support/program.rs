//! The C programs of `tests/c`: built, run bare or with the library before them.
#![allow(dead_code, reason = "each test program uses its own part")]

use crate::support::{gcc, library};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds `tests/c/NAME.c` into `folder` with these further arguments.
pub(crate) fn build(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let sources = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("tests/c");
    let source = std::fs::read_to_string(sources.join(name).with_extension("c"))
        .expect("the source is there");
    let include = format!("-I{}", sources.display());
    let mut all = vec!["-O1", "-pthread", "-Wall", "-Wextra", "-Werror", &include];
    all.extend(arguments);
    gcc(folder, name, &source, &all)
}

/// A command without any setting of ours in its environment.
pub(crate) fn bare(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name == "LD_PRELOAD" || name.to_string_lossy().starts_with("OWNPOOL_") {
            command.env_remove(name);
        }
    }
    command
}

/// The same with the release library before it, and these settings.
pub(crate) fn preloaded(
    program: impl AsRef<std::ffi::OsStr>,
    settings: &[(&str, &str)],
) -> Command {
    let mut command = bare(program);
    command.env("LD_PRELOAD", library());
    command.envs(settings.iter().copied());
    command
}

/// Runs it to its end; fails the test with all it said unless it ends with status 0.
pub(crate) fn succeed(command: &mut Command) -> Output {
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

/// What it says on standard output.
pub(crate) fn says(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stdout).expect("text")
}

/// The number after `word` and a space.
pub(crate) fn number_after(text: &str, word: &str) -> u64 {
    let start = text.find(&format!("{word} ")).map(|at| at + word.len() + 1);
    let digits = start.map(|start| &text[start..]).unwrap_or_default();
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end]
        .parse()
        .unwrap_or_else(|_| panic!("no number after {word:?} in {text:?}"))
}
