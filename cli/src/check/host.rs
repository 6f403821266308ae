//! The kernel's side: what the library will find on this machine, probed, not looked up by version.
//!
//! Promises: every probe leaves nothing behind.

use crate::output::printable;
use core::ffi::{CStr, c_void};
use core::ptr;
use ownpool_core::wipe_on_fork;
use ownpool_measure::vdso;
use serde::Serialize;

/// Size of the page that is mapped to ask; smaller than any page, so rounded up by the kernel.
const PAGE: usize = 4096;

/// include/uapi/linux/mman.h, Linux 6.11; not in every libc's headers.
const MAP_DROPPABLE: i32 = 0x08;

/// What the vDSO calls its getrandom.
const VDSO_GETRANDOM: &str = match cfg!(target_arch = "aarch64") {
    true => "__kernel_getrandom",
    false => "__vdso_getrandom",
};

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Host {
    /// uname's release.
    pub(crate) kernel: String,
    /// The version of the libc that this command runs with.
    pub(crate) libc: String,
    pub(crate) getrandom: bool,
    pub(crate) vdso_getrandom: bool,
    pub(crate) wipe_on_fork: bool,
    pub(crate) map_droppable: bool,
    pub(crate) fips: bool,
}

impl Host {
    pub(crate) fn probe() -> Host {
        Host {
            kernel: printable(rustix::system::uname().release().to_bytes()),
            libc: libc_version(),
            getrandom: getrandom(),
            vdso_getrandom: vdso::address(VDSO_GETRANDOM).is_some(),
            wipe_on_fork: wipes_on_fork(),
            map_droppable: mapped(libc::MAP_ANONYMOUS | MAP_DROPPABLE, |_| true),
            fips: std::fs::read("/proc/sys/crypto/fips_enabled")
                .is_ok_and(|text| text.starts_with(b"1")),
        }
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        let parts = [
            (self.getrandom, "getrandom"),
            (self.vdso_getrandom, "getrandom in the vDSO"),
            (self.wipe_on_fork, "MADV_WIPEONFORK"),
            (self.map_droppable, "MAP_DROPPABLE"),
        ];
        let parts = parts.map(|(is_here, what)| match is_here {
            true => what.to_owned(),
            false => format!("no {what}"),
        });
        let fips = if self.fips { ", FIPS mode" } else { "" };
        format!(
            "Linux {}, libc {}, {}{fips}",
            self.kernel,
            self.libc,
            parts.join(", ")
        )
    }
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

fn wipes_on_fork() -> bool {
    mapped(libc::MAP_ANONYMOUS | libc::MAP_PRIVATE, |page| {
        wipe_on_fork::make(|advice| {
            // SAFETY: the page was mapped by `mapped` and is not looked at.
            match unsafe { libc::madvise(page, PAGE, advice) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
            }
        })
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
    fn a_kernel_of_today_has_getrandom_and_a_release() {
        let host = Host::probe();
        let starts_with_digit = host
            .kernel
            .starts_with(|first: char| first.is_ascii_digit());
        assert!(starts_with_digit && host.getrandom, "{host:?}");
        assert!(host.line().starts_with("Linux "));
    }
}
