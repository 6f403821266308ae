//! Where `libownpool.so` is: beside the command, or where `make install` puts it.
//!
//! Promises: an absolute path that the loader will take as one path. The place goes by
//! the command's own executable, never by the working directory or PATH, so that nobody
//! else's library is loaded by accident. ld.so ignores a missing preload with a line and
//! exit status 0; that is why everything is looked at here, before.

use super::output::printable;
use core::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file we look for.
const NAME: &str = "libownpool.so";

/// Debian's name for this machine's library folder.
const MULTIARCH: &str = if cfg!(target_arch = "aarch64") {
    "aarch64-linux-gnu"
} else {
    "x86_64-linux-gnu"
};

/// ELF machine numbers (gABI): what this command was built for is what it can preload.
pub(crate) const MACHINE: u16 = if cfg!(target_arch = "aarch64") {
    183
} else {
    62
};

/// Why there is no library to preload.
pub(crate) enum FindError {
    /// `/proc/self/exe` cannot be read: no proc file system.
    NoProc(std::io::Error),
    /// None of these folders holds it.
    Missing(Vec<PathBuf>),
    /// It is there, but it is no library for this machine.
    WrongKind(PathBuf),
    /// LD_PRELOAD cannot name it: ld.so splits at colons and blanks, and expands `$`.
    UnusableName(PathBuf),
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindError::NoProc(error) => {
                write!(
                    f,
                    "cannot tell where this command lies (/proc/self/exe: {error}), so cannot find {NAME}"
                )
            }
            FindError::Missing(folders) => {
                let names: Vec<String> = folders
                    .iter()
                    .map(|folder| printable(folder.as_os_str().as_bytes()))
                    .collect();
                write!(f, "{NAME} not found; looked in {}", names.join(", "))
            }
            FindError::WrongKind(path) => {
                write!(
                    f,
                    "{}: not a shared library for this machine",
                    printable(path.as_os_str().as_bytes())
                )
            }
            FindError::UnusableName(path) => write!(
                f,
                "{}: LD_PRELOAD cannot hold a path with a colon, a blank or a dollar sign; install it elsewhere",
                printable(path.as_os_str().as_bytes())
            ),
        }
    }
}

/// The library's absolute path.
pub(crate) fn find() -> Result<PathBuf, FindError> {
    let command = std::env::current_exe().map_err(FindError::NoProc)?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let mut folders = vec![folder.to_path_buf()];
    if let Some(prefix) = folder.parent() {
        let lib = prefix.join("lib");
        folders.push(lib.clone());
        folders.push(lib.join(MULTIARCH));
        folders.push(prefix.join("lib64"));
    }
    let Some(path) = folders
        .iter()
        .map(|folder| folder.join(NAME))
        .find(|path| path.is_file())
    else {
        return Err(FindError::Missing(folders));
    };
    if !is_library(&path) {
        return Err(FindError::WrongKind(path));
    }
    if path
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| b": $".contains(byte))
    {
        return Err(FindError::UnusableName(path));
    }
    Ok(path)
}

/// The first twenty bytes say it: a 64-bit ELF shared object for our machine. One read
/// of a small header: `run` has no time for more.
fn is_library(path: &Path) -> bool {
    let mut head = [0; 20];
    let read = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    let [machine_low, machine_high] = MACHINE.to_le_bytes();
    read.is_ok()
        && head.starts_with(b"\x7fELF\x02\x01")
        && head.ends_with(&[3, 0, machine_low, machine_high])
}
