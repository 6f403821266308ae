//! Threads: what they leave behind, and how they may end.
//!
//! Settles: thousands of short busy threads leave mappings and memory flat; as
//! many generators as threads at once; a program that used up the cheap pthread
//! keys, or has no room for a page, stays on the kernel; cancellation of either
//! kind, pthread_exit, and threads that outlive main. Odds: `tests/c/threads.c`.
use ownpool_tests::support::{Place, bare, preloaded, succeeds};

const KINDS: &[&[(&str, &str)]] = &[
    &[],
    &[("OWNPOOL_TEST", "wipe")],
    &[("OWNPOOL_RESEED_BYTES", "1G"), ("OWNPOOL_TEST", "novdso")],
];

fn ends_well(what: &str, wanted: &str) {
    let place = Place::new();
    let program = place.compile("threads", &[]);
    // Without the library first: what fails there is not ours.
    assert!(succeeds(bare(&program).arg(what)).ends_with("ok\n"));
    for kind in KINDS {
        let mut command = preloaded(&program);
        command.arg(what).envs(kind.iter().copied());
        assert_eq!(succeeds(&mut command), wanted, "{what} {kind:?}");
    }
}

#[test]
fn short_busy_threads_leave_nothing() {
    let place = Place::new();
    let program = place.compile("threads", &[]);
    for kind in KINDS {
        let mut command = preloaded(&program);
        command.arg("churn").envs(kind.iter().copied());
        let printed = succeeds(&mut command);
        assert!(printed.ends_with("ok\n"), "{printed}");
    }
}

#[test]
fn two_hundred_at_once() {
    ends_well("many", "ok\n");
}

#[test]
fn no_room_for_a_page() {
    ends_well("limit", "ok\n");
}

#[test]
fn deferred_cancellation() {
    ends_well("cancel", "ok\n");
    ends_well("cancel_api", "ok\n");
}

#[test]
fn asynchronous_cancellation() {
    ends_well("async", "ok\n");
}

#[test]
fn ended_and_detached_threads() {
    ends_well("exit", "ok\n");
}

#[test]
fn main_ends_before_the_others() {
    ends_well("main_exits", "ok\n");
}

#[test]
fn threads_without_a_cheap_key_stay_on_the_kernel() {
    let place = Place::new();
    let program = place.compile("threads", &[]);
    for (early, others) in [(0, 1), (31, 1), (32, 0), (40, 0)] {
        let mut command = preloaded(&program);
        command.arg("keys").env("EARLY_KEYS", early.to_string());
        let wanted = format!("others {others} main 1\nok\n");
        assert_eq!(succeeds(&mut command), wanted, "{early} keys before ours");
    }
}
