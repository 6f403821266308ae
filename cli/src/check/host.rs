//! The kernel's side: what the library will find on this machine, probed, not looked up by version.
//!
//! Promises: every probe leaves nothing behind. `None` means that it could not be told
//! (no /proc), never that it is missing.

use crate::elf::Image;
use core::ffi::{CStr, c_void};
use core::ptr;
use serde::Serialize;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Size of the page that is mapped to ask; smaller than any page, so rounded up by the kernel.
const PAGE: usize = 4096;

/// include/uapi/linux/mman.h, Linux 6.11; not in every libc's headers.
const MAP_DROPPABLE: i32 = 0x08;

/// include/uapi/asm-generic/mman-common.h, Linux 4.14.
const MADV_WIPEONFORK: i32 = 18;

/// No kernel has an advice of this number.
const NONSENSE: i32 = 0x6f70;

/// The vDSO is two to four pages; more is not it.
const MAX_VDSO: u64 = 1 << 20;

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Host {
    /// uname's release.
    pub(crate) kernel: String,
    /// The version of the libc that this command runs with.
    pub(crate) libc: String,
    pub(crate) getrandom: bool,
    pub(crate) vdso_getrandom: Option<bool>,
    pub(crate) wipe_on_fork: bool,
    pub(crate) map_droppable: bool,
    pub(crate) fips: bool,
}

impl Host {
    pub(crate) fn probe() -> Host {
        Host {
            kernel: release(),
            libc: libc_version(),
            getrandom: getrandom(),
            vdso_getrandom: vdso_getrandom(),
            wipe_on_fork: wipe_on_fork(),
            map_droppable: mapped(libc::MAP_ANONYMOUS | MAP_DROPPABLE, |_| true),
            fips: std::fs::read("/proc/sys/crypto/fips_enabled")
                .is_ok_and(|text| text.starts_with(b"1")),
        }
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        let has = |there: bool, what: &str| {
            if there {
                what.to_string()
            } else {
                format!("no {what}")
            }
        };
        let vdso = match self.vdso_getrandom {
            Some(there) => has(there, "getrandom in the vDSO"),
            None => "vDSO unknown (no /proc)".into(),
        };
        format!(
            "Linux {}, libc {}, {}, {vdso}, {}, {}{}",
            self.kernel,
            self.libc,
            has(self.getrandom, "getrandom"),
            has(self.wipe_on_fork, "MADV_WIPEONFORK"),
            has(self.map_droppable, "MAP_DROPPABLE"),
            if self.fips { ", FIPS mode" } else { "" }
        )
    }
}

fn release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    text.map_or_else(
        |_| "unknown".into(),
        |text| crate::output::printable(text.trim()),
    )
}

fn libc_version() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: gnu_get_libc_version(3) returns a constant NUL-terminated string.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        version.to_string_lossy().into_owned()
    }
    #[cfg(not(target_env = "gnu"))]
    "unknown".into()
}

/// By getentropy, which is getrandom(2) and nothing else in every libc that has it.
fn getrandom() -> bool {
    let mut bytes = [0_u8; 16];
    // SAFETY: `bytes` is writable for its length, which is under getentropy's limit.
    unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) == 0 }
}

/// Reads the vDSO through /proc/self/mem, where a bad address is an error and no crash.
fn vdso_getrandom() -> Option<bool> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let Some(line) = maps.lines().find(|line| line.ends_with("[vdso]")) else {
        return Some(false);
    };
    let (from, to) = line.split(' ').next()?.split_once('-')?;
    let (from, to) = (
        u64::from_str_radix(from, 16).ok()?,
        u64::from_str_radix(to, 16).ok()?,
    );
    let len = to.checked_sub(from).filter(|&len| len <= MAX_VDSO)?;
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    File::open("/proc/self/mem")
        .ok()?
        .read_exact_at(&mut bytes, from)
        .ok()?;
    let image = Image::parse(&bytes).ok()?;
    let symbols = image.dynamic_symbols(&image.dynamic()?)?;
    let name = if cfg!(target_arch = "aarch64") {
        b"__kernel_getrandom".as_slice()
    } else {
        b"__vdso_getrandom"
    };
    Some(
        symbols
            .entries
            .iter()
            .any(|symbol| symbols.name(symbol, image.endian, 64) == Some(name)),
    )
}

/// Some emulators accept every advice: then the real one proves nothing.
fn wipe_on_fork() -> bool {
    let advise = |page: *mut c_void, advice| {
        // SAFETY: the page was mapped by `mapped` and is not looked at.
        unsafe { libc::madvise(page, PAGE, advice) == 0 }
    };
    mapped(libc::MAP_ANONYMOUS | libc::MAP_PRIVATE, |page| {
        advise(page, MADV_WIPEONFORK) && !advise(page, NONSENSE)
    })
}

/// Maps a page with these flags, asks, unmaps it. False if it cannot be mapped.
fn mapped(flags: i32, ask: impl Fn(*mut c_void) -> bool) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing of ours.
    let page = unsafe { libc::mmap(ptr::null_mut(), PAGE, access, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return false;
    }
    let answer = ask(page);
    // SAFETY: exactly the mapping made above; nothing points into it.
    unsafe { libc::munmap(page, PAGE) };
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_today_has_a_vdso_and_a_release() {
        let host = Host::probe();
        assert!(
            host.kernel
                .starts_with(|first: char| first.is_ascii_digit()),
            "{host:?}"
        );
        assert!(host.getrandom && host.vdso_getrandom.is_some(), "{host:?}");
        assert!(host.line().starts_with("Linux "));
    }
}
