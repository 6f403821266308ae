//! What kind of program a file is: how it starts, and which compiler's runtime is in it.

use crate::elf::{self, ElfError, Image, PATH_MAX, symbols::Dynamic};
use object::elf as e;
use object::read::elf::{FileHeader, ProgramHeader};

/// How the file comes to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// By this loader.
    Dynamic(Vec<u8>),
    Static,
    StaticPie,
    /// A shared library, not a program.
    #[default]
    Library,
    /// An object file or a core dump.
    Other,
}

/// DT_FLAGS_1, or nothing.
pub(crate) fn flags_1(image: &Image<'_>, dynamic: &Dynamic<'_>) -> u64 {
    dynamic
        .values(e::DT_FLAGS_1, image.endian)
        .next()
        .unwrap_or(0)
}

/// How this file comes to run.
///
/// # Errors
/// [`ElfError`] where the kernel refuses the file.
pub(crate) fn program_kind(
    image: &Image<'_>,
    dynamic: Option<&Dynamic<'_>>,
) -> Result<ProgramKind, ElfError> {
    let interpreter = image.segments_of(e::PT_INTERP).next();
    match image.header.e_type(image.endian) {
        e::ET_EXEC | e::ET_DYN if interpreter.is_some() => {
            let bytes = interpreter.and_then(|segment| segment.data(image.endian, image.data).ok());
            let path = bytes.and_then(|bytes| elf::text_at(bytes, 0, PATH_MAX));
            // The kernel wants the NUL as well, and refuses the program without it.
            path.filter(|path| !path.is_empty())
                .map(|path| ProgramKind::Dynamic(path.to_vec()))
                .ok_or(ElfError::Malformed("interpreter"))
        }
        e::ET_EXEC => Ok(ProgramKind::Static),
        e::ET_DYN => {
            let pie = dynamic
                .is_some_and(|dynamic| flags_1(image, dynamic) & u64::from(e::DF_1_PIE) != 0);
            Ok(if pie {
                ProgramKind::StaticPie
            } else {
                ProgramKind::Library
            })
        }
        _ => Ok(ProgramKind::Other),
    }
}

/// Go marks its programs with a note of its own, and with the version in .go.buildinfo
/// (debug/buildinfo: 14 bytes of magic, flags at 15, from Go 1.18 the text itself at 32).
pub(crate) fn go(image: &Image<'_>) -> Option<String> {
    let noted = image
        .notes()
        .iter()
        .any(|(owner, kind, _)| owner.starts_with(b"Go") && *kind == 4);
    let info = image
        .section(".go.buildinfo")
        .filter(|info| info.starts_with(b"\xff Go buildinf:"));
    if !noted && info.is_none() && image.section(".gopclntab").is_none() {
        return None;
    }
    let version = info
        .filter(|info| info.get(15).is_some_and(|flags| flags & 2 != 0))
        .and_then(|info| {
            let len = usize::from(*info.get(32)?);
            let text = core::str::from_utf8(info.get(33..)?.get(..len)?).ok()?;
            text.starts_with("go").then(|| text.to_string())
        });
    Some(version.unwrap_or_else(|| "Go".into()))
}

/// `2.36` from the text that begins with it.
pub(crate) fn version(text: &[u8]) -> Option<(u32, u32)> {
    let text = text.get(..16).unwrap_or(text);
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit() && *byte != b'.')
        .unwrap_or(text.len());
    let text = core::str::from_utf8(text.get(..end)?).ok()?;
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_libc() {
        assert_eq!(version(b"2.36.\nCopyright"), Some((2, 36)));
        assert_eq!(version(b"2.41"), Some((2, 41)));
        assert_eq!(version(b"x"), None);
    }
}
