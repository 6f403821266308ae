//! Callers are named by function, and by the right file alone.

use super::{report, text};
use ownpool_tests::support::{Place, command, gcc};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prints where three functions are returned to, as the library writes it: the return
/// address less the load bias. `last` never returns, so its call is the end of it.
const PLACES: &str = r#"
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
static ElfW(Addr) bias;
static int first(struct dl_phdr_info *info, size_t size, void *out) { bias = info->dlpi_addr; return 1; }
__attribute__((noinline)) void here(const char *name) {
    printf("%s 0x%lx\n", name, (unsigned long)__builtin_return_address(0) - bias);
}
__attribute__((noinline, noreturn)) void here_and_out(const char *name) {
    printf("%s 0x%lx\n", name, (unsigned long)__builtin_return_address(0) - bias);
    exit(0);
}
__attribute__((noinline)) void heavy_caller(void) { here("heavy_caller"); __asm__ volatile(""); }
static __attribute__((noinline)) void light_caller(void) { here("light_caller"); __asm__ volatile(""); }
__attribute__((noinline)) void last_caller(void) { here_and_out("last_caller"); }
int main(void) {
    dl_iterate_phdr(first, 0);
    heavy_caller();
    light_caller();
    last_caller();
}
"#;

/// Name and offset of each place that the program prints.
fn places(program: &Path) -> Vec<(String, String)> {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success());
    let pair = |line: &str| {
        line.split_once(' ')
            .map(|(name, offset)| (name.to_string(), offset.to_string()))
    };
    text(&output.stdout).lines().filter_map(pair).collect()
}

fn build_id(program: &Path) -> String {
    let output = Command::new("readelf")
        .arg("-n")
        .arg(program)
        .output()
        .unwrap();
    let notes = text(&output.stdout);
    notes
        .lines()
        .find_map(|line| line.trim().strip_prefix("Build ID: "))
        .unwrap_or_default()
        .to_string()
}

/// A line in which each place of the module has asked once, the first most.
fn line(module: &Path, build_id: &str, places: &[(String, String)]) -> Vec<u8> {
    let callers: Vec<Value> = (0..)
        .zip(places)
        .map(|(index, (_, offset))| {
            json!({"module": module, "build_id": build_id, "offset": offset, "entry": "getrandom",
                   "calls": 100 - index, "bytes": 1600 - index, "largest": 16, "threads": 1, "moved": index == 0})
        })
        .collect();
    let mut line = serde_json::to_vec(&json!({
        "ownpool": "0.1.0", "backend": "avx2", "pid": 4711, "program": "places", "mode": "observe", "threads_moved": 0,
        "kernel": {"calls": 300, "bytes": 4800}, "private": {"calls": 0, "bytes": 0},
        "would_move": {"threads": 1, "calls": 100, "bytes": 1600}, "refills": 0, "reseeds": 0,
        "entries": {"getrandom": 300, "read": 0}, "fell_through": {"busy": 2, "flags": 0}, "callers": callers,
    }))
    .unwrap();
    line.push(b'\n');
    line
}

/// The functions that the command names for this line, heaviest first.
fn functions(line: &[u8]) -> Vec<Option<String>> {
    let output = report(&["--json", "-"], line);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let process: Value = serde_json::from_slice(&output.stdout).unwrap();
    let callers = process["callers"].as_array().unwrap();
    callers
        .iter()
        .map(|caller| caller["function"].as_str().map(String::from))
        .collect()
}

fn some(names: &[&str]) -> Vec<Option<String>> {
    names
        .iter()
        .map(|name| Some((*name).to_string()).filter(|name| !name.is_empty()))
        .collect()
}

fn objcopy(arguments: &[&str], paths: &[&Path]) {
    assert!(
        Command::new("objcopy")
            .args(arguments)
            .args(paths)
            .status()
            .unwrap()
            .success()
    );
}

const ALL: [&str; 3] = ["heavy_caller", "light_caller", "last_caller"];

#[test]
fn a_table_with_the_names_of_functions() {
    let place = Place::new();
    let program = gcc(
        place.path(),
        "places",
        PLACES,
        &["-O2", "-falign-functions=1"],
    );
    let line = line(&program, &build_id(&program), &places(&program));
    assert_eq!(functions(&line), some(&ALL));
    let file = place.file("report.json");
    std::fs::write(&file, &line).unwrap();
    let output = report(&[file.to_str().unwrap()], b"");
    let table = text(&output.stdout);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    let row = table
        .lines()
        .find(|line| line.contains("heavy_caller+0x"))
        .expect("the heavy function's row");
    for part in [
        " 100 ",
        " 1,600 ",
        " 16 ",
        " yes ",
        "getrandom",
        program.to_str().unwrap(),
    ] {
        assert!(row.contains(part), "{part} in {row}");
    }
    for part in [
        "places (pid 4711): mode observe",
        "would move",
        "33.3 %",
        "entered by   getrandom 300",
        "busy 2",
    ] {
        assert!(table.contains(part), "{part} in\n{table}");
    }
    assert!(
        !table.contains("flags") && !table.contains(" read "),
        "{table}"
    );
    let rows: Vec<_> = ALL.iter().map(|name| table.find(name).unwrap()).collect();
    assert!(rows.is_sorted(), "{table}");
}

#[test]
fn stripped_programs_have_what_they_export() {
    let place = Place::new();
    let program = gcc(place.path(), "places", PLACES, &["-O2", "-rdynamic", "-s"]);
    let line = line(&program, &build_id(&program), &places(&program));
    assert_eq!(functions(&line), some(&["heavy_caller", "", "last_caller"]));
}

#[test]
fn debug_data_beside_the_program_is_used() {
    for id in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
        for below in ["", ".debug"] {
            let place = Place::new();
            let program = gcc(place.path(), "places", PLACES, &["-O2", "-g", id]);
            std::fs::create_dir_all(place.file(below)).unwrap();
            let debug = place.file(below).join("places.debug");
            objcopy(&["--only-keep-debug"], &[&program, &debug]);
            objcopy(&["--strip-all"], &[&program]);
            let link = format!("--add-gnu-debuglink={}", debug.display());
            objcopy(&[&link], &[&program]);
            let line = line(&program, &build_id(&program), &places(&program));
            assert_eq!(functions(&line), some(&ALL), "{id} {below}");
            // Another file of that name is no help: neither checksum nor build-id agree.
            std::fs::copy("/bin/true", &debug).unwrap();
            assert_eq!(functions(&line), some(&["", "", ""]), "{id} {below}");
        }
    }
}

#[test]
fn debug_data_by_build_id_is_used_where_installed() {
    let libc = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
    let id = build_id(libc);
    let Some((first, rest)) = id.split_at_checked(2) else {
        return;
    };
    let debug = PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"));
    if !debug.exists() {
        return;
    }
    let symbols = Command::new("nm").arg("-S").arg(&debug).output().unwrap();
    let symbols = text(&symbols.stdout);
    let local = symbols.lines().find_map(|line| {
        let [address, len, "t", name] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        let [address, len] = [address, len].map(|number| u64::from_str_radix(number, 16).unwrap());
        (len > 32).then(|| (name.to_string(), format!("{:#x}", address + 9)))
    });
    let local = local.expect("libc has a local function");
    // Aliases share the address: any of their names will do, but one there must be.
    let names = functions(&line(libc, &id, core::slice::from_ref(&local)));
    assert!(names[0].is_some(), "{local:?}");
}

#[test]
fn a_module_that_was_replaced_names_nothing() {
    let place = Place::new();
    let program = gcc(
        place.path(),
        "places",
        PLACES,
        &["-O2", "-Wl,--build-id=sha1"],
    );
    let places = places(&program);
    let wrong = "00".repeat(20);
    assert_eq!(
        functions(&line(&program, &wrong, &places)),
        some(&["", "", ""])
    );
    assert_eq!(functions(&line(&program, "", &places)), some(&ALL));
    assert_eq!(
        functions(&line(Path::new("/nowhere"), "", &places)),
        some(&["", "", ""])
    );
    assert_eq!(
        functions(&line(Path::new("/dev/zero"), "", &places)),
        some(&["", "", ""])
    );
}

/// From the program to the name of its heavy function: the library writes, the command reads.
#[test]
fn the_heavy_function_of_a_program_is_named() {
    let source = r#"
#include <sys/random.h>
__attribute__((noinline)) int the_heavy_one(void) {
    char bytes[16];
    int sum = 0;
    for (int i = 0; i < 3000; i++) sum += getrandom(bytes, sizeof bytes, 0);
    return sum;
}
__attribute__((noinline)) int the_light_one(void) {
    char bytes[24];
    return getrandom(bytes, sizeof bytes, 0) + getentropy(bytes, 8);
}
int main(void) { return the_light_one() + the_heavy_one() != 24 + 48000; }
"#;
    let place = Place::new();
    let program = gcc(place.path(), "asks", source, &["-O1"]);
    for mode in ["observe", "auto"] {
        let file = place.file(mode);
        let stats = format!("--stats={}", file.display());
        let run = Command::new(command())
            .args(["run", "--mode", mode, &stats])
            .arg(&program)
            .status()
            .unwrap();
        assert!(run.success());
        let output = report(&["--json", file.to_str().unwrap()], b"");
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(0), String::new())
        );
        let process: Value = serde_json::from_slice(&output.stdout).unwrap();
        let heavy = &process["callers"][0];
        assert_eq!(
            (
                &heavy["function"],
                &heavy["entry"],
                &heavy["largest"],
                &heavy["moved"]
            ),
            (
                &"the_heavy_one".into(),
                &"getrandom".into(),
                &16.into(),
                &true.into()
            ),
            "{mode}: {process}"
        );
        if mode == "observe" {
            // Exact: every call of every place.
            let calls = |at: usize| process["callers"][at]["calls"].as_u64();
            assert_eq!(
                [calls(0), calls(1), calls(2), calls(3)],
                [Some(3000), Some(1), Some(1), None],
                "{process}"
            );
            assert_eq!(process["callers"][1]["function"], "the_light_one");
            assert_eq!(
                (&process["kernel"]["calls"], &process["private"]["calls"]),
                (&3002.into(), &0.into())
            );
        } else {
            assert!(
                process["private"]["calls"].as_u64().unwrap() > 2000,
                "{process}"
            );
        }
        let table = text(&report(&[file.to_str().unwrap()], b"").stdout);
        assert!(table.contains("the_heavy_one+0x"), "{table}");
    }
}
