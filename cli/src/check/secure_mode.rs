//! Programs that start with more rights than their caller: AT_SECURE, and no preload.
//!
//! The loader ignores an LD_PRELOAD with slashes in such programs, and the library stays off
//! in them. The kernel decides at exec, from the file and the caller together; what is told
//! here is what the file does for the callers that it was made for.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why the kernel starts this file in secure mode, if it does.
pub(crate) fn gained(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let mode = metadata.mode();
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    let what = if mode & libc::S_ISUID != 0 {
        format!("set-user-id (owner {})", metadata.uid())
    // Without group execution the bit once meant mandatory locking, and gives nothing.
    } else if mode & libc::S_ISGID != 0 && mode & libc::S_IXGRP != 0 {
        format!("set-group-id (group {})", metadata.gid())
    } else if has_capabilities(&name) {
        "has file capabilities".into()
    } else {
        return None;
    };
    (!is_nosuid(&name)).then_some(what)
}

fn has_capabilities(path: &CString) -> bool {
    // SAFETY: both names are NUL-terminated; a size of 0 asks for the length alone.
    unsafe {
        libc::getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            core::ptr::null_mut(),
            0,
        ) > 0
    }
}

/// Mounted so that neither the bits nor capabilities count.
fn is_nosuid(path: &CString) -> bool {
    // SAFETY: all-zero bytes are a valid statvfs; it is only written to.
    let mut about: libc::statvfs = unsafe { core::mem::zeroed() };
    // SAFETY: `path` is NUL-terminated and `about` is writable.
    let asked = unsafe { libc::statvfs(path.as_ptr(), &raw mut about) };
    asked == 0 && about.f_flag & libc::ST_NOSUID != 0
}
