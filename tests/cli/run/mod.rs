//! `ownpool run` as a user meets it: exit statuses, quoting, environment, refusals.

mod finding_the_library;
mod guide;
mod handed_on;
mod status;

use ownpool_tests::support::{bare, command};
use std::ffi::OsStr;
use std::process::Output;

/// `ownpool run` with these arguments, in an environment without settings.
fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(arguments: I) -> Output {
    bare(command())
        .arg("run")
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Exit status 125, nothing on standard output, and one line that holds all of these.
fn assert_refused(output: &Output, parts: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(output.stdout.is_empty());
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("ownpool: "), "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{part} in {stderr}");
    }
}
