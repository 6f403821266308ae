//! Each call from every place of a program.
//!
//! Settles: main, thread, constructor, destructor, .preinit_array, signal handler
//! on a small alternate stack, children of fork and vfork, exit handlers, thread
//! destructors that run after the library's own, threads with small stacks, and
//! a malloc that draws. `tests/c/frames.c` says its odds: 2^-105.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod support;

use support::{bare, compile_c, preloaded, succeeds};

const FRAMES: &[&str] = &[
    "main",
    "thread",
    "small_thread",
    "smallest_thread",
    "constructor",
    "destructor",
    "preinit",
    "signal_handler",
    "fork_child",
    "vfork_child",
    "atexit",
    "on_exit",
    "quick_exit",
    "tls_destructor",
];

const KINDS: &[&[(&str, &str)]] = &[
    &[],
    &[("OWNPOOL_MODE", "always")],
    &[("OWNPOOL_MODE", "vdso")],
    &[("OWNPOOL_MODE", "observe")],
    &[("OWNPOOL_TEST", "wipe")],
    &[("OWNPOOL_TEST", "novdso")],
    &[("OWNPOOL_RESEED_BYTES", "1G"), ("OWNPOOL_MODE", "always")],
];

#[test]
fn every_entry_works_in_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_c(folder.path(), "frames", &[]);
    for frame in FRAMES {
        let wanted = format!("{frame} ok\n");
        assert_eq!(succeeds(bare(&program).env("FRAME", frame)), wanted);
        for kind in KINDS {
            let mut command = preloaded(&program);
            command.env("FRAME", frame).envs(kind.iter().copied());
            assert_eq!(succeeds(&mut command), wanted, "{frame} {kind:?}");
        }
    }
}

#[test]
fn a_malloc_that_draws() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_c(folder.path(), "drawing_malloc", &["-fno-builtin"]);
    assert_eq!(succeeds(&mut bare(&program)), "malloc ok\n");
    for test in ["", "wipe", "novdso"] {
        let mut command = preloaded(&program);
        assert_eq!(succeeds(command.env("OWNPOOL_TEST", test)), "malloc ok\n");
    }
}
