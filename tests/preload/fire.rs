//! Twelve seconds under fire, in every kind of page: draws of all sizes in three threads,
//! a 100 us timer signal in each whose handler draws and forks, and the state pages dropped
//! all the while. What is checked, and at which odds, stands in `tests/c/fire.c`.
use core::time::Duration;
use ownpool_tests::support;
use ownpool_tests::support::Place;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

/// Seconds of each of the four runs.
const SECONDS: &str = "3";

fn fire(library: &Path, settings: &[(&str, &str)], advice: &str) -> Output {
    let place = Place::new();
    let program = place.compile("fire", &["-O2"]);
    let started = Instant::now();
    let mut child = Command::new("timeout")
        .args(["-s", "KILL", "60"])
        .arg(program)
        .args([SECONDS, advice])
        .env("LD_PRELOAD", library)
        .env("OWNPOOL_MODE", "always")
        .envs(settings.iter().copied())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let _ = child.stdin.take();
    let output = child.wait_with_output().expect("and ends");
    assert!(started.elapsed() < Duration::from_secs(60), "it hangs");
    output
}

fn stands(settings: &[(&str, &str)], advice: &str) {
    let output = fire(&support::library(), settings, advice);
    let said = format!(
        "{settings:?} {advice}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{:?} {said}", output.status);
    println!("{said}");
    let count = |word: &str| -> u64 {
        let mut words = said.split_whitespace();
        words.find(|&found| found == word);
        words
            .next()
            .and_then(|number| number.parse().ok())
            .expect("a count")
    };
    // The library was there, the threads had pages, and there was fire.
    assert_eq!(count("pages"), 3, "{said}");
    for word in ["signals", "forks", "returned", "jumped", "drops", "blocks"] {
        assert!(count(word) >= 100, "{said}");
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
    let output = fire(&library, &[], "dontneed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("zeros") || said.contains("came before"),
        "{said}"
    );
}
