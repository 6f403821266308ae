//! Each call from every place of a program.
//!
//! Settles: main, thread, constructor, destructor, .preinit_array, signal handler
//! on a small alternate stack, children of fork and vfork, exit handlers, thread
//! destructors that run after the library's own, threads with small stacks,
//! constructors of other libraries, a malloc that draws, and a late dlopen; callers
//! whose stack is not aligned; and that a stack can be unwound from anywhere within.
//! Odds: 2^-105 (`tests/c/frames.c`), 2^-87 (`tests/c/misaligned.c`).
use ownpool_tests::support;
use ownpool_tests::support::{Place, bare, compile_c_as, preloaded, succeeds};

const FRAMES: &str = "main thread small_thread smallest_thread constructor destructor preinit \
                      signal_handler fork_child vfork_child atexit on_exit quick_exit \
                      tls_destructor";

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
    let place = Place::new();
    let program = place.compile("frames", &["-Wl,-z,now"]);
    for frame in FRAMES.split(' ') {
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
    let place = Place::new();
    let program = place.compile("drawing_malloc", &["-fno-builtin"]);
    assert_eq!(succeeds(&mut bare(&program)), "malloc ok\n");
    for test in ["", "wipe", "novdso"] {
        let mut command = preloaded(&program);
        assert_eq!(succeeds(command.env("OWNPOOL_TEST", test)), "malloc ok\n");
    }
}

#[test]
fn libraries_that_draw_when_they_are_loaded_and_unloaded() {
    let place = Place::new();
    let library = place.compile("early_library", &["-shared", "-fPIC"]);
    let link = [
        "-DLINKED",
        library.to_str().unwrap(),
        &format!("-Wl,-rpath,{}", place.path().display()),
    ];
    let linked = compile_c_as(place.path(), "linked", "needs_library", &link);
    let loads = compile_c_as(place.path(), "loads", "needs_library", &[]);
    let once = "library constructor\nlibrary\nlibrary destructor\n";
    assert_eq!(succeeds(&mut bare(&linked)), once);
    for kind in KINDS {
        let mut command = preloaded(&linked);
        assert_eq!(succeeds(command.envs(kind.iter().copied())), once);
        let mut command = preloaded(&loads);
        command.arg(&library).envs(kind.iter().copied());
        assert_eq!(succeeds(&mut command), once.repeat(2), "{kind:?}");
    }
}

#[test]
fn a_program_that_loads_the_library_itself() {
    let place = Place::new();
    let program = place.compile("loads_late", &[]);
    for test in ["", "wipe", "novdso", "kat"] {
        let mut command = bare(&program);
        command.arg(support::library()).env("OWNPOOL_TEST", test);
        assert_eq!(succeeds(&mut command), "ok\n", "{test}");
    }
}

#[test]
fn callers_whose_stack_is_not_aligned() {
    let place = Place::new();
    let program = place.compile("misaligned", &[]);
    assert_eq!(succeeds(&mut bare(&program)), "ok, moved 0\n");
    for mode in ["auto", "always", "observe", "vdso"] {
        for test in ["", "wipe", "novdso"] {
            let mut command = preloaded(&program);
            command.env("OWNPOOL_MODE", mode).env("OWNPOOL_TEST", test);
            let printed = succeeds(&mut command);
            // Whether `vdso` moves a thread depends on the kernel.
            if mode != "vdso" {
                let moves = u8::from(mode != "observe");
                assert_eq!(printed, format!("ok, moved {moves}\n"), "{mode} {test}");
            }
        }
    }
}

#[test]
fn every_instruction_can_be_unwound_from() {
    let place = Place::new();
    let arguments = ["-fno-omit-frame-pointer", "-Wl,-z,now"];
    let program = place.compile("unwinding", &arguments);
    assert_eq!(succeeds(&mut bare(&program)), "ok, cleaned 1\n");
    for test in ["", "wipe", "novdso"] {
        let mut command = preloaded(&program);
        command.env("OWNPOOL_TEST", test);
        assert_eq!(succeeds(&mut command), "ok, cleaned 1\n", "{test}");
    }
}
