//! The exit status of `ownpool run`, and that the program is served.

use super::{run, text};
use ownpool_tests::support::Place;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

#[test]
fn the_status_is_that_of_the_program() {
    for status in [0, 1, 42, 125, 255] {
        assert_eq!(
            run(["sh", "-c", &format!("exit {status}")]).status.code(),
            Some(status)
        );
    }
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGPIPE] {
        assert_eq!(
            run(["sh", "-c", &format!("kill -{signal} $$")])
                .status
                .signal(),
            Some(signal)
        );
    }
}

#[test]
fn what_cannot_be_started_is_126_or_127() {
    let place = Place::new();
    let file = place.file("data");
    std::fs::write(&file, "no program").unwrap();
    let status = |program: &OsStr| {
        let output = run([program]);
        assert!(
            text(&output.stderr).starts_with("ownpool: "),
            "{}",
            text(&output.stderr)
        );
        output.status.code()
    };
    assert_eq!(status(file.as_os_str()), Some(126));
    assert_eq!(status(place.path().as_os_str()), Some(126));
    assert_eq!(status(OsStr::new("no-such-program-anywhere")), Some(127));
    assert_eq!(status(place.file("missing").as_os_str()), Some(127));
    // As execvp: a script without #! is the shell's.
    std::fs::write(&file, "exit 7\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run([file.as_os_str()]).status.code(), Some(7));
}

/// The program is moved onto a private generator, and says so at its end.
#[test]
fn python_is_served() {
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        return;
    }
    let script = "import os\nassert len({os.urandom(16) for _ in range(2000)}) == 2000";
    let output = run([
        OsStr::new("--stats"),
        python.as_os_str(),
        OsStr::new("-c"),
        OsStr::new(script),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&output.stderr).expect("one report on standard error");
    assert_eq!(report["threads_moved"], 1, "{report}");
    // 4096 bytes of burst are 128 calls of cost 32; the bucket may leak a little meanwhile.
    assert!(
        report["private"]["calls"].as_u64().unwrap() > 1500,
        "{report}"
    );
}
