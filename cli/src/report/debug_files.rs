//! Debug data in a file beside the program: where it may be, and whether it is the right one.

use super::function_table::FunctionTable;
use crate::elf::{Image, text_at};
use crate::regular_file;
use std::path::Path;

/// Where distributions put debug data (gdb's default as well).
const DEBUG: &str = "/usr/lib/debug";

/// By the build-id.
pub(crate) fn by_build_id(build_id: &str) -> Option<FunctionTable> {
    // It comes from the report and goes into a path: digits or nothing.
    if build_id.len() > 128 || !build_id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let (first, rest) = build_id.split_at_checked(2)?;
    let path = format!("{DEBUG}/.build-id/{first}/{rest}.debug");
    functions(Path::new(&path), build_id, None)
}

/// By the section .gnu_debuglink: a file name and its CRC-32.
pub(crate) fn by_link(path: &Path, image: &Image<'_>, build_id: &str) -> Option<FunctionTable> {
    let section = image.section(".gnu_debuglink")?;
    let name = core::str::from_utf8(text_at(section, 0, 255)?).ok()?;
    let checksum = u32::from_le_bytes(*section.last_chunk()?);
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let directory = path.parent()?;
    let installed = Path::new(DEBUG).join(directory.strip_prefix("/").ok()?);
    [directory, &directory.join(".debug"), &installed]
        .iter()
        .find_map(|directory| functions(&directory.join(name), build_id, Some(checksum)))
}

fn functions(path: &Path, build_id: &str, checksum: Option<u32>) -> Option<FunctionTable> {
    let bytes = regular_file::read(path).ok()?;
    let image = Image::parse(&bytes).ok()?;
    let is_same = match build_id.is_empty() {
        true => checksum == Some(crc32fast::hash(&bytes)),
        false => image.build_id() == build_id,
    };
    let symbols = image.full_symbols().filter(|_| is_same)?;
    Some(FunctionTable::new(&symbols))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_cannot_leave_its_directory() {
        for build_id in ["../../../../etc/passwd", "", "ab", "é"] {
            assert!(by_build_id(build_id).is_none());
        }
    }
}
