//! What cargo built, by its own word.
//!
//! A `target/debug/libownpool.so` may be of any age, and a target directory may be anywhere.
//! So cargo itself is asked to build, and to say where the files are. Several programs may
//! ask at once: cargo's own lock lets one build, the others find it done.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The release library and the command beside it.
pub struct Artifacts {
    /// `libownpool.so`
    pub library: PathBuf,
    /// `ownpool`
    pub command: PathBuf,
}

/// Builds both.
///
/// # Errors
/// What cargo could not do; its own words are on standard error.
pub fn release() -> Result<Artifacts, String> {
    let what = ["-p", "ownpool", "-p", "ownpool-cli", "--lib", "--bins"];
    let messages = build(&[&["--release"], what.as_slice()].concat())?;
    let command = messages
        .iter()
        .filter(|message| is_of(message, "ownpool"))
        .find_map(|message| message.get("executable")?.as_str().map(PathBuf::from));
    Ok(Artifacts {
        library: shared_object(&messages, "ownpool")?,
        command: command.ok_or("cargo named no command")?,
    })
}

/// The release library alone.
///
/// # Errors
/// As [`release`].
pub fn library() -> Result<PathBuf, String> {
    shared("ownpool", &["--release", "-p", "ownpool", "--lib"])
}

/// The shared object of this name, built with these arguments.
///
/// # Errors
/// As [`release`].
pub fn shared(name: &str, arguments: &[&str]) -> Result<PathBuf, String> {
    shared_object(&build(arguments)?, name)
}

fn is_of(message: &Value, name: &str) -> bool {
    let target = message.pointer("/target/name").and_then(Value::as_str);
    message.get("reason").and_then(Value::as_str) == Some("compiler-artifact")
        && target == Some(name)
}

fn shared_object(messages: &[Value], name: &str) -> Result<PathBuf, String> {
    let files = messages
        .iter()
        .filter(|message| is_of(message, name))
        .filter_map(|message| message.get("filenames")?.as_array());
    files
        .flatten()
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .find(|file| file.extension().is_some_and(|extension| extension == "so"))
        .ok_or_else(|| format!("cargo named no shared object {name}"))
}

/// `cargo build` at the root of the project; what it says, message by message.
fn build(arguments: &[&str]) -> Result<Vec<Value>, String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root)
        .arg("build")
        .args(arguments)
        .args(["--quiet", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo build {} failed", arguments.join(" ")));
    }
    let lines = output.stdout.split(|&byte| byte == b'\n');
    Ok(lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect())
}
