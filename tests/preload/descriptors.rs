//! No descriptor that is not urandom ever yields a random byte, however it came by its
//! number, and no urandom ever yields a stale one.
//!
//! `tests/c/descriptors.c` makes a number that was urandom into something else, in every
//! way there is (hooked, unhooked, inside libc, by an inline system call, by io_uring, in
//! another process or thread, from another libc), reads it in every form, and makes it
//! urandom again. Random bytes are told from others with odds below 2^-64 in all.
use ownpool_tests::support;
use ownpool_tests::support::{
    Place, bare, compile_c_as, number_after, preloaded, preloaded_with, says,
};
/// Programs are built once; each mode then runs all combinations of way, kind and form.
#[test]
fn a_number_is_what_the_kernel_says_it_is_now() {
    let place = Place::new();
    let descriptors = place.compile("descriptors", &["-lutil", "-ldl"]);
    let plugin = compile_c_as(place.path(), "plugin.so", "plugin", &["-shared", "-fPIC"]);

    // Bare first: the program is right about plain Linux, and its detector of hooks too.
    let said = says(bare(&descriptors).arg(&plugin));
    let combinations = said_combinations(&said);
    assert!(said.contains("hook absent, 0 served"), "{said}");
    assert!(combinations > 1900, "{said}");

    for mode in ["auto", "always", "vdso", "observe", "off"] {
        let said = says(preloaded_with(&descriptors, &[("OWNPOOL_MODE", mode)]).arg(&plugin));
        assert_eq!(said_combinations(&said), combinations, "{mode}: {said}");
        assert!(said.contains("hook present"), "{mode}: {said}");
        let served = number_after(&said, "hook present,");
        // Before each change and after each return two reads are served; the program
        // itself insists on that, wherever nobody else can have cleared the hint.
        if matches!(mode, "observe" | "off") {
            assert_eq!(served, 0, "{mode}");
        } else {
            assert!(served >= 4 * (combinations - 12), "{mode}: {said}");
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
    let said = support::ran(support::bare(&program).stdin(device()));
    assert_eq!((said.status, said.stderr), (0, "ok\n".into()));
    for mode in ["auto", "always", "vdso", "observe"] {
        let mut command = preloaded(&program);
        command.env("OWNPOOL_MODE", mode).stdin(device());
        let said = support::ran(&mut command);
        assert_eq!((said.status, said.stderr), (0, "ok\n".into()), "{mode}");
    }
}

fn said_combinations(said: &str) -> u64 {
    said.split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .expect("the count of combinations")
}

/// A thread that swaps what a number is, and one that reads it.
#[test]
fn a_swap_by_another_thread_counts_from_its_end_on() {
    let place = Place::new();
    let race = place.compile("race", &["-ldl"]);
    let said = says(bare(&race).arg("20"));
    assert!(said.contains("hook absent, served 0"), "{said}");
    for mode in ["auto", "always", "vdso"] {
        let said = says(preloaded_with(&race, &[("OWNPOOL_MODE", mode)]).arg("60"));
        assert!(said.contains("hook present"), "{mode}: {said}");
        assert!(
            number_after(&said, "random") > 100 && number_after(&said, "file") > 100,
            "{mode}: {said}"
        );
        assert!(number_after(&said, "served") > 100, "{mode}: {said}");
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
        let said = says(command.current_dir(place.path()));
        let (hook, serves) = match mode {
            None => ("hook absent", false),
            Some("observe") => ("hook present", false),
            Some(_) => ("hook present", true),
        };
        assert!(said.contains(hook), "{mode:?}: {said}");
        assert_eq!(
            number_after(&said, "served") > 1000,
            serves,
            "{mode:?}: {said}"
        );
    }
}
