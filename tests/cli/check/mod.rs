//! `ownpool check` on real programs: the verdict, its exit status and the reason.

mod libraries;
mod loading;
mod lookup;
mod observed;
mod sources;

use ownpool_tests::support::{bare, command, write_script};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

const DRAWS: &str =
    "#include <sys/random.h>\nint main(void) { char b[16]; return getrandom(b, 16, 0) != 16; }\n";
const IDLE: &str = "int main(void) { return 0; }\n";

fn check(arguments: &[&OsStr]) -> Output {
    let mut command = bare(command());
    command.arg("check").env_remove("LD_LIBRARY_PATH");
    command
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The verdict must be this in both forms, and some reason must hold every part.
#[track_caller]
fn assert_verdict(program: &Path, verdict: &str, status: i32, reason: &str) -> Value {
    let output = check(&[OsStr::new("--json"), program.as_os_str()]);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{program:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["verdict"], verdict);
    let reasons: Vec<_> = answer["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        reasons.iter().any(|text| text.contains(reason)),
        "{program:?}: {reason} in {reasons:?}"
    );
    let plain = check(&[program.as_os_str()]);
    assert_eq!(plain.status.code(), Some(status));
    let lines = text(&plain.stdout);
    let first = lines.lines().next().unwrap_or_default();
    assert!(first.contains(&verdict.replace('_', " ")), "{first}");
    assert!(
        lines.lines().skip(1).all(|line| line.starts_with("  ")),
        "{lines}"
    );
    answer
}

#[track_caller]
fn helps(program: &Path, reason: &str) -> Value {
    assert_verdict(program, "helps", 0, reason)
}

#[track_caller]
fn no_effect(program: &Path, reason: &str) -> Value {
    assert_verdict(program, "no_effect", 1, reason)
}

#[track_caller]
fn cannot_load(program: &Path, reason: &str) -> Value {
    assert_verdict(program, "cannot_load", 2, reason)
}

/// Status 125, nothing on standard output, one line on standard error.
#[track_caller]
fn refused(program: &Path, reason: &str) {
    let output = check(&[program.as_os_str()]);
    let stderr = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(125),
        "{program:?}: {}{stderr}",
        text(&output.stdout)
    );
    assert!(
        output.stdout.is_empty() && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert!(
        stderr.starts_with("ownpool: ") && stderr.contains(reason),
        "{reason} in {stderr}"
    );
}

fn file(place: &Path, name: &str, contents: impl AsRef<[u8]>, mode: u32) -> PathBuf {
    let path = place.join(name);
    write_script(&path, contents.as_ref());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}
