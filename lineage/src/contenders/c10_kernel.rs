//! C10: the kernel's answer for every word, and for every read: getrandom by system call. Inside the
//! kernel this was `get_random_bytes`; from here the crossing is paid as well.
//!
//! Promises: the raw instruction, so that nothing that stands in front of libc is measured instead.

use super::{Cpu, Ints, Pool};
use ownpool_measure::syscall::raw;

/// getrandom(2) into `dest` until it is full.
#[inline(always)]
pub(crate) fn getrandom(dest: &mut [u8]) {
    let mut done = 0;
    while done < dest.len() {
        let rest = &mut dest[done..];
        let address = rest.as_mut_ptr().expose_provenance();
        // SAFETY: the call writes at most `rest.len()` bytes to `rest`.
        let result = unsafe { raw(libc::SYS_getrandom, address, rest.len(), 0) };
        // Up to 256 bytes come whole; longer reads stop at a signal and are taken up again.
        assert!(result > 0, "getrandom: error {}", -result);
        done += result as usize;
    }
}

/// N fresh bytes from the kernel.
pub(crate) fn fresh<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom(&mut bytes);
    bytes
}

/// The kernel, by system call.
pub(crate) struct Kernel;

impl Ints for Kernel {
    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(fresh())
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(fresh())
    }
}

impl Pool for Kernel {
    type Reader = ();

    fn reader(&self, _cpu: Cpu) {}

    fn read(&self, _reader: &mut (), dest: &mut [u8]) {
        getrandom(dest);
    }
}
