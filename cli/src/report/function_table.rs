//! The functions of one module, by address.

use super::demangle::{LONGEST_NAME, demangled};
use crate::elf::{symbols::Symbols, text_at};
use object::LittleEndian as Le;
use object::elf::{STB_GLOBAL, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};
use object::read::elf::Sym;

/// A function: where it starts, how long it is, where its name stands.
struct Function {
    start: u64,
    len: u64,
    name: u32,
    global: bool,
}

#[derive(Default)]
pub(crate) struct FunctionTable {
    functions: Vec<Function>,
    strings: Vec<u8>,
}

impl FunctionTable {
    pub(crate) fn new(symbols: &Symbols<'_>) -> FunctionTable {
        let is_function = |symbol: &&object::elf::Sym64<Le>| {
            let is_code = matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE);
            is_code && !symbol.is_undefined(Le) && symbol.st_name(Le) != 0
        };
        let function = |symbol: &object::elf::Sym64<Le>| Function {
            start: symbol.st_value(Le),
            len: symbol.st_size(Le),
            name: symbol.st_name(Le),
            global: symbol.st_bind() == STB_GLOBAL,
        };
        let symbols_of_functions = symbols.entries.iter().filter(is_function);
        let mut functions: Vec<Function> = symbols_of_functions.map(function).collect();
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
        let function = |(start, len, name, global)| Function {
            start,
            len,
            name,
            global,
        };
        let functions = [(16, 16, 1, false), (16, 16, 3, true), (64, 0, 5, true)];
        let table = FunctionTable {
            functions: functions.map(function).into(),
            strings: b"\0a\0b\0c\0".to_vec(),
        };
        for (address, expected) in [
            (15, None),
            (16, Some("b16")),
            (31, Some("b16")),
            (32, None),
            (1000, Some("c64")),
        ] {
            let found = table
                .function_at(address)
                .map(|(name, start)| format!("{name}{start}"));
            assert_eq!(found.as_deref(), expected);
        }
    }
}
