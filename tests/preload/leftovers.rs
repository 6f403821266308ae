//! What a draw leaves behind outside its page, and what a thread leaves that ends.
use ownpool_tests::support;
use ownpool_tests::support::Place;

/// `tests/c/leftovers.c`, for each kind of page and each source of seeds.
#[test]
fn no_key_is_left_on_the_stack() {
    let place = Place::new();
    let program = place.compile("leftovers", &["-fno-stack-protector"]);
    for switch in ["", "wipe", "novdso"] {
        support::succeeds(support::preloaded(&program).env("OWNPOOL_TEST", switch));
    }
}

/// valgrind(1), which has an eye on writes below the stack pointer, is content.
#[test]
fn a_memory_checker_sees_nothing_wrong() {
    let Some(valgrind) = support::installed("valgrind") else {
        println!("valgrind is not installed");
        return;
    };
    let place = Place::new();
    let program = place.compile("draws", &[]);
    for switch in ["", "wipe"] {
        let mut command = support::preloaded(&valgrind);
        command
            .args(["-q", "--error-exitcode=9"])
            .arg(&program)
            .args(["many", "2000"])
            .env("OWNPOOL_MODE", "always")
            .env("OWNPOOL_TEST", switch);
        support::succeeds(&mut command);
    }
}

/// `tests/c/thread_end.c`, also for a thread that may be forgiven meanwhile.
#[test]
fn a_handler_may_draw_at_every_step_of_a_threads_end() {
    let place = Place::new();
    let program = place.compile("thread_end", &[]);
    for (mode, forgive) in [("auto", "0"), ("always", "0"), ("auto", "1"), ("vdso", "0")] {
        let mut command = support::preloaded(&program);
        command
            .env("OWNPOOL_MODE", mode)
            .env("OWNPOOL_FORGIVE_SECS", forgive);
        support::succeeds(&mut command);
    }
}
