//! The kernel's bytes, for callers that have no error return.
//!
//! Promises: [`fill`] waits for the kernel's generator to be seeded, then always
//! succeeds, or ends the process with one line when getrandom and the device
//! are both refused, as glibc's arc4random does. Must never be reached for a
//! caller that has an error return.

use crate::diagnostics;
use crate::sys::{self, Errno, kernel_call};

/// Fills `dest` from the kernel.
///
/// # Safety
/// `dest` is writable for `len`.
pub(crate) unsafe fn fill(dest: *mut u8, len: usize) {
    let mut done = 0;
    while done < len {
        // SAFETY: within `dest`.
        match unsafe { sys::getrandom(dest.add(done).cast(), len - done, 0) } {
            Ok(got) => done += got,
            Err(Errno(libc::EINTR)) => {}
            Err(_) => {
                // SAFETY: as above.
                unsafe { from_device(dest.add(done), len - done) };
                return;
            }
        }
    }
}

/// # Safety
/// As [`fill`].
#[cold]
unsafe fn from_device(dest: *mut u8, len: usize) {
    let mut done = 0;
    if let Ok(fd) = sys::open(
        c"/dev/urandom",
        libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW,
    ) {
        let device = sys::identity(fd).is_ok_and(|identity| identity.is_urandom());
        while device && done < len {
            // SAFETY: within `dest`.
            match unsafe { kernel_call!(SYS_read, fd, dest.add(done), len - done) } {
                Ok(0) => break,
                Ok(got) => done += got,
                Err(Errno(libc::EINTR)) => {}
                Err(_) => break,
            }
        }
        sys::close(fd);
    }
    if done < len {
        diagnostics::line(
            b"ownpool: neither getrandom nor /dev/urandom gives random bytes; ending the process\n",
        );
        sys::die();
    }
}
