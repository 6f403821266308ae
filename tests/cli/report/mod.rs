//! `ownpool report` on files and programs of this machine.

mod files;
mod function_names;

use ownpool_tests::support::command;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn report(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(command())
        .arg("report")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // It may leave early; what then cannot be written is not missed.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
