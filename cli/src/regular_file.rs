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
pub(crate) enum ReadError {
    Io(std::io::Error),
    NotAFile,
    TooLarge,
}

impl core::fmt::Display for ReadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::NotAFile => f.write_str("not a regular file"),
            ReadError::TooLarge => write!(f, "larger than {} MiB", LARGEST >> 20),
        }
    }
}

/// The file's bytes.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    // O_NONBLOCK: opening a named pipe without a writer would wait for one.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(ReadError::Io)?;
    let metadata = file.metadata().map_err(ReadError::Io)?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile);
    }
    if metadata.len() > LARGEST {
        return Err(ReadError::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(LARGEST)
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    Ok(bytes)
}
