//! Programs of Go: how they are known, and why the library does nothing for them.

use crate::elf::Image;
use crate::output::printable;

/// The version of Go that built this file, `Go` if it is not told.
///
/// Go marks its programs with a note of its own, and with the version in .go.buildinfo
/// (debug/buildinfo: 14 bytes of magic, flags at 15, from Go 1.18 the text itself at 32).
pub(crate) fn version(image: &Image<'_>) -> Option<String> {
    let notes = image.notes();
    let has_note = notes
        .iter()
        .any(|(owner, kind, _)| owner.starts_with(b"Go") && *kind == 4);
    let section = image.section(".go.buildinfo");
    let info = section.filter(|info| info.starts_with(b"\xff Go buildinf:"));
    if !has_note && info.is_none() && image.section(".gopclntab").is_none() {
        return None;
    }
    let text = info.filter(|info| info.get(15).is_some_and(|flags| flags & 2 != 0));
    let text = text.and_then(|info| info.get(33..)?.get(..usize::from(*info.get(32)?)));
    let version = text.and_then(|text| core::str::from_utf8(text).ok());
    Some(
        version
            .filter(|text| text.starts_with("go"))
            .unwrap_or("Go")
            .into(),
    )
}

/// Why what was built by this version never passes the library.
pub(crate) fn reason(version: &str) -> String {
    let minor = version
        .strip_prefix("go1.")
        .and_then(|rest| rest.split('.').next());
    let is_recent = minor
        .and_then(|minor| minor.parse().ok())
        .is_some_and(|minor: u32| minor >= 24);
    let generator = match is_recent {
        true => "; since 1.24 it has a generator of its own or the kernel's vDSO as well",
        false => "",
    };
    let version = printable(version);
    format!(
        "built by {version}: its runtime makes its system calls itself, past the C library{generator}"
    )
}
