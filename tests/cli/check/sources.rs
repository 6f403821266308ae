//! Where a program's randomness comes from, as its files tell.

use super::{DRAWS, IDLE, assert_verdict, cannot_load, file, helps, no_effect};
use ownpool_tests::support::{Place, gcc};
use std::path::Path;

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
