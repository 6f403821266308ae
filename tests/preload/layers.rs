//! What crate walls cannot say of the library: a room knows only those below it, so there
//! are no circles, and no file is longer than a reader takes in.

use ownpool_tests::support::root;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// The rooms of `src/`, from the top down. Those in one line do not know each other.
const ORDER: [&[&str]; 10] = [
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
/// Lines of code, without tests, comments and blanks: chosen.
const LONGEST: usize = 250;

fn level(room: &str) -> usize {
    let level = ORDER.iter().position(|rooms| rooms.contains(&room));
    level.unwrap_or_else(|| panic!("{room} has no place in the order"))
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let paths = read_dir(directory).unwrap().map(|it| it.unwrap().path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => rust_files(&path),
        false => vec![path],
    });
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|it| it == "rs");
    files.filter(is_rust).collect()
}

/// The lines of code of a file.
fn code(path: &Path) -> Vec<String> {
    let text = read_to_string(path).unwrap();
    let text = text.split("\n#[cfg(test)]\nmod tests").next().unwrap();
    let code = text.lines().map(|line| line.split("//").next().unwrap());
    let code = code.filter(|line| !line.trim().is_empty());
    code.map(str::to_owned).collect()
}

/// The rooms that come after `crate::`, one or a list in braces.
fn rooms_named(code: &str) -> Vec<String> {
    let lists = code.split("crate::").skip(1);
    let lists = lists.map(|after| match after.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap(),
        None => after.split([':', ';', ' ', '(', ')', ',']).next().unwrap(),
    });
    let names = lists.flat_map(|list| list.split(','));
    let rooms = names.map(|name| name.trim().split("::").next().unwrap().to_owned());
    rooms.filter(|room| !room.is_empty()).collect()
}

#[test]
fn a_room_knows_only_those_below() {
    let src = root().join("src");
    let mut known = 0;
    for path in rust_files(&src) {
        let within = path.strip_prefix(&src).unwrap().iter().next().unwrap();
        let room = Path::new(within).file_stem().unwrap().to_str().unwrap();
        let others = rooms_named(&code(&path).join("\n"));
        for other in others
            .iter()
            .filter(|&other| room != "lib" && other != room)
        {
            let below = level(other) > level(room);
            assert!(below, "{} may not know {other}", path.display());
            known += 1;
        }
    }
    assert!(known > 50, "{known}");
    let list = "use crate::{config, stats};\nuse crate::arch::PAGE; crate::sys::open(a)";
    assert_eq!(rooms_named(list), ["config", "stats", "arch", "sys"]);
}

#[test]
fn no_file_is_longer_than_a_reader_takes_in() {
    for package in ["src", "core/src", "cli/src", "lineage/src", "measure/src"] {
        for path in rust_files(&root().join(package)) {
            let lines = code(&path).len();
            assert!(lines <= LONGEST, "{}: {lines}", path.display());
        }
    }
}
