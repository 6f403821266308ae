//! What the system's loader is asked, and what it is not.

use super::{DRAWS, check, file, helps, no_effect, text};
use ownpool_tests::support::{Place, command, gcc};
use std::process::Command;

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
