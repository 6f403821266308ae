//! Does the library get into this program at all? The program's own file answers.
//!
//! Promises: every reason that holds is told, not the first alone: a static program of Go
//! is not helped by linking it dynamically.

use super::binary::Binary;
use super::find_program::Found;
use super::judge::{Judgement, Verdict};
use super::program_kind::ProgramKind;
use super::secure_mode;
use crate::library::MACHINE;
use crate::output::plain;
use crate::settings::basename;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Why it does not, if it does not.
///
/// # Errors
/// Why this is no program at all.
pub(crate) fn refused(found: &Found, binary: &Binary) -> Result<Option<Judgement>, String> {
    let mut reasons = Vec::new();
    if let Some(foreign) = binary.foreign {
        reasons.push(match (foreign.bits, foreign.machine) {
            (64, machine) => format!(
                "built for another machine (ELF machine {machine}; the library's is {MACHINE})"
            ),
            (bits, _) => format!("a {bits}-bit program; the library is 64-bit"),
        });
        return Ok(Some(Judgement {
            verdict: Verdict::CannotLoad,
            reasons,
        }));
    }
    match &binary.kind {
        ProgramKind::Library => return Err("a shared library, not a program".into()),
        ProgramKind::Other => return Err("an ELF file, but not a program".into()),
        ProgramKind::Static => reasons.push("statically linked: no loader reads LD_PRELOAD".into()),
        ProgramKind::StaticPie => {
            reasons.push("statically linked (static-pie): no loader reads LD_PRELOAD".into())
        }
        ProgramKind::Dynamic(loader) => reasons.extend(foreign_loader(loader, binary)),
    }
    if let Some(what) = secure_mode::gained(&found.path) {
        reasons.push(format!(
            "{what}: it starts in secure mode (AT_SECURE) for other callers, and the loader then ignores LD_PRELOAD"
        ));
    }
    reasons.extend(found.loses_preload.clone());
    if reasons.is_empty() {
        return Ok(None);
    }
    reasons.extend(go(binary));
    Ok(Some(Judgement {
        verdict: Verdict::CannotLoad,
        reasons,
    }))
}

/// A loader that is not the GNU C library's, or is not here.
fn foreign_loader(loader: &[u8], binary: &Binary) -> Option<String> {
    let (shown, name) = (plain(loader), basename(loader));
    if name.starts_with(b"ld-musl")
        || binary
            .needed
            .iter()
            .any(|name| name.starts_with(b"libc.musl"))
    {
        return Some(format!(
            "built for musl ({shown}); the library needs the GNU C library"
        ));
    }
    if !name.starts_with(b"ld-linux") && !name.starts_with(b"ld64") && !name.starts_with(b"ld.so") {
        return Some(format!(
            "its loader {shown} is not that of the GNU C library"
        ));
    }
    (!Path::new(std::ffi::OsStr::from_bytes(loader)).exists())
        .then(|| format!("its loader {shown} is not here"))
}

/// Why a program of Go never passes the library.
pub(crate) fn go(binary: &Binary) -> Option<String> {
    let version = binary.go.as_ref()?;
    let drbg = match version
        .strip_prefix("go1.")
        .and_then(|rest| rest.split('.').next()?.parse::<u32>().ok())
    {
        Some(minor) if minor >= 24 => {
            "; since 1.24 it has a generator of its own or the kernel's vDSO as well"
        }
        _ => "",
    };
    Some(format!(
        "built by {}: its runtime makes its system calls itself, past the C library{drbg}",
        plain(version)
    ))
}
