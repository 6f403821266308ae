//! What `ownpool report` reads, and what it refuses.

use super::{report, text};
use ownpool_tests::support::{Place, command};
use std::process::Command;

#[test]
fn a_file_of_another_kind_is_not_complained_about_for_ever() {
    let output = report(&[command().to_str().unwrap()], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let stderr = text(&output.stderr);
    assert!(
        stderr.lines().count() == 21 && stderr.ends_with("bad lines in all\n"),
        "{stderr}"
    );
    let mut long = vec![b'x'; 17 << 20];
    long.extend_from_slice(b"\n{\"ownpool\":\"1\",\"pid\":5}\n");
    let output = report(&["-"], &long);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "ownpool: -: line 1: longer than 16 MiB\n"
    );
    assert!(text(&output.stdout).contains("pid 5"));
}

/// Devices may have no end; what only looks like a file is read as ever.
#[test]
fn devices_are_refused_and_pipes_are_read() {
    let place = Place::new();
    let link = place.file("link");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    for path in ["/dev/zero", "/dev/urandom", link.to_str().unwrap()] {
        let output = report(&[path], b"");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(125), 0));
        assert_eq!(
            text(&output.stderr),
            format!("ownpool: {path}: a device, not a report\n")
        );
    }
    let line = "{\"ownpool\":\"0.1.0\",\"pid\":7}";
    let fifo = place.file("fifo");
    for script in [
        "mkfifo \"$3\"; printf '%s\\n' \"$2\" > \"$3\" & \"$1\" report \"$3\"",
        "\"$1\" report <(printf '%s\\n' \"$2\")",
        "printf '%s\\n' \"$2\" | \"$1\" report /dev/stdin",
        "\"$1\" report - < /dev/null; printf '%s\\n' \"$2\" | \"$1\" report -",
    ] {
        let output = Command::new("bash")
            .args(["-c", script, "bash"])
            .arg(command())
            .arg(line)
            .arg(&fifo)
            .output()
            .unwrap();
        let table = text(&output.stdout);
        assert!(
            output.status.success() && table.contains("(pid 7)"),
            "{script}: {table} {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn names_from_the_file_cannot_drive_the_terminal() {
    let input = br#"{"ownpool":"1","program":"\u001b[2J","mode":"\u0007","callers":[{"module":"a\nb","offset":"\u001b"}]}"#;
    let output = report(&["-"], input);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        !output
            .stdout
            .iter()
            .any(|byte| byte.is_ascii_control() && *byte != b'\n')
    );
    assert!(text(&output.stdout).contains("a\\nb"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let many = "{\"ownpool\":\"1\",\"program\":\"p\",\"mode\":\"auto\"}\n".repeat(20_000);
    let place = Place::new();
    let file = place.file("many");
    std::fs::write(&file, many).unwrap();
    let script = "{ \"$1\" report \"$2\"; echo $? >&2; } | head -n 1";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(command())
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(text(&output.stderr), "0\n");
    assert_eq!(text(&output.stdout).lines().count(), 1);
}
