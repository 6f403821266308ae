//! The constructor: everything that happens once.
//!
//! Promises: real functions, processor, vDSO, settings and the pthread key are found here
//! and nowhere later; with valid settings and without OWNPOOL_VERBOSE nothing is printed;
//! until the last line the mode is `off`. Must never fail: what is missing is done without.
//! In set-user-id programs (AT_SECURE, getauxval(3)) nothing but the C API is left.
//!
//! It takes no arguments: musl passes none to constructors. The environment is `environ`,
//! the program's name `program_invocation_name`.

use crate::{
    config, diagnostics, generator, next_symbol, policy, report, stats, sys, urandom_fd, vdso,
};
use core::ffi::{CStr, c_char};
use core::ptr;
use ownpool_core::line_buffer::LineBuffer;
use ownpool_core::settings::{Mode, Settings, basename};

unsafe extern "C" {
    /// argv[0] (program_invocation_name(3)).
    static program_invocation_name: *const c_char;
}

ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn constructor() {
        start()
    }
}

fn start() {
    next_symbol::resolve();
    // SAFETY: strings of the loader's and of libc's that stay, or null.
    let (libc_version, argv0, started_by) = unsafe {
        (
            text_at(next_symbol::gnu_get_libc_version()),
            text_at(program_invocation_name),
            text_at(libc::getauxval(libc::AT_EXECFN) as *const c_char),
        )
    };
    sys::choose_fstat(libc_version);
    let (argv0, started_by) = (basename(argv0), basename(started_by));
    // SAFETY: getauxval has no preconditions.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    let mut settings = match secure {
        true => Settings::DEFAULT,
        false => config::from_environment(),
    };
    if secure || !acts_here(&settings, argv0, started_by) {
        settings.mode = Mode::Off;
    }
    config::keep(&settings);
    vdso::find();
    generator::start(on_first_stack());
    if !settings.ignore_fips {
        generator::ask_fips();
    }
    if settings.mode != Mode::Off {
        (0..=2).for_each(urandom_fd::hint_if_urandom);
        report::start(&settings, if argv0.is_empty() { started_by } else { argv0 });
    }
    // SAFETY: the child handler is async-signal-safe; the dso handle is ours, and the
    // library is never unloaded.
    unsafe { next_symbol::__register_atfork(None, None, Some(forked), ptr::null_mut()) };
    if settings.verbose {
        announce(&settings);
    }
    policy::set_mode(settings.mode);
}

/// Whether the settings let the library act in this program.
fn acts_here(settings: &Settings<'_>, argv0: &[u8], started_by: &[u8]) -> bool {
    let names = [argv0, started_by];
    if settings.only.is_empty() && settings.skip == Settings::DEFAULT.skip {
        return settings.acts_in(&names);
    }
    // Programs were named, perhaps by their file, behind symbolic links: one system call
    // more, for those settings alone.
    let mut path = [0; 512];
    let len = sys::executable(&mut path).unwrap_or(0);
    let [argv0, started_by] = names;
    settings.acts_in(&[
        argv0,
        started_by,
        basename(path.get(..len).unwrap_or_default()),
    ])
}

/// Whether this runs on the stack that the process started with, which has the name of the
/// file that was executed at its top (AT_EXECFN). A dlopen may come from another thread: the
/// kernel keeps 128 MiB below the first stack free of all others (mmap_base,
/// arch/x86/mm/mmap.c), so half of that tells them apart. A first thread that is deeper
/// than that is taken for another one: it needs a destructor.
fn on_first_stack() -> bool {
    // SAFETY: getauxval has no preconditions.
    let top = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
    let here = 0u8;
    let depth = top.checked_sub(&raw const here as usize);
    depth.is_some_and(|depth| depth < 64 << 20)
}

/// In a forked child: counters start anew. Nothing that keeps bytes apart hangs on this;
/// children of raw clone do not come here.
unsafe extern "C" fn forked() {
    stats::start_anew();
}

/// # Safety
/// Null, or a C string that stays.
unsafe fn text_at<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        b""
    } else {
        // SAFETY: not null, so it is a C string of the process's start.
        unsafe { CStr::from_ptr(text) }.to_bytes()
    }
}

/// OWNPOOL_VERBOSE: the settings in force, in one line.
fn announce(settings: &Settings<'_>) {
    let mut line = LineBuffer::<512>::new();
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
