//! Does the library get into this program at all? The program's own file answers.
//!
//! Promises: every reason that holds is told, not the first alone: a static program of Go
//! is not helped by linking it dynamically.

use super::binary::Binary;
use super::find_program::FoundProgram;
use super::go_program;
use super::program_kind::ProgramKind;
use super::secure_mode;
use super::verdict::Judgement;
use crate::elf::MACHINE;
use crate::output::printable;
use ownpool_core::settings::basename;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Why it does not, if it does not.
///
/// # Errors
/// Why this is no program at all.
pub(crate) fn obstacles(
    found: &FoundProgram,
    binary: &Binary,
) -> Result<Option<Judgement>, String> {
    if let Some(foreign) = binary.foreign {
        let (bits, machine) = (foreign.bits, foreign.machine);
        let reason = match bits {
            64 => format!(
                "built for another machine (ELF machine {machine}; the library's is {MACHINE})"
            ),
            _ => format!("a {bits}-bit program; the library is 64-bit"),
        };
        return Ok(Some(Judgement::cannot_load(vec![reason])));
    }
    let mut reasons = Vec::new();
    match &binary.kind {
        ProgramKind::Library => return Err("a shared library, not a program".into()),
        ProgramKind::Other => return Err("an ELF file, but not a program".into()),
        ProgramKind::Static => reasons.push("statically linked: no loader reads LD_PRELOAD".into()),
        ProgramKind::StaticPie => {
            reasons.push("statically linked (static-pie): no loader reads LD_PRELOAD".into());
        }
        ProgramKind::Dynamic(loader) => reasons.extend(foreign_loader(loader, binary.needs_musl)),
    }
    if let Some(cause) = secure_mode::cause(&found.path) {
        reasons.push(format!(
            "{cause}: it starts in secure mode (AT_SECURE) for other callers, and the loader then ignores LD_PRELOAD"
        ));
    }
    reasons.extend(found.loses_preload.clone());
    if reasons.is_empty() {
        return Ok(None);
    }
    reasons.extend(binary.go.as_deref().map(go_program::reason));
    Ok(Some(Judgement::cannot_load(reasons)))
}

/// A loader that is not the GNU C library's, or is not here.
fn foreign_loader(loader: &[u8], needs_musl: bool) -> Option<String> {
    let (shown, name) = (printable(loader), basename(loader));
    if needs_musl || name.starts_with(b"ld-musl") {
        return Some(format!(
            "built for musl ({shown}); the library needs the GNU C library"
        ));
    }
    let glibc: [&[u8]; 3] = [b"ld-linux", b"ld64", b"ld.so"];
    if !glibc.iter().any(|start| name.starts_with(start)) {
        return Some(format!(
            "its loader {shown} is not that of the GNU C library"
        ));
    }
    let is_here = Path::new(OsStr::from_bytes(loader)).exists();
    (!is_here).then(|| format!("its loader {shown} is not here"))
}
