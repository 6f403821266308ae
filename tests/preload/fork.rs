//! However a process is copied, no two are given the same bytes.
//!
//! Settles: fork, _Fork, the raw calls, clone3, vfork, grandchildren, children of
//! the same pid, and forks while threads draw; nothing drawn before, a little, or
//! a lot; both kinds of state page, with the vDSO and without, and with reseeding
//! so rare that it hides nothing. Odds of a false alarm: `tests/c/forks.c`, 2^-95
//! a run, under 2^-87 for all.
use ownpool_tests::support::{Place, preloaded, succeeds};
use std::path::Path;

const BEFORE: &[&str] = &["none", "small", "large"];

const KINDS: &[&[(&str, &str)]] = &[
    &[],
    &[("OWNPOOL_TEST", "wipe")],
    &[("OWNPOOL_TEST", "novdso")],
    &[("OWNPOOL_RESEED_BYTES", "1G")],
    &[
        ("OWNPOOL_RESEED_BYTES", "1G"),
        ("OWNPOOL_TEST", "wipe,novdso"),
    ],
    &[("OWNPOOL_MODE", "always"), ("OWNPOOL_RESEED_BYTES", "1G")],
    &[("OWNPOOL_MODE", "vdso")],
    &[("OWNPOOL_TEST", "kat"), ("MOVES", "0")],
];

fn never_equal(how: &str) {
    let place = Place::new();
    let program = place.compile("forks", &[]);
    for before in BEFORE {
        for kind in KINDS {
            run(&program, how, before, kind);
        }
    }
}

fn run(program: &Path, how: &str, before: &str, kind: &[(&str, &str)]) {
    let mut command = preloaded(program);
    command.args([how, before]).envs(kind.iter().copied());
    let printed = succeeds(&mut command);
    if printed.starts_with("skipped") {
        eprintln!("{how}: {printed}");
    } else {
        assert_eq!(printed, "no repeats\n", "{how} {before} {kind:?}");
    }
}

#[test]
fn fork() {
    never_equal("fork");
}

#[test]
fn fork_without_handlers() {
    never_equal("_Fork");
}

#[test]
fn raw_fork() {
    never_equal("sys_fork");
}

#[test]
fn raw_clone() {
    never_equal("clone");
}

#[test]
fn raw_clone3() {
    never_equal("clone3");
}

#[test]
fn vfork() {
    never_equal("vfork");
}

#[test]
fn grandchildren() {
    never_equal("grandchild");
}

#[test]
fn children_of_the_same_pid() {
    never_equal("same_pid");
}

#[test]
fn while_threads_draw() {
    never_equal("threads");
}

/// A handler forks in the middle of a request, after its first half was made.
#[test]
fn in_the_middle_of_a_request() {
    let place = Place::new();
    let program = place.compile("fault_fork", &[]);
    for kind in KINDS {
        for call in ["getrandom", "read", "readv", "preadv"] {
            let wanted = match kind.contains(&("MOVES", "0")) {
                true => "by the kernel\n",
                false => "no repeats\n",
            };
            for len in ["32", "200", "2000", "8192"] {
                let mut command = preloaded(&program);
                command.args([call, len]).envs(kind.iter().copied());
                assert_eq!(succeeds(&mut command), wanted, "{call} {len} {kind:?}");
            }
        }
    }
}
