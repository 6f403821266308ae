//! How a file comes to run, if it is a program.

use crate::elf::{ElfError, Image, PATH_MAX, symbols::Dynamic, text_at};
use object::LittleEndian as Le;
use object::elf as e;
use object::read::elf::{FileHeader, ProgramHeader};

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

/// How this file comes to run.
///
/// # Errors
/// [`ElfError`] where the kernel refuses the file.
pub(crate) fn program_kind(
    image: &Image<'_>,
    dynamic: Option<&Dynamic<'_>>,
) -> Result<ProgramKind, ElfError> {
    let kind = image.header.e_type(Le);
    if !matches!(kind, e::ET_EXEC | e::ET_DYN) {
        return Ok(ProgramKind::Other);
    }
    if let Some(segment) = image.segments_of(e::PT_INTERP).next() {
        // The kernel wants the NUL as well, and refuses the program without it.
        let bytes = segment.data(Le, image.data).ok();
        let path = bytes.and_then(|bytes| text_at(bytes, 0, PATH_MAX));
        return match path.filter(|path| !path.is_empty()) {
            Some(path) => Ok(ProgramKind::Dynamic(path.to_vec())),
            None => Err(ElfError::Malformed("interpreter")),
        };
    }
    let flags = dynamic.and_then(|dynamic| dynamic.values(e::DT_FLAGS_1).next());
    let is_pie = flags.unwrap_or(0) & u64::from(e::DF_1_PIE) != 0;
    Ok(match kind {
        e::ET_EXEC => ProgramKind::Static,
        _ if is_pie => ProgramKind::StaticPie,
        _ => ProgramKind::Library,
    })
}
