//! Which loaded file does an address belong to? For the report, at exit only.
//!
//! Promises: path, build id and offset of the image that holds an address, from
//! the loader's own list, without allocation. Must never be asked before the
//! process ends: dl_iterate_phdr takes the loader's lock.

use super::files::each_loaded;

/// The image that an address belongs to.
pub(crate) struct Module<'a> {
    /// The file's path as the loader has it; empty: the program itself.
    pub(crate) path: &'a [u8],
    /// NT_GNU_BUILD_ID; empty: the file has none.
    pub(crate) build_id: &'a [u8],
    /// The address less the load bias: what symbol tables count in.
    pub(crate) offset: usize,
}

/// The module of an address, if it is in one.
pub(crate) fn of<'a>(address: usize) -> Option<Module<'a>> {
    let mut found = None;
    each_loaded(|file| {
        if file.holds(address) {
            found = Some(Module {
                path: if file.number == 0 { b"" } else { file.path },
                build_id: file.notes().find_map(build_id).unwrap_or_default(),
                offset: address.wrapping_sub(file.bias),
            });
        }
        found.is_some()
    });
    found
}

/// The build id among the notes of a segment (elf(5), "Notes").
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    loop {
        let (header, rest) = notes.split_at_checked(12)?;
        let word = |at: usize| {
            header
                .get(at..at + 4)
                .and_then(|bytes| bytes.try_into().ok())
                .map_or(0, u32::from_le_bytes)
        };
        let (name, rest) = rest.split_at_checked((word(0) as usize).next_multiple_of(4))?;
        let (id, rest) = rest.split_at_checked((word(4) as usize).next_multiple_of(4))?;
        if word(8) == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return id.get(..word(4) as usize);
        }
        notes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_code_is_in_the_program() {
        let module = of(our_own_code_is_in_the_program as *const () as usize);
        assert!(module.is_some_and(|module| module.path.is_empty() && module.offset > 0));
        assert!(of(16).is_none());
    }

    #[test]
    fn the_build_id_is_found_among_notes_and_torn_notes_are_none() {
        let mut notes = vec![
            4, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, b'G', b'N', b'U', 0, 1, 2, 3, 4, 5, 0, 0, 0,
        ];
        notes.extend([
            4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, b'G', b'N', b'U', 0, 7, 8, 9, 0,
        ]);
        assert_eq!(build_id(&notes), Some(&[7, 8, 9][..]));
        for cut in 0..notes.len() {
            assert_eq!(build_id(&notes[..cut]), None, "{cut}");
        }
        assert_eq!(build_id(&[0xff; 64]), None);
    }
}
