//! Where the library is: beside the command, or under `../lib` from it.
//!
//! Promises: an absolute path of a file that is there, since ld.so ignores a
//! missing preload and the program would run without us, silently. Must never:
//! look along a search path, where a stranger's library could be met first.

use std::path::PathBuf;

/// The library's file name.
const NAME: &str = "libownpool.so";

/// The absolute path of the library that belongs to this command.
///
/// # Errors
/// One line that names the places looked at.
pub(crate) fn find() -> Result<PathBuf, String> {
    let command = std::env::current_exe()
        .map_err(|error| format!("cannot tell where this command is: {error}"))?;
    let beside = command.with_file_name(NAME);
    let in_lib = command
        .parent()
        .and_then(|bin| bin.parent())
        .map(|prefix| prefix.join("lib").join(NAME));
    let places: Vec<PathBuf> = [Some(beside), in_lib].into_iter().flatten().collect();
    places
        .iter()
        .find(|place| place.is_file())
        .cloned()
        .ok_or_else(|| {
            let names: Vec<String> = places
                .iter()
                .map(|place| place.display().to_string())
                .collect();
            format!("library not found: no {}", names.join(" and no "))
        })
}
