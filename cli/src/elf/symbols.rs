//! Symbol tables: the dynamic one, which the loader goes by, and the full one.
//!
//! Promises: a table and its strings as they lie in the file, names found by offset only
//! when asked for. Without section headers (stripped by sstrip and packers) the dynamic
//! table is found as the loader finds it: by PT_DYNAMIC and the hash tables.

use super::{Image, text_at};
use object::LittleEndian as Le;
use object::elf::{self as e, Dyn64, FileHeader64, Sym64};
use object::pod;
use object::read::elf::{Dyn, GnuHashTable, HashTable, ProgramHeader, SectionHeader, Sym};

/// A symbol table.
#[derive(Clone, Copy)]
pub(crate) struct Symbols<'a> {
    pub(crate) entries: &'a [Sym64<Le>],
    pub(crate) strings: &'a [u8],
}

impl<'a> Symbols<'a> {
    /// The name of a symbol, if it is no longer than `limit` bytes.
    pub(crate) fn name(&self, symbol: &Sym64<Le>, limit: usize) -> Option<&'a [u8]> {
        text_at(self.strings, symbol.st_name(Le) as usize, limit)
    }
}

/// What the dynamic section says, as far as we ask.
#[derive(Default)]
pub(crate) struct Dynamic<'a> {
    entries: &'a [Dyn64<Le>],
    pub(crate) strings: &'a [u8],
}

impl<'a> Dynamic<'a> {
    /// The values of all entries with this tag.
    pub(crate) fn values(&self, tag: u32) -> impl Iterator<Item = u64> {
        let entries = self.entries.iter();
        let tagged = entries.filter(move |entry| entry.tag32(Le) == Some(tag));
        tagged.map(|entry| entry.d_val(Le))
    }

    /// The texts of all entries with this tag.
    pub(crate) fn texts(&self, tag: u32, limit: usize) -> impl Iterator<Item = &'a [u8]> {
        let strings = self.strings;
        let text = move |offset| text_at(strings, usize::try_from(offset).ok()?, limit);
        self.values(tag).filter_map(text)
    }
}

impl<'a> Image<'a> {
    /// The dynamic section; `None` if there is none or it lies outside the file.
    pub(crate) fn dynamic(&self) -> Option<Dynamic<'a>> {
        let segment = self.segments_of(e::PT_DYNAMIC).next()?;
        let all = segment.dynamic(Le, self.data).ok()??;
        // The loader stops at DT_NULL; so do we.
        let mut until_null = all.split(|entry| entry.tag32(Le) == Some(e::DT_NULL));
        let mut dynamic = Dynamic {
            entries: until_null.next()?,
            strings: &[],
        };
        let value = |tag| dynamic.values(tag).next();
        let len = value(e::DT_STRSZ).and_then(|len| usize::try_from(len).ok());
        if let Some(from) = value(e::DT_STRTAB).and_then(|address| self.at_address(address)) {
            dynamic.strings = len.and_then(|len| from.get(..len)).unwrap_or(from);
        }
        Some(dynamic)
    }

    /// The table that the loader goes by.
    pub(crate) fn dynamic_symbols(&self, dynamic: &Dynamic<'a>) -> Option<Symbols<'a>> {
        self.section_symbols(e::SHT_DYNSYM)
            .or_else(|| self.hashed_symbols(dynamic))
    }

    /// The full table, which stripping removes.
    pub(crate) fn full_symbols(&self) -> Option<Symbols<'a>> {
        self.section_symbols(e::SHT_SYMTAB)
    }

    fn section_symbols(&self, kind: u32) -> Option<Symbols<'a>> {
        let mut sections = self.sections.iter();
        let section = sections.find(|section| section.sh_type(Le) == kind)?;
        let entries: &[_] = section.data_as_array(Le, self.data).ok()?;
        let strings = self.section_at(section.sh_link(Le))?;
        (!entries.is_empty()).then_some(Symbols { entries, strings })
    }

    /// By DT_SYMTAB. Nothing states its length: a hash table ends where it does, and all
    /// imports stand before the first symbol that the GNU table knows.
    fn hashed_symbols(&self, dynamic: &Dynamic<'a>) -> Option<Symbols<'a>> {
        type Header = FileHeader64<Le>;
        let at = |tag| self.at_address(dynamic.values(tag).next()?);
        let gnu = || {
            let table = GnuHashTable::<Header>::parse(Le, at(e::DT_GNU_HASH)?).ok()?;
            let len = table.symbol_table_length(Le);
            Some(len.unwrap_or_else(|| table.symbol_base()))
        };
        let old = || {
            let table = HashTable::<Header>::parse(Le, at(e::DT_HASH)?).ok()?;
            Some(table.symbol_table_length())
        };
        let count = usize::try_from(gnu().or_else(old)?).ok()?;
        let (entries, _) = pod::slice_from_bytes(at(e::DT_SYMTAB)?, count).ok()?;
        Some(Symbols {
            entries,
            strings: dynamic.strings,
        })
    }
}
