//! The release library and command, built once by each test program.
//!
//! `cargo test` builds neither in release form, and a `target/debug/libownpool.so` may be
//! of any age. So cargo itself is asked to build them and to say where they are. Several
//! test programs may ask at once: cargo's own lock lets one build, the others find it done.
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
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "build",
            "--release",
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
    let output = Command::new("gcc")
        .arg("-o")
        .arg(&binary)
        .arg(&source_path)
        .args(arguments)
        .output()
        .expect("gcc is installed");
    assert!(
        output.status.success(),
        "gcc: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    binary
}

/// The path of a program of this machine, if it is installed.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
