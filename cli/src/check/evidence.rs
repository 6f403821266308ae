//! What in a program's files speaks for it asking the kernel, and what for a generator of
//! its own.
//!
//! Promises: what is counted is in the program or in a library that draws on its behalf. The
//! C library is not (it is below the names that we stand in front of), nor are generators
//! that draw seeds alone, nor libraries known to draw once and never again.

use super::binary::Binary;
use super::loaded_files::{LoadedFile, LoadedFiles};
use super::watched_names::{Kind, Names, is_libc, seeds_once};

/// The names of one kind.
fn of_kind(names: &Names, kind: Kind) -> Vec<&'static str> {
    let of_kind = names.iter().filter(|(_, of)| **of == kind);
    of_kind.map(|(name, _)| *name).collect()
}

/// The generator among these names, if there is one; of several, the one that people know.
fn generator(names: &Names) -> Option<&'static str> {
    let generators = of_kind(names, Kind::Generator);
    generators
        .into_iter()
        .max_by_key(|name| *name == "RAND_bytes")
}

/// Whose generator this file holds, if it holds one.
pub(crate) fn holds_generator(binary: &Binary) -> Option<&'static str> {
    generator(&binary.defines).or(binary.embeds)
}

/// The generator that this file asks instead of the kernel, if it asks one.
pub(crate) fn asks_generator(binary: &Binary) -> Option<&'static str> {
    generator(&binary.imports)
}

/// Names that the program itself puts in front of ours: it is searched before any preload.
pub(crate) fn own_functions(program: &Binary) -> Vec<&'static str> {
    of_kind(&program.exports, Kind::Random)
}

/// A name by which this file reads files that we stand in front of.
pub(crate) fn reads_files(binary: &Binary) -> Option<&'static str> {
    let reads = of_kind(&binary.imports, Kind::Read);
    reads.into_iter().max_by_key(|name| *name == "read")
}

/// What this file draws of the kernel only if it is told to, or on some processors.
pub(crate) fn if_told(file: &LoadedFile) -> Option<String> {
    let uses_device = !of_kind(&file.binary.imports, Kind::RandomDevice).is_empty();
    (uses_device && !seeds_once(file.soname())).then(|| format!(
        "{} uses std::random_device, which takes the processor's own instruction where there is one; \
         made with the token getentropy or /dev/urandom it is served, and --run sees it",
        file.shown()
    ))
}

/// What speaks for this file asking the kernel, one reason each.
pub(crate) fn asks_kernel(file: &LoadedFile, files: &LoadedFiles) -> Vec<String> {
    let (binary, soname) = (&file.binary, file.soname());
    if is_libc(soname) || seeds_once(soname) || holds_generator(binary).is_some() {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    let hidden = own_functions(&files.program.binary);
    let mut functions = of_kind(&binary.imports, Kind::Random);
    functions.retain(|name| !hidden.contains(name));
    let path = file.shown();
    if !functions.is_empty() {
        reasons.push(format!("{path} imports {}", functions.join(", ")));
    }
    if binary.loads_number {
        reasons.push(format!(
            "{path} imports syscall, and its code loads the number of getrandom"
        ));
    }
    let looks_up = !of_kind(&binary.imports, Kind::Lookup).is_empty();
    if binary.names_getrandom && functions.is_empty() && looks_up {
        reasons.push(format!("{path} looks getrandom up at run time"));
    }
    if binary.names_urandom {
        let is_cxx = files
            .all()
            .any(|file| file.soname().starts_with(b"libstdc++.so."));
        match reads_files(binary) {
            Some(read) => reasons.push(format!("{path} names /dev/urandom and imports {read}")),
            None if is_cxx => reasons.push(format!(
                "{path} names /dev/urandom and may read it by a C++ stream"
            )),
            None => {}
        }
    }
    reasons
}
