//! Programs in sandboxes live on, hot and cold, and their bytes are right.
//!
//! `tests/c/confinement.c` confines itself in every way that libc offers and goes on
//! reading and drawing; a call that is not its own would kill it. Filters that were in
//! force at exec, a missing /proc and a missing descriptor are tried as well. Random
//! bytes are told from others with odds below 2^-64 in all.
use ownpool_tests::support::trace::{self, Call, Trace};
use ownpool_tests::support::{
    Place, bare, compile_c, library, number_after, preloaded_with, ran, succeed,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// By which call the program confines itself, and to what.
const WAYS: &str = "strict-prctl strict-seccomp strict-syscall allow-prctl allow-seccomp \
                    allow-syscall tsync fork exit refused";
/// Whether requests have been moved before.
const WARMTHS: [&str; 2] = ["hot", "cold"];
const MODES: [&str; 4] = ["auto", "always", "vdso", "observe"];

fn program(place: &Path) -> PathBuf {
    compile_c(place, "confinement", &["-ldl"])
}

fn complaint(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stderr).expect("text")
}

#[test]
fn a_program_that_confines_itself_lives_on() {
    let place = Place::new();
    let program = program(place.path());
    for way in WAYS.split(' ') {
        for warmth in WARMTHS {
            let arguments = ["confine", way, warmth];
            assert_eq!(complaint(bare(&program).args(arguments)), "lives\n");
            for mode in MODES {
                let mut command = preloaded_with(&program, &[("OWNPOOL_MODE", mode)]);
                // A report is asked for, and may not be written any more.
                let report = place.file("report");
                command.env("OWNPOOL_STATS", &report);
                let printed = complaint(command.args(arguments));
                assert_eq!(printed, "lives\n", "{way} {warmth} {mode}");
                assert!(!report.exists(), "{way} {warmth} {mode}");
            }
        }
    }
}

fn confines(call: &Call) -> bool {
    call.number == libc::SYS_seccomp
        || call.number == libc::SYS_prctl && call.args[0] == libc::PR_SET_SECCOMP as u64
}

/// What the library did before and after the call that confined the program.
fn calls_around(trace: &Trace) -> (Vec<i64>, Vec<i64>) {
    let at = trace.calls.iter().position(confines);
    let at = at.expect("the program confines itself");
    let ours = |calls: &[Call]| {
        let ours = calls.iter().filter(|call| call.by_library());
        ours.map(|call| call.number).collect()
    };
    (ours(&trace.calls[..at]), ours(&trace.calls[at + 1..]))
}

#[test]
fn a_confined_program_makes_its_own_calls_and_no_others() {
    let place = Place::new();
    let program = program(place.path());
    for way in WAYS.split(' ') {
        for warmth in WARMTHS {
            let arguments = ["confine", way, warmth];
            let plain = trace::run(bare(&program).args(arguments), |_| None);
            let mut command = preloaded_with(&program, &[("OWNPOOL_MODE", "auto")]);
            let ours = trace::run(command.args(arguments), |_| None);
            let errors = format!("{way} {warmth}: {}{}", plain.stderr, ours.stderr);
            assert!(plain.succeeded() && ours.succeeded(), "{errors}");
            let (before, after) = calls_around(&ours);
            // The hook was there: it asked about descriptors, or looked at them at least.
            assert!(!before.is_empty(), "{way} {warmth}");
            let own = |&number: &i64| number == libc::SYS_getrandom;
            assert!(after.iter().all(own), "{way} {warmth}: {after:?}");
            // Every read of a confined program is the kernel's, and there is none more.
            let reads = |trace: &Trace| {
                let after = trace.calls.iter().skip_while(|call| !confines(call));
                after.filter(|call| call.number == libc::SYS_read).count()
            };
            if !matches!(way, "tsync" | "refused") {
                assert_eq!(reads(&plain), reads(&ours), "{way} {warmth}");
            }
        }
    }
}

/// A filter that knows what a program does without the library, and kills for anything
/// else, is what a careful jailer makes.
#[test]
fn a_filter_made_from_the_bare_program_is_enough() {
    let place = Place::new();
    let program = program(place.path());
    let plain = trace::run(bare(&program).arg("heavy"), |_| None);
    assert!(plain.succeeded(), "{}", plain.stderr);
    let mut numbers: BTreeSet<i64> = plain.calls.iter().map(|call| call.number).collect();
    // The trace begins behind the execve.
    numbers.insert(libc::SYS_execve);
    let allow = || {
        let mut command = bare(&program);
        command.arg("allow");
        command.args(numbers.iter().map(i64::to_string));
        command
    };
    assert!(complaint(&mut allow()).contains("hook absent"));
    // Without the write at the end, the filter bites.
    let others = numbers.iter().filter(|number| **number != libc::SYS_write);
    let mut tight = bare(&program);
    tight.arg("allow").args(others.map(i64::to_string));
    assert!(!tight.status().expect("it starts").success());

    let printed = complaint(allow().env("PRELOAD_NEXT", library()));
    assert!(printed.contains("hook present"), "{printed}");
    assert!(number_after(&printed, "served") > 500, "{printed}");
}

#[test]
fn single_calls_may_be_forbidden_at_exec() {
    let place = Place::new();
    let program = program(place.path());
    // Those that the loader needs itself are left out where it needs them.
    let plain = trace::run(bare(&program).arg("heavy"), |_| None);
    for number in [
        libc::SYS_ioctl,
        libc::SYS_fstat,
        libc::SYS_newfstatat,
        libc::SYS_open,
        libc::SYS_madvise,
        libc::SYS_readlink,
        libc::SYS_getpid,
    ] {
        if plain.calls.iter().any(|call| call.number == number) {
            continue;
        }
        for effect in ["errno", "kill"] {
            let mut command = bare(&program);
            command.args(["under", effect, &number.to_string()]);
            assert!(complaint(&mut command).contains("hook absent"));
            let printed = complaint(command.env("PRELOAD_NEXT", library()));
            let served = number_after(&printed, "served");
            let present = printed.contains("hook present") && served > 500;
            assert!(present, "{effect} {number}: {printed}");
        }
    }
}

/// Calls that fail from some moment on, without a filter that can be seen.
#[test]
fn unseen_filters_and_missing_things_leave_everything_to_the_kernel() {
    let place = Place::new();
    let program = program(place.path());
    let fstat = [libc::SYS_fstat, libc::SYS_newfstatat].map(|it| it.to_string());
    let open = [libc::SYS_open, libc::SYS_openat].map(|it| it.to_string());
    let others = [libc::SYS_ioctl, libc::SYS_mmap, libc::SYS_madvise];
    let [ioctl, mmap, madvise] = others.map(|it| it.to_string());
    let cases: [(&[&str], &str); 7] = [
        (&["unseen", "errno", &fstat[0], &fstat[1]], ""),
        (&["unseen", "errno", &ioctl], ""),
        (&["unseen", "errno", &mmap], "none"),
        (&["unseen", "errno", &madvise], "wipe"),
        (&["unseen", "errno", &open[0], &open[1]], ""),
        (&["chroot"], ""),
        (&["nofile"], ""),
    ];
    for (arguments, expect) in cases {
        // An empty root is made where the program stands.
        let mut plain = bare(&program);
        let done = ran(plain.args(arguments).current_dir(place.path()));
        if done.status == 77 {
            println!("{arguments:?}: not permitted here");
            continue;
        }
        assert_eq!(done.status, 0, "{arguments:?}");
        for mode in ["auto", "always"] {
            let mut command = preloaded_with(&program, &[("OWNPOOL_MODE", mode)]);
            command.current_dir(place.path());
            if expect == "wipe" {
                command.env("OWNPOOL_TEST", "wipe");
            }
            let printed = complaint(command.args(arguments));
            assert!(printed.contains("hook present"), "{arguments:?}: {printed}");
            let served = number_after(&printed, "served");
            if expect.is_empty() {
                assert!(served > 400, "{arguments:?} {mode}: {printed}");
            } else {
                assert_eq!(served, 0, "{arguments:?} {mode}: {printed}");
            }
        }
    }
}
