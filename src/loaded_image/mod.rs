//! Symbols of images that are already loaded: the vDSO, and the libraries that
//! come after us in the order of the dynamic linker.
//!
//! Promises: finds the default version of a function by name, without locks,
//! allocation or calls into libc, in an image that the loader has accepted.
//! Must never be asked about a file or about memory that is not vouched for.
//!
//! Not dlsym(3): it lives in libdl.so.2 before glibc 2.34 and in libc.so.6 from
//! then on, so a library that needs libc.so.6 alone, and must load in old
//! containers, cannot import it; it may also allocate and lock.
//! Layout: System V ABI, chapter 5; GNU hash and version sections as in glibc.

pub(crate) mod files;
pub(crate) mod module;

use core::ffi::CStr;
use core::num::NonZeroUsize;
use core::ptr;

const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// Set in a version index when this is not the default version of the name.
const VERSION_HIDDEN: u16 = 0x8000;

#[repr(C)]
struct Dynamic {
    tag: u64,
    value: u64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// A loaded image's tables.
pub(crate) struct Image {
    bias: usize,
    symbols: *const Symbol,
    strings: *const u8,
    versions: *const u16,
    hash: *const u32,
    gnu_hash: *const u32,
}

impl Image {
    /// Reads the dynamic section of a loaded image.
    ///
    /// # Safety
    /// `dynamic` is the dynamic section of an image that is loaded with this bias
    /// and stays loaded while the value lives.
    pub(crate) unsafe fn new(bias: usize, dynamic: usize) -> Image {
        let mut image = Image {
            bias,
            symbols: ptr::null(),
            strings: ptr::null(),
            versions: ptr::null(),
            hash: ptr::null(),
            gnu_hash: ptr::null(),
        };
        let mut entry = dynamic as *const Dynamic;
        loop {
            // SAFETY: the section ends with DT_NULL, which ends the loop.
            let Dynamic { tag, value } = unsafe { entry.read() };
            // glibc has added the bias to the addresses in place; in the vDSO,
            // which is read-only, and in some images it has not.
            let address = if (value as usize) < bias {
                bias.wrapping_add(value as usize)
            } else {
                value as usize
            };
            match tag {
                DT_NULL => return image,
                DT_HASH => image.hash = address as *const u32,
                DT_STRTAB => image.strings = address as *const u8,
                DT_SYMTAB => image.symbols = address as *const Symbol,
                DT_VERSYM => image.versions = address as *const u16,
                DT_GNU_HASH => image.gnu_hash = address as *const u32,
                _ => {}
            }
            // SAFETY: not DT_NULL, so another entry follows.
            entry = unsafe { entry.add(1) };
        }
    }

    /// The address of the function of this name, in its default version.
    pub(crate) fn function(&self, name: &CStr) -> Option<NonZeroUsize> {
        if self.symbols.is_null() || self.strings.is_null() {
            return None;
        }
        if !self.gnu_hash.is_null() {
            // SAFETY: the loaded image's own hash table, as `new` was promised.
            NonZeroUsize::new(unsafe { self.by_gnu_hash(name)? })
        } else if !self.hash.is_null() {
            // SAFETY: as above.
            NonZeroUsize::new(unsafe { self.by_hash(name)? })
        } else {
            None
        }
    }

    /// DT_GNU_HASH: header of four words, bloom filter, buckets, hash values.
    ///
    /// # Safety
    /// `gnu_hash` is the table of a loaded image.
    unsafe fn by_gnu_hash(&self, name: &CStr) -> Option<usize> {
        let hash = name.to_bytes().iter().fold(5381u32, |hash, &byte| {
            hash.wrapping_mul(33).wrapping_add(u32::from(byte))
        });
        // SAFETY: offsets follow the table's own header.
        unsafe {
            let buckets = *self.gnu_hash;
            let first = *self.gnu_hash.add(1);
            let bloom_words = *self.gnu_hash.add(2) as usize;
            let table = self.gnu_hash.add(4 + 2 * bloom_words);
            let mut index = *table.add(hash.checked_rem(buckets)? as usize);
            if index < first {
                return None;
            }
            loop {
                let value = *table.add(buckets as usize + (index - first) as usize);
                if value | 1 == hash | 1
                    && let Some(address) = self.matches(index, name)
                {
                    return Some(address);
                }
                if value & 1 != 0 {
                    return None;
                }
                index += 1;
            }
        }
    }

    /// DT_HASH: bucket count, chain count, buckets, chains.
    ///
    /// # Safety
    /// `hash` is the table of a loaded image.
    unsafe fn by_hash(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the chain count is the number of symbols (System V ABI).
        let count = unsafe { *self.hash.add(1) };
        // Every symbol in turn: only the vDSO comes here, and it has a handful.
        // SAFETY: every index is below the count.
        (1..count).find_map(|index| unsafe { self.matches(index, name) })
    }

    /// The address of this symbol, if it is a defined function of this name in
    /// its default version.
    ///
    /// # Safety
    /// `index` is below the number of symbols.
    unsafe fn matches(&self, index: u32, name: &CStr) -> Option<usize> {
        const STT_FUNC: u8 = 2;
        // SAFETY: the caller's contract; names of a loaded image end with NUL.
        unsafe {
            let symbol = &*self.symbols.add(index as usize);
            let hidden = !self.versions.is_null()
                && *self.versions.add(index as usize) & VERSION_HIDDEN != 0;
            if symbol.section == 0 || symbol.info & 15 != STT_FUNC || hidden {
                return None;
            }
            let own = CStr::from_ptr(self.strings.add(symbol.name as usize).cast());
            (own == name).then(|| self.bias.wrapping_add(symbol.value as usize))
        }
    }
}
