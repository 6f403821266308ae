//! How a file comes to run, if it is a program.

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
