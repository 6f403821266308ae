//! `ownpool check` on real programs: the verdict, its exit status and the reason.
use crate::untrusted_input::Dice;
use ownpool_tests::support;
use ownpool_tests::support::{Place, command, gcc, installed};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const DRAWS: &str =
    "#include <sys/random.h>\nint main(void) { char b[16]; return getrandom(b, 16, 0) != 16; }\n";
const IDLE: &str = "int main(void) { return 0; }\n";

fn check(arguments: &[&OsStr]) -> Output {
    let mut command = Command::new(command());
    command
        .arg("check")
        .env_remove("LD_PRELOAD")
        .env_remove("LD_LIBRARY_PATH");
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"OWNPOOL_") {
            command.env_remove(name);
        }
    }
    command
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The verdict must be this in both forms, and some reason must hold every part.
#[track_caller]
fn assert_verdict(program: &Path, verdict: &str, status: i32, reason: &str) -> Value {
    let output = check(&[OsStr::new("--json"), program.as_os_str()]);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{program:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["verdict"], verdict);
    let reasons: Vec<_> = answer["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        reasons.iter().any(|text| text.contains(reason)),
        "{program:?}: {reason} in {reasons:?}"
    );
    let plain = check(&[program.as_os_str()]);
    assert_eq!(plain.status.code(), Some(status));
    let lines = text(&plain.stdout);
    let first = lines.lines().next().unwrap_or_default();
    assert!(first.contains(&verdict.replace('_', " ")), "{first}");
    assert!(
        lines.lines().skip(1).all(|line| line.starts_with("  ")),
        "{lines}"
    );
    answer
}

#[track_caller]
fn helps(program: &Path, reason: &str) -> Value {
    assert_verdict(program, "helps", 0, reason)
}

#[track_caller]
fn no_effect(program: &Path, reason: &str) -> Value {
    assert_verdict(program, "no_effect", 1, reason)
}

#[track_caller]
fn cannot_load(program: &Path, reason: &str) -> Value {
    assert_verdict(program, "cannot_load", 2, reason)
}

/// Status 125, nothing on standard output, one line on standard error.
#[track_caller]
fn refused(program: &Path, reason: &str) {
    let output = check(&[program.as_os_str()]);
    let stderr = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(125),
        "{program:?}: {}{stderr}",
        text(&output.stdout)
    );
    assert!(
        output.stdout.is_empty() && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert!(
        stderr.starts_with("ownpool: ") && stderr.contains(reason),
        "{reason} in {stderr}"
    );
}

fn file(place: &Path, name: &str, contents: impl AsRef<[u8]>, mode: u32) -> PathBuf {
    let path = place.join(name);
    support::write_script(&path, contents.as_ref());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

#[test]
fn interpreters_and_generators_of_this_machine() {
    for (name, verdict, status, reason) in [
        ("/usr/bin/python3", "helps", 0, "imports getrandom"),
        ("/usr/bin/perl", "helps", 0, "names /dev/urandom"),
        ("/usr/bin/php", "helps", 0, "getrandom"),
        (
            "/usr/bin/true",
            "no_effect",
            1,
            "neither it nor its libraries",
        ),
        (
            "/usr/bin/node",
            "no_effect",
            1,
            "a generator of its own (RAND_bytes)",
        ),
        ("/usr/bin/java", "no_effect", 1, "Java virtual machine"),
        ("/usr/bin/dd", "no_effect", 1, "told to read /dev/urandom"),
        ("/usr/bin/openssl", "no_effect", 1, "OWNPOOL_SKIP"),
        ("/usr/bin/gpg", "no_effect", 1, "OWNPOOL_SKIP"),
        ("/usr/bin/su", "cannot_load", 2, "set-user-id"),
    ] {
        if Path::new(name).exists() {
            assert_verdict(Path::new(name), verdict, status, reason);
        }
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    for postgres in versions
        .map(|entry| entry.path().join("bin/postgres"))
        .filter(|path| path.exists())
    {
        no_effect(&postgres, "RAND_bytes");
    }
}

#[test]
fn a_name_is_found_in_path() {
    let output = check(&[OsStr::new("true")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("true (/"));
}

#[test]
fn programs_of_c() {
    let place = Place::new();
    let answer = helps(
        &gcc(place.path(), "draws", DRAWS, &[]),
        "draws imports getrandom",
    );
    assert!(
        answer["libraries"][0]["imports"]
            .as_array()
            .unwrap()
            .contains(&"getrandom".into()),
        "{answer}"
    );
    assert!(
        answer["host"]["kernel"].is_string() && answer["host"]["getrandom"] == true,
        "{answer}"
    );
    no_effect(
        &gcc(place.path(), "idle", IDLE, &[]),
        "neither it nor its libraries",
    );
    let number = "#include <unistd.h>\n#include <sys/syscall.h>\nint main(void) { char b[4]; return syscall(SYS_getrandom, b, 4, 0) != 4; }\n";
    helps(
        &gcc(place.path(), "number", number, &["-O2"]),
        "loads the number of getrandom",
    );
    let other = number.replace("SYS_getrandom, b, 4, 0", "SYS_getpid, b");
    no_effect(
        &gcc(place.path(), "other", &other, &["-O2"]),
        "neither it nor its libraries",
    );
    let device = "#include <fcntl.h>\n#include <unistd.h>\nint main(void) { char b[4]; return read(open(\"/dev/urandom\", 0), b, 4); }\n";
    helps(
        &gcc(place.path(), "device", device, &["-O2"]),
        "names /dev/urandom and imports read",
    );
    let looked_up = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint main(void) { return dlsym(RTLD_DEFAULT, \"getrandom\") == 0; }\n";
    helps(
        &gcc(place.path(), "looked_up", looked_up, &[]),
        "looks getrandom up at run time",
    );
    // By default the processor's instruction answers std::random_device, not the kernel.
    let drawn = "__attribute__((weak)) int draw(void *) __asm__(\"_ZNSt13random_device9_M_getvalEv\");\n\
        int main(void) { char b[5000]; return draw && draw(b); }\n";
    no_effect(
        &gcc(place.path(), "drawn", drawn, &["-fPIE", "-pie"]),
        "drawn uses std::random_device, which takes the processor's own instruction",
    );
    let own = "#include <stddef.h>\n#include <sys/types.h>\nssize_t getrandom(void *b, size_t n, unsigned f) { return 0; }\n";
    let own = gcc(place.path(), "own", &format!("{own}{IDLE}"), &["-rdynamic"]);
    no_effect(&own, "defines getrandom itself");
    // Stripped of its section headers too, as packers do, it says the same.
    let stripped = gcc(place.path(), "stripped", DRAWS, &["-s"]);
    let mut bytes = std::fs::read(&stripped).unwrap();
    bytes[40..48].fill(0);
    bytes[58..64].fill(0);
    helps(
        &file(place.path(), "headerless", bytes, 0o755),
        "imports getrandom",
    );
}

#[test]
fn what_the_loader_never_sees() {
    let place = Place::new();
    cannot_load(
        &gcc(place.path(), "static", DRAWS, &["-static"]),
        "statically linked",
    );
    cannot_load(
        &gcc(place.path(), "pie", DRAWS, &["-static-pie"]),
        "static-pie",
    );
    let musl = gcc(
        place.path(),
        "musl",
        DRAWS,
        &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
    );
    cannot_load(&musl, "musl");
    let gone = gcc(
        place.path(),
        "gone",
        DRAWS,
        &["-Wl,--dynamic-linker=/nonexistent/ld-linux-x86-64.so.2"],
    );
    cannot_load(&gone, "is not here");
    let android = gcc(
        place.path(),
        "android",
        DRAWS,
        &["-Wl,--dynamic-linker=/system/bin/linker64"],
    );
    cannot_load(&android, "not that of the GNU C library");
    let library = gcc(place.path(), "lib.so", "int x;\n", &["-shared", "-fPIC"]);
    refused(&library, "a shared library, not a program");
    let object = gcc(place.path(), "object.o", IDLE, &["-c"]);
    std::fs::set_permissions(&object, std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(&object, "not a program");
}

#[test]
fn programs_of_other_machines() {
    let place = Place::new();
    let bytes = std::fs::read(gcc(place.path(), "draws", DRAWS, &[])).unwrap();
    let with = |name: &str, at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        file(place.path(), name, bytes, 0o755)
    };
    // e_ident[EI_CLASS], e_machine.
    cannot_load(&with("class", 4, 1), "32-bit");
    cannot_load(&with("machine", 18, 243), "ELF machine 243");
    refused(&with("class9", 4, 9), "damaged ELF file");
}

#[test]
fn programs_that_start_in_secure_mode() {
    let place = Place::new();
    let bytes = std::fs::read(gcc(place.path(), "draws", DRAWS, &[])).unwrap();
    cannot_load(&file(place.path(), "suid", &bytes, 0o4755), "set-user-id");
    cannot_load(&file(place.path(), "sgid", &bytes, 0o2755), "set-group-id");
    helps(
        &file(place.path(), "locking", &bytes, 0o2745),
        "imports getrandom",
    );
    let capable = file(place.path(), "capable", &bytes, 0o755);
    let setcap = ["/usr/sbin/setcap", "/sbin/setcap"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    // Where it is not installed or not allowed, the case cannot be made.
    let made = setcap.map(|setcap| {
        Command::new(setcap)
            .arg("cap_net_raw+ep")
            .arg(&capable)
            .output()
            .unwrap()
    });
    if made.is_some_and(|output| output.status.success()) {
        cannot_load(&capable, "file capabilities");
    }
    // The bits of a script mean nothing to the kernel.
    let script = file(
        place.path(),
        "script",
        format!("#!{}\n", place.file("draws").display()),
        0o4755,
    );
    helps(&script, "imports getrandom");
}

/// The marks that Go's linker leaves, in a program that gcc made.
#[test]
fn programs_of_go() {
    let place = Place::new();
    for (version, words) in [
        ("go1.24.1", "since 1.24"),
        ("go1.19.8", "built by go1.19.8"),
    ] {
        let source = format!(
            r#"__asm__(".section .note.go.buildid,\"a\",@note\n.balign 4\n.long 4, 4, 4\n.asciz \"Go\\0\"\n.ascii \"abcd\"\n"
            ".section .go.buildinfo,\"aw\"\n.ascii \"\\377 Go buildinf:\"\n.byte 8, 2\n.zero 16\n.byte {}\n.ascii \"{version}\"\n.text\n");
            {DRAWS}"#,
            version.len()
        )
        .replace("#include <sys/random.h>\n", "");
        let source = format!("#include <sys/random.h>\n{source}");
        no_effect(&gcc(place.path(), version, &source, &[]), words);
        cannot_load(
            &gcc(place.path(), "static", &source, &["-static"]),
            "past the C library",
        );
    }
}

#[test]
fn libraries_are_found_as_the_loader_finds_them() {
    let place = Place::new();
    let root = place.path();
    std::fs::create_dir_all(root.join("lib/deep")).unwrap();
    let asks =
        "#include <sys/random.h>\nint inner(void) { char b[4]; return getrandom(b, 4, 0); }\n";
    gcc(
        &root.join("lib/deep"),
        "libinner.so",
        asks,
        &["-shared", "-fPIC"],
    );
    let deep = format!("-L{}", root.join("lib/deep").display());
    let lib = format!("-L{}", root.join("lib").display());
    let outer = "int inner(void);\nint outer(void) { return inner(); }\n";
    let uses = "int outer(void);\nint main(void) { return outer() < 0; }\n";
    for (name, tags) in [
        ("runpath", "-Wl,--enable-new-dtags"),
        ("rpath", "-Wl,--disable-new-dtags"),
    ] {
        gcc(
            &root.join("lib"),
            "libouter.so",
            outer,
            &[
                "-shared",
                "-fPIC",
                &deep,
                "-linner",
                tags,
                "-Wl,-rpath,$ORIGIN/deep",
            ],
        );
        let arguments = [
            &lib,
            "-louter",
            tags,
            "-Wl,-rpath,$ORIGIN/lib",
            "-Wl,--allow-shlib-undefined",
        ];
        helps(
            &gcc(root, name, uses, &arguments),
            "libinner.so imports getrandom",
        );
    }
    // DT_RPATH of the program serves its libraries too, DT_RUNPATH does not.
    gcc(
        &root.join("lib"),
        "libouter.so",
        outer,
        &["-shared", "-fPIC", &deep, "-linner"],
    );
    let both = "-Wl,-rpath,$ORIGIN/lib:$ORIGIN/lib/deep";
    let build = |name: &str, tags: &str| {
        gcc(
            root,
            name,
            uses,
            &[&lib, "-louter", tags, both, "-Wl,--allow-shlib-undefined"],
        )
    };
    helps(
        &build("inherits", "-Wl,--disable-new-dtags"),
        "libinner.so imports getrandom",
    );
    let alone = build("alone", "-Wl,--enable-new-dtags");
    no_effect(
        &alone,
        "its libraries are not known: the loader refuses it: libinner.so: cannot open",
    );
    assert!(
        !Command::new(&alone).output().unwrap().status.success(),
        "the loader does not find it either"
    );
    let output = Command::new(command())
        .args(["check"])
        .arg(&alone)
        .env("LD_LIBRARY_PATH", root.join("lib/deep"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

/// No code of a program runs when it is only looked at: the loader of this system is asked,
/// and not about programs that name audit modules, which it would load and call.
#[test]
fn nothing_of_the_program_runs() {
    let place = Place::new();
    let root = place.path();
    let marker = place.file("ran");
    let source = format!(
        "#include <stdio.h>\n\
         static void mark(void) {{ fopen(\"{0}\", \"w\"); }}\n\
         unsigned la_version(unsigned version) {{ mark(); return version; }}\n\
         __attribute__((constructor)) static void constructed(void) {{ mark(); }}\n\
         static int one(void) {{ return 1; }}\n\
         static void *chosen(void) {{ mark(); return one; }}\n\
         int outer(void) __attribute__((ifunc(\"chosen\")));\n",
        marker.display()
    );
    let library = gcc(
        root,
        "libouter.so",
        &source,
        &["-shared", "-fPIC", "-z", "lazy"],
    );
    let uses = format!(
        "int outer(void);\n{}",
        DRAWS.replace("char", "outer(); char")
    );
    let paths = ["-L", "-Wl,-rpath,"].map(|option| format!("{option}{}", root.display()));
    let linked = [&paths[0], &paths[1], "-louter", "-Wl,-z,now"];
    let answer = helps(&gcc(root, "linked", &uses, &linked), "imports getrandom");
    let path = library.to_str().unwrap();
    assert!(answer["libraries"].to_string().contains(path), "{answer}");
    let audit = format!("-Wl,--audit={path}");
    let depaudit = format!("-Wl,--depaudit={path}");
    for (name, option) in [("audit", audit), ("depaudit", depaudit)] {
        let program = gcc(root, name, DRAWS, &[&option]);
        helps(
            &program,
            "not known: it names audit modules, which would run",
        );
        assert!(!marker.exists(), "{name}");
    }
    // It runs when the program does.
    let status = Command::new(root.join("audit")).status().unwrap();
    assert!(status.success() && marker.exists());
    // The loader that a program names may be anything: it is not asked.
    let script = format!("#!/bin/sh\ntouch {}2\n", marker.display());
    let loader = file(root, "ld-linux-x86-64.so.2", script, 0o755);
    let option = format!("-Wl,--dynamic-linker={}", loader.display());
    let program = gcc(root, "other", DRAWS, &[&option]);
    helps(
        &program,
        "not known: its loader is not the one of this system",
    );
    assert!(!place.file("ran2").exists());
}

/// A named pipe in place of a library makes the loader wait; `check` does not wait for ever.
#[test]
fn a_loader_that_waits_is_ended() {
    let place = Place::new();
    let root = place.path();
    let library = gcc(
        root,
        "libouter.so",
        "int outer(void) { return 1; }\n",
        &["-shared", "-fPIC"],
    );
    let paths = ["-L", "-Wl,-rpath,"].map(|option| format!("{option}{}", root.display()));
    let uses = "int outer(void);\nint main(void) { return outer(); }\n";
    let program = gcc(root, "waits", uses, &[&paths[0], &paths[1], "-louter"]);
    std::fs::remove_file(&library).unwrap();
    let made = Command::new("mkfifo").arg(&library).status().unwrap();
    assert!(made.success());
    let output = check(&[program.as_os_str()]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("the loader did not end in 10 seconds"),
        "{told}"
    );
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
    support::copy_program(&draws, &renamed);
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
