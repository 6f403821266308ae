//! Twelve seconds under fire, in every kind of page: draws of all sizes in three threads,
//! a 100 us timer signal in each whose handler draws and forks, and the state pages dropped
//! all the while. What is checked, and at which odds, stands in `tests/c/fire.c`.
use ownpool_tests::support::{self, Place, Ran, number_after, ran};
use std::path::Path;
use std::process::Command;

/// Seconds of each of the four runs.
const SECONDS: &str = "3";

fn fire(library: &Path, settings: &[(&str, &str)], advice: &str) -> Ran {
    let place = Place::new();
    let program = place.compile("fire", &["-O2"]);
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60"]).arg(program);
    command.args([SECONDS, advice]).env("LD_PRELOAD", library);
    command.env("OWNPOOL_MODE", "always");
    ran(command.envs(settings.iter().copied()))
}

fn stands(settings: &[(&str, &str)], advice: &str) {
    let done = fire(&support::library(), settings, advice);
    assert_eq!(done.status, 0, "{settings:?} {advice}: {done:?}");
    println!("{done:?}");
    // The library was there, the threads had pages, and there was fire.
    let count = |word| number_after(&done.stdout, word);
    assert_eq!(count("pages"), 3, "{done:?}");
    for word in ["signals", "forks", "returned", "jumped", "drops", "blocks"] {
        assert!(count(word) >= 100, "{done:?}");
    }
}

const HUGE: (&str, &str) = ("OWNPOOL_RESEED_BYTES", "1G");

#[test]
fn droppable_pages_stand_being_dropped() {
    stands(&[HUGE], "dontneed");
}

#[test]
fn droppable_pages_stand_memory_pressure() {
    stands(&[], "pageout");
}

#[test]
fn wiped_pages_stand_being_dropped() {
    stands(&[HUGE, ("OWNPOOL_TEST", "wipe")], "dontneed");
}

#[test]
fn pages_without_the_vdso_stand_being_dropped() {
    stands(&[HUGE, ("OWNPOOL_TEST", "novdso")], "dontneed");
}

/// A library that has only pages that are wiped does not.
#[test]
fn a_simple_library_does_not_stand_it() {
    let place = Place::new();
    let arguments = ["-O2", "-shared", "-fPIC"];
    let library = support::compile_c_as(place.path(), "naive.so", "naive", &arguments);
    let done = fire(&library, &[], "dontneed");
    let found = ["zeros", "came before"].map(|what| done.stderr.contains(what));
    assert!(done.status == 1 && found.contains(&true), "{done:?}");
}
