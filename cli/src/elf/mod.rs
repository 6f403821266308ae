//! ELF files as `check` and `report` need them: headers, sections, build-id.
//!
//! Promises: any bytes at all may be handed in; the answer is facts or [`ElfError`], never a
//! panic, and the work grows with the size of the file, not with what it claims. So no name
//! is searched for its end further than the reader needs it, nothing is allocated by a
//! number that the file gives, and repeated headers over the same bytes are cut off.
//! The `object` crate reads the structures; which of them to trust is decided here.

pub(crate) mod symbols;

use object::elf::{self as e, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};
use object::{LittleEndian as Le, ReadRef};

/// Note segments and notes that are looked at; real files have two or three of each.
const MAX_NOTES: usize = 64;

/// Longest interpreter path: the kernel's own limit is PATH_MAX.
pub(crate) const PATH_MAX: usize = 4096;

/// ELF machine numbers (gABI): what this command was built for is what it can preload.
pub(crate) const MACHINE: u16 = match cfg!(target_arch = "aarch64") {
    true => e::EM_AARCH64,
    false => e::EM_X86_64,
};

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

/// A 64-bit little-endian ELF file whose headers are within its bytes.
pub(crate) struct Image<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) header: &'a FileHeader64<Le>,
    segments: &'a [ProgramHeader64<Le>],
    /// Empty where there are none, or none that can be read: the loader needs none either.
    sections: SectionTable<'a, FileHeader64<Le>>,
}

impl<'a> Image<'a> {
    /// # Errors
    /// [`ElfError`] where the kernel or the loader would fail too.
    pub(crate) fn parse(data: &'a [u8]) -> Result<Image<'a>, ElfError> {
        if data.len() < size_of::<FileHeader64<Le>>() {
            return Err(ElfError::Truncated);
        }
        let header = FileHeader64::parse(data).map_err(|_| ElfError::Malformed("header"))?;
        if !header.is_little_endian() {
            return Err(ElfError::Malformed("byte order"));
        }
        let segments = header.program_headers(Le, data);
        let image = Image {
            data,
            header,
            segments: segments.map_err(|_| ElfError::Truncated)?,
            sections: header.sections(Le, data).unwrap_or_default(),
        };
        for segment in image.segments_of(e::PT_LOAD) {
            let (offset, len) = segment.file_range(Le);
            let end = offset.checked_add(len);
            if end.ok_or(ElfError::Malformed("segment"))? > data.len() as u64 {
                return Err(ElfError::Truncated);
            }
        }
        Ok(image)
    }

    /// The segments of one kind.
    pub(crate) fn segments_of(&self, kind: u32) -> impl Iterator<Item = &'a ProgramHeader64<Le>> {
        let segments = self.segments.iter();
        segments.filter(move |segment| segment.p_type(Le) == kind)
    }

    /// The bytes of the first section of this name.
    pub(crate) fn section(&self, name: &str) -> Option<&'a [u8]> {
        let names = self.section_at(self.header.shstrndx(Le, self.data).ok()?)?;
        let is_named = |at: usize| {
            let rest = names.get(at..)?.strip_prefix(name.as_bytes())?;
            Some(rest.first() == Some(&0))
        };
        let mut sections = self.sections.iter();
        let found =
            sections.find(|section| is_named(section.sh_name(Le) as usize) == Some(true))?;
        found.data(Le, self.data).ok()
    }

    /// The bytes of the section with this number.
    fn section_at(&self, index: u32) -> Option<&'a [u8]> {
        let index = object::SectionIndex(usize::try_from(index).ok()?);
        self.sections.section(index).ok()?.data(Le, self.data).ok()
    }

    /// The bytes of the file at an address that the file maps, up to its segment's end.
    pub(crate) fn at_address(&self, address: u64) -> Option<&'a [u8]> {
        self.segments_of(e::PT_LOAD).find_map(|segment| {
            let within = address.checked_sub(segment.p_vaddr(Le))?;
            let (offset, len) = segment.file_range(Le);
            let rest = len.checked_sub(within).filter(|&rest| rest > 0)?;
            let offset = offset.checked_add(within)?;
            self.data.read_bytes_at(offset, rest).ok()
        })
    }

    /// The notes of all note segments: owner, kind, contents.
    pub(crate) fn notes(&self) -> Vec<(&'a [u8], u32, &'a [u8])> {
        let mut notes = Vec::new();
        for segment in self.segments_of(e::PT_NOTE).take(MAX_NOTES) {
            let Ok(Some(mut iterator)) = segment.notes(Le, self.data) else {
                continue;
            };
            while let Ok(Some(note)) = iterator.next() {
                if notes.len() == MAX_NOTES {
                    return notes;
                }
                notes.push((note.name(), note.n_type(Le), note.desc()));
            }
        }
        notes
    }

    /// The build-id in hexadecimal; empty if there is none. A debug file has it in a
    /// section alone: its segments have no contents.
    pub(crate) fn build_id(&self) -> String {
        let is_id = |owner: &[u8], kind| owner == b"GNU" && kind == e::NT_GNU_BUILD_ID;
        let mut notes = self.notes().into_iter();
        let id = notes.find_map(|(owner, kind, id)| is_id(owner, kind).then_some(id));
        // Name size, contents size and kind (4 bytes each), then "GNU\0".
        let in_section = || self.section(".note.gnu.build-id")?.get(16..);
        let id = id.or_else(in_section).unwrap_or_default();
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
