//! What the program gets from us: all that we got, the preload and the settings.

use super::{assert_refused, run, text};
use ownpool_tests::support::{Place, bare, command, installed, library};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

#[test]
fn options_become_settings() {
    let place = Place::new();
    let place = place.path().canonicalize().unwrap();
    let options = [
        "--mode",
        "observe",
        "--rate=7",
        "--burst=2K",
        "--bulk",
        "1G",
        "--forgive=9",
        "--reseed-bytes=64K",
    ];
    let output = bare(command())
        .current_dir(&place)
        .env("OWNPOOL_RATE", "320")
        .arg("run")
        .args(options)
        .args(["--reseed-secs=8", "--stats=%p.json", "--verbose", "env"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let environment = text(&output.stdout);
    for line in [
        "OWNPOOL_MODE=observe",
        "OWNPOOL_RATE=7",
        "OWNPOOL_BURST=2K",
        "OWNPOOL_BULK=1G",
        "OWNPOOL_FORGIVE_SECS=9",
        "OWNPOOL_RESEED_BYTES=64K",
        "OWNPOOL_RESEED_SECS=8",
        "OWNPOOL_VERBOSE=1",
        &format!("OWNPOOL_STATS={}/%p.json", place.display()),
    ] {
        assert_eq!(
            environment.lines().filter(|l| *l == line).count(),
            1,
            "{line} in {environment}"
        );
    }
    assert!(text(&run(["--stats", "printenv", "OWNPOOL_STATS"]).stdout).starts_with("stderr\n"));
    assert!(
        text(&run(["--stats=stderr", "printenv", "OWNPOOL_STATS"]).stdout).starts_with("stderr\n")
    );
    assert_eq!(
        text(&run(["sh", "-c", "env | grep -c ^OWNPOOL_"]).stdout),
        "0\n"
    );
}

#[test]
fn what_was_preloaded_stays() {
    let ours = library();
    for before in ["libm.so.6", "libm.so.6 libdl.so.2", "libm.so.6:libdl.so.2"] {
        let output = bare(command())
            .env("LD_PRELOAD", before)
            .args(["run", "printenv", "LD_PRELOAD"])
            .output()
            .unwrap();
        assert_eq!(
            text(&output.stdout),
            format!("{}:{before}\n", ours.display())
        );
    }
    let ours_loaded = text(&run(["cat", "/proc/self/maps"]).stdout).contains("/libownpool.so");
    assert!(ours_loaded);
}

#[test]
fn arguments_arrive_byte_for_byte() {
    let odd = OsString::from_vec(b"\xff\xfe *\n'\"$x".to_vec());
    let script = r#"printf '%s\0' "$@""#;
    let mut arguments: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).to_vec();
    let own = [
        "--mode", "nonsense", "-x", "--", "--help", "", "--stats", "run",
    ];
    arguments.extend(own.map(OsString::from));
    arguments.push(odd.clone());
    let mut expected: Vec<Vec<u8>> = own
        .iter()
        .map(|argument| argument.as_bytes().to_vec())
        .collect();
    expected.push(odd.into_vec());
    for front in [
        vec![],
        vec![OsString::from("--")],
        vec!["--mode=off".into(), "--".into()],
    ] {
        let output = run(front.iter().chain(&arguments));
        let mut seen: Vec<Vec<u8>> = output
            .stdout
            .split(|&byte| byte == 0)
            .map(<[u8]>::to_vec)
            .collect();
        assert_eq!(seen.pop(), Some(Vec::new()));
        assert_eq!(seen, expected, "{}", text(&output.stderr));
    }
}

/// Order, duplicates and entries without `=` are part of what a program is given.
#[test]
fn the_environment_is_handed_on_as_it_is() {
    let Some(perl) = installed("perl") else {
        println!("perl is not installed");
        return;
    };
    let output = bare(installed("env").unwrap())
        .args(["-i", "Z=1", "A=2", "M=\n"])
        .arg(command())
        .arg("run")
        .arg(perl)
        .args(["-e", "open F, '/proc/self/environ'; print <F>"])
        .output()
        .unwrap();
    let expected = format!("Z=1\0A=2\0M=\n\0LD_PRELOAD={}\0", library().display());
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

#[test]
fn signals_and_descriptors_are_handed_on_as_they_are() {
    let shell = |script: &str| {
        let output = bare(Path::new("/bin/sh"))
            .env("OWNPOOL", command())
            .args(["-c", script])
            .output()
            .unwrap();
        text(&output.stdout)
    };
    // SIGPIPE is 13: bit 12. Services of systemd start with it ignored.
    let ignored = |script: &str| {
        let mask = shell(script);
        let mask = mask
            .split_whitespace()
            .nth(1)
            .map(|mask| u64::from_str_radix(mask, 16));
        mask.expect("a line SigIgn").unwrap() & (1 << 12) != 0
    };
    assert!(ignored(
        "trap '' PIPE; exec \"$OWNPOOL\" run grep SigIgn /proc/self/status"
    ));
    assert!(!ignored(
        "trap - PIPE; exec \"$OWNPOOL\" run grep SigIgn /proc/self/status"
    ));
    assert_eq!(shell("\"$OWNPOOL\" run readlink /proc/self/fd/0 <&-"), "");
    assert_eq!(
        shell("\"$OWNPOOL\" run readlink /proc/self/fd/0 </dev/zero"),
        "/dev/zero\n"
    );
}

#[test]
fn a_report_path_that_is_too_long_names_its_option() {
    let long = format!("--stats=/{}", "x".repeat(1023));
    assert_refused(
        &run([long.as_str(), "true"]),
        &["--stats", "OWNPOOL_STATS", "too long"],
    );
}
