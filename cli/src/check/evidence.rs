//! Where a program's randomness comes from, as far as its files tell.
//!
//! Promises: what is counted is in the program or in a library that draws on its behalf. The
//! C library is not (it is below the names that we stand in front of), nor are generators
//! that draw seeds alone, nor libraries known to draw once and never again.

use super::binary::Binary;
use super::closure::{Closure, Object};
use super::watched_names::{self, Kind};
use crate::output::plain;
use std::os::unix::ffi::OsStrExt;

/// The names of one kind among a file's imports.
fn imported(binary: &Binary, kind: Kind) -> Vec<&'static str> {
    binary
        .imports
        .iter()
        .filter(|(_, of)| **of == kind)
        .map(|(name, _)| *name)
        .collect()
}

/// Whose generator this file holds, if it holds one.
pub(crate) fn holds_drbg(binary: &Binary) -> Option<&'static str> {
    best_known(binary.defines.iter()).or(binary.embeds)
}

/// Of several entries to a generator, the one that people know.
fn best_known<'a>(
    names: impl Iterator<Item = (&'a &'static str, &'a Kind)>,
) -> Option<&'static str> {
    let drbg = names
        .filter(|(_, kind)| **kind == Kind::Drbg)
        .map(|(name, _)| *name);
    drbg.max_by_key(|name| *name == "RAND_bytes")
}

/// The generator that this file asks instead of the kernel, if it asks one.
pub(crate) fn asks_drbg(binary: &Binary) -> Option<&'static str> {
    best_known(binary.imports.iter())
}

/// Names that the program itself puts in front of ours: it is searched before any preload.
pub(crate) fn own_doors(program: &Binary) -> Vec<&'static str> {
    program
        .exports
        .iter()
        .filter(|(_, kind)| **kind == Kind::Door)
        .map(|(name, _)| *name)
        .collect()
}

/// A name by which this file reads files that we stand in front of.
pub(crate) fn reads_files(binary: &Binary) -> Option<&'static str> {
    let reads = imported(binary, Kind::Read);
    let best = reads.iter().find(|name| **name == "read").or(reads.first());
    best.copied()
}

/// What this object draws of the kernel only if it is told to, or on some processors.
pub(crate) fn if_told(object: &Object) -> Option<String> {
    let soname = object.binary.soname.as_deref().unwrap_or_default();
    if watched_names::seeds_only(soname).is_some()
        || imported(&object.binary, Kind::Device).is_empty()
    {
        return None;
    }
    let path = plain(object.path.as_os_str().as_bytes());
    Some(format!(
        "{path} uses std::random_device, which takes the processor's own instruction where there is one; \
         made with the token getentropy or /dev/urandom it is served, and --run sees it"
    ))
}

/// What speaks for this object asking the kernel, one reason each.
pub(crate) fn of(object: &Object, closure: &Closure) -> Vec<String> {
    let binary = &object.binary;
    let soname = binary.soname.as_deref().unwrap_or_default();
    if watched_names::is_libc(soname)
        || watched_names::seeds_only(soname).is_some()
        || holds_drbg(binary).is_some()
    {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    let hidden = closure
        .objects
        .first()
        .map(|program| own_doors(&program.binary))
        .unwrap_or_default();
    let doors: Vec<_> = imported(binary, Kind::Door)
        .into_iter()
        .filter(|door| !hidden.contains(door))
        .collect();
    let path = plain(object.path.as_os_str().as_bytes());
    if !doors.is_empty() {
        reasons.push(format!("{path} imports {}", doors.join(", ")));
    }
    if binary.loads_number {
        reasons.push(format!(
            "{path} imports syscall, and its code loads the number of getrandom"
        ));
    }
    if binary.names_getrandom && doors.is_empty() && !imported(binary, Kind::Lookup).is_empty() {
        reasons.push(format!("{path} looks getrandom up at run time"));
    }
    if binary.names_urandom {
        let cxx = closure.objects.iter().any(|object| {
            object
                .binary
                .soname
                .as_deref()
                .is_some_and(|soname| soname.starts_with(b"libstdc++.so."))
        });
        match reads_files(binary) {
            Some(read) => reasons.push(format!("{path} names /dev/urandom and imports {read}")),
            None if cxx => reasons.push(format!(
                "{path} names /dev/urandom and may read it by a C++ stream"
            )),
            None => {}
        }
    }
    reasons
}
