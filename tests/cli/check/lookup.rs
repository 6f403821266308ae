//! From a word to a program: PATH, scripts, files that are none, settings that keep out.

use super::{DRAWS, cannot_load, check, file, helps, no_effect, refused, text};
use crate::untrusted_input::Dice;
use ownpool_tests::support::{Place, command, copy_program, gcc};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn a_name_is_found_in_path() {
    let output = check(&[OsStr::new("true")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("true (/"));
}

#[test]
fn scripts_are_followed() {
    let place = Place::new();
    let draws = gcc(place.path(), "draws", DRAWS, &[]);
    let script =
        |name: &str, line: &str| file(place.path(), name, format!("#!{line}\nnothing\n"), 0o755);
    let shown = draws.display();
    helps(
        &script("direct", &format!(" {shown} -x")),
        "imports getrandom",
    );
    helps(
        &script("env", &format!("/usr/bin/env {shown}")),
        "imports getrandom",
    );
    helps(
        &script("env-s", &format!("/usr/bin/env -S A=1 {shown} -u")),
        "imports getrandom",
    );
    no_effect(
        &script("env-true", "/usr/bin/env true"),
        "neither it nor its libraries",
    );
    cannot_load(
        &script("env-i", &format!("/usr/bin/env -S -i {shown}")),
        "empties the environment",
    );
    refused(
        &script("env-u", &format!("/usr/bin/env -S -u LD_PRELOAD {shown}")),
        "what env makes of -u is not known here",
    );
    refused(
        &script("env-none", "/usr/bin/env no-such-program"),
        "not found in PATH",
    );
    refused(
        &script("no-interpreter", "/nonexistent/interpreter"),
        "its interpreter /nonexistent/interpreter: not found",
    );
    // Nested: five interpreters run, the kernel refuses the sixth.
    let mut previous = draws.clone();
    for depth in 1..=6 {
        let next = script(&format!("nested{depth}"), previous.to_str().unwrap());
        let runs = Command::new(&next)
            .status()
            .is_ok_and(|status| status.success());
        if depth <= 5 {
            assert!(runs);
            helps(&next, "imports getrandom");
        } else {
            assert!(!runs);
            refused(&next, "more than 5 interpreters");
        }
        previous = next;
    }
    let looped = place.file("loop");
    refused(
        &script("loop", looped.to_str().unwrap()),
        "more than 5 interpreters",
    );
    refused(
        &script(
            "env-loop",
            &format!("/usr/bin/env {}", place.file("env-loop").display()),
        ),
        "without end",
    );
}

#[test]
fn what_is_no_program_is_one_line() {
    let place = Place::new();
    let root = place.path();
    refused(&file(root, "data", "text", 0o644), "not executable");
    refused(
        &file(root, "text", "hello\n", 0o755),
        "neither an ELF program nor a script",
    );
    refused(
        &file(root, "empty", "", 0o755),
        "neither an ELF program nor a script",
    );
    refused(&file(root, "magic", "\x7fELF", 0o755), "truncated ELF file");
    refused(&file(root, "ansi\x1b[2J", "x", 0o755), "ansi\\u{1b}[2J");
    let bytes = std::fs::read(gcc(root, "draws", DRAWS, &[])).unwrap();
    for len in [5, 19, 63, 64, 100, 500, bytes.len() / 2] {
        refused(&file(root, "cut", &bytes[..len], 0o755), "ELF file");
    }
    let sparse = std::fs::File::create(root.join("sparse")).unwrap();
    sparse.set_len(3 << 30).unwrap();
    std::fs::write(root.join("head"), b"\x7fELF").unwrap();
    std::io::copy(
        &mut std::fs::File::open(root.join("head")).unwrap(),
        &mut &sparse,
    )
    .unwrap();
    std::fs::set_permissions(root.join("sparse"), std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(&root.join("sparse"), "larger than 1024 MiB");
    let pipe = root.join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    std::fs::set_permissions(&pipe, std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(&pipe, "not a regular file");
}

#[test]
fn settings_of_the_environment_count() {
    let place = Place::new();
    let draws = gcc(place.path(), "draws", DRAWS, &[]);
    for (name, value, status, words) in [
        ("OWNPOOL_SKIP", "x:draws", 1, "OWNPOOL_SKIP (x:draws)"),
        ("OWNPOOL_ONLY", "php", 1, "OWNPOOL_ONLY"),
        ("OWNPOOL_ONLY", "draws", 0, "imports getrandom"),
        ("OWNPOOL_MODE", "off", 1, "OWNPOOL_MODE is off"),
        ("OWNPOOL_MODE", "nonsense", 0, "imports getrandom"),
    ] {
        let output = Command::new(command())
            .arg("check")
            .arg(&draws)
            .env(name, value)
            .output()
            .unwrap();
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{name}={value}: {told}");
        assert!(told.contains(words), "{name}={value}: {told}");
    }
    // A script goes by its own name as well as by its interpreter's.
    let script = file(
        place.path(),
        "wg",
        format!("#!{}\n", draws.display()),
        0o755,
    );
    no_effect(&script, "OWNPOOL_SKIP");
    let renamed = place.file("gpg");
    copy_program(&draws, &renamed);
    no_effect(&renamed, "OWNPOOL_SKIP");
}

/// Cut, changed and spliced programs: never a crash, always one of the four statuses, and a
/// line that says why. In-process tests do this thousands of times; this is the whole command.
#[test]
fn damaged_programs_end_in_a_status() {
    let place = Place::new();
    let bytes = std::fs::read(gcc(place.path(), "draws", DRAWS, &[])).unwrap();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..300 {
        let bad = dice.spoil(&bytes, &bytes);
        let path = file(place.path(), "bad", &bad, 0o755);
        let output = check(&[path.as_os_str()]);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        match output.status.code() {
            Some(0..=2) => assert!(stderr.is_empty() && !stdout.is_empty(), "{stdout}{stderr}"),
            Some(125) => assert!(
                stdout.is_empty() && stderr.lines().count() == 1,
                "{stdout}{stderr}"
            ),
            other => panic!("{other:?}: {stdout}{stderr}"),
        }
    }
}
