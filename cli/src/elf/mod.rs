//! ELF files as `check` and `report` need them: headers, sections, symbols, build-id.
//!
//! Promises: any bytes at all may be handed in; the answer is facts or [`ElfError`], never a
//! panic, and the work grows with the size of the file, not with what it claims. So no name
//! is searched for its end further than the reader needs it, nothing is allocated by a
//! number that the file gives, and repeated headers over the same bytes are cut off.
//! The `object` crate reads the structures; which of them to trust is decided here.

pub(crate) mod symbols;

use object::elf::{self as e, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};
use object::{Endianness, ReadRef};

/// Note segments and notes that are looked at; real files have two or three of each.
const MAX_NOTES: usize = 64;

/// Longest interpreter path: the kernel's own limit is PATH_MAX.
pub(crate) const PATH_MAX: usize = 4096;

/// Why bytes that begin like an ELF file cannot be read as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElfError {
    /// Ends before something that its headers promise.
    Truncated,
    /// Headers contradict themselves.
    Malformed(&'static str),
}

impl core::fmt::Display for ElfError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ElfError::Truncated => f.write_str("truncated ELF file"),
            ElfError::Malformed(what) => write!(f, "damaged ELF file ({what})"),
        }
    }
}

/// What the first twenty bytes say; enough to tell a foreign file from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ident {
    /// 32 or 64
    pub(crate) bits: u8,
    /// The gABI's machine number.
    pub(crate) machine: u16,
}

/// Whether this is ELF at all.
pub(crate) fn is_elf(data: &[u8]) -> bool {
    data.starts_with(&e::ELFMAG)
}

/// Reads the part of the header that is alike in both classes.
pub(crate) fn ident(data: &[u8]) -> Result<Ident, ElfError> {
    let at = |index: usize| data.get(index).copied().ok_or(ElfError::Truncated);
    let bits = match at(4)? {
        e::ELFCLASS32 => 32,
        e::ELFCLASS64 => 64,
        _ => return Err(ElfError::Malformed("class")),
    };
    let pair = [at(18)?, at(19)?];
    let machine = match at(5)? {
        e::ELFDATA2LSB => u16::from_le_bytes(pair),
        e::ELFDATA2MSB => u16::from_be_bytes(pair),
        _ => return Err(ElfError::Malformed("byte order")),
    };
    Ok(Ident { bits, machine })
}

/// A 64-bit ELF file whose headers are within its bytes.
pub(crate) struct Image<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) endian: Endianness,
    pub(crate) header: &'a FileHeader64<Endianness>,
    pub(crate) segments: &'a [ProgramHeader64<Endianness>],
    /// Empty where there are none, or none that can be read: the loader needs none either.
    sections: SectionTable<'a, FileHeader64<Endianness>>,
}

impl<'a> Image<'a> {
    /// # Errors
    /// [`ElfError`] where the kernel or the loader would fail too.
    pub(crate) fn parse(data: &'a [u8]) -> Result<Image<'a>, ElfError> {
        if data.len() < size_of::<FileHeader64<Endianness>>() {
            return Err(ElfError::Truncated);
        }
        let header =
            FileHeader64::<Endianness>::parse(data).map_err(|_| ElfError::Malformed("header"))?;
        let endian = header
            .endian()
            .map_err(|_| ElfError::Malformed("byte order"))?;
        let segments = header
            .program_headers(endian, data)
            .map_err(|_| ElfError::Truncated)?;
        for segment in segments
            .iter()
            .filter(|segment| segment.p_type(endian) == e::PT_LOAD)
        {
            let (offset, len) = segment.file_range(endian);
            let end = offset
                .checked_add(len)
                .ok_or(ElfError::Malformed("segment"))?;
            if end > data.len() as u64 {
                return Err(ElfError::Truncated);
            }
        }
        let sections = header.sections(endian, data).unwrap_or_default();
        Ok(Image {
            data,
            endian,
            header,
            segments,
            sections,
        })
    }

    /// The segments of one kind.
    pub(crate) fn segments_of(
        &self,
        kind: u32,
    ) -> impl Iterator<Item = &'a ProgramHeader64<Endianness>> {
        self.segments
            .iter()
            .filter(move |segment| segment.p_type(self.endian) == kind)
    }

    /// The bytes of the first section of this name.
    pub(crate) fn section(&self, name: &str) -> Option<&'a [u8]> {
        let index = self.header.shstrndx(self.endian, self.data).ok()?;
        let names = self.section_at(usize::try_from(index).ok()?)?;
        let found = self.sections.iter().find(|section| {
            let at = names
                .get(section.sh_name(self.endian) as usize..)
                .unwrap_or_default();
            at.strip_prefix(name.as_bytes())
                .is_some_and(|rest| rest.first() == Some(&0))
        })?;
        found.data(self.endian, self.data).ok()
    }

    /// The bytes of the section with this number.
    fn section_at(&self, index: usize) -> Option<&'a [u8]> {
        self.sections
            .section(object::SectionIndex(index))
            .ok()?
            .data(self.endian, self.data)
            .ok()
    }

    /// The bytes of the file at an address that the file maps, up to its segment's end.
    pub(crate) fn at_address(&self, address: u64) -> Option<&'a [u8]> {
        self.segments_of(e::PT_LOAD).find_map(|segment| {
            let within = address.checked_sub(segment.p_vaddr(self.endian))?;
            let (offset, len) = segment.file_range(self.endian);
            let rest = len.checked_sub(within).filter(|&rest| rest > 0)?;
            self.data
                .read_bytes_at(offset.checked_add(within)?, rest)
                .ok()
        })
    }

    /// The notes of all note segments: owner, kind, contents.
    pub(crate) fn notes(&self) -> Vec<(&'a [u8], u32, &'a [u8])> {
        let mut notes = Vec::new();
        for segment in self.segments_of(e::PT_NOTE).take(MAX_NOTES) {
            let Ok(Some(mut iterator)) = segment.notes(self.endian, self.data) else {
                continue;
            };
            while let Ok(Some(note)) = iterator.next() {
                if notes.len() == MAX_NOTES {
                    return notes;
                }
                notes.push((note.name(), note.n_type(self.endian), note.desc()));
            }
        }
        notes
    }

    /// The build-id in hexadecimal; empty if there is none. A debug file has it in a
    /// section alone: its segments have no contents.
    pub(crate) fn build_id(&self) -> String {
        let noted = self
            .notes()
            .into_iter()
            .find(|&(owner, kind, _)| owner == b"GNU" && kind == e::NT_GNU_BUILD_ID)
            .map(|(_, _, id)| id);
        // Name size, contents size and kind (4 bytes each), then "GNU\0".
        let sectioned = || {
            self.section(".note.gnu.build-id")
                .and_then(|note| note.get(16..))
        };
        let id = noted.or_else(sectioned).unwrap_or_default();
        id.iter()
            .take(64)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// The text at `offset` up to its NUL, if that comes within `limit` bytes.
pub(crate) fn text_at(strings: &[u8], offset: usize, limit: usize) -> Option<&[u8]> {
    let from = strings.get(offset..)?;
    let window = from.get(..limit.saturating_add(1)).unwrap_or(from);
    window.get(..memchr::memchr(0, window)?)
}
