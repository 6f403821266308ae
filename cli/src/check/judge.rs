//! From what the files say to a verdict: does it load, does it act, is there anything to serve?
//!
//! Promises: the first question that is answered with no decides; its reason comes first, and
//! whatever else was seen follows. Nothing is claimed about how much a program asks for:
//! that no file tells, and `--run` does.

use super::closure::Closure;
use super::evidence;
use super::find_program::Found;
use super::host::Host;
use super::preloadable;
use super::watched_names::{self, Kind};
use crate::output::plain;
use crate::settings::{Mode, Settings, basename};
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;

/// Will it help?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Helps = 0,
    NoEffect = 1,
    CannotLoad = 2,
}

impl Verdict {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Verdict::Helps => "helps: callers that ask for much get a private generator",
            Verdict::NoEffect => "no effect",
            Verdict::CannotLoad => "cannot load: the program runs as it does without the library",
        }
    }
}

/// A verdict and what speaks for it, the weightiest first.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<String>,
}

/// Why the library would load and then leave the program alone, if so.
pub(crate) fn stays_out(found: &Found, host: &Host, settings: &Settings<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    let argv0 = basename(found.argv0.as_bytes());
    let executable = basename(found.executed.as_os_str().as_bytes());
    if !settings.acts_in(&[argv0, executable]) {
        let names = match argv0 == executable {
            true => plain(argv0),
            false => format!("{} ({})", plain(argv0), plain(executable)),
        };
        reasons.push(match settings.acts_in(&[]) {
            true => format!(
                "OWNPOOL_SKIP ({}) keeps the library out of {names}",
                plain(settings.skip)
            ),
            false => format!("OWNPOOL_ONLY or OWNPOOL_SKIP keeps the library out of {names}"),
        });
    }
    if matches!(settings.mode, Mode::Off) {
        reasons.push("OWNPOOL_MODE is off in this environment".into());
    }
    if host.fips {
        reasons.push("this machine is in FIPS mode: the library stays off".into());
    }
    if !host.wipe_on_fork && !host.map_droppable {
        reasons.push("this kernel wipes no page on fork: no thread is moved".into());
    }
    reasons
}

/// Answers for a program that the library can be loaded into; `against` is what speaks
/// against it already.
pub(crate) fn by_closure(closure: &Closure, host: &Host, mut against: Vec<String>) -> Judgement {
    let Some(program) = closure.objects.first() else {
        return Judgement {
            verdict: Verdict::CannotLoad,
            reasons: Vec::new(),
        };
    };
    if let Some((major, minor)) = libc_of(closure).filter(|&version| version < (2, 17)) {
        let reasons = vec![format!(
            "its C library is {major}.{minor}; the library needs 2.17"
        )];
        return Judgement {
            verdict: Verdict::CannotLoad,
            reasons,
        };
    }
    against.extend(preloadable::go(&program.binary));
    let (mut evidence, drbg) = weigh(closure);
    let nothing = evidence.is_empty() && drbg.is_none();
    let helps = against.is_empty()
        && drbg.as_ref().is_none_or(|drbg| drbg.is_beside)
        && !evidence.is_empty();
    let mut reasons = against;
    reasons.extend(drbg.map(|drbg| drbg.words));
    if nothing {
        reasons.push("neither it nor its libraries ask the kernel for randomness by a name that can be replaced".into());
        reasons.extend(evidence::reads_files(&program.binary).map(|read| {
            format!(
                "it reads files by {read}: told to read /dev/urandom, as dd may be, it is served, and --run sees it"
            )
        }));
    }
    reasons.extend(closure.objects.iter().filter_map(evidence::if_told));
    let hidden = evidence::own_doors(&program.binary);
    if !hidden.is_empty() {
        reasons.push(format!(
            "it defines {} itself: those calls do not pass the library",
            hidden.join(", ")
        ));
    }
    if helps {
        evidence.append(&mut reasons);
        reasons = evidence;
        if program.binary.rust {
            let own = "a Rust program: its standard library alone imports as much, to seed hash maps once a thread";
            reasons.push(own.into());
        }
        reasons.extend(vdso_note(closure, host));
    } else {
        reasons.append(&mut evidence);
    }
    reasons.extend(closure.troubles.iter().cloned());
    Judgement {
        verdict: if helps {
            Verdict::Helps
        } else {
            Verdict::NoEffect
        },
        reasons,
    }
}

/// A generator that takes the kernel's place.
struct Drbg {
    words: String,
    /// The program asks the kernel itself too, so there is something left to serve.
    is_beside: bool,
}

/// What speaks for the program asking the kernel, and for it asking somebody else.
fn weigh(closure: &Closure) -> (Vec<String>, Option<Drbg>) {
    let mut objects = closure.objects.iter();
    let Some(program) = objects.next() else {
        return (Vec::new(), None);
    };
    let own = evidence::of(program, closure);
    let is_beside = !own.is_empty();
    let java = program
        .binary
        .imports
        .values()
        .any(|kind| *kind == Kind::Java);
    let drbg = if java {
        let words =
            "it starts a Java virtual machine, whose SecureRandom draws from a buffer of its own"
                .into();
        Some(Drbg {
            words,
            is_beside: false,
        })
    } else if let Some(whose) = evidence::holds_drbg(&program.binary) {
        let words = format!(
            "it holds a generator of its own ({whose}) and asks the kernel for seeds alone"
        );
        Some(Drbg {
            words,
            is_beside: false,
        })
    } else {
        evidence::asks_drbg(&program.binary).map(|name| Drbg {
            words: match is_beside {
                true => format!("what it draws by {name} comes from a generator of its own, and is not affected"),
                false => format!("it draws by {name}, a generator of its own that asks the kernel for seeds alone"),
            },
            is_beside,
        })
    };
    let libraries = objects.flat_map(|object| evidence::of(object, closure));
    (own.into_iter().chain(libraries).collect(), drbg)
}

/// The version of the GNU C library that the program gets.
fn libc_of(closure: &Closure) -> Option<(u32, u32)> {
    closure
        .objects
        .iter()
        .find_map(|object| object.binary.glibc)
}

fn vdso_note(closure: &Closure, host: &Host) -> Option<String> {
    let (major, minor) = libc_of(closure)?;
    let by_name = closure.objects.iter().any(|object| {
        let libc = watched_names::is_libc(object.binary.soname.as_deref().unwrap_or_default());
        !libc
            && object
                .binary
                .imports
                .values()
                .any(|kind| *kind == Kind::Door)
    });
    let fast = (major, minor) >= (2, 41) && host.vdso_getrandom == Some(true) && by_name;
    fast.then(|| {
        format!(
            "its C library ({major}.{minor}) has getrandom answered in the vDSO already: the gain is smaller there, \
             and whole for syscall(2) and reads of urandom"
        )
    })
}
