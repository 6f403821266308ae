//! The constructor: everything that happens once.
//!
//! Promises: real functions, processor, vDSO, settings and the pthread key are
//! found here and nowhere later; with valid settings and without
//! OWNPOOL_VERBOSE nothing is printed; until the last line the mode is `off`.
//! Must never fail: what is missing is done without. In set-user-id programs
//! (AT_SECURE, getauxval(3)) nothing but the C API is left.
//!
//! An entry of .init_array by hand, not the `ctor` crate: the entry is one line,
//! and glibc passes argc, argv and envp to it, which the crate's form drops.

use crate::stats::call_sites;
use crate::{diagnostics, generator, next_symbol, policy, report, stats, sys, urandom_fd, vdso};
use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use ownpool_core::line_buffer::Line;
use ownpool_core::settings::{Complaint, Mode, Settings, basename, row};

#[used]
#[unsafe(link_section = ".init_array")]
static START: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;

unsafe extern "C" fn start(argc: c_int, argv: *const *const c_char, envp: *const *const c_char) {
    next_symbol::resolve();
    // SAFETY: a string that stays, or null.
    sys::choose_fstat(unsafe { text_at(next_symbol::gnu_get_libc_version()) });
    // SAFETY: what the loader passes to constructors; AT_EXECFN is a string of
    // the process's own stack.
    let (argv0, started_by) = unsafe {
        let argv0 = if argc > 0 { text_at(*argv) } else { b"" };
        (
            basename(argv0),
            basename(text_at(libc::getauxval(libc::AT_EXECFN) as *const c_char)),
        )
    };
    // SAFETY: getauxval has no preconditions.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let mut settings = Settings::DEFAULT;
    if !secure {
        // SAFETY: the process's environment, which nobody changes meanwhile.
        unsafe { read(&mut settings, envp) };
    }
    if secure || !acts_here(&settings, argv0, started_by) {
        settings.mode = Mode::Off;
    }
    vdso::find(&settings.test);
    generator::start(&settings, on_first_stack(argv as usize));
    if settings.mode != Mode::Off {
        for fd in 0..=2 {
            urandom_fd::look(fd);
        }
        report::start(&settings, if argv0.is_empty() { started_by } else { argv0 });
    }
    // SAFETY: the child handler is async-signal-safe; the dso handle is ours,
    // and the library is never unloaded.
    unsafe { next_symbol::__register_atfork(None, None, Some(forked), ptr::null_mut()) };
    if settings.verbose {
        announce(&settings);
    }
    policy::start(&settings);
}

/// Whether the settings let the library act in this program.
fn acts_here(settings: &Settings<'_>, argv0: &[u8], started_by: &[u8]) -> bool {
    let names = [argv0, started_by];
    if settings.only.is_empty() && settings.skip == Settings::DEFAULT.skip {
        return settings.acts_in(&names);
    }
    // Somebody named programs, perhaps by their file, behind symbolic links: one
    // system call more, for them alone.
    let mut path = [0; 512];
    let len = sys::executable(&mut path).unwrap_or(0);
    let [argv0, started_by] = names;
    settings.acts_in(&[
        argv0,
        started_by,
        basename(path.get(..len).unwrap_or_default()),
    ])
}

/// Whether this runs on the stack that the process started with, which has the
/// arguments at its top (System V ABI, figure 3.9). A dlopen may come from another
/// thread: the kernel keeps 128 MiB below the first stack free of all others
/// (mmap_base, arch/x86/mm/mmap.c), so half of that tells them apart. A first
/// thread that is deeper than that is taken for another one: it needs a destructor.
fn on_first_stack(argv: usize) -> bool {
    let here = 0u8;
    let depth = argv.checked_sub(&raw const here as usize);
    depth.is_some_and(|depth| depth < 64 << 20)
}

/// In a forked child: counters start anew. Nothing that keeps bytes apart hangs
/// on this; children of raw clone do not come here.
unsafe extern "C" fn forked() {
    stats::start_anew();
    call_sites::start_anew();
}

/// # Safety
/// Null, or a C string that stays.
unsafe fn text_at<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        b""
    } else {
        // SAFETY: the caller's contract.
        unsafe { CStr::from_ptr(text) }.to_bytes()
    }
}

/// Reads every `OWNPOOL_` variable, and complains of what it cannot take.
///
/// # Safety
/// `envp` is null or an environment that stays as it is.
unsafe fn read<'a>(settings: &mut Settings<'a>, mut envp: *const *const c_char) {
    if envp.is_null() {
        return;
    }
    // SAFETY: an environment ends with a null pointer (environ(7)).
    unsafe {
        while !(*envp).is_null() {
            let variable: &'a [u8] = text_at(*envp);
            envp = envp.add(1);
            if !variable.starts_with(b"OWNPOOL_") {
                continue;
            }
            let mut parts = variable.splitn(2, |&byte| byte == b'=');
            let (name, value) = (
                parts.next().unwrap_or_default(),
                parts.next().unwrap_or_default(),
            );
            if let Err(complaint) = settings.set(name, value) {
                complain(name, value, complaint);
            }
        }
    }
}

/// One line that names the setting, what is wrong, and what is used instead.
fn complain(name: &[u8], value: &[u8], complaint: Complaint) {
    let mut line = Line::<256>::new();
    line.push(b"ownpool: ")
        .push_shown(name)
        .push(b": ")
        .push(complaint.words().as_bytes());
    match row(name) {
        Some(row) => {
            let default = if row.default.is_empty() {
                "nothing"
            } else {
                row.default
            };
            line.push(b": \"")
                .push_shown(value)
                .push(b"\"; using ")
                .push(default.as_bytes());
        }
        None => {
            line.push(b"; ignored");
        }
    }
    line.push(b"\n");
    diagnostics::line(line.bytes());
}

/// OWNPOOL_VERBOSE: the settings in force, in one line.
fn announce(settings: &Settings<'_>) {
    let mut line = Line::<512>::new();
    line.push(b"ownpool: ")
        .push(env!("CARGO_PKG_VERSION").as_bytes());
    line.push(b" (")
        .push(generator::backend().name().as_bytes());
    line.push(if vdso::has_getrandom() {
        b", vdso) mode="
    } else {
        b", no vdso) mode="
    });
    line.push(settings.mode.name().as_bytes());
    for (name, value) in [
        (&b" rate="[..], settings.rate_per_s),
        (b" burst=", settings.burst),
        (b" bulk=", settings.bulk),
        (b" forgive_secs=", settings.forgive_secs),
        (b" reseed_bytes=", settings.reseed_bytes),
        (b" reseed_secs=", settings.reseed_secs),
    ] {
        line.push(name).push_number(value);
    }
    for (name, value) in [
        (&b" stats="[..], settings.stats),
        (b" only=", settings.only),
        (b" skip=", settings.skip),
    ] {
        line.push(name).push_shown(match value {
            b"" => b"unset",
            value if value == Settings::DEFAULT.skip => b"default",
            value => value,
        });
    }
    line.push(b"\n");
    diagnostics::line(line.bytes());
}
