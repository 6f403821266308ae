//! Programs that no preloaded library gets into.

use super::{DRAWS, IDLE, cannot_load, file, helps, refused};
use ownpool_tests::support::{Place, gcc};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

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
