//! Programs that start with more rights than their caller: AT_SECURE, and no preload.
//!
//! The loader ignores an LD_PRELOAD with slashes in such programs, and the library stays off
//! in them. The kernel decides at exec, from the file and the caller together; what is told
//! here is what the file does for the callers that it was made for.

use rustix::fs::{StatVfsMountFlags, getxattr_query, statvfs};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why the kernel starts this file in secure mode, if it does.
pub(crate) fn cause(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let mode = metadata.mode();
    let cause = if mode & libc::S_ISUID != 0 {
        format!("set-user-id (owner {})", metadata.uid())
    // Without group execution the bit once meant mandatory locking, and gives nothing.
    } else if mode & libc::S_ISGID != 0 && mode & libc::S_IXGRP != 0 {
        format!("set-group-id (group {})", metadata.gid())
    } else if getxattr_query(path, "security.capability").is_ok_and(|len| len > 0) {
        "has file capabilities".into()
    } else {
        return None;
    };
    // On such a mount neither the bits nor capabilities count.
    let is_nosuid =
        statvfs(path).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOSUID));
    (!is_nosuid).then_some(cause)
}
