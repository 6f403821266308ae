//! Files read whole, with care: regular ones alone, and only up to a size.
//!
//! Promises: no waiting on a pipe or device that stands where a program was expected, and
//! no more memory than [`LARGEST`] whatever the file's size claims. Read, not mapped: a file
//! that shrinks under a mapping kills its reader.

use std::fs::OpenOptions;
use std::io::{Error, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The largest file that is read: several times the largest programs and debug files
/// seen (chosen, not measured).
pub(crate) const LARGEST: u64 = 1 << 30;

/// The file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    // O_NONBLOCK: opening a named pipe without a writer would wait for one.
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Error::other("not a regular file"));
    }
    if metadata.len() > LARGEST {
        let limit = format!("larger than {} MiB", LARGEST >> 20);
        return Err(Error::other(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
