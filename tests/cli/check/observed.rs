//! With `--run`, what is seen decides.

use super::{check, text};
use ownpool_tests::support::{Place, gcc, installed};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

/// With --run, what is seen decides. `python3 -c` draws as much as it is told to.
#[test]
fn running_decides() {
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        return;
    }
    let run = |script: &str, json: bool| {
        let mut arguments = vec![];
        arguments.extend(json.then_some(OsStr::new("--json")));
        arguments.extend([
            python.as_os_str(),
            OsStr::new("--run"),
            OsStr::new("-c"),
            OsStr::new(script),
        ]);
        check(&arguments)
    };
    let heavy = run(
        "import os\nfor _ in range(2000): os.urandom(16)\nprint('--json')",
        true,
    );
    let answer: Value =
        serde_json::from_slice(&heavy.stdout).expect("JSON alone on standard output");
    assert_eq!(
        (heavy.status.code(), &answer["verdict"]),
        (Some(0), &"helps".into()),
        "{answer}"
    );
    assert_eq!(
        answer["observed"][0]["would_move"]["threads"], 1,
        "{answer}"
    );
    assert_eq!(
        answer["observed"][0]["private"]["calls"], 0,
        "no caller is served: {answer}"
    );
    assert_eq!(answer["ended"], "exit status 0");
    assert!(
        text(&heavy.stderr).contains("--json"),
        "the program's own output went aside"
    );
    let light = run("import os, sys\nos.urandom(16)\nsys.exit(3)", false);
    let told = text(&light.stdout);
    assert_eq!(light.status.code(), Some(1), "{told}");
    assert!(
        told.contains("all within the allowance") && told.contains("exit status 3"),
        "{told}"
    );
    let run = |arguments: &[&str]| {
        let output = check(&arguments.iter().map(OsStr::new).collect::<Vec<_>>());
        (output.status.code(), text(&output.stdout))
    };
    let (status, told) = run(&["/usr/bin/true", "--run"]);
    assert!(
        status == Some(1) && told.contains("it drew nothing"),
        "{told}"
    );
    // Killed: there is no report, so the verdict from the files stands.
    let (status, told) = run(&[
        "/usr/bin/python3",
        "--run",
        "-c",
        "import os; os.kill(os.getpid(), 9)",
    ]);
    assert!(
        status == Some(0) && told.contains("killed by signal 9"),
        "{told}"
    );
    // What cannot be moved is not run.
    let place = Place::new();
    let marker = place.file("ran");
    let source = format!(
        "#include <stdio.h>\nint main(void) {{ return fopen(\"{}\", \"w\") == 0; }}\n",
        marker.display()
    );
    let program = gcc(place.path(), "static", &source, &["-static"]);
    let (status, told) = run(&[program.to_str().unwrap(), "--run"]);
    assert!(
        status == Some(2) && told.contains("not run") && !marker.exists(),
        "{told}"
    );
    let program = gcc(place.path(), "wg", &source, &[]);
    let (status, told) = run(&[program.to_str().unwrap(), "--run"]);
    assert!(
        status == Some(1) && told.contains("not run") && !marker.exists(),
        "{told}"
    );
}

/// Interpreters and virtual machines as they are, where they are installed.
#[test]
fn running_decides_for_every_kind() {
    let perl = "open F, '<:unix', '/dev/urandom'; for (1..3000) { sysread F, $b, 16 }";
    let node = "for (let i = 0; i < 2000; i++) crypto.randomUUID()";
    for (program, arguments, status, words) in [
        (
            "/usr/bin/perl",
            vec!["-e", perl],
            0,
            "1 thread would have been moved",
        ),
        (
            "/usr/bin/perl",
            vec!["-e", "print rand"],
            1,
            "all within the allowance",
        ),
        (
            "/usr/bin/node",
            vec!["-e", node],
            1,
            "a generator of its own",
        ),
        ("/usr/bin/java", vec!["-version"], 1, "Java virtual machine"),
        (
            "/usr/bin/dd",
            vec!["if=/dev/urandom", "of=/dev/null", "bs=64K", "count=4"],
            0,
            "1 thread would have been moved",
        ),
    ] {
        if installed(program.trim_start_matches("/usr/bin/")).is_none() {
            continue;
        }
        let all: Vec<&OsStr> = [program, "--run"]
            .into_iter()
            .chain(arguments)
            .map(OsStr::new)
            .collect();
        let output = check(&all);
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{program}: {told}");
        assert!(
            told.contains(words) && told.contains("exit status 0"),
            "{words} in {told}"
        );
    }
}
