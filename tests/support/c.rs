//! C programs: compiled, with every warning an error.

use super::root;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles C source into `place/name` with these further arguments; fails the test if gcc does.
pub fn gcc(place: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let (source_path, binary) = (place.join(format!("{name}.c")), place.join(name));
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

/// Runs a compiler; fails the test, with its messages, if it fails.
pub fn compiles(compiler: &mut Command) {
    let output = compiler.output().expect("the compiler is installed");
    assert!(
        output.status.success(),
        "{compiler:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The path of a program of this machine, if it is installed.
pub fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|place| place.join(name))
        .find(|path| path.is_file())
}

/// Compiles `tests/c/name.c`, with every warning an error, into `directory/name`.
pub fn compile_c(place: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    compile_c_as(place, name, name, arguments)
}

/// Compiles `tests/c/source.c` into `directory/name`: one source in several forms.
pub fn compile_c_as(place: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let sources = root().join("tests/c");
    let binary = place.join(name);
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
