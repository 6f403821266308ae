//! The release library under the trap flag: one call, and before each of its instructions
//! a fork, a draw, a jump or a loss of the state page. What is checked, and at which odds,
//! stands at the head of `tests/c/single_step.c`.
//!
//! The calls that stay in one function, and the one that moves the thread, are gone through
//! at every instruction; those that make much keystream at every so many of them, from an
//! offset that differs from run to run and is printed with a failure. `OWNPOOL_TEST_FULL=1`
//! goes through all of them at every instruction, which takes half an hour.
use ownpool_tests::support;
use ownpool_tests::support::Place;
use std::path::Path;
use std::process::{Command, id};

/// The instrumented program in a directory of its own.
struct Stepper {
    place: Place,
}

impl Stepper {
    fn new() -> Stepper {
        let place = Place::new();
        place.compile("single_step", &["-O2"]);
        Stepper { place }
    }

    /// Whether all is well, and what the program said.
    fn run(
        &self,
        library: &Path,
        settings: &[(&str, &str)],
        arguments: [&str; 4],
    ) -> (bool, String) {
        let name = library.file_name().expect("a file name");
        let output = Command::new(self.place.file("single_step"))
            .arg(name)
            .args(arguments)
            .env("LD_PRELOAD", library)
            .env("OWNPOOL_MODE", "always")
            .envs(settings.iter().copied())
            .output()
            .expect("the program starts");
        let said = format!(
            "{settings:?} {arguments:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        (output.status.success(), said)
    }
}

/// The number after a word of the program's report.
fn count(said: &str, word: &str) -> u64 {
    let mut words = said.split_whitespace();
    words.find(|&found| found == word);
    words
        .next()
        .and_then(|number| number.parse().ok())
        .expect("a count")
}

const ACTIONS: [&str; 9] = [
    "fork", "forkdraw", "both", "draw", "jump", "jumpfork", "drop", "dropdraw", "out",
];

/// Goes through calls and actions under these settings. The last number is the stride.
fn go(settings: &[(&str, &str)], calls: &[(&str, &[&str], u32)]) {
    let stepper = Stepper::new();
    let full = std::env::var_os("OWNPOOL_TEST_FULL").is_some_and(|value| value == "1");
    for &(call, actions, stride) in calls {
        for &action in actions {
            let stride = if full { 1 } else { stride };
            let offset = id() % stride;
            let arguments = [call, action, &stride.to_string(), &offset.to_string()];
            let (good, said) = stepper.run(&support::library(), settings, arguments);
            println!("{said}");
            assert!(good, "{said}");
            // It went through our library, and the thing did happen.
            let (length, inside) = (count(&said, "instructions"), count(&said, "inside"));
            let (runs, acted) = (count(&said, "runs"), count(&said, "acted"));
            assert!(inside >= 40 && inside * 10 >= length * 8, "{said}");
            assert!(
                acted + count(&said, "skipped") + 2 >= (length - 1) / u64::from(stride),
                "{said}"
            );
            assert!(acted * 50 >= runs * 49 && acted > 0, "{said}");
            assert!(
                count(&said, "fast") > 0 || action.starts_with("jump"),
                "{said}"
            );
            if action.starts_with("drop") || action == "out" {
                // Only before the move is there nothing to drop.
                assert!(call == "move" || count(&said, "nopage") == 0, "{said}");
                assert!(count(&said, "nopage") * 2 < runs, "{said}");
            }
        }
    }
}

const HUGE: (&str, &str) = ("OWNPOOL_RESEED_BYTES", "1G");
/// Reseeding at every refill hides what a lost or repeated key would do; this does not.
const KINDS: [&[(&str, &str)]; 5] = [
    &[],
    &[HUGE],
    &[HUGE, ("OWNPOOL_TEST", "wipe")],
    &[HUGE, ("OWNPOOL_TEST", "novdso")],
    &[("OWNPOOL_TEST", "wipe")],
];

#[test]
fn small_calls_at_every_instruction() {
    for settings in KINDS {
        go(
            settings,
            &[("take16", &ACTIONS, 1), ("take256", &ACTIONS, 1)],
        );
    }
}

/// Two events: only together do they show a look at the page that comes too late.
#[test]
fn a_draw_behind_a_lost_page_at_every_pair_of_instructions() {
    for settings in [KINDS[1], KINDS[2]] {
        go(settings, &[("take16", &["droplater"], 1)]);
    }
}

#[test]
fn the_call_that_moves_the_thread_at_every_instruction() {
    go(KINDS[0], &[("move", &["fork", "draw", "jump", "drop"], 1)]);
}

#[test]
fn the_call_that_moves_the_thread_in_every_kind() {
    for settings in KINDS {
        go(settings, &[("move", &ACTIONS, 251)]);
    }
}

#[test]
fn refills_and_bulk_in_every_kind() {
    for settings in KINDS {
        go(
            settings,
            &[
                ("refill256", &ACTIONS, 61),
                ("bulk2", &ACTIONS, 97),
                ("bulk8", &ACTIONS, 211),
                ("bulk20", &ACTIONS, 401),
            ],
        );
    }
}

#[test]
fn a_read_into_two_pieces_in_every_kind() {
    for settings in KINDS {
        go(settings, &[("readv", &ACTIONS, 83)]);
    }
}

/// The program finds what is wrong with simpler libraries, so its silence means something.
#[test]
fn simple_libraries_are_found_out() {
    let stepper = Stepper::new();
    let build = |name: &str, more: &[&str]| {
        let arguments = [&["-O2", "-shared", "-fPIC"], more].concat();
        support::compile_c_as(stepper.place.path(), name, "naive", &arguments)
    };
    let plain = build("plain.so", &["-DPLAIN"]);
    let wiped = build("wiped.so", &[]);
    for (library, action, word) in [
        (&plain, "fork", "came before"),
        (&plain, "forkdraw", "came before"),
        (&plain, "both", "came before"),
        (&plain, "draw", ""),
        (&plain, "jump", "zeros"),
        (&wiped, "fork", "zeros"),
        (&wiped, "draw", ""),
        (&wiped, "jump", "zeros"),
        (&wiped, "drop", "zeros"),
        (&wiped, "dropdraw", ""),
    ] {
        let (good, said) = stepper.run(library, &[], ["take16", action, "1", "0"]);
        assert!(!good && said.contains(word), "{} {said}", library.display());
    }
}
