//! From what the files say to a verdict: is there anything to serve?
//!
//! Promises: the first question that is answered with no decides; its reason comes first, and
//! what else was seen follows. Nothing is claimed about how much a program asks for:
//! that no file tells, and `--run` does.

use super::evidence;
use super::go_program;
use super::host::Host;
use super::loaded_files::LoadedFiles;
use super::verdict::{Judgement, Verdict};
use super::watched_names::{Kind, is_libc};

/// Answers for a program that the library can be loaded into; `against` is what speaks
/// against it already.
pub(crate) fn judge(files: &LoadedFiles, host: &Host, against: Vec<String>) -> Judgement {
    let program = &files.program.binary;
    // The version of the GNU C library that the program gets.
    let glibc = files.all().find_map(|file| file.binary.glibc);
    if let Some((major, minor)) = glibc.filter(|&version| version < (2, 17)) {
        let reason = format!("its C library is {major}.{minor}; the library needs 2.17");
        return Judgement::cannot_load(vec![reason]);
    }
    let mut reasons = against;
    reasons.extend(program.go.as_deref().map(go_program::reason));
    let own = evidence::asks_kernel(&files.program, files);
    let generator = own_generator(files, !own.is_empty());
    let libraries = files.libraries.iter();
    let mut evidence = own;
    evidence.extend(libraries.flat_map(|file| evidence::asks_kernel(file, files)));
    let helps = reasons.is_empty()
        && generator
            .as_ref()
            .is_none_or(|generator| generator.is_beside)
        && !evidence.is_empty();
    if evidence.is_empty() && generator.is_none() {
        reasons.push("neither it nor its libraries ask the kernel for randomness by a name that can be replaced".into());
        reasons.extend(evidence::reads_files(program).map(|read| {
            format!(
                "it reads files by {read}: told to read /dev/urandom, as dd may be, it is served, and --run sees it"
            )
        }));
    }
    reasons.extend(generator.map(|generator| generator.words));
    reasons.extend(files.all().filter_map(evidence::if_told));
    let hidden = evidence::own_functions(program);
    if !hidden.is_empty() {
        reasons.push(format!(
            "it defines {} itself: those calls do not pass the library",
            hidden.join(", ")
        ));
    }
    if helps {
        evidence.append(&mut reasons);
        reasons = evidence;
        if program.rust {
            reasons.push("a Rust program: its standard library alone imports as much, to seed hash maps once a thread".into());
        }
        reasons.extend(vdso_remark(files, glibc, host));
    } else {
        reasons.append(&mut evidence);
    }
    reasons.extend(files.unknown.iter().cloned());
    let verdict = match helps {
        true => Verdict::Helps,
        false => Verdict::NoEffect,
    };
    Judgement { verdict, reasons }
}

/// A generator that takes the kernel's place.
struct OwnGenerator {
    words: String,
    /// The program asks the kernel itself too, so there is something left to serve.
    is_beside: bool,
}

/// The generator that the program asks; `asks_kernel` tells whether it asks the kernel too.
fn own_generator(files: &LoadedFiles, asks_kernel: bool) -> Option<OwnGenerator> {
    let program = &files.program.binary;
    let (words, is_beside) = if program.imports.values().any(|kind| *kind == Kind::Java) {
        let words =
            "it starts a Java virtual machine, whose SecureRandom draws from a buffer of its own";
        (words.into(), false)
    } else if let Some(whose) = evidence::holds_generator(program) {
        (
            format!(
                "it holds a generator of its own ({whose}) and asks the kernel for seeds alone"
            ),
            false,
        )
    } else {
        let name = evidence::asks_generator(program)?;
        let words = match asks_kernel {
            true => format!(
                "what it draws by {name} comes from a generator of its own, and is not affected"
            ),
            false => format!(
                "it draws by {name}, a generator of its own that asks the kernel for seeds alone"
            ),
        };
        (words, asks_kernel)
    };
    Some(OwnGenerator { words, is_beside })
}

/// A kernel and C library that answer getrandom without a system call leave less to gain.
fn vdso_remark(files: &LoadedFiles, glibc: Option<(u32, u32)>, host: &Host) -> Option<String> {
    let (major, minor) = glibc.filter(|&version| version >= (2, 41))?;
    let by_name = files.all().any(|file| {
        let mut kinds = file.binary.imports.values();
        !is_libc(file.soname()) && kinds.any(|kind| *kind == Kind::Random)
    });
    (host.vdso_getrandom && by_name).then(|| {
        format!(
            "its C library ({major}.{minor}) has getrandom answered in the vDSO already: the gain is smaller there, \
             and whole for syscall(2) and reads of urandom"
        )
    })
}
