//! Sandboxes: has this process confined itself, or was it born confined?
//!
//! Promises: once the program has asked for seccomp or for user dispatch, no system call is made that
//! the program did not ask for itself; under a filter that was in force at exec,
//! only calls that the dynamic loader and malloc make too (mmap, madvise,
//! getrandom, and libc's form of fstat and open). Must never undo a confinement
//! or keep a program from one.

use crate::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// Whether the program has confined itself; `hooks/syscall` writes it too.
pub(crate) static CONFINED: AtomicBool = AtomicBool::new(false);

/// What /proc/self/status said of filters: one of the three below.
static INHERITED: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NONE: u8 = 1;
const SOME: u8 = 2;

/// Linux 5.11; not in every libc: system calls from outside a range of code become signals.
pub(crate) const PR_SET_SYSCALL_USER_DISPATCH: c_int = 59;

/// Whether this prctl(2) confines the process.
pub(crate) fn confines(option: c_int) -> bool {
    matches!(option, libc::PR_SET_SECCOMP | PR_SET_SYSCALL_USER_DISPATCH)
}

/// The program is about to confine itself. Kept before the call, for the whole
/// process (threads may be synchronized into the filter), and kept if the call
/// fails: a needless step aside costs speed, a missed one can kill the process.
pub(crate) fn note_confinement() {
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
    // proc_pid_status(5): "Seccomp:" since Linux 3.8; 0 is disabled. What cannot be read, or
    // has no such line, is taken for a yes.
    const KEY: &[u8] = b"\nSeccomp:\t";
    let (mut matched, mut mode) = (0, None);
    let read = sys::read_bytes(c"/proc/self/status", |byte| {
        if matched == KEY.len() {
            mode = Some(byte);
            return false;
        }
        // The key's first byte comes once in it: a mismatch starts anew.
        let fits = KEY.get(matched) == Some(&byte);
        matched = if fits {
            matched + 1
        } else {
            usize::from(byte == b'\n')
        };
        true
    });
    let filtered = read.is_err() || mode != Some(b'0');
    INHERITED.store(if filtered { SOME } else { NONE }, Relaxed);
    filtered
}
