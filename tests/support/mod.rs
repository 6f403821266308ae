//! The release library and command, built once by each test program.
//!
//! `cargo test` builds neither in release form, and a `target/debug/libownpool.so` may be
//! of any age. So cargo itself is asked to build them and to say where they are. Several
//! test programs may ask at once: cargo's own lock lets one build, the others find it done.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends where it stands"
)]
#![allow(dead_code, reason = "each test program uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

struct Artifacts {
    library: PathBuf,
    command: PathBuf,
}

/// The absolute path of the release `libownpool.so`.
pub(crate) fn library() -> PathBuf {
    artifacts().library.clone()
}

/// The absolute path of the release `ownpool`; the library lies beside it.
pub(crate) fn command() -> PathBuf {
    artifacts().command.clone()
}

fn artifacts() -> &'static Artifacts {
    static ARTIFACTS: OnceLock<Artifacts> = OnceLock::new();
    ARTIFACTS.get_or_init(build)
}

fn build() -> Artifacts {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args([
            "build",
            "--release",
            "-p",
            "ownpool",
            "-p",
            "ownpool-cli",
            "--lib",
            "--bins",
            "--message-format=json-render-diagnostics",
        ])
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (mut library, mut command) = (None, None);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else {
            continue;
        };
        if message["reason"] != "compiler-artifact" || message["target"]["name"] != "ownpool" {
            continue;
        }
        if let Some(path) = message["executable"].as_str() {
            command = Some(PathBuf::from(path));
        }
        for path in message["filenames"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str())
        {
            if path.ends_with("/libownpool.so") {
                library = Some(PathBuf::from(path));
            }
        }
    }
    let (library, command) = (
        library.expect("cargo names the library"),
        command.expect("and the command"),
    );
    assert_eq!(library.parent(), command.parent());
    Artifacts { library, command }
}

/// Compiles a C text into `folder/name` with these further arguments; fails the test if gcc does.
pub(crate) fn gcc(folder: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let (source_path, binary) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&source_path, source).expect("a source file can be written");
    compiles(
        Command::new("gcc")
            .arg("-o")
            .arg(&binary)
            .arg(&source_path)
            .args(arguments),
    );
    binary
}

/// Runs a compiler; fails the test, with what it says, if it does.
pub(crate) fn compiles(compiler: &mut Command) {
    let output = compiler.output().expect("the compiler is installed");
    assert!(
        output.status.success(),
        "{compiler:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The path of a program of this machine, if it is installed.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Compiles `tests/c/name.c`, with every warning an error, into `folder/name`.
pub(crate) fn compile_c(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    compile_c_as(folder, name, name, arguments)
}

/// Compiles `tests/c/source.c` into `folder/name`: one source in several forms.
pub(crate) fn compile_c_as(folder: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let sources = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("tests/c");
    let binary = folder.join(name);
    compiles(
        Command::new("gcc")
            .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&binary)
            .arg(sources.join(format!("{source}.c")))
            .args(["-pthread", "-ldl"])
            .args(arguments),
    );
    binary
}

/// A program without the library and without settings of ours. `tests/c/proof.h`
/// checks that the library is indeed not there.
pub(crate) fn bare(program: &Path) -> Command {
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
pub(crate) fn preloaded(program: &Path) -> Command {
    let mut command = bare(program);
    command.env("LD_PRELOAD", library()).env("HOOKED", "1");
    command
}

/// What a finished program left behind, as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Exit status, or the signal's number negated.
    pub(crate) status: i32,
}

/// Runs a program to its end.
pub(crate) fn ran(command: &mut Command) -> Ran {
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
pub(crate) fn succeeds(command: &mut Command) -> String {
    let ran = ran(command);
    assert!(
        ran.status == 0 && ran.stderr.is_empty(),
        "{command:?}: {ran:?}"
    );
    ran.stdout
}

/// The reports in a file, a line each.
pub(crate) fn reports(path: &Path) -> Vec<serde_json::Value> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).expect("a report is a line of JSON"))
        .collect()
}

/// A folder with the library under the names that a linker and a loader look for.
pub(crate) fn linked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["libownpool.so", "libownpool.so.0"] {
        std::os::unix::fs::symlink(library(), folder.path().join(name)).expect("a link");
    }
    folder
}

/// Copies a program that will be run at once. By cp(1), not in this process: a
/// test beside this one may fork while the copy is open for writing, and its
/// child's inherited descriptor would make the program "busy" (ETXTBSY, execve(2)).
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "cp to {}",
        to.display()
    );
}

/// Writes a script that will be run at once, for the same reason by another process.
pub(crate) fn write_script(path: &Path, contents: &[u8]) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, contents).expect("a script can be written");
    copy_program(&draft, path);
    std::fs::remove_file(&draft).expect("the draft goes");
}
