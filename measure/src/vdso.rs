//! The kernel's vDSO getrandom, found and called without libc's help.
//!
//! The rival to be measured against, so it is called in the cheapest way there
//! is: its address through AT_SYSINFO_EHDR, a state of our own for each thread,
//! in a page mapped with the protection and flags that the kernel asks for
//! (vgetrandom interface, `lib/vdso/getrandom.c` of Linux 6.11 and later).
//! Must never: touch a byte of a state, or share one between threads.

use core::ffi::{c_uint, c_void};
use core::ptr;
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{
    Dyn as _, FileHeader as _, GnuHashTable, HashTable, ProgramHeader as _, Sym as _,
};

/// The header's class and byte order are those of this process.
type Header = FileHeader64<Endianness>;

/// `ssize_t getrandom(void *, size_t, unsigned, void *state, size_t state_size)`
type Entry = unsafe extern "C" fn(*mut c_void, usize, c_uint, *mut c_void, usize) -> isize;

/// What the kernel says about states when asked with a size of all ones.
#[repr(C)]
#[derive(Default)]
struct Params {
    size_of_opaque_state: u32,
    mmap_prot: u32,
    mmap_flags: u32,
    reserved: [u32; 13],
}

/// The function and what its states need.
#[derive(Clone, Copy)]
pub struct Vdso {
    entry: Entry,
    state_size: usize,
    prot: i32,
    flags: i32,
}

/// One thread's state: a page of its own.
pub struct State {
    vdso: Vdso,
    page: *mut c_void,
}

/// One page holds a state (144 bytes today) and keeps it from straddling two.
const PAGE: usize = 4096;

impl Vdso {
    /// Finds the function and asks it how states are to be mapped.
    ///
    /// # Errors
    /// Why there is none, in a few words.
    pub fn find() -> Result<Vdso, String> {
        let entry = address("__vdso_getrandom").ok_or("this kernel's vDSO has no getrandom")?;
        // SAFETY: the address is that of a function of this name in the vDSO,
        // whose signature is the kernel's ABI.
        let entry = unsafe { core::mem::transmute::<usize, Entry>(entry) };
        let mut params = Params::default();
        // SAFETY: a state size of all ones asks for the parameters, written to
        // the state argument, which has their size and is writable.
        let answer = unsafe { entry(ptr::null_mut(), 0, 0, (&raw mut params).cast(), usize::MAX) };
        let state_size = params.size_of_opaque_state as usize;
        if answer != 0 || state_size == 0 || state_size > PAGE {
            return Err(format!(
                "the vDSO's getrandom gives no parameters ({answer})"
            ));
        }
        let signed = |bits: u32| i32::from_ne_bytes(bits.to_ne_bytes());
        Ok(Vdso {
            entry,
            state_size,
            prot: signed(params.mmap_prot),
            flags: signed(params.mmap_flags),
        })
    }

    /// A fresh state, for one thread.
    pub fn state(self) -> Option<State> {
        // SAFETY: a new anonymous mapping disturbs nothing.
        let page = unsafe { libc::mmap(ptr::null_mut(), PAGE, self.prot, self.flags, -1, 0) };
        (page != libc::MAP_FAILED).then_some(State { vdso: self, page })
    }
}

impl State {
    /// One call; gives how many bytes came, or a negative errno.
    ///
    /// # Safety
    /// `dest` is writable for `len` bytes.
    pub unsafe fn fill(&self, dest: *mut u8, len: usize) -> isize {
        // SAFETY: `dest` as the caller promises; the page was mapped as the
        // kernel asked, and `&self` of a type that is not Sync stays on a thread.
        unsafe { (self.vdso.entry)(dest.cast(), len, 0, self.page, self.vdso.state_size) }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no call is in flight while it is dropped.
        unsafe { libc::munmap(self.page, PAGE) };
    }
}

/// The address of a function in the vDSO.
pub fn address(name: &str) -> Option<usize> {
    // SAFETY: getauxval only looks up a number.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    if base == 0 {
        return None;
    }
    // SAFETY: the kernel maps at least the page that the ELF header opens, for
    // the life of the process and read-only.
    let head = unsafe { core::slice::from_raw_parts(base as *const u8, PAGE) };
    let header = Header::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let loads = header
        .program_headers(endian, head)
        .ok()?
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let end = loads
        .map(|segment| {
            segment
                .p_vaddr(endian)
                .saturating_add(segment.p_memsz(endian))
        })
        .max()?;
    // SAFETY: the image's one load segment spans these bytes, mapped as above;
    // its file offsets are its addresses.
    let image =
        unsafe { core::slice::from_raw_parts(base as *const u8, usize::try_from(end).ok()?) };
    Some(base.wrapping_add(symbol(image, name)?))
}

/// The value of a dynamic symbol, from the program headers alone: a loaded
/// image need not carry its section headers.
fn symbol(image: &[u8], name: &str) -> Option<usize> {
    let header = Header::parse(image).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, image).ok()?;
    let dynamic = segments
        .iter()
        .find_map(|segment| segment.dynamic(endian, image).ok().flatten())?;
    let from = |tag: u32| {
        let entry = dynamic
            .iter()
            .find(|entry| entry.tag32(endian) == Some(tag))?;
        image.get(usize::try_from(entry.d_val(endian)).ok()?..)
    };
    let count = match from(elf::DT_HASH) {
        Some(table) => HashTable::<Header>::parse(endian, table)
            .ok()?
            .symbol_table_length(),
        None => GnuHashTable::<Header>::parse(endian, from(elf::DT_GNU_HASH)?)
            .ok()?
            .symbol_table_length(endian)?,
    };
    let strings = from(elf::DT_STRTAB)?;
    let (symbols, _) = object::pod::slice_from_bytes::<elf::Sym64<Endianness>>(
        from(elf::DT_SYMTAB)?,
        count as usize,
    )
    .ok()?;
    let wanted = symbols.iter().find(|symbol| {
        let text = strings
            .get(symbol.st_name(endian) as usize..)
            .unwrap_or_default();
        symbol.st_shndx(endian) != elf::SHN_UNDEF
            && text.split(|&byte| byte == 0).next() == Some(name.as_bytes())
    })?;
    usize::try_from(wanted.st_value(endian)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Odds of failing by chance: two equal draws of 32 bytes, 2^-256.
    #[test]
    fn the_vdso_is_parsed_and_where_it_has_getrandom_it_answers() {
        assert!(
            address("__vdso_clock_gettime").is_some(),
            "every x86-64 vDSO has this one"
        );
        assert!(address("__vdso_getrandom_").is_none() && address("").is_none());
        if let Ok(vdso) = Vdso::find() {
            let state = vdso.state().unwrap();
            let mut draws = [[0u8; 32]; 2];
            for draw in &mut draws {
                // SAFETY: the array is writable for its length.
                assert_eq!(unsafe { state.fill(draw.as_mut_ptr(), 32) }, 32);
            }
            assert_ne!(draws[0], draws[1]);
        }
    }
}
