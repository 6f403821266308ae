//! Symbol tables: the dynamic one, which the loader goes by, and the full one.
//!
//! Promises: a table and its strings as they lie in the file, names found by offset only
//! when asked for. Without section headers (stripped by sstrip and packers) the dynamic
//! table is found as the loader finds it: by PT_DYNAMIC and the hash tables.

use super::Image;
use object::elf::{self as e, Dyn64, Sym64};
use object::pod;
use object::read::elf::{Dyn, GnuHashTable, HashTable, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, elf::FileHeader64};

/// A symbol table.
#[derive(Clone, Copy)]
pub(crate) struct Symbols<'a> {
    pub(crate) entries: &'a [Sym64<Endianness>],
    pub(crate) strings: &'a [u8],
}

impl<'a> Symbols<'a> {
    /// The name of a symbol, if it is no longer than `limit` bytes.
    pub(crate) fn name(
        &self,
        symbol: &Sym64<Endianness>,
        endian: Endianness,
        limit: usize,
    ) -> Option<&'a [u8]> {
        super::text_at(self.strings, symbol.st_name(endian) as usize, limit)
    }
}

/// What the dynamic section says, as far as we ask.
#[derive(Default)]
pub(crate) struct Dynamic<'a> {
    entries: &'a [Dyn64<Endianness>],
    pub(crate) strings: &'a [u8],
}

impl<'a> Dynamic<'a> {
    /// The values of all entries with this tag.
    pub(crate) fn values(&self, tag: u32, endian: Endianness) -> impl Iterator<Item = u64> {
        self.entries
            .iter()
            .filter(move |entry| entry.tag32(endian) == Some(tag))
            .map(move |entry| entry.d_val(endian))
    }

    /// The texts of all entries with this tag.
    pub(crate) fn texts(
        &self,
        tag: u32,
        endian: Endianness,
        limit: usize,
    ) -> impl Iterator<Item = &'a [u8]> {
        let strings = self.strings;
        self.values(tag, endian)
            .filter_map(move |offset| super::text_at(strings, usize::try_from(offset).ok()?, limit))
    }
}

impl<'a> Image<'a> {
    /// The dynamic section; `None` if there is none or it lies outside the file.
    pub(crate) fn dynamic(&self) -> Option<Dynamic<'a>> {
        let segment = self.segments_of(e::PT_DYNAMIC).next()?;
        let all = segment.dynamic(self.endian, self.data).ok()??;
        // The loader stops at DT_NULL; so do we.
        let end = all
            .iter()
            .position(|entry| entry.tag32(self.endian) == Some(e::DT_NULL))
            .unwrap_or(all.len());
        let mut dynamic = Dynamic {
            entries: all.get(..end)?,
            strings: &[],
        };
        let address = dynamic.values(e::DT_STRTAB, self.endian).next();
        let len = dynamic
            .values(e::DT_STRSZ, self.endian)
            .next()
            .unwrap_or(u64::MAX);
        if let Some(from) = address.and_then(|address| self.at_address(address)) {
            dynamic.strings = usize::try_from(len)
                .ok()
                .and_then(|len| from.get(..len))
                .unwrap_or(from);
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
        let section = self
            .sections
            .iter()
            .find(|section| section.sh_type(self.endian) == kind)?;
        let entries = section
            .data_as_array(self.endian, self.data)
            .ok()
            .filter(|entries| !entries.is_empty())?;
        let strings = self.section_at(usize::try_from(section.sh_link(self.endian)).ok()?)?;
        Some(Symbols { entries, strings })
    }

    /// By DT_SYMTAB. Nothing states its length: a hash table ends where it does, and all
    /// imports stand before the first symbol that the GNU table knows.
    fn hashed_symbols(&self, dynamic: &Dynamic<'a>) -> Option<Symbols<'a>> {
        let at = |tag| self.at_address(dynamic.values(tag, self.endian).next()?);
        let gnu = at(e::DT_GNU_HASH)
            .and_then(|data| {
                GnuHashTable::<FileHeader64<Endianness>>::parse(self.endian, data).ok()
            })
            .map(|table| {
                table
                    .symbol_table_length(self.endian)
                    .unwrap_or_else(|| table.symbol_base())
            });
        let old = || {
            at(e::DT_HASH)
                .and_then(|data| {
                    HashTable::<FileHeader64<Endianness>>::parse(self.endian, data).ok()
                })
                .map(|table| table.symbol_table_length())
        };
        let count = usize::try_from(gnu.or_else(old)?).ok()?;
        let (entries, _) = pod::slice_from_bytes(at(e::DT_SYMTAB)?, count).ok()?;
        Some(Symbols {
            entries,
            strings: dynamic.strings,
        })
    }
}
