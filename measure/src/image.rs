//! What a shared object takes: the sizes of its code and of its thread-local storage.

use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, elf};
use std::path::Path;

/// In bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Of its `.text`.
    pub code: u64,
    /// Of the thread-local segment, which every thread has; 0 without one.
    pub tls: u64,
}

/// The sizes of this file.
///
/// # Errors
/// That it cannot be read, or is not an ELF file.
pub fn sizes(path: &Path) -> Result<Sizes, String> {
    let failed = |error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    let file = ElfFile64::<Endianness>::parse(&*bytes).map_err(|error| failed(&error))?;
    let endian = file.endian();
    let mut segments = file.elf_program_headers().iter();
    let tls = segments.find(|segment| segment.p_type(endian) == elf::PT_TLS);
    Ok(Sizes {
        code: file.section_by_name(".text").map_or(0, |text| text.size()),
        tls: tls.map_or(0, |segment| segment.p_memsz(endian)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_code() {
        let own = sizes(&std::env::current_exe().unwrap()).unwrap();
        assert!(own.code > 4096 && own.tls > 0, "{own:?}");
        let other = sizes(Path::new("/proc/self/maps")).unwrap_err();
        assert!(other.starts_with("/proc/self/maps: "), "{other}");
    }
}
