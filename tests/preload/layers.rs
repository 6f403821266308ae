//! What crate walls cannot say of the library's own rooms.
//!
//! Settles: a room imports only rooms below it, so there are no circles; no file is longer
//! than a reader takes in; ARCHITECTURE.md draws the same order.

use ownpool_tests::support::root;
use std::path::{Path, PathBuf};

/// The rooms from the doors down. What stands in one line may not know each other.
const ORDER: &[&[&str]] = &[
    &["hooks", "c_api", "init"],
    &["report", "policy"],
    &["generator", "urandom_fd"],
    &["stats", "seccomp", "next_symbol"],
    &["vdso", "kernel_bytes"],
    &["config"],
    &["diagnostics"],
    &["sys", "loaded_image", "probes"],
    &["arch"],
    &["cache_padded"],
];

/// Lines of code, tests and comments and blanks aside, that a file may have: chosen.
const LONGEST: usize = 250;

fn level(room: &str) -> Option<usize> {
    ORDER.iter().position(|rooms| rooms.contains(&room))
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The code of a file: no unit tests, no comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    lines.map(|line| format!("{line}\n")).collect()
}

/// The rooms that a piece of code names: after `crate::`, also in a list.
fn named(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for after in code.split("crate::").skip(1) {
        let list = match after.strip_prefix('{') {
            // A list of rooms; what stands in inner braces is within one of them.
            Some(list) => list.split('}').next().unwrap(),
            None => after.split([':', ';', ' ', '(', ')', ',']).next().unwrap(),
        };
        let room = |name: &str| name.trim().split("::").next().unwrap().to_owned();
        rooms.extend(list.split(',').map(room).filter(|room| !room.is_empty()));
    }
    rooms
}

#[test]
fn rooms_know_only_those_below() {
    let src = root().join("src");
    let mut edges = 0;
    for path in rust_files(&src) {
        let within = path.strip_prefix(&src).unwrap();
        let first = within.components().next().unwrap().as_os_str();
        let room = Path::new(first).file_stem().unwrap().to_str().unwrap();
        if room == "lib" {
            continue;
        }
        let own = level(room).unwrap_or_else(|| panic!("{room} has no place in the order"));
        for other in named(&code(&path)).iter().filter(|other| *other != room) {
            let Some(below) = level(other) else {
                panic!("{} names {other}", path.display());
            };
            // The constructor starts the report.
            let allowed = below > own || (room, other.as_str()) == ("init", "report");
            assert!(allowed, "{} may not know {other}", path.display());
            edges += 1;
        }
    }
    assert!(edges > 50, "{edges}");
}

#[test]
fn no_file_is_longer_than_a_reader_takes_in() {
    for package in ["src", "core/src", "cli/src", "lineage/src", "measure/src"] {
        for path in rust_files(&root().join(package)) {
            let lines = code(&path)
                .lines()
                .filter(|line| !line.trim().is_empty())
                .count();
            assert!(lines <= LONGEST, "{}: {lines}", path.display());
        }
    }
}

#[test]
fn edges_are_found() {
    let code = "use crate::{config, stats};\nuse crate::arch::PAGE; crate::sys::open(a)";
    assert_eq!(named(code), ["config", "stats", "arch", "sys"]);
}
