//! Debug data that lies apart from the program: where it may be, and whether it is the right one.

use super::symbolizer::FunctionTable;
use crate::elf::{Image, text_at};
use crate::regular_file;
use std::path::{Path, PathBuf};

/// Where distributions put debug data (gdb's default as well).
const DEBUG: &str = "/usr/lib/debug";

/// By the build-id.
pub(crate) fn by_build_id(build_id: &str) -> Option<FunctionTable> {
    // It comes from the report and goes into a path: digits or nothing.
    if build_id.len() > 128 || !build_id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (first, rest) = build_id
        .split_at_checked(2)
        .filter(|(_, rest)| !rest.is_empty())?;
    debug_file(
        &Path::new(DEBUG)
            .join(".build-id")
            .join(first)
            .join(format!("{rest}.debug")),
        build_id,
        None,
    )
}

/// By the section .gnu_debuglink: a file name and its CRC-32.
pub(crate) fn by_link(path: &Path, image: &Image<'_>, build_id: &str) -> Option<FunctionTable> {
    let section = image.section(".gnu_debuglink")?;
    let name = core::str::from_utf8(text_at(section, 0, 255)?).ok()?;
    let checksum = section
        .last_chunk::<4>()
        .map(|bytes| u32::from_le_bytes(*bytes))?;
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let folder = path.parent()?;
    let places: [PathBuf; 3] = [
        folder.join(name),
        folder.join(".debug").join(name),
        Path::new(DEBUG)
            .join(folder.strip_prefix("/").ok()?)
            .join(name),
    ];
    places
        .iter()
        .find_map(|place| debug_file(place, build_id, Some(checksum)))
}

fn debug_file(path: &Path, build_id: &str, checksum: Option<u32>) -> Option<FunctionTable> {
    let bytes = regular_file::read(path).ok()?;
    let image = Image::parse(&bytes).ok()?;
    let same = if build_id.is_empty() {
        checksum == Some(crc32(&bytes))
    } else {
        image.build_id() == build_id
    };
    same.then(|| {
        image
            .full_symbols()
            .map(|symbols| FunctionTable::from(symbols, image.endian))
    })?
}

/// CRC-32 as .gnu_debuglink has it: reflected, polynomial 0xEDB88320, the one of zlib.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum: u32, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_build_id_cannot_leave_its_folder() {
        assert!(by_build_id("../../../../etc/passwd").is_none());
        assert!(
            by_build_id("").is_none() && by_build_id("ab").is_none() && by_build_id("é").is_none()
        );
    }
}
