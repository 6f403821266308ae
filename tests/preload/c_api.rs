//! The C API as C and C++ programs meet it: compiled against `include/ownpool.h` with
//! warnings as errors, linked with `-lownpool`, run. What each settles stands at the top of
//! `tests/c/api_*.c`.
use ownpool_tests::support::{
    Place, Ran, compiles, installed, library, linked, ran, root, succeeds,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler, and the arguments that make it one of its language.
type Language = (&'static str, &'static [&'static str]);
const C: Language = ("gcc", &["-std=c11", "-x", "c"]);
const CXX: Language = ("g++", &["-std=c++11", "-x", "c++"]);

/// The two languages, or C alone where there is no compiler of C++.
fn languages() -> Vec<Language> {
    let there = |language: &Language| *language == C || installed(language.0).is_some();
    [C, CXX].into_iter().filter(there).collect()
}

/// A directory with the library, where programs are built and run.
struct Api {
    place: Place,
}

impl Api {
    fn new() -> Api {
        Api { place: linked() }
    }

    /// Compiles `tests/c/NAME.c` as this language and links it with the library.
    fn build(&self, name: &str, (compiler, standard): (&str, &[&str])) -> PathBuf {
        let binary = self.place.file(format!("{name}-{compiler}"));
        compiles(
            Command::new(compiler)
                .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"])
                .args(standard)
                .arg(root().join("tests/c").join(format!("{name}.c")))
                .args(["-x", "none"])
                .arg("-I")
                .arg(root().join("include"))
                .arg("-L")
                .arg(self.place.path())
                .args(["-Wl,--as-needed", "-lownpool", "-lm", "-ldl", "-o"])
                .arg(&binary),
        );
        binary
    }

    /// The program in C; it must compile in every language.
    fn build_all(&self, name: &str) -> PathBuf {
        for language in languages() {
            self.build(name, language);
        }
        self.place.file(format!("{name}-{}", C.0))
    }

    /// Runs it with the library found here and no other setting but these.
    fn run(&self, binary: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(binary);
        command.args(arguments).env_clear();
        command.env("LD_LIBRARY_PATH", self.place.path());
        ran(command.envs(settings.iter().copied()))
    }

    /// Runs it: it must end well, and silent on standard error. Its standard output.
    fn content(&self, binary: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> String {
        let done = self.run(binary, arguments, settings);
        let well = done.status == 0 && done.stderr.is_empty();
        assert!(well, "{binary:?} {arguments:?} {settings:?}: {done:?}");
        done.stdout
    }

    /// Writes a C text into it.
    fn source(&self, name: &str, text: &str) -> PathBuf {
        let path = self.place.file(name);
        std::fs::write(&path, text).expect("a source file");
        path
    }
}

/// The kinds of state page and seed that one machine can show.
const KINDS: [(&str, &str); 3] = [
    ("OWNPOOL_TEST", ""),
    ("OWNPOOL_TEST", "wipe"),
    ("OWNPOOL_TEST", "novdso"),
];

#[test]
fn the_header_is_clean_under_every_standard() {
    let place = Api::new();
    let twice = "#include <ownpool.h>\n#include <ownpool.h>\nstruct ownpool_stats counts;\n";
    let source = place.source("twice.c", twice);
    let strict = "-Wall -Wextra -Werror -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
                  -Wmissing-declarations -Wundef";
    // C++ has no such prototypes; and it takes a function that is named as a struct, as
    // stat(2) is, for a shadow.
    let c_alone = ["-Wstrict-prototypes", "-Wshadow"];
    for (compiler, _) in languages() {
        let (language, standards) = match compiler {
            "gcc" => ("c", ["gnu90", "c99", "c11", "gnu17"]),
            _ => ("c++", ["c++98", "c++11", "c++17", "c++20"]),
        };
        for standard in standards {
            let suits = |flag: &&str| language == "c" || !c_alone.contains(flag);
            let mut command = Command::new(compiler);
            command.args(["-x", language, "-fsyntax-only"]);
            command.arg(format!("-std={standard}")).arg("-I");
            command.arg(root().join("include")).arg(&source);
            compiles(command.args(strict.split_whitespace().filter(suits)));
        }
    }
}

#[test]
fn an_unchecked_result_is_warned_about() {
    let place = Api::new();
    let careless = "#include <ownpool.h>\nvoid careless(void *dest) { ownpool_fill(dest, 16); }\n";
    let source = place.source("careless.c", careless);
    let mut command = Command::new("gcc");
    command.args(["-c", "-o", "/dev/null", "-O2", "-I"]);
    let done = ran(command.arg(root().join("include")).arg(source));
    assert!(done.stderr.contains("unused-result"), "{done:?}");
}

#[test]
fn the_layout_stays() {
    let place = Api::new();
    for language in languages() {
        place.content(&place.build("api_layout", language), &[], &[]);
    }
}

#[test]
fn every_function_and_its_errors() {
    let place = Api::new();
    for language in languages() {
        let binary = place.build("api_calls", language);
        for kind in KINDS {
            place.content(&binary, &["auto"], &[kind]);
        }
        let observe = [("OWNPOOL_MODE", "observe")];
        place.content(&binary, &["observe", "long"], &observe);
    }
}

/// A program that stays out (OWNPOOL_SKIP) still has the C API.
#[test]
fn the_api_works_where_the_hooks_stay_out() {
    let place = Api::new();
    let binary = place.build("api_calls", C);
    place.content(&binary, &["off"], &[("OWNPOOL_SKIP", "api_calls-gcc")]);
    place.content(&binary, &["off"], &[("OWNPOOL_MODE", "off")]);
}

#[test]
fn integers_are_even() {
    let place = Api::new();
    for language in languages() {
        place.content(&place.build("api_uniform", language), &[], &[]);
    }
}

#[test]
fn every_moment_of_a_process() {
    let place = Api::new();
    for language in languages() {
        let binary = place.build("api_moments", language);
        for kind in KINDS {
            for mode in ["auto", "always", "vdso", "off"] {
                let printed = place.content(&binary, &[], &[("OWNPOOL_MODE", mode), kind]);
                assert!(printed.ends_with(" moments\n"), "{printed}");
            }
        }
    }
}

/// `tests/c/api_modes.c`
#[test]
fn a_mode_may_be_changed_in_the_middle_of_a_change() {
    let place = Api::new();
    let binary = place.build_all("api_modes");
    for kind in KINDS {
        place.content(&binary, &[], &[kind]);
    }
}

/// The counts of equal draws that `api_reseed` prints: u64, getrandom, fill, much.
fn equal(printed: &str) -> Vec<u64> {
    printed
        .split(|character: char| !character.is_ascii_digit())
        .filter(|word| !word.is_empty() && *word != "64")
        .map(|word| word.parse().expect("a number"))
        .collect()
}

/// Bytes equal by chance: 2^-256. The control is not certain (the kernel may reseed in the
/// middle of it), so it need only find some equal bytes in some run.
#[test]
fn a_reseed_reaches_every_thread_before_its_next_byte() {
    let place = Api::new();
    let binary = place.build_all("api_reseed");
    for kind in KINDS {
        for mode in ["auto", "always", "vdso", "off"] {
            let settings = [("OWNPOOL_MODE", mode), kind];
            let printed = place.content(&binary, &["reseed"], &settings);
            assert_eq!(equal(&printed), [0, 0, 0, 0], "{settings:?}: {printed}");
            let printed = place.content(&binary, &["control"], &settings);
            let control = equal(&printed);
            assert!(
                control[0] > 0,
                "{settings:?}: nothing was put back? {printed}"
            );
            // What is not answered from memory that was put back cannot repeat.
            if mode == "auto" || mode == "always" {
                assert!(control[1] > 0, "{settings:?}: {printed}");
            }
        }
    }
}

#[test]
fn without_a_destructor_only_the_first_thread_has_a_generator() {
    let place = Api::new();
    for language in languages() {
        let binary = place.build("api_keyless", language);
        for by in ["main", "other"] {
            place.content(&binary, &[by], &[]);
        }
    }
}

const INTEGERS: [&str; 3] = ["u32", "u64", "uniform"];

#[test]
fn integers_end_the_process_when_everything_is_refused() {
    let place = Api::new();
    let binary = place.build_all("api_refused");
    for kind in KINDS {
        for when in ["own", "moved"] {
            for who in INTEGERS {
                let done = place.run(&binary, &["both", who, when], &[kind]);
                let line = "ownpool: neither getrandom nor /dev/urandom gives random bytes; \
                            ending the process\n";
                assert_eq!(done.status, -libc::SIGABRT, "{who} {when}: {done:?}");
                assert_eq!((&*done.stdout, &*done.stderr), ("", line));
            }
            // Functions with an error return report it.
            for who in ["fill", "getrandom"] {
                let printed = place.content(&binary, &["both", who, when], &[kind]);
                // What it wrote before the post-check failed is nothing to be used.
                let refused = format!("{who} -1 errno {} ", libc::ENOSYS);
                assert!(printed.starts_with(&refused), "{printed}");
            }
        }
    }
}

#[test]
fn integers_turn_to_the_device_when_getrandom_is_refused() {
    let place = Api::new();
    let binary = place.build("api_refused", C);
    for kind in KINDS {
        for when in ["inherited", "own", "moved"] {
            for who in INTEGERS {
                let printed = place.content(&binary, &["getrandom", who, when], &[kind]);
                assert_eq!(printed, format!("{who} drew\n"), "{when}");
            }
            let printed = place.content(&binary, &["getrandom", "fill", when], &[kind]);
            let refused = format!("fill -1 errno {} ", libc::ENOSYS);
            assert!(printed.starts_with(&refused), "{printed}");
        }
    }
}

#[test]
fn integers_and_fills_wait_for_the_kernel() {
    let place = Api::new();
    let binary = place.build("api_refused", C);
    for kind in KINDS {
        for when in ["inherited", "own", "moved"] {
            for who in INTEGERS {
                let printed = place.content(&binary, &["unseeded", who, when], &[kind]);
                assert_eq!(
                    printed,
                    format!("{who} drew\nwaited 1\n"),
                    "{kind:?} {when}"
                );
            }
            let printed = place.content(&binary, &["unseeded", "fill", when], &[kind]);
            assert_eq!(
                printed, "fill 0 errno 0 bytes\nwaited 1\n",
                "{kind:?} {when}"
            );
        }
    }
}

/// A program that links the library records the name that the library gives itself.
#[test]
fn programs_record_the_soname() {
    let Some(readelf) = installed("readelf") else {
        return;
    };
    let place = Api::new();
    let binary = place.build("api_layout", C);
    for (path, entry) in [
        (binary, "Shared library: [libownpool.so.0]"),
        (library(), "Library soname: [libownpool.so.0]"),
    ] {
        let printed = succeeds(Command::new(&readelf).arg("-d").arg(&path));
        assert!(printed.contains(entry), "{}", path.display());
    }
}
