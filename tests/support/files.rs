//! Files that tests make and read.

use super::{Place, library};
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
