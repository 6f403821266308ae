//! Which function a return address lies in.
//!
//! Promises: a name only from the very file that was loaded, which the build-id proves, or
//! from debug data of the same build-id (or the checksum that .gnu_debuglink gives); never a
//! guess from a file that was replaced since. Each module is read once.

use super::debug_files::{by_build_id, by_link};
use super::demangle::{LONGEST_NAME, demangled};
use super::record::Caller;
use crate::elf::{Image, symbols::Symbols, text_at};
use crate::regular_file;
use object::Endianness;
use object::elf::{STB_GLOBAL, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};
use object::read::elf::Sym;
use std::collections::HashMap;
use std::path::Path;

/// Modules that are remembered; more are forgotten together. A report names a dozen.
const MAX_MODULES: usize = 256;

/// A function: where it starts, how long it is, where its name stands.
struct Function {
    start: u64,
    len: u64,
    name: u32,
    global: bool,
}

/// The functions of one module, by address.
#[derive(Default)]
pub(crate) struct FunctionTable {
    functions: Vec<Function>,
    strings: Vec<u8>,
}

/// All modules asked for so far.
#[derive(Default)]
pub(crate) struct Symbolizer {
    modules: HashMap<(String, String), FunctionTable>,
}

impl Symbolizer {
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
                .or_insert_with_key(|(path, build_id)| {
                    FunctionTable::load(Path::new(path), build_id)
                });
            if let Some((name, start)) = module.function_at(call) {
                caller.function = Some(name);
                caller.function_offset = Some(call + 1 - start);
            }
        }
    }
}

impl FunctionTable {
    fn load(path: &Path, build_id: &str) -> FunctionTable {
        let bytes = Some(path)
            .filter(|path| path.is_absolute())
            .and_then(|path| regular_file::read(path).ok());
        let image = bytes.as_deref().and_then(|bytes| Image::parse(bytes).ok());
        let same = image.filter(|image| build_id.is_empty() || image.build_id() == build_id);
        if let Some(full) = same
            .as_ref()
            .and_then(|image| Some(FunctionTable::from(image.full_symbols()?, image.endian)))
        {
            return full;
        }
        // Debug data beside a stripped module is better than the few names that it exports.
        by_build_id(build_id)
            .or_else(|| by_link(path, same.as_ref()?, build_id))
            .or_else(|| {
                let image = same.as_ref()?;
                Some(FunctionTable::from(
                    image.dynamic_symbols(&image.dynamic()?)?,
                    image.endian,
                ))
            })
            .unwrap_or_default()
    }

    pub(crate) fn from(symbols: Symbols<'_>, endian: Endianness) -> FunctionTable {
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
        FunctionTable {
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
        Some((demangled(&String::from_utf8_lossy(name)), function.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_function_that_reaches_so_far() {
        let function = |start, len, name, global| Function {
            start,
            len,
            name,
            global,
        };
        let module = FunctionTable {
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
