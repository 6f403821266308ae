//! What the library prints of settings that it does not take.
//!
//! Settles: the exact line for every such value; that hostile values do no harm; and that
//! valid settings, and variables that are not ours, are silent.

use crate::settings::{Policy, SLOW_LEAK};
use ownpool_core::settings as table;
use ownpool_tests::support::{self, bare, ran};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

#[test]
fn every_complaint_is_one_clear_line() {
    let place = Policy::new();
    let (digits, path) = ("9".repeat(60), "/x".repeat(600));
    // A value that is quoted as it is: setting, value, what is wrong, what is used.
    for (name, value, wrong, used) in [
        ("MODE", "fast", "not a mode", "auto"),
        ("MODE", "Auto", "not a mode", "auto"),
        ("RATE", "fast", "not a number", "320"),
        ("RATE", "-1", "not a number", "320"),
        ("BURST", "4KB", "not a number", "4096"),
        ("BURST", "K", "not a number", "4096"),
        ("BULK", "0x10", "not a number", "4096"),
        ("BULK", "9223372036854775808", "too large", "4096"),
        ("FORGIVE_SECS", "1K", "not a number", "0"),
        ("RESEED_BYTES", &digits, "too large", "0"),
        ("RESEED_SECS", "1.5", "not a number", "300"),
        ("VERBOSE", "yes", "neither 0 nor 1", "0"),
        ("TEST", "wipe,nonsense", "not a test switch", "nothing"),
        ("STATS", &path, "too long", "nothing"),
    ] {
        let shown = match value.get(..40) {
            Some(start) if value.len() > 40 => format!("{start}..."),
            _ => value.to_owned(),
        };
        let name = format!("OWNPOOL_{name}");
        let printed = place.complains(&[(&name, value)]);
        let wanted = format!("ownpool: {name}: {wrong}: \"{shown}\"; using {used}\n");
        assert_eq!(printed, wanted);
    }
    for (name, value) in [
        ("OWNPOOL_FOO", "1"),
        ("OWNPOOL_", ""),
        ("OWNPOOL_rate", "5"),
        ("OWNPOOL_MODE ", "off"),
    ] {
        let wanted = format!("ownpool: {name}: no such setting; ignored\n");
        assert_eq!(place.complains(&[(name, value)]), wanted);
    }
    // A complaint leaves the default in force, and the other settings alone.
    let settings = [("OWNPOOL_BURST", "x"), ("OWNPOOL_BULK", "x"), SLOW_LEAK];
    let done = ran(&mut place.policy(&[], &settings));
    assert_eq!((done.status, done.stdout.as_str()), (0, "129\n"));
    assert_eq!(done.stderr.lines().count(), 2, "{done:?}");
    // Every row of the table but the lists of names, for which any text will do.
    for row in table::TABLE {
        if ["OWNPOOL_ONLY", "OWNPOOL_SKIP", "OWNPOOL_STATS"].contains(&row.name) {
            continue;
        }
        let printed = place.complains(&[(row.name, "\u{7}?")]);
        let default = match row.default {
            "" => "nothing",
            default => default,
        };
        let start = format!("ownpool: {}: ", row.name);
        let end = format!(": \"??\"; using {default}\n");
        assert!(
            printed.starts_with(&start) && printed.ends_with(&end),
            "{printed}"
        );
    }
}

#[test]
fn names_that_are_not_ours_are_not_looked_at() {
    let place = Policy::new();
    for name in "OWNPOOL OWNPOOLX_RATE XOWNPOOL_RATE ownpool_rate OWNPOO_".split(' ') {
        assert_eq!(place.complains(&[(name, "nonsense")]), "", "{name}");
    }
}

#[test]
fn valid_settings_are_silent() {
    let place = Policy::new();
    for row in table::TABLE {
        for value in [row.default, ""] {
            assert_eq!(place.complains(&[(row.name, value)]), "", "{}", row.name);
        }
    }
}

#[test]
fn hostile_values_do_no_harm() {
    let place = Policy::new();
    // The kernel takes at most 128 KiB a string, so megabytes are many strings.
    let longest = "A".repeat(120_000);
    let binary = OsString::from_vec((1..=255).collect());
    let values = [longest.clone().into(), binary, "\n\n\r\u{1b}[2J".into()];
    for row in table::TABLE {
        for value in &values {
            let done = ran(place.policy(&[], &[]).env(row.name, value));
            assert_eq!(done.status, 0, "{}: {done:?}", row.name);
            // At most one line, and nothing that a terminal would obey.
            let short = done.stderr.lines().count() <= 1 && done.stderr.len() < 256;
            let is_plain = |byte| byte == b'\n' || (b' '..0x7f).contains(&byte);
            assert!(short && done.stderr.bytes().all(is_plain), "{done:?}");
        }
    }
    let mut command = place.policy(&[], &[]);
    for number in 0..15 {
        let name = format!("OWNPOOL_{number}{}", "N".repeat(60_000));
        command.env(name, &longest[..60_000]);
    }
    let done = ran(&mut command);
    assert_eq!((done.status, done.stderr.lines().count()), (0, 15));
    let is_short = |line: &str| line.len() < 100 && line.ends_with("...: no such setting; ignored");
    assert!(done.stderr.lines().all(is_short));
    // The last of two counts; what is no variable is none.
    let odd = place.place.compile("odd_environment", &[]);
    let done = ran(bare(&odd).arg(&place.policy).arg(support::library()));
    assert_eq!((done.status, done.stdout.as_str()), (0, "21\n"), "{done:?}");
    assert_eq!(done.stderr, "ownpool: OWNPOOL_: no such setting; ignored\n");
}
