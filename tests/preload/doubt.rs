//! In doubt the kernel answers: hosts that may be in FIPS mode, threads that libc has not set
//! up, a library that is not relocated yet, a vDSO that asks for memory of another kind, a
//! process that confines itself by user dispatch.

use ownpool_tests::support::{
    Place, bare, compile_c_as, installed, preloaded, preloaded_with, ran, reports, succeeds, trace,
};
use std::process::Command;

#[test]
fn what_lies_below_a_foreign_thread_block_is_left_alone() {
    let place = Place::new();
    let program = place.compile("foreign_thread", &[]);
    succeeds(&mut bare(&program));
    for mode in ["auto", "always", "vdso"] {
        succeeds(&mut preloaded_with(&program, &[("OWNPOOL_MODE", mode)]));
    }
}

/// The resolver runs while the program is still being relocated.
#[test]
fn an_ifunc_resolver_may_call_every_hook() {
    let place = Place::new();
    for which in ["READ", "GETRANDOM", "SYSCALL", "PRCTL", "ENTROPY"] {
        let which = format!("-D{which}");
        let arguments = ["-shared", "-fPIC", "-Wl,-z,now", &which];
        compile_c_as(place.path(), "libresolver.so", "resolver", &arguments);
        let run_path = format!("-Wl,-rpath,{}", place.path().display());
        let library = place.file("libresolver.so").display().to_string();
        let program = place.compile("resolved", &[&library, &run_path]);
        for now in ["", "1"] {
            succeeds(bare(&program).env("LD_BIND_NOW", now));
            succeeds(preloaded(&program).env("LD_BIND_NOW", now));
        }
    }
}

/// Memory of another kind may survive a fork: then the page is one of those that are wiped.
#[test]
fn a_vdso_that_asks_for_other_memory_is_done_without() {
    let place = Place::new();
    let program = place.compile("forks", &[]);
    let odd = [("OWNPOOL_TEST", "oddvdso"), ("OWNPOOL_MODE", "always")];
    for how in ["fork", "clone"] {
        let mut command = preloaded_with(&program, &odd);
        assert_eq!(
            succeeds(command.args([how, "small"])),
            "no repeats\n",
            "{how}"
        );
    }
    let said = ran(preloaded_with(&program, &odd).env("OWNPOOL_VERBOSE", "1"));
    assert!(said.stderr.contains("no vdso"), "{said:?}");
}

#[test]
fn user_dispatch_confines_as_seccomp_does() {
    let place = Place::new();
    let program = place.compile("dispatch", &[]);
    for way in ["prctl", "syscall"] {
        let seen = trace::run(preloaded(&program).arg(way), |_| None);
        assert!(seen.succeeded(), "{}", seen.stderr);
        let dispatch = |call: &trace::Call| call.number == libc::SYS_prctl && call.args[0] == 59;
        let at = seen.calls.iter().position(dispatch).unwrap();
        let (before, after) = seen.calls.split_at(at);
        assert!(before.iter().any(|call| call.by_library()), "{way}");
        let ours: Vec<_> = after.iter().filter(|call| call.by_library()).collect();
        assert!(ours.is_empty(), "{way}: {ours:?}");
    }
}

/// How many of 5,000 draws are served, in a mount namespace that this prepares; `None`: there
/// can be no such namespace.
fn served(prepare: &str, descriptors: &str, settings: &[(&str, &str)]) -> Option<u64> {
    let place = Place::new();
    let program = place.compile("draws", &[]);
    let report = place.file("report");
    let line = format!("{prepare}ulimit -n {descriptors}; exec \"$0\" many 5000");
    let mut command = Command::new(installed("unshare")?);
    command
        .args([
            "-m",
            "sh",
            "-c",
            "mount --make-rprivate / && exec env LD_PRELOAD=\"$P\" HOOKED=1 sh -c \"$L\" \"$0\"",
        ])
        .arg(&program)
        .env("P", ownpool_tests::support::library())
        .env("L", line)
        .env("OWNPOOL_STATS", &report)
        .envs(settings.iter().copied());
    let done = command.output().ok()?;
    if !done.status.success() {
        println!(
            "no mount namespace: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        return None;
    }
    let mine = reports(&report);
    let draws = mine.iter().find(|report| report["program"] == "draws")?;
    draws["private"]["calls"].as_u64()
}

#[test]
fn a_host_that_may_be_in_fips_mode_stays_with_the_kernel() {
    let hidden = "mount -t tmpfs none /proc/sys && ";
    let fips =
        format!("{hidden}mkdir /proc/sys/crypto && echo 1 >/proc/sys/crypto/fips_enabled && ");
    let not =
        format!("{hidden}mkdir /proc/sys/crypto && echo 0 >/proc/sys/crypto/fips_enabled && ");
    let ignore = [("OWNPOOL_FIPS", "ignore")];
    let none: [(&str, &str); 0] = [];
    let Some(plain) = served("", "64", &none) else {
        return;
    };
    assert!(plain > 4000, "{plain}");
    for (prepare, descriptors, settings, serves) in [
        (fips.as_str(), "64", &none[..], false),
        (hidden, "64", &none, false),
        (&not, "64", &none, true),
        (&fips, "64", &ignore, true),
        (hidden, "64", &ignore, true),
    ] {
        let calls = served(prepare, descriptors, settings).unwrap();
        assert_eq!(calls > 4000, serves, "{prepare}: {calls}");
        assert!(serves || calls == 0, "{prepare}: {calls}");
    }
}
