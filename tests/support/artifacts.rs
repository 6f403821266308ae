//! The release library and command, built once by each test program.
//!
//! `cargo test` builds neither in release form, and a `target/debug/libownpool.so` may be of
//! any age. So cargo itself is asked to build them and to say where they are.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::root;

struct Artifacts {
    library: PathBuf,
    command: PathBuf,
}

/// The absolute path of the release `libownpool.so`.
pub fn library() -> PathBuf {
    artifacts().library.clone()
}

/// The absolute path of the release `ownpool`; the library lies beside it.
pub fn command() -> PathBuf {
    artifacts().command.clone()
}

fn artifacts() -> &'static Artifacts {
    static ARTIFACTS: OnceLock<Artifacts> = OnceLock::new();
    ARTIFACTS.get_or_init(build)
}

fn build() -> Artifacts {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
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
