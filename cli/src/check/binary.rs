//! What one ELF file says about itself that matters here.
//!
//! Promises: owned values, so that the file's bytes need not stay in memory; any bytes may be
//! handed in. Symbols are proof (the loader binds them); texts and constants in the code are
//! hints, and are told apart from proof wherever they are shown.

use super::program_kind::{self, ProgramKind};
use super::watched_names::{self, Kind};
use crate::elf::{self, ElfError, Ident, Image, PATH_MAX, symbols::Dynamic};
use crate::library::MACHINE;
use memchr::memmem;
use object::elf as e;
use object::read::elf::{ProgramHeader, Sym};
use std::collections::BTreeMap;

/// DT_NEEDED entries that are looked at; the kernel's argument limits end far below.
const MAX_NEEDED: usize = 4096;

/// The instruction that loads getrandom's number into the first argument of syscall(2).
#[cfg(not(target_arch = "aarch64"))]
const LOADS_NUMBER: [&[u8]; 1] = [b"\xbf\x3e\x01\x00\x00"]; // mov $318, %edi
#[cfg(target_arch = "aarch64")]
const LOADS_NUMBER: [&[u8]; 2] = [b"\xc0\x22\x80\x52", b"\xc0\x22\x80\xd2"]; // mov w0 or x0, #278

/// Source names that generators leave in their error tables even when symbols are stripped.
const DRBG_SOURCES: [(&[u8], &str); 2] = [
    (b"crypto/rand/rand_lib.c", "OpenSSL"),
    (b"crypto/fipsmodule/rand/rand.c", "BoringSSL"),
];

#[derive(Clone, Debug, Default)]
pub(crate) struct Binary {
    /// Class and machine, where they are not ours; the rest is empty then.
    pub(crate) foreign: Option<Ident>,
    pub(crate) kind: ProgramKind,
    pub(crate) needed: Vec<Vec<u8>>,
    pub(crate) rpath: Option<Vec<u8>>,
    pub(crate) runpath: Option<Vec<u8>>,
    pub(crate) soname: Option<Vec<u8>>,
    pub(crate) no_default_folders: bool,
    /// The watched names that the loader has to bind from elsewhere.
    pub(crate) imports: BTreeMap<&'static str, Kind>,
    /// The watched names that it has itself, exported or not.
    pub(crate) defines: BTreeMap<&'static str, Kind>,
    /// The watched names that it shows to others.
    pub(crate) exports: BTreeMap<&'static str, Kind>,
    /// Whose generator its texts betray.
    pub(crate) embeds: Option<&'static str>,
    /// It holds the text "/dev/urandom".
    pub(crate) names_urandom: bool,
    /// It holds the text "getrandom" to look it up by.
    pub(crate) names_getrandom: bool,
    /// Its code loads getrandom's system call number.
    pub(crate) loads_number: bool,
    /// Built by Go, with this version if that is told.
    pub(crate) go: Option<String>,
    pub(crate) rust: bool,
    /// The version, if this is the GNU C library.
    pub(crate) glibc: Option<(u32, u32)>,
}

impl Binary {
    /// # Errors
    /// [`ElfError`] where neither the kernel nor the loader could use the file.
    pub(crate) fn read(data: &[u8]) -> Result<Binary, ElfError> {
        let ident = elf::ident(data)?;
        if ident
            != (Ident {
                bits: 64,
                machine: MACHINE,
            })
        {
            return Ok(Binary {
                foreign: Some(ident),
                ..Binary::default()
            });
        }
        let image = Image::parse(data)?;
        let dynamic = image.dynamic();
        if dynamic.is_none() && image.segments_of(e::PT_DYNAMIC).next().is_some() {
            return Err(ElfError::Malformed("dynamic section"));
        }
        let mut binary = Binary {
            kind: program_kind::program_kind(&image, dynamic.as_ref())?,
            go: program_kind::go(&image),
            ..Binary::default()
        };
        if let Some(dynamic) = &dynamic {
            binary.take_dynamic(&image, dynamic);
        }
        binary.take_symbols(&image, dynamic.as_ref());
        binary.take_texts(&image, dynamic.as_ref());
        Ok(binary)
    }

    fn take_dynamic(&mut self, image: &Image<'_>, dynamic: &Dynamic<'_>) {
        let text = |tag| {
            dynamic
                .texts(tag, image.endian, PATH_MAX)
                .next()
                .map(<[u8]>::to_vec)
        };
        self.needed = dynamic
            .texts(e::DT_NEEDED, image.endian, PATH_MAX)
            .take(MAX_NEEDED)
            .map(<[u8]>::to_vec)
            .collect();
        self.rpath = text(e::DT_RPATH);
        self.runpath = text(e::DT_RUNPATH);
        self.soname = text(e::DT_SONAME);
        self.no_default_folders =
            program_kind::flags_1(image, dynamic) & u64::from(e::DF_1_NODEFLIB) != 0;
    }

    fn take_symbols(&mut self, image: &Image<'_>, dynamic: Option<&Dynamic<'_>>) {
        let endian = image.endian;
        if let Some(symbols) = dynamic.and_then(|dynamic| image.dynamic_symbols(dynamic)) {
            for symbol in symbols.entries {
                let Some((name, kind)) = symbols
                    .name(symbol, endian, watched_names::LONGEST)
                    .and_then(watched_names::watched)
                else {
                    continue;
                };
                if symbol.is_undefined(endian) {
                    self.imports.insert(name, kind);
                } else {
                    self.exports.insert(name, kind);
                    self.defines.insert(name, kind);
                }
            }
        }
        if let Some(symbols) = image.full_symbols() {
            for symbol in symbols
                .entries
                .iter()
                .filter(|symbol| !symbol.is_undefined(endian))
            {
                if let Some((name, kind)) = symbols
                    .name(symbol, endian, watched_names::LONGEST)
                    .and_then(watched_names::watched)
                {
                    self.defines.insert(name, kind);
                }
            }
        }
    }

    fn take_texts(&mut self, image: &Image<'_>, dynamic: Option<&Dynamic<'_>>) {
        let data = image.data;
        let has = |text: &[u8]| memmem::find(data, text).is_some();
        self.names_urandom = has(b"/dev/urandom");
        self.embeds = DRBG_SOURCES
            .iter()
            .find(|(text, _)| has_c_text(data, text))
            .map(|(_, whose)| *whose);
        self.rust = self.go.is_none() && has(b"/rustc/");
        let strings = dynamic.map(|dynamic| dynamic.strings.as_ptr_range());
        for range in loaded(image, 0) {
            let own = memmem::find_iter(range, b"getrandom\0").any(|at| {
                let place = range.get(at..).map(<[u8]>::as_ptr);
                // The dynamic string table holds the names of imports: those are counted already.
                !place
                    .zip(strings.as_ref())
                    .is_some_and(|(place, strings)| strings.contains(&place))
            });
            self.names_getrandom |= own;
        }
        if self.imports.contains_key("syscall") {
            self.loads_number = loaded(image, e::PF_X).iter().any(|range| {
                LOADS_NUMBER
                    .iter()
                    .any(|code| memmem::find(range, code).is_some())
            });
        }
        if self.soname.as_deref() == Some(b"libc.so.6") {
            self.glibc = memmem::find(data, b"release version ")
                .and_then(|at| program_kind::version(data.get(at + 16..)?));
        }
    }
}

/// Whether a C text ends so. Without the NUL, programs that merely look for it, as this one
/// does, would have it too. (BoringSSL's newer sources end in `.cc.inc`.)
fn has_c_text(data: &[u8], text: &[u8]) -> bool {
    memmem::find_iter(data, text).any(|at| {
        let rest = data.get(at + text.len()..).unwrap_or_default();
        rest.starts_with(b"\0") || rest.starts_with(b"c.inc\0")
    })
}

/// The bytes of the segments that are loaded with these flags, each byte once: a hostile
/// file can name the same range 65,535 times.
fn loaded<'a>(image: &Image<'a>, flags: u32) -> Vec<&'a [u8]> {
    let mut ranges: Vec<(u64, u64)> = image
        .segments_of(e::PT_LOAD)
        .filter(|segment| segment.p_flags(image.endian) & flags == flags)
        .map(|segment| segment.file_range(image.endian))
        .map(|(offset, len)| (offset, offset.saturating_add(len)))
        .collect();
    ranges.sort_unstable();
    let mut done = 0;
    let mut pieces = Vec::new();
    for (from, to) in ranges {
        let from = from.max(done);
        if from < to {
            let piece = usize::try_from(from).ok().zip(usize::try_from(to).ok());
            pieces.extend(piece.and_then(|(from, to)| image.data.get(from..to)));
            done = to;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_program_is_read() {
        let binary = Binary::read(&std::fs::read("/proc/self/exe").unwrap()).unwrap();
        assert!(
            matches!(binary.kind, ProgramKind::Dynamic(_)) && binary.rust && binary.go.is_none()
        );
        assert!(binary.needed.contains(&b"libc.so.6".to_vec()));
        assert_eq!(binary.imports.get("syscall"), Some(&Kind::Syscall));
    }
}
