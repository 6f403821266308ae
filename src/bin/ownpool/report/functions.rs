//! Which function a return address lies in.
//!
//! Promises: a name only from the very file that was loaded, which the build-id proves, or
//! from debug data of the same build-id (or the checksum that .gnu_debuglink gives); never a
//! guess from a file that was replaced since. Each module is read once.

use super::line::Caller;
use crate::elf::{Image, file, symbols::Symbols, text_at};
use core::fmt::Write;
use object::Endianness;
use object::elf::{STB_GLOBAL, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};
use object::read::elf::Sym;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where distributions put debug data (gdb's default as well).
const DEBUG: &str = "/usr/lib/debug";

/// Modules that are remembered; more are forgotten together. A report names a dozen.
const MAX_MODULES: usize = 256;

/// The longest symbol name that is shown. C++ has names of kilobytes.
const LONGEST_NAME: usize = 4096;

/// A function: where it starts, how long it is, where its name stands.
struct Function {
    start: u64,
    len: u64,
    name: u32,
    global: bool,
}

/// The functions of one module, by address.
#[derive(Default)]
pub(crate) struct Module {
    functions: Vec<Function>,
    strings: Vec<u8>,
}

/// All modules asked for so far.
#[derive(Default)]
pub(crate) struct Functions {
    modules: HashMap<(String, String), Module>,
}

impl Functions {
    /// Names the functions of these callers, where that can be done.
    pub(crate) fn name(&mut self, callers: &mut [Caller]) {
        for caller in callers {
            // The return address may be the first byte of the next function, after a call
            // that never returns: the byte before it is in the caller for certain.
            let Some(call) = caller.address().and_then(|address| address.checked_sub(1)) else {
                continue;
            };
            let key = (caller.module.clone(), caller.build_id.clone());
            if self.modules.len() >= MAX_MODULES && !self.modules.contains_key(&key) {
                self.modules.clear();
            }
            let module = self
                .modules
                .entry(key)
                .or_insert_with_key(|(path, build_id)| Module::load(Path::new(path), build_id));
            if let Some((name, start)) = module.function_at(call) {
                caller.function = Some(name);
                caller.function_offset = Some(call + 1 - start);
            }
        }
    }
}

impl Module {
    fn load(path: &Path, build_id: &str) -> Module {
        let bytes = Some(path)
            .filter(|path| path.is_absolute())
            .and_then(|path| file::read(path).ok());
        let image = bytes.as_deref().and_then(|bytes| Image::parse(bytes).ok());
        let same = image.filter(|image| build_id.is_empty() || image.build_id() == build_id);
        if let Some(full) = same
            .as_ref()
            .and_then(|image| Some(Module::from(image.full_symbols()?, image.endian)))
        {
            return full;
        }
        // Debug data beside a stripped module is better than the few names that it exports.
        by_build_id(build_id)
            .or_else(|| by_link(path, same.as_ref()?, build_id))
            .or_else(|| {
                let image = same.as_ref()?;
                Some(Module::from(
                    image.dynamic_symbols(&image.dynamic()?)?,
                    image.endian,
                ))
            })
            .unwrap_or_default()
    }

    pub(crate) fn from(symbols: Symbols<'_>, endian: Endianness) -> Module {
        let mut functions: Vec<Function> = symbols
            .entries
            .iter()
            .filter(|symbol| {
                let code = matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE);
                code && !symbol.is_undefined(endian) && symbol.st_name(endian) != 0
            })
            .map(|symbol| Function {
                start: symbol.st_value(endian),
                len: symbol.st_size(endian),
                name: symbol.st_name(endian),
                global: symbol.st_bind() == STB_GLOBAL,
            })
            .collect();
        // Of several names for one place the global one is last, and so found first.
        functions.sort_by_key(|function| (function.start, function.len > 0, function.global));
        Module {
            functions,
            strings: symbols.strings.to_vec(),
        }
    }

    /// The name of the function around this address, and its start.
    pub(crate) fn function_at(&self, address: u64) -> Option<(String, u64)> {
        let after = self
            .functions
            .partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        // Assembly often gives no length: then it reaches up to the next symbol.
        if function.len != 0 && address - function.start >= function.len {
            return None;
        }
        let name = text_at(&self.strings, function.name as usize, LONGEST_NAME)?;
        Some((readable(&String::from_utf8_lossy(name)), function.start))
    }
}

/// A symbol as its programmer wrote it.
fn readable(symbol: &str) -> String {
    let mut written = Bounded(String::new());
    let done = if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        write!(written, "{rust:#}").is_ok()
    } else if symbol.starts_with("_Z")
        && let Ok(name) = cpp_demangle::Symbol::new(symbol)
    {
        name.structured_demangle(&mut written, &cpp_demangle::DemangleOptions::default())
            .is_ok()
    } else {
        false
    };
    if done { written.0 } else { symbol.to_string() }
}

/// A text that stops growing: back references let a short symbol stand for gigabytes.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, piece: &str) -> core::fmt::Result {
        if self.0.len() + piece.len() > LONGEST_NAME {
            return Err(core::fmt::Error);
        }
        self.0.push_str(piece);
        Ok(())
    }
}

fn by_build_id(build_id: &str) -> Option<Module> {
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
fn by_link(path: &Path, image: &Image<'_>, build_id: &str) -> Option<Module> {
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

fn debug_file(path: &Path, build_id: &str, checksum: Option<u32>) -> Option<Module> {
    let bytes = file::read(path).ok()?;
    let image = Image::parse(&bytes).ok()?;
    let same = if build_id.is_empty() {
        checksum == Some(crc32(&bytes))
    } else {
        image.build_id() == build_id
    };
    same.then(|| {
        image
            .full_symbols()
            .map(|symbols| Module::from(symbols, image.endian))
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
    fn names_are_written_as_in_the_source() {
        assert_eq!(readable("main"), "main");
        assert_eq!(readable("_ZN3foo3barEv"), "foo::bar()");
        assert_eq!(
            readable("_ZN4core3fmt5write17h0123456789abcdefE"),
            "core::fmt::write"
        );
    }

    #[test]
    fn a_build_id_cannot_leave_its_folder() {
        assert!(by_build_id("../../../../etc/passwd").is_none());
        assert!(
            by_build_id("").is_none() && by_build_id("ab").is_none() && by_build_id("é").is_none()
        );
    }

    #[test]
    fn the_nearest_function_that_reaches_so_far() {
        let function = |start, len, name, global| Function {
            start,
            len,
            name,
            global,
        };
        let module = Module {
            functions: vec![
                function(16, 16, 1, false),
                function(16, 16, 3, true),
                function(64, 0, 5, true),
            ],
            strings: b"\0a\0b\0c\0".to_vec(),
        };
        let name = |address| {
            module
                .function_at(address)
                .map(|(name, start)| format!("{name}{start}"))
        };
        assert_eq!(name(15), None);
        assert_eq!(name(16).as_deref(), Some("b16"));
        assert_eq!(name(31).as_deref(), Some("b16"));
        assert_eq!(name(32), None);
        assert_eq!(name(1000).as_deref(), Some("c64"));
    }
}
