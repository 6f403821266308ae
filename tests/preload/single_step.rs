//! The release library under the trap flag: one call, and before each of its instructions
//! a fork, a draw, a jump or a loss of the state page. What is checked, and at which odds,
//! stands at the head of `tests/c/single_step.c`.
//!
//! The calls that stay in one function, and the one that moves the thread, are gone through
//! at every instruction; those that make much keystream at every so many of them, from an
//! offset that differs from run to run and is printed with a failure. `OWNPOOL_TEST_FULL=1`
//! goes through all of them at every instruction, which takes half an hour.
use ownpool_tests::support::{self, Place, Ran, number_after, ran};
use std::path::Path;
use std::process::{Command, id};

type Settings = [(&'static str, &'static str)];

/// Runs the program in `place`; what it is about, for messages, and what came of it.
fn step(place: &Place, library: &Path, settings: &Settings, arguments: [&str; 4]) -> (Ran, String) {
    let name = library.file_name().expect("a file name");
    let mut command = Command::new(place.file("single_step"));
    command.arg(name).args(arguments).env("LD_PRELOAD", library);
    command.env("OWNPOOL_MODE", "always");
    let done = ran(command.envs(settings.iter().copied()));
    let printed = format!("{settings:?} {arguments:?}: {done:?}");
    (done, printed)
}

const ACTIONS: [&str; 9] = [
    "fork", "forkdraw", "both", "draw", "jump", "jumpfork", "drop", "dropdraw", "out",
];

/// Goes through calls and actions under these settings. The last number is the stride.
fn go(settings: &Settings, calls: &[(&str, &[&str], u32)]) {
    let place = Place::new();
    place.compile("single_step", &["-O2"]);
    let full = std::env::var_os("OWNPOOL_TEST_FULL").is_some_and(|value| value == "1");
    for &(call, actions, stride) in calls {
        for &action in actions {
            let stride = if full { 1 } else { stride };
            let offset = id() % stride;
            let arguments = [call, action, &stride.to_string(), &offset.to_string()];
            let (done, printed) = step(&place, &support::library(), settings, arguments);
            println!("{printed}");
            assert!(done.status == 0, "{printed}");
            // It went through our library, and the thing did happen.
            let count = |word| number_after(&done.stdout, word);
            let (length, inside) = (count("instructions"), count("inside"));
            let (runs, acted, nopage) = (count("runs"), count("acted"), count("nopage"));
            assert!(inside >= 40 && inside * 10 >= length * 8, "{printed}");
            let due = (length - 1) / u64::from(stride);
            assert!(acted + count("skipped") + 2 >= due, "{printed}");
            assert!(acted * 50 >= runs * 49 && acted > 0, "{printed}");
            assert!(count("fast") > 0 || action.starts_with("jump"), "{printed}");
            if action.starts_with("drop") || action == "out" {
                // Only before the move is there nothing to drop.
                assert!(call == "move" || nopage == 0, "{printed}");
                assert!(nopage * 2 < runs, "{printed}");
            }
        }
    }
}

const HUGE: (&str, &str) = ("OWNPOOL_RESEED_BYTES", "1G");
/// Reseeding at every refill hides what a lost or repeated key would do; this does not.
const DROPPABLE: &Settings = &[HUGE];
const WIPED: &Settings = &[HUGE, ("OWNPOOL_TEST", "wipe")];
const NO_VDSO: &Settings = &[HUGE, ("OWNPOOL_TEST", "novdso")];

/// A test for each kind of page and seed, so that both processors are busy to the end.
macro_rules! in_every_kind {
    ($($name:ident: $calls:expr;)+) => {$(
        mod $name {
            use super::*;

            #[test]
            fn droppable() {
                go(DROPPABLE, $calls);
            }
            #[test]
            fn droppable_and_reseeded() {
                go(&[], $calls);
            }
            #[test]
            fn wiped() {
                go(WIPED, $calls);
            }
            #[test]
            fn wiped_and_reseeded() {
                go(&[("OWNPOOL_TEST", "wipe")], $calls);
            }
            #[test]
            fn without_vdso() {
                go(NO_VDSO, $calls);
            }
        }
    )+};
}

in_every_kind! {
    small_calls_at_every_instruction: &[("take16", &ACTIONS, 1), ("take256", &ACTIONS, 1)];
    the_call_that_moves_the_thread: &[("move", &ACTIONS, 251)];
    refills_and_two_strides: &[("refill256", &ACTIONS, 61), ("bulk2", &ACTIONS, 97)];
    bulk: &[("bulk8", &ACTIONS, 211), ("bulk20", &ACTIONS, 401)];
    a_read_into_two_pieces: &[("readv", &ACTIONS, 83)];
}

#[test]
fn the_call_that_moves_the_thread_at_every_instruction_stays_whole() {
    go(&[], &[("move", &["fork", "draw"], 1)]);
}

#[test]
fn the_call_that_moves_the_thread_at_every_instruction_is_left() {
    go(&[], &[("move", &["jump", "drop"], 1)]);
}

/// Lengths for every way in which bytes are copied out.
#[test]
fn no_byte_is_with_the_caller_and_in_the_page_at_once() {
    let lens = [
        1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48, 64, 100, 128, 200, 256, 500, 777, 1023,
    ];
    let names = lens.map(|len| format!("take{len}"));
    let calls = names.each_ref().map(|name| (&**name, &["look"][..], 1));
    for settings in [DROPPABLE, WIPED] {
        go(settings, &calls);
    }
}

/// Two events: only together do they show a look at the page that comes too late.
#[test]
fn a_draw_behind_a_lost_page_at_every_pair_of_instructions() {
    for settings in [DROPPABLE, WIPED] {
        go(settings, &[("take16", &["droplater"], 1)]);
    }
}

/// The program finds what is wrong with simpler libraries, so its silence means something.
#[test]
fn simple_libraries_are_found_out() {
    let place = Place::new();
    place.compile("single_step", &["-O2"]);
    let build = |name: &str, more: &[&str]| {
        let arguments = [&["-O2", "-shared", "-fPIC"], more].concat();
        support::compile_c_as(place.path(), name, "naive", &arguments)
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
        let (done, printed) = step(&place, library, &[], ["take16", action, "1", "0"]);
        let found = done.status != 0 && done.stderr.contains(word);
        assert!(found, "{} {printed}", library.display());
    }
}
