//! Each program of `examples/` is built with warnings as errors and run, and the text that
//! `docs/c.md` and the manual show compiles as it stands.
use ownpool_tests::support::{
    Place, command, compiles, installed, linked, ran, reports, root, succeeds,
};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Examples {
    place: Place,
}

impl Examples {
    fn new() -> Examples {
        Examples { place: linked() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.file(name)
    }

    /// gcc with the header and these arguments, and the library if `with` is set.
    fn build(&self, source: &Path, name: &str, arguments: &[&str], with: bool) -> PathBuf {
        let binary = self.path(name);
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
        gcc.args(arguments).arg(source).arg("-o").arg(&binary);
        if with {
            gcc.arg("-I").arg(root().join("include"));
            gcc.arg("-L").arg(self.place.path()).arg("-lownpool");
        } else {
            gcc.arg("-ldl");
        }
        compiles(&mut gcc);
        binary
    }

    fn example(&self, name: &str, arguments: &[&str], with: bool) -> PathBuf {
        let source = root().join("examples").join(format!("{name}.c"));
        self.build(&source, name, arguments, with)
    }

    /// The program, finding the library here, with no settings.
    fn program(&self, binary: &Path, arguments: &[&str]) -> Command {
        let mut program = Command::new(binary);
        program.args(arguments).env_clear();
        program.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        program.env("LD_LIBRARY_PATH", self.place.path());
        program
    }
}

/// The first word of each line, if all are this many hexadecimal digits and no two are
/// equal (by chance: 2^-100).
fn distinct_keys(printed: &str, digits: usize) -> usize {
    let keys = printed
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default());
    let mut keys: Vec<&str> = keys.collect();
    for key in &keys {
        let is_hex = key.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(key.len() == digits && is_hex, "{printed}");
    }
    keys.sort_unstable();
    let count = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), count, "{printed}");
    count
}

#[test]
fn session_keys() {
    let place = Examples::new();
    let binary = place.example("session_keys", &["-std=c11"], true);
    let ran = ran(&mut place.program(&binary, &["50"]));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(distinct_keys(&ran.stdout, 64), 50);
    for line in ran.stdout.lines() {
        let seconds: u32 = line.split(' ').nth(3).unwrap().parse().unwrap();
        assert!((3600..4200).contains(&seconds), "{line}");
    }
    // 50 keys and at least 50 numbers, none of them by the kernel.
    let line = ran.stderr;
    assert!(line.starts_with("ownpool 0."), "{line}");
    let words: Vec<&str> = line.split(' ').collect();
    let at = words.iter().position(|word| *word == "private").unwrap();
    assert!(words[at - 1].parse::<u64>().unwrap() >= 100, "{line}");
    assert!(line.contains(" 0 by the kernel"), "{line}");
}

#[test]
fn hammer_is_moved_on_every_thread() {
    let place = Examples::new();
    let binary = place.example("hammer", &["-std=c11", "-pthread"], false);
    let printed = succeeds(&mut place.program(&binary, &["1000", "2"]));
    let begins = printed.starts_with("2 threads, 1000 calls of 16 bytes each: ");
    assert!(begins, "{printed}");
    let report = place.path("report");
    let binary = binary.to_str().unwrap();
    let to = format!("--stats={}", report.display());
    succeeds(&mut place.program(&command(), &["run", &to, "--", binary, "20000", "3"]));
    let report = reports(&report);
    assert_eq!(report.len(), 1);
    assert_eq!(report[0]["threads_moved"], 3);
    assert_eq!(report[0]["entries"]["getrandom"], 60000);
    // 128 calls of 16 bytes, charged 32 each, fill a bucket of 4096; a slow machine lets
    // some more leak: 320 bytes a second are 10 calls.
    let kernel = report[0]["kernel"]["calls"].as_u64().unwrap();
    assert!((3 * 128..3 * 128 + 6000).contains(&kernel), "{kernel}");
}

/// A program that is linked with the library and calls nothing of it: as if preloaded,
/// also where the linker leaves out what is not needed.
#[test]
fn linking_is_as_good_as_preloading() {
    let place = Examples::new();
    let arguments = ["-std=c11", "-pthread", "-Wl,--as-needed"];
    let binary = place.example("hammer", &arguments, true);
    let report = place.path("report");
    let mut program = place.program(&binary, &["20000", "2"]);
    succeeds(program.env("OWNPOOL_STATS", &report));
    let report = reports(&report);
    assert_eq!(report.len(), 1);
    assert_eq!(report[0]["threads_moved"], 2);
}

#[test]
fn a_plugin_by_dlopen() {
    let place = Examples::new();
    let plugin = place.path("plugin.so");
    let (source, arguments) = ("examples/plugin.c", ["-std=c11", "-shared", "-fPIC"]);
    place.build(&root().join(source), "plugin.so", &arguments, true);
    let host = place.example("plugin_host", &["-std=c11", "-pthread"], false);
    let printed = succeeds(&mut place.program(&host, &[plugin.to_str().unwrap()]));
    let tokens = printed
        .lines()
        .filter_map(|line| line.strip_prefix("token "));
    let tokens: Vec<&str> = tokens.collect();
    assert_eq!(distinct_keys(&tokens.join("\n"), 32), 3);
    for line in printed
        .lines()
        .filter_map(|line| line.strip_prefix("dice "))
    {
        let dice: Vec<u8> = line.split(' ').map(|die| die.parse().unwrap()).collect();
        assert!(dice.len() == 6 && dice.iter().all(|die| (1..=6).contains(die)));
    }
    // Under the library too, when it is there before the plugin asks for it.
    let host = host.to_str().unwrap();
    let plugin = plugin.to_str().unwrap();
    succeeds(&mut place.program(&command(), &["run", "--", host, plugin]));
}

#[test]
fn python_by_ctypes() {
    let place = Examples::new();
    if installed("python3").is_none() {
        println!("python3 is not installed");
        return;
    }
    let script = root().join("examples/keys.py");
    let ran = ran(&mut place.program(Path::new("python3"), &[script.to_str().unwrap(), "20"]));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(distinct_keys(&ran.stdout, 64), 20);
    assert!(ran.stderr.contains(" private requests, "), "{ran:?}");
}

#[test]
fn speed_measures_every_row() {
    let place = Examples::new();
    let binary = place.example("speed", &["-std=c11"], true);
    let printed = succeeds(&mut place.program(&binary, &["2000"]));
    let rows = printed.lines().filter(|line| line.ends_with(" ns")).count();
    assert_eq!(rows, 7, "{printed}");
}

/// The C text between marks of a document.
fn shown(name: &str, begin: &str, end: &str) -> String {
    let text = std::fs::read_to_string(root().join(name)).expect("the document is there");
    let (_, rest) = text.split_once(begin).expect("it shows a program");
    let (program, _) = rest.split_once(end).expect("to its end");
    program.to_string()
}

#[test]
fn what_the_documents_show_compiles_and_runs() {
    let place = Examples::new();
    let five_lines = shown("docs/c.md", "```c\n", "```\n");
    assert_eq!(five_lines.lines().count(), 5);
    let in_manual = shown("man/ownpool.3", ".SH EXAMPLES\n.nf\n", ".fi\n")
        .replace("\\&\n", "\n")
        .replace("\\e", "\\");
    for (name, program, wanted) in [
        ("five", five_lines, "a roll of the dice: "),
        ("manual", in_manual, " of 100\n"),
    ] {
        let source = place.path(&format!("{name}.c"));
        std::fs::write(&source, program).unwrap();
        let binary = place.build(&source, name, &[], true);
        let printed = succeeds(&mut place.program(&binary, &[]));
        assert!(printed.contains(wanted), "{printed}");
    }
}

/// An example that is added gets its test.
#[test]
fn every_example_is_run_here() {
    let tests = std::fs::read_to_string(root().join("tests/docs/examples.rs")).unwrap();
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let file = path.file_name().unwrap().to_str().unwrap();
        let names = [format!("\"{name}\""), format!("examples/{file}")];
        assert!(names.iter().any(|name| tests.contains(name)), "{name}");
    }
}
