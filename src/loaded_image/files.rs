//! The files that are loaded: the loader's own list, and the one that the kernel mapped.
//!
//! Promises: no allocation. Must never be asked for the list but by the constructor,
//! by an fopen before it, and when the process ends: dl_iterate_phdr(3) takes the loader's lock.

use core::ffi::{CStr, c_int, c_void};
use core::slice;
use libc::{Elf64_Phdr, dl_phdr_info, size_t};

/// A loaded file.
pub(crate) struct LoadedFile<'a> {
    /// Its place in the list, from 0: the program itself.
    pub(crate) number: usize,
    /// What is added to the addresses in the file.
    pub(crate) bias: usize,
    /// The path as the loader has it.
    pub(crate) path: &'a [u8],
    segments: &'a [Elf64_Phdr],
}

impl<'a> LoadedFile<'a> {
    /// The file whose ELF header the kernel mapped here, as it does its vDSO.
    ///
    /// # Safety
    /// A whole image is loaded at `header` and stays.
    pub(crate) unsafe fn at(header: usize) -> Option<LoadedFile<'static>> {
        // SAFETY: the program headers are part of the image (System V ABI, chapter 5).
        let segments = unsafe {
            let elf = &*(header as *const libc::Elf64_Ehdr);
            let first = (header + elf.e_phoff as usize) as *const Elf64_Phdr;
            slice::from_raw_parts(first, elf.e_phnum.into())
        };
        let load = segments
            .iter()
            .find(|segment| segment.p_type == libc::PT_LOAD)?;
        let in_file = header.wrapping_add(load.p_offset as usize);
        Some(LoadedFile {
            number: 0,
            bias: in_file.wrapping_sub(load.p_vaddr as usize),
            path: b"",
            segments,
        })
    }

    /// Where the segments of a type are, and how long.
    fn segments_of(&self, kind: u32) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let bias = self.bias;
        let of_kind = move |segment: &&Elf64_Phdr| segment.p_type == kind;
        self.segments.iter().filter(of_kind).map(move |segment| {
            let start = bias.wrapping_add(segment.p_vaddr as usize);
            (start, segment.p_memsz as usize)
        })
    }

    /// Whether an address is in it.
    pub(crate) fn holds(&self, address: usize) -> bool {
        self.segments_of(libc::PT_LOAD)
            .any(|(start, len)| address.wrapping_sub(start) < len)
    }

    /// Its dynamic section.
    pub(crate) fn dynamic(&self) -> Option<usize> {
        self.segments_of(libc::PT_DYNAMIC)
            .next()
            .map(|(start, _)| start)
    }

    /// Its notes, segment by segment.
    pub(super) fn notes(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        // SAFETY: a segment of a loaded file.
        self.segments_of(libc::PT_NOTE)
            .map(|(start, len)| unsafe { slice::from_raw_parts(start as *const u8, len) })
    }
}

/// What is carried from file to file.
struct Walk<F> {
    each: F,
    number: usize,
}

/// Calls `each` with the files in the loader's order, until it says that it is done.
pub(crate) fn each_loaded<'a, F: FnMut(LoadedFile<'a>) -> bool>(each: F) {
    let mut walk = Walk { each, number: 0 };
    // SAFETY: the callback has the type that is asked for, and gets the walk.
    unsafe { libc::dl_iterate_phdr(Some(visit::<F>), (&raw mut walk).cast()) };
}

unsafe extern "C" fn visit<'a, F: FnMut(LoadedFile<'a>) -> bool>(
    info: *mut dl_phdr_info,
    _size: size_t,
    walk: *mut c_void,
) -> c_int {
    // SAFETY: what dl_iterate_phdr(3) and `each_loaded` promise: `dlpi_phnum` headers, and a
    // path that stays while the file is loaded.
    let (info, walk) = unsafe { (&*info, &mut *walk.cast::<Walk<F>>()) };
    // SAFETY: as above.
    let (path, segments) = unsafe {
        (
            CStr::from_ptr(info.dlpi_name).to_bytes(),
            slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()),
        )
    };
    let file = LoadedFile {
        number: walk.number,
        bias: info.dlpi_addr as usize,
        path,
        segments,
    };
    walk.number += 1;
    c_int::from((walk.each)(file))
}
