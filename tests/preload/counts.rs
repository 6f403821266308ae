//! What can be counted from outside: system calls, and the numbers of the report.
//!
//! Settles: a heavy loop hardly enters the kernel, a light one enters it exactly as without
//! the library; every field of the report is exact, for one thread, several, ended ones, and
//! forked children.

use crate::draws::{Draws, counted, number};
use object::{Object, ObjectSymbol};
use ownpool_tests::support::{self, bare, preloaded, reports, succeeds};
use std::path::Path;

/// The system calls of a program, with the library or without: number and first argument.
fn trace(place: &Draws, hooked: bool, program: &Path, arguments: &[&str]) -> Vec<(i64, i64)> {
    let mut command = place.tracer(hooked, program, arguments);
    succeeds(command.env("OWNPOOL_RATE", "1"));
    place.traced()
}

fn getrandom_calls(trace: &[(i64, i64)]) -> usize {
    let calls = trace.iter().map(|(call, _)| *call);
    calls.filter(|call| *call == libc::SYS_getrandom).count()
}

#[test]
fn a_hundred_thousand_draws_hardly_enter_the_kernel() {
    let place = Draws::new();
    let calls = getrandom_calls(&trace(&place, true, &place.draws, &["many", "100000"]));
    assert!((128..1500).contains(&calls), "{calls}");
    // The program itself has checked that all are different.
    let few = trace(&place, false, &place.draws, &["many", "2000"]);
    assert!(getrandom_calls(&few) >= 2000, "the tracer sees them");
}

#[test]
fn python_draws_a_hundred_thousand_different_values() {
    let Some(python) = support::installed("python3") else {
        eprintln!("skipped: no python3");
        return;
    };
    let place = Draws::new();
    // The interpreter itself, not a launcher that stands in front of it.
    let python = succeeds(bare(&python).args(["-c", "import sys; print(sys.executable)"]));
    let python = Path::new(python.trim());
    // Two of 100,000 are equal by chance with 2^-95.
    let script = "import os; print(len({os.urandom(16) for _ in range(100000)}))";
    let arguments = ["-S", "-E", "-c", script];
    let calls = getrandom_calls(&trace(&place, true, python, &arguments));
    assert!((128..1500).contains(&calls), "{calls}");
    let report = place.path("report");
    let mut command = preloaded(python);
    command.args(arguments).env("OWNPOOL_STATS", &report);
    assert_eq!(succeeds(&mut command), "100000\n");
    let report = &reports(&report)[0];
    assert!(number(report, "/entries/getrandom") >= 100_000, "{report}");
    assert_eq!(number(report, "/threads_moved"), 1);
}

#[test]
fn a_light_program_makes_the_same_system_calls() {
    let place = Draws::new();
    let after_mark = |hooked| {
        let trace = trace(&place, hooked, &place.draws, &["five"]);
        let is_mark = |&(call, fd): &(i64, i64)| call == libc::SYS_close && fd as i32 == -77;
        let mark = trace.iter().position(is_mark).expect("the mark");
        trace[mark..].to_vec()
    };
    let numbers = |trace: &[(i64, i64)]| trace.iter().map(|(call, _)| *call).collect();
    let (alone, with) = (after_mark(false), after_mark(true));
    assert!(getrandom_calls(&alone) >= 16);
    let (alone, with): (Vec<i64>, Vec<i64>) = (numbers(&alone), numbers(&with));
    assert_eq!(with, alone);
}

#[test]
fn one_thread_is_counted_exactly() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["many", "5000"]));
    let private = 5000 - 128;
    // 3,040 bytes a refill are 190 draws of 16.
    let refills = u64::div_ceil(private, 190);
    counted!(report; threads_moved = 1, kernel.calls = 128, kernel.bytes = 128 * 16,
        private.calls = private, private.bytes = private * 16, would_move.threads = 0,
        refills = refills, reseeds = refills, entries.getrandom = 5000,
        fell_through.busy = 0, fell_through.unseeded = 0);
    assert_eq!(report["program"], "draws");
    assert_eq!(report["mode"], "auto");
    assert_eq!(report["ownpool"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_entry_is_counted_exactly() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["entries"]));
    let bytes = 701 * 16 + 307 * 17 + 211 * 18 + 103 * 4 + 11 * 19 + 13 * 300 + 7 * 110;
    let kernel_bytes = 128 * 16 + 3 * 16;
    counted!(report; entries.getrandom = 701 + 4, entries.getentropy = 307,
        entries.syscall = 211, entries.arc4random = 103 + 11, entries.read = 13 + 7,
        entries.api = 0, kernel.calls = 128 + 4, kernel.bytes = kernel_bytes,
        private.bytes = bytes + 3 * 16 - kernel_bytes, fell_through.flags = 2,
        fell_through.pointer = 2, fell_through.not_urandom = 0);
}

#[test]
fn lengths_beyond_anything_do_not_overflow_the_count() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["beyond"]));
    // The most that one request gives (MAX_RW_COUNT), three times.
    counted!(report; kernel.calls = 3, kernel.bytes = 3 * 0x7fff_f000,
        fell_through.pointer = 3);
}

#[test]
fn entries_add_up_in_every_mode() {
    let place = Draws::new();
    let path = place.path("report");
    for mode in ["auto", "always", "vdso", "observe"] {
        for test in ["", "wipe", "novdso", "kat"] {
            let _ = std::fs::remove_file(&path);
            let mut command = place.draws(&["entries"]);
            command.env("OWNPOOL_MODE", mode).env("OWNPOOL_TEST", test);
            let report = place.report(&mut command);
            counted!(report; entries.getrandom = 701 + 4, entries.getentropy = 307,
                entries.syscall = 211, entries.arc4random = 103 + 11, entries.read = 13 + 7);
            assert_eq!(report["mode"], mode);
            let all = 705 + 307 + 211 + 114 + 20;
            let private = number(&report, "/private/calls");
            let wanted = match (mode, test) {
                (_, "kat") | ("observe", _) | ("vdso", "novdso" | "wipe") => 0,
                ("auto", _) => all - 132,
                // The four that only the kernel may judge; reads of urandom are
                // asked about first, and served all the same.
                ("always", _) => all - 4,
                // Where there is a vDSO getrandom; without one, the kernel answers.
                _ if private == 0 => 0,
                _ => all - 4,
            };
            assert_eq!(private, wanted, "{mode} {test}: {report}");
        }
    }
    let _ = std::fs::remove_file(&path);
    let mut command = place.draws(&["entries"]);
    assert_eq!(succeeds(command.env("OWNPOOL_MODE", "off")), "");
    assert!(!path.exists(), "mode off counts nothing");
}

#[test]
fn threads_are_added_up_whether_they_ended_or_not() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["threads"]));
    let all = 2 * 1000 + 2 * 2000 + 50;
    let private = all - 4 * 128 - 50;
    let refills = 2 * u64::div_ceil(872, 190) + 2 * u64::div_ceil(1872, 190);
    counted!(report; threads_moved = 4, entries.getrandom = all, kernel.calls = 4 * 128 + 50,
        private.calls = private, private.bytes = 16 * private, refills = refills);
}

#[test]
fn counts_start_anew_in_a_forked_child() {
    let place = Draws::new();
    assert_eq!(succeeds(&mut place.draws(&["fork"])), "");
    let both = reports(&place.path("report"));
    assert_eq!(both.len(), 2, "{both:?}");
    // The child ends first. Its thread was moved before the fork, and is not moved again.
    counted!(both[0]; threads_moved = 0, kernel.calls = 0, private.calls = 200,
        private.bytes = 3200, refills = 2);
    counted!(both[1]; threads_moved = 1, kernel.calls = 128, private.calls = 182,
        entries.getrandom = 310);
    assert_ne!(both[0]["pid"], both[1]["pid"]);
}

#[test]
fn observe_names_every_call_site_exactly() {
    let place = Draws::new();
    let mut command = place.draws(&["sites"]);
    command.env("OWNPOOL_MODE", "observe");
    let report = place.report(&mut command);
    let second: u64 = (0..300).map(|call| 20 + call % 40).sum();
    counted!(report; kernel.calls = 500, kernel.bytes = 3200 + second, private.calls = 0,
        threads_moved = 0, would_move.threads = 1, would_move.calls = 500 - 128, refills = 0);
    let callers = report["callers"].as_array().unwrap();
    assert_eq!(callers.len(), 2, "{report}");
    let binary = std::fs::read(&place.draws).unwrap();
    let file = object::File::parse(&*binary).unwrap();
    let module = place.draws.canonicalize().unwrap();
    // The heavier first.
    let sites = [
        ("second_site", [300, second, 59, 1]),
        ("first_site", [200, 3200, 16, 1]),
    ];
    for (caller, (site, wanted)) in callers.iter().zip(sites) {
        let members = ["/calls", "/bytes", "/largest", "/threads"];
        let numbers = members.map(|member| number(caller, member));
        assert_eq!(numbers, wanted, "{caller}");
        assert_eq!(caller["entry"], "getrandom");
        assert_eq!(caller["module"], module.to_str().unwrap());
        // The offsets are what a symbol table counts in.
        let offset = caller["offset"].as_str().unwrap().trim_start_matches("0x");
        let offset = u64::from_str_radix(offset, 16).unwrap();
        let mut symbols = file.symbols();
        let symbol = symbols.find(|symbol| symbol.name() == Ok(site)).unwrap();
        let within = symbol.address()..symbol.address() + symbol.size();
        assert!(within.contains(&offset), "{offset:x} is not in {site}");
    }
    assert_ne!(callers[0]["offset"], callers[1]["offset"]);
}

#[test]
fn the_serving_modes_name_the_program_too() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["many", "50000"]));
    let callers = report["callers"].as_array().unwrap();
    assert_eq!(callers.len(), 1, "{report}");
    assert_eq!(callers[0]["moved"], true);
    // All but what was drawn since the last refill.
    let calls = number(&callers[0], "/calls");
    assert!((50_000 - 190..=50_000).contains(&calls), "{report}");
}
