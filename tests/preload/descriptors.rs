//! No descriptor that is not urandom ever yields a random byte, however it came by its
//! number, and no urandom ever yields a stale one.
//!
//! `tests/c/descriptors.c` makes a number that was urandom into something else, in every
//! way there is (hooked, unhooked, inside libc, by an inline system call, by io_uring, in
//! another process or thread, from another libc), reads it in every form, and makes it
//! urandom again. Random bytes are told from others with odds below 2^-64 in all.
use ownpool_tests::support;
use ownpool_tests::support::{
    Place, bare, compile_c_as, number_after, preloaded, preloaded_with, prints,
};

/// Programs are built once; each mode then runs all combinations of way, kind and form.
#[test]
fn a_number_is_what_the_kernel_has_there_now() {
    let place = Place::new();
    let descriptors = place.compile("descriptors", &["-lutil", "-ldl"]);
    let plugin = compile_c_as(place.path(), "plugin.so", "plugin", &["-shared", "-fPIC"]);

    // Bare first: the program is right about plain Linux, and its detector of hooks too.
    let printed = prints(bare(&descriptors).arg(&plugin));
    let combinations = combinations_in(&printed);
    assert!(printed.contains("hook absent, 0 served"), "{printed}");
    assert!(combinations > 1900, "{printed}");

    for mode in ["auto", "always", "vdso", "observe", "off"] {
        let printed = prints(preloaded_with(&descriptors, &[("OWNPOOL_MODE", mode)]).arg(&plugin));
        assert_eq!(combinations_in(&printed), combinations, "{mode}: {printed}");
        assert!(printed.contains("hook present"), "{mode}: {printed}");
        let served = number_after(&printed, "hook present,");
        // Before each change and after each return two reads are served; the program
        // checks that itself, except where another thread may have cleared the hint.
        if matches!(mode, "observe" | "off") {
            assert_eq!(served, 0, "{mode}");
        } else {
            assert!(served >= 4 * (combinations - 12), "{mode}: {printed}");
        }
    }
}

#[test]
fn a_urandom_that_is_only_written_to_refuses() {
    let place = Place::new();
    let program = place.compile("write_only", &[]);
    let device = || {
        let mut options = std::fs::File::options();
        options
            .write(true)
            .open("/dev/urandom")
            .expect("the device")
    };
    let printed = support::ran(support::bare(&program).stdin(device()));
    assert_eq!((printed.status, printed.stderr), (0, "ok\n".into()));
    for mode in ["auto", "always", "vdso", "observe"] {
        let mut command = preloaded(&program);
        command.env("OWNPOOL_MODE", mode).stdin(device());
        let printed = support::ran(&mut command);
        assert_eq!(
            (printed.status, printed.stderr),
            (0, "ok\n".into()),
            "{mode}"
        );
    }
}

fn combinations_in(printed: &str) -> u64 {
    printed
        .split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .expect("the count of combinations")
}

/// A thread that swaps what a number is, and one that reads it.
#[test]
fn a_swap_by_another_thread_counts_from_its_end_on() {
    let place = Place::new();
    let race = place.compile("race", &["-ldl"]);
    let printed = prints(bare(&race).arg("20"));
    assert!(printed.contains("hook absent, served 0"), "{printed}");
    for mode in ["auto", "always", "vdso"] {
        let printed = prints(preloaded_with(&race, &[("OWNPOOL_MODE", mode)]).arg("60"));
        assert!(printed.contains("hook present"), "{mode}: {printed}");
        assert!(
            number_after(&printed, "random") > 100 && number_after(&printed, "file") > 100,
            "{mode}: {printed}"
        );
        assert!(number_after(&printed, "served") > 100, "{mode}: {printed}");
    }
}

/// Names that sound random, numbers too high for a hint, handlers within reads.
#[test]
fn decoys_are_what_they_are() {
    let place = Place::new();
    let decoys = place.compile("decoys", &["-ldl"]);
    for mode in [None, Some("always"), Some("vdso"), Some("observe")] {
        let place = Place::new();
        let mut command = match mode {
            None => bare(&decoys),
            Some(mode) => preloaded_with(&decoys, &[("OWNPOOL_MODE", mode)]),
        };
        let printed = prints(command.current_dir(place.path()));
        let (hook, serves) = match mode {
            None => ("hook absent", false),
            Some("observe") => ("hook present", false),
            Some(_) => ("hook present", true),
        };
        assert!(printed.contains(hook), "{mode:?}: {printed}");
        assert_eq!(
            number_after(&printed, "served") > 1000,
            serves,
            "{mode:?}: {printed}"
        );
    }
}
