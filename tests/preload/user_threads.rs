//! User-level threads, switched by a signal handler in the middle of a draw.
//!
//! Settles: two contexts on one thread may both be under way in a draw, stopped at
//! any instruction each; neither gets zeros, nor the other's bytes. Not for
//! `vdso`: there the draw is the kernel's own code. And one that goes on when the
//! thread that it began on has ended. Odds: `tests/c/{user_threads,outlives}.c`.
use ownpool_tests::support::{Place, bare, preloaded, succeeds};

#[test]
fn two_draws_under_way_on_one_thread() {
    let place = Place::new();
    let program = place.compile("user_threads", &[]);
    assert_eq!(succeeds(&mut bare(&program)), "ok\n");
    for kind in [
        &[][..],
        &[("OWNPOOL_MODE", "always")],
        &[("OWNPOOL_TEST", "wipe,novdso")],
    ] {
        let mut command = preloaded(&program);
        command.envs(kind.iter().copied());
        assert_eq!(succeeds(&mut command), "ok\n", "{kind:?}");
    }
}

#[test]
fn a_draw_that_outlives_its_thread() {
    let place = Place::new();
    let program = place.compile("outlives", &["-pthread"]);
    assert_eq!(succeeds(&mut bare(&program)), "ok\n");
    for test in ["", "wipe,novdso"] {
        let mut refill = preloaded(&program);
        refill
            .args(["380", "41"])
            .env("OWNPOOL_MODE", "always")
            .env("OWNPOOL_TEST", test);
        assert_eq!(succeeds(&mut refill), "ok\n", "a refill, {test}");
    }
    for kind in [
        &[][..],
        &[("OWNPOOL_MODE", "always")],
        &[("OWNPOOL_MODE", "vdso")],
        &[("OWNPOOL_TEST", "wipe,novdso")],
    ] {
        let mut command = preloaded(&program);
        command.envs(kind.iter().copied());
        assert_eq!(succeeds(&mut command), "ok\n", "{kind:?}");
    }
}
