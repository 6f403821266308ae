//! Files that tests make and read.

use super::{Place, library, root};
use std::path::Path;
use std::process::Command;

/// The reports in a file, a line each.
pub fn reports(path: &Path) -> Vec<serde_json::Value> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).expect("a report is a line of JSON"))
        .collect()
}

/// Compares a file of the project with what it must be; UPDATE_GOLDEN=1 rewrites it. The
/// diff is what gets reviewed.
pub fn golden(name: &str, wanted: &str) {
    let path = root().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, wanted).expect("the file can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines = found.lines().zip(wanted.lines());
    let differs = lines.position(|(found, wanted)| found != wanted);
    let line = differs.map_or("its end".to_owned(), |at| format!("line {}", at + 1));
    let hint = "(UPDATE_GOLDEN=1 rewrites it)";
    assert!(found == wanted, "{name} differs from {line} on {hint}");
}

/// A directory with the library under the names that a linker and a loader look for.
pub fn linked() -> Place {
    let place = Place::new();
    for name in ["libownpool.so", "libownpool.so.0"] {
        std::os::unix::fs::symlink(library(), place.file(name)).expect("a link");
    }
    place
}

/// Copies a program that will be run at once. By cp(1), not in this process: a
/// test beside this one may fork while the copy is open for writing, and its
/// child's inherited descriptor would make the program "busy" (ETXTBSY, execve(2)).
pub fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "cp to {}",
        to.display()
    );
}

/// Writes a script that will be run at once, for the same reason by another process.
pub fn write_script(path: &Path, contents: &[u8]) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, contents).expect("a script can be written");
    copy_program(&draft, path);
    std::fs::remove_file(&draft).expect("the draft goes");
}
