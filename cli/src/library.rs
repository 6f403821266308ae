//! Where `libownpool.so` is: beside the command, or where `make install` puts it.
//!
//! Promises: an absolute path that the loader will take as one path. The place goes by
//! the command's own executable, never by the working directory or PATH, so that no other
//! library is loaded by accident. ld.so ignores a missing preload with a line and
//! exit status 0; that is why everything is looked at here, before.

use crate::elf::MACHINE;
use crate::output::printable;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The file we look for.
const NAME: &str = "libownpool.so";

/// Debian's name for this machine's library directory.
const MULTIARCH: &str = match cfg!(target_arch = "aarch64") {
    true => "lib/aarch64-linux-gnu",
    false => "lib/x86_64-linux-gnu",
};

/// The library's absolute path.
///
/// # Errors
/// Why there is none to preload, in words.
pub(crate) fn find() -> Result<PathBuf, String> {
    let command = std::env::current_exe().map_err(|error| {
        format!(
            "cannot tell where this command lies (/proc/self/exe: {error}), so cannot find {NAME}"
        )
    })?;
    let shown = |path: &PathBuf| printable(path.as_os_str().as_bytes());
    let directory = command.parent().unwrap_or(Path::new("/"));
    let mut directories = vec![directory.to_path_buf()];
    if let Some(prefix) = directory.parent() {
        let places = ["lib", MULTIARCH, "lib64"];
        directories.extend(places.map(|place| prefix.join(place)));
    }
    let mut paths = directories.iter().map(|directory| directory.join(NAME));
    let Some(path) = paths.find(|path| path.is_file()) else {
        let names: Vec<String> = directories.iter().map(shown).collect();
        return Err(format!("{NAME} not found; looked in {}", names.join(", ")));
    };
    if !is_library(&path) {
        return Err(format!(
            "{}: not a shared library for this machine",
            shown(&path)
        ));
    }
    // ld.so splits LD_PRELOAD at colons and blanks, and expands `$`.
    let mut bytes = path.as_os_str().as_bytes().iter();
    match bytes.any(|byte| b": $".contains(byte)) {
        true => Err(format!(
            "{}: LD_PRELOAD cannot hold a path with a colon, a blank or a dollar sign; install it elsewhere",
            shown(&path)
        )),
        false => Ok(path),
    }
}

/// The library in front of what was preloaded already.
pub(crate) fn preload(library: &Path, existing: Option<OsString>) -> OsString {
    let library = library.as_os_str();
    let Some(existing) = existing.filter(|list| !list.is_empty()) else {
        return library.to_os_string();
    };
    let mut parts = existing
        .as_bytes()
        .split(|&byte| byte == b':' || byte == b' ');
    if parts.next() == Some(library.as_bytes()) {
        return existing;
    }
    OsString::from_vec([library.as_bytes(), b":", existing.as_bytes()].concat())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_goes_first_and_the_rest_stays() {
        for (before, after) in [
            ("", "/x/libownpool.so"),
            ("libjemalloc.so.2", "/x/libownpool.so:libjemalloc.so.2"),
            ("a.so b.so", "/x/libownpool.so:a.so b.so"),
            ("/x/libownpool.so:a.so", "/x/libownpool.so:a.so"),
            (
                "a.so:/x/libownpool.so",
                "/x/libownpool.so:a.so:/x/libownpool.so",
            ),
        ] {
            assert_eq!(
                preload(Path::new("/x/libownpool.so"), Some(before.into())),
                after
            );
        }
        assert_eq!(
            preload(Path::new("/x/libownpool.so"), None),
            "/x/libownpool.so"
        );
    }
}
