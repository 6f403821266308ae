//! What one ELF file says about itself that matters here.
//!
//! Promises: owned values, so that the file's bytes need not stay in memory; any bytes may be
//! handed in. Symbols are proof (the loader binds them); texts and constants in the code are
//! hints, and are shown as such.

use super::program_kind::{ProgramKind, program_kind};
use super::watched_names::{self, Names};
use super::{go_program, loader_list};
use crate::elf::{
    self, ElfError, Ident, Image, MACHINE, PATH_MAX, symbols::Dynamic, symbols::Symbols,
};
use memchr::memmem;
use object::LittleEndian as Le;
use object::elf as e;
use object::read::elf::{ProgramHeader, Sym};

/// The instruction that loads getrandom's number into the first argument of syscall(2).
#[cfg(not(target_arch = "aarch64"))]
const LOADS_NUMBER: [&[u8]; 1] = [b"\xbf\x3e\x01\x00\x00"]; // mov $318, %edi
#[cfg(target_arch = "aarch64")]
const LOADS_NUMBER: [&[u8]; 2] = [b"\xc0\x22\x80\x52", b"\xc0\x22\x80\xd2"]; // mov w0 or x0, #278

/// Source names that generators leave in their error tables even when symbols are stripped.
const GENERATOR_SOURCES: [(&[u8], &str); 2] = [
    (b"crypto/rand/rand_lib.c", "OpenSSL"),
    (b"crypto/fipsmodule/rand/rand.c", "BoringSSL"),
];

#[derive(Clone, Debug, Default)]
pub(crate) struct Binary {
    /// Class and machine, where they are not ours; the rest is empty then.
    pub(crate) foreign: Option<Ident>,
    pub(crate) kind: ProgramKind,
    pub(crate) soname: Option<Vec<u8>>,
    pub(crate) needs_musl: bool,
    /// Why the loader must not be asked about it.
    pub(crate) list_risk: Option<&'static str>,
    /// The watched names that the loader has to bind from elsewhere.
    pub(crate) imports: Names,
    /// The watched names that it has itself, exported or not.
    pub(crate) defines: Names,
    /// The watched names that it shows to others.
    pub(crate) exports: Names,
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
        if (ident.bits, ident.machine) != (64, MACHINE) {
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
            kind: program_kind(&image, dynamic.as_ref())?,
            go: go_program::version(&image),
            ..Binary::default()
        };
        if let Some(dynamic) = &dynamic {
            let text = |tag| dynamic.texts(tag, PATH_MAX);
            binary.soname = text(e::DT_SONAME).next().map(<[u8]>::to_vec);
            binary.needs_musl = text(e::DT_NEEDED).any(|name| name.starts_with(b"libc.musl"));
            binary.list_risk = loader_list::risk(&image, dynamic);
        }
        let bound = dynamic
            .as_ref()
            .and_then(|dynamic| image.dynamic_symbols(dynamic));
        if let Some(symbols) = bound {
            (binary.imports, binary.exports) = watched(&symbols);
            binary.defines = binary.exports.clone();
        }
        if let Some(symbols) = image.full_symbols() {
            binary.defines.extend(watched(&symbols).1);
        }
        binary.take_texts(&image, dynamic.as_ref());
        Ok(binary)
    }

    fn take_texts(&mut self, image: &Image<'_>, dynamic: Option<&Dynamic<'_>>) {
        let data = image.data;
        let has = |text: &[u8]| memmem::find(data, text).is_some();
        self.names_urandom = has(b"/dev/urandom");
        let mut sources = GENERATOR_SOURCES.iter();
        let embeds = sources.find(|(text, _)| has_c_text(data, text));
        self.embeds = embeds.map(|(_, whose)| *whose);
        self.rust = self.go.is_none() && has(b"/rustc/");
        // The dynamic string table holds the names of imports: those are counted already.
        let strings = dynamic.map(|dynamic| dynamic.strings.as_ptr_range());
        let is_import = |text: Option<&[u8]>| {
            let place = text.map(<[u8]>::as_ptr).zip(strings.as_ref());
            place.is_some_and(|(place, strings)| strings.contains(&place))
        };
        self.names_getrandom = loaded(image, 0).into_iter().any(|range| {
            memmem::find_iter(range, b"getrandom\0").any(|at| !is_import(range.get(at..)))
        });
        if self.imports.contains_key("syscall") {
            let holds = |range: &[u8]| {
                LOADS_NUMBER
                    .iter()
                    .any(|code| memmem::find(range, code).is_some())
            };
            self.loads_number = loaded(image, e::PF_X).into_iter().any(holds);
        }
        if self.soname.as_deref() == Some(b"libc.so.6") {
            let at = memmem::find(data, b"release version ");
            self.glibc = at.and_then(|at| version(data.get(at + 16..)?));
        }
    }
}

/// The watched names that a table imports, and those that it defines.
fn watched(symbols: &Symbols<'_>) -> (Names, Names) {
    let (mut imports, mut defines) = (Names::new(), Names::new());
    for symbol in symbols.entries {
        let name = symbols.name(symbol, watched_names::LONGEST);
        if let Some((name, kind)) = name.and_then(watched_names::watched) {
            match symbol.is_undefined(Le) {
                true => imports.insert(name, kind),
                false => defines.insert(name, kind),
            };
        }
    }
    (imports, defines)
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
    let segments = image.segments_of(e::PT_LOAD);
    let flagged = segments.filter(|segment| segment.p_flags(Le) & flags == flags);
    let mut ranges: Vec<_> = flagged.map(|segment| segment.file_range(Le)).collect();
    ranges.sort_unstable();
    let mut done = 0;
    let mut pieces = Vec::new();
    for (from, len) in ranges {
        let (from, to) = (done.max(from), from.saturating_add(len));
        if let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to))
            && let Some(piece) = image.data.get(from..to)
        {
            pieces.push(piece);
            done = to as u64;
        }
    }
    pieces
}

/// `2.36` from the text that begins with it.
fn version(text: &[u8]) -> Option<(u32, u32)> {
    let text = text.get(..16).unwrap_or(text);
    let mut numbers = text.split(|byte| !byte.is_ascii_digit());
    let mut number = || core::str::from_utf8(numbers.next()?).ok()?.parse().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::watched_names::Kind;

    #[test]
    fn this_very_program_is_read() {
        let binary = Binary::read(&std::fs::read("/proc/self/exe").unwrap()).unwrap();
        assert!(matches!(binary.kind, ProgramKind::Dynamic(_)));
        assert!(binary.rust && binary.go.is_none() && binary.list_risk.is_none());
        assert_eq!(binary.imports.get("syscall"), Some(&Kind::Syscall));
    }

    #[test]
    fn versions_of_libc() {
        assert_eq!(version(b"2.36.\nCopyright"), Some((2, 36)));
        assert_eq!(version(b"2.41"), Some((2, 41)));
        assert_eq!(version(b"x"), None);
    }
}
