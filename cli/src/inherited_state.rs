//! What our parent gave us and the program is to get unchanged.
//!
//! Before `main`, Rust's runtime ignores SIGPIPE and opens /dev/null on whichever of the
//! descriptors 0, 1 and 2 was closed; its `exec` then sets SIGPIPE to the default. Under
//! systemd SIGPIPE is ignored from the start (IgnoreSIGPIPE=yes), so a service run
//! through us would suddenly die of it. So the state is recorded before the runtime starts,
//! and put back right before the exec.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// SIGPIPE was ignored when we were started.
static IGNORED: AtomicBool = AtomicBool::new(false);

/// Bit n: descriptor n was closed when we were started.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Runs before the runtime: the loader calls what stands in this section before `main`,
/// and `main` is where Rust's runtime begins. What stands there must be a C function.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD: extern "C" fn() = record;

extern "C" fn record() {
    // SAFETY: all-zero bytes are a valid sigaction; it is only written to.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: a null new action asks only, and `action` is writable for the old one.
    let asked = unsafe { libc::sigaction(libc::SIGPIPE, core::ptr::null(), &raw mut action) };
    IGNORED.store(asked == 0 && action.sa_sigaction == libc::SIG_IGN, Relaxed);
    for descriptor in 0..3 {
        // SAFETY: F_GETFD only asks, whatever the number stands for.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Relaxed);
        }
    }
}

/// Has this command start its program with the state that [`record`] saw.
pub(crate) fn restore_in(command: &mut Command) {
    // SAFETY: the function makes async-signal-safe calls alone, and touches no memory of ours.
    unsafe { command.pre_exec(restore) };
}

/// Standard error may be closed by it, so nothing can be said afterwards.
fn restore() -> std::io::Result<()> {
    if IGNORED.load(Relaxed) {
        // SAFETY: SIG_IGN is a valid disposition for SIGPIPE and replaces no handler of ours.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    for descriptor in 0..3 {
        if CLOSED.load(Relaxed) & (1 << descriptor) != 0 {
            // SAFETY: the runtime opened this number onto /dev/null; nothing of ours owns it.
            unsafe { libc::close(descriptor) };
        }
    }
    Ok(())
}
