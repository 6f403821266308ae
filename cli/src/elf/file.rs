//! Files read whole, with care: regular ones alone, and only up to a size.
//!
//! Promises: no waiting on a pipe or device that stands where a program was expected, and
//! no more memory than [`LARGEST`] whatever the file's size claims. Read, not mapped: a file
//! that shrinks under a mapping kills its reader.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The largest file that is read: several times the largest programs and debug files
/// seen (chosen, not measured).
pub(crate) const LARGEST: u64 = 1 << 30;

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    Io(std::io::Error),
    NotAFile,
    TooLarge,
}

impl core::fmt::Display for Unread {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Unread::Io(error) => error.fmt(f),
            Unread::NotAFile => f.write_str("not a regular file"),
            Unread::TooLarge => write!(f, "larger than {} MiB", LARGEST >> 20),
        }
    }
}

/// The file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Unread> {
    // O_NONBLOCK: opening a named pipe without a writer would wait for one.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(Unread::Io)?;
    let metadata = file.metadata().map_err(Unread::Io)?;
    if !metadata.is_file() {
        return Err(Unread::NotAFile);
    }
    if metadata.len() > LARGEST {
        return Err(Unread::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(Unread::Io)?;
    Ok(bytes)
}
