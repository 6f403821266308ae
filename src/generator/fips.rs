//! Is this host in FIPS mode? Then the kernel's validated generator answers, not ours.
//!
//! Promises: in doubt it is. Must never be asked after the constructor: a chroot or a full
//! table of descriptors may hide the answer then.

use super::self_test::{Verdict, rule_out};
use crate::sys;

/// Asks, once. Only a clear no counts, which is a 0 in the file, or no file in a /proc/sys
/// that is really there.
pub(crate) fn ask_fips() {
    let mut answer = [0; 1];
    let clear_no = match sys::read_file(c"/proc/sys/crypto/fips_enabled", &mut answer) {
        Ok(1) => answer == *b"0",
        Err(sys::Errno(libc::ENOENT)) => {
            sys::read_file(c"/proc/sys/kernel/osrelease", &mut answer) == Ok(1)
        }
        _ => false,
    };
    if !clear_no {
        rule_out(Verdict::Fips);
    }
}
