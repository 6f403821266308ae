//! Sandboxes: has this process confined itself, or was it born confined?
//!
//! Promises: once the program has asked for seccomp, no system call is made that
//! the program did not ask for itself; under a filter that was in force at exec,
//! only calls that the dynamic loader and malloc make too (mmap, madvise,
//! getrandom, and libc's form of fstat and open). Must never undo a confinement
//! or keep a program from one.

use crate::sys;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// Whether the program has confined itself; `hooks/syscall` writes it too.
pub(crate) static CONFINED: AtomicBool = AtomicBool::new(false);

/// What /proc/self/status said of filters: one of the three below.
static INHERITED: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NONE: u8 = 1;
const SOME: u8 = 2;

/// The program is about to confine itself. Kept before the call, for the whole
/// process (threads may be synchronized into the filter), and kept if the call
/// fails: stepping aside for nothing costs speed, the other way round a life.
pub(crate) fn confines_itself() {
    CONFINED.store(true, Relaxed);
}

/// Whether the program has confined itself.
#[inline]
pub(crate) fn confined() -> bool {
    CONFINED.load(Relaxed)
}

/// Whether a filter was in force when the program started. Looks once, and takes
/// what it cannot read for a yes.
#[inline]
pub(crate) fn inherited() -> bool {
    match INHERITED.load(Relaxed) {
        NONE => false,
        SOME => true,
        _ => look(),
    }
}

#[cold]
fn look() -> bool {
    // proc_pid_status(5): "Seccomp:" since Linux 3.8; 0 is disabled. The line
    // stands within the first 1,200 bytes; a kernel without it has no seccomp.
    let mut status = [0; 1536];
    let filtered = match sys::read_file(c"/proc/self/status", &mut status) {
        Ok(len) => {
            let status = status.get(..len).unwrap_or_default();
            let key = b"\nSeccomp:\t";
            let mode = status
                .windows(key.len() + 1)
                .find(|window| window.starts_with(key))
                .and_then(<[u8]>::last);
            mode.is_none_or(|&mode| mode != b'0')
        }
        Err(_) => true,
    };
    INHERITED.store(if filtered { SOME } else { NONE }, Relaxed);
    filtered
}
