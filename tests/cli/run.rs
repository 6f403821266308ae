//! `ownpool run` as a user meets it: exit statuses, quoting, environment, refusals.
use ownpool_core::settings;
use ownpool_tests::support::{Place, command, copy_program, installed, library, root};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `ownpool run` with these arguments, in an environment without settings.
fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(arguments: I) -> Output {
    bare(&command())
        .arg("run")
        .args(arguments)
        .output()
        .expect("the command starts")
}

/// A command that inherits no preload and no setting.
fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_PRELOAD");
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"OWNPOOL_") {
            command.env_remove(name);
        }
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The command alone, in a directory of its own; the library goes where `library_in` says.
fn installed_as(root: &Path, library_in: Option<&str>) -> PathBuf {
    let bin = root.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    copy_program(&command(), &bin.join("ownpool"));
    if let Some(place) = library_in {
        std::fs::create_dir_all(root.join(place)).unwrap();
        std::fs::copy(library(), root.join(place).join("libownpool.so")).unwrap();
    }
    bin.join("ownpool")
}

/// Exit status 125, nothing on standard output, and one line that holds all of these.
fn assert_refused(output: &Output, parts: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(output.stdout.is_empty());
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("ownpool: "), "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{part} in {stderr}");
    }
}

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

#[test]
fn a_missing_library_is_never_a_silent_run() {
    let root = Place::new();
    let alone = installed_as(root.path(), None);
    let output = bare(&alone)
        .args(["run", "touch"])
        .arg(root.file("ran"))
        .output()
        .unwrap();
    let bin = root.file("bin").canonicalize().unwrap();
    assert_refused(
        &output,
        &["libownpool.so not found", bin.to_str().unwrap(), "/lib"],
    );
    assert!(!root.file("ran").exists());
    // Something of that name that ld.so would pass over with a warning is no library either.
    std::fs::write(bin.join("libownpool.so"), "a text").unwrap();
    assert_refused(
        &bare(&alone).args(["run", "true"]).output().unwrap(),
        &["not a shared library"],
    );
}

#[test]
fn the_library_is_found_where_it_is_installed() {
    for place in [
        "bin",
        "lib",
        "lib/x86_64-linux-gnu",
        "lib/aarch64-linux-gnu",
        "lib64",
    ] {
        if place.contains("linux-gnu") && !place.contains(std::env::consts::ARCH) {
            continue;
        }
        let root = Place::new();
        let ours = installed_as(root.path(), Some(place));
        // By a link and a relative path too: the executable's own directory counts.
        std::os::unix::fs::symlink(&ours, root.file("link")).unwrap();
        let output = bare(Path::new("./link"))
            .current_dir(root.path())
            .args(["run", "printenv", "LD_PRELOAD"])
            .output()
            .unwrap();
        let expected = root
            .path()
            .canonicalize()
            .unwrap()
            .join(place)
            .join("libownpool.so");
        assert_eq!(
            text(&output.stdout).trim_end(),
            expected.to_str().unwrap(),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_path_that_ld_so_would_split_is_refused() {
    for name in ["a:b", "a b", "a$LIB"] {
        let root = Place::new();
        let odd = installed_as(&root.file(name), Some("bin"));
        let output = bare(&odd).args(["run", "true"]).output().unwrap();
        assert_refused(&output, &["LD_PRELOAD cannot hold", name]);
    }
}

#[test]
fn a_report_path_that_is_too_long_names_its_option() {
    let long = format!("--stats=/{}", "x".repeat(1023));
    assert_refused(
        &run([long.as_str(), "true"]),
        &["--stats", "OWNPOOL_STATS", "too long"],
    );
}

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
    let output = bare(&command())
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
        let output = bare(&command())
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
    let output = bare(&installed("env").unwrap())
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

/// Operators find every line that the library prints in the guide, word for word.
#[test]
fn the_guide_explains_every_line() {
    let guide = include_str!("../../docs/operating.md");
    let preloaded = |name: &str, value: &str| {
        let output = bare(Path::new("/bin/true"))
            .env("LD_PRELOAD", library())
            .env(name, value)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr)
    };
    for (name, value, line) in [
        (
            "OWNPOOL_MODE",
            "fast",
            "ownpool: OWNPOOL_MODE: not a mode: \"fast\"; using auto",
        ),
        (
            "OWNPOOL_RATE",
            "fast",
            "ownpool: OWNPOOL_RATE: not a number: \"fast\"; using 320",
        ),
        (
            "OWNPOOL_BURST",
            "99999999999999999999",
            "ownpool: OWNPOOL_BURST: too large: \"...\"; using 4096",
        ),
        (
            "OWNPOOL_VERBOSE",
            "yes",
            "ownpool: OWNPOOL_VERBOSE: neither 0 nor 1: \"yes\"; using 0",
        ),
        (
            "OWNPOOL_FOO",
            "1",
            "ownpool: OWNPOOL_FOO: no such setting; ignored",
        ),
    ] {
        assert!(guide.contains(&format!("`{line}`")), "{line}");
        assert_eq!(preloaded(name, value), line.replace("...", value) + "\n");
    }
    // For tests alone, and so not in the guide.
    assert_eq!(
        preloaded("OWNPOOL_TEST", "x"),
        "ownpool: OWNPOOL_TEST: not a test switch: \"x\"; using nothing\n"
    );
    assert_eq!(preloaded("OWNPOOL_RATE", "7"), "");
    let long = "x".repeat(settings::STATS_MAX + 1);
    assert!(preloaded("OWNPOOL_STATS", &long).starts_with("ownpool: OWNPOOL_STATS: too long: "));
    let verbose = preloaded("OWNPOOL_VERBOSE", "1");
    assert!(
        verbose.starts_with("ownpool: 0.1.0 (")
            && verbose.contains(" mode=auto rate=320 burst=4096 "),
        "{verbose}"
    );
    use settings::Complaint as C;
    // A new kind of complaint does not compile here until it is explained there.
    let explained = |complaint: settings::Complaint| match complaint {
        C::UnknownName
        | C::NotAMode
        | C::NotANumber
        | C::TooLarge
        | C::NotAChoice
        | C::NotASwitch
        | C::TooLong => {
            assert!(guide.contains(complaint.words()), "{complaint:?}")
        }
        C::NotATest => {}
    };
    for complaint in [
        C::UnknownName,
        C::NotAMode,
        C::NotANumber,
        C::TooLarge,
        C::NotAChoice,
        C::NotASwitch,
        C::TooLong,
        C::NotATest,
    ] {
        explained(complaint);
    }
    // And no whole line in the library's own text is left out.
    let mut lines = 0;
    let mut directories = vec![root().join("src")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let texts = source.split("b\"ownpool: ").skip(1);
            let whole = texts.filter_map(|rest| rest.split_once('"')?.0.strip_suffix("\\n"));
            for line in whole {
                lines += 1;
                let line = format!("ownpool: {line}");
                assert!(guide.contains(&line), "{line} of {path:?}");
            }
        }
    }
    assert!(lines > 0);
}
