//! Each C program runs bare and preloaded: same returns, lengths, errno, exit.
//!
//! Settles: what a program can see of the getrandom family is the same with the
//! library as without it, in every mode, on a thread that has been moved, for
//! arguments that only the kernel may judge as well. Odds of a
//! false alarm stand in the programs: less than 2^-88 in all.
use ownpool_tests::support;
use ownpool_tests::support::{Place, bare, preloaded, ran, succeeds};
use std::path::Path;
use std::process::Command;

/// Kinds of state, and modes: name of a setting and its value.
const KINDS: &[&[(&str, &str)]] = &[
    &[("MOVED", "1")],
    &[("MOVED", "1"), ("OWNPOOL_MODE", "always")],
    &[("MOVED", "1"), ("OWNPOOL_TEST", "wipe")],
    &[("MOVED", "1"), ("OWNPOOL_TEST", "novdso")],
    &[("MOVED", "1"), ("OWNPOOL_RESEED_BYTES", "1G")],
    &[("OWNPOOL_MODE", "vdso")],
    &[("OWNPOOL_MODE", "observe")],
    &[("OWNPOOL_MODE", "off")],
    &[("OWNPOOL_TEST", "kat")],
];

fn twins(program: &Path) {
    let alone = ran(&mut bare(program));
    assert!(alone.stdout.lines().count() > 0, "{alone:?}");
    assert_eq!(alone.stderr, "");
    for kind in KINDS {
        let mut command: Command = preloaded(program);
        command.envs(kind.iter().copied());
        let with = ran(&mut command);
        for (line, (with, alone)) in with.stdout.lines().zip(alone.stdout.lines()).enumerate() {
            assert_eq!(with, alone, "{kind:?}, line {}", line + 1);
        }
        assert_eq!(with, alone, "{kind:?}");
    }
}

#[test]
fn odd_arguments_give_the_same_answers() {
    let place = Place::new();
    let program = place.compile("twins", &["-Wno-nonnull", "-Wno-stringop-overflow"]);
    assert_eq!(ran(&mut bare(&program)).status, 42);
    twins(&program);
}

#[test]
fn a_program_keeps_its_own_functions_of_these_names() {
    let place = Place::new();
    let program = place.compile("own_symbol", &[]);
    assert_eq!(succeeds(&mut bare(&program)), "own calls 1\n");
    assert_eq!(succeeds(&mut preloaded(&program)), "own calls 1\n");
}

#[test]
fn another_library_in_front_of_getrandom_keeps_its_place() {
    let place = Place::new();
    let shim = place.compile("shim", &["-shared", "-fPIC"]);
    let program = place.compile("draws", &[]);
    let (ours, theirs) = (support::library(), shim);
    let shim_sees = |order: [&Path; 2]| {
        let mut command = preloaded(&program);
        command.args(["many", "1000"]).env("OWNPOOL_RATE", "1");
        command.env(
            "LD_PRELOAD",
            format!("{}:{}", order[0].display(), order[1].display()),
        );
        succeeds(&mut command)
    };
    // Behind us: it is the real function, for the calls that are left to it.
    assert_eq!(shim_sees([&ours, &theirs]), "shim 128\n");
    // In front of us: it sees them all, and we answer most of what it hands on.
    assert_eq!(shim_sees([&theirs, &ours]), "shim 1000\n");
}
