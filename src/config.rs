//! The settings in force: read from the environment once, kept for the life of the process.
//!
//! Promises: until the constructor's last line the mode is `off` (other libraries'
//! constructors and .preinit_array come before ours); a value that cannot be taken costs
//! one line that says what is used instead. Must never read the environment later, or keep
//! a borrow of it where programs overwrite it: numbers are kept here, texts are copied.

use crate::cache_padded::CachePadded;
use crate::diagnostics;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed, Ordering::Release};
use ownpool_core::leaky_bucket::Limits;
use ownpool_core::line_buffer::LineBuffer;
use ownpool_core::settings::{Complaint, Mode, Settings, TestSwitches, row};

unsafe extern "C" {
    /// environ(7)
    static environ: *const *const c_char;
}

static MODE: CachePadded<AtomicU8> = CachePadded(AtomicU8::new(Mode::Off as u8));
static RATE: AtomicU64 = AtomicU64::new(0);
static BURST: AtomicU64 = AtomicU64::new(0);
static BULK: AtomicU64 = AtomicU64::new(0);
static FORGIVE_MS: AtomicU64 = AtomicU64::new(0);
static RESEED_BYTES: AtomicU64 = AtomicU64::new(0);
static RESEED_MS: AtomicU64 = AtomicU64::new(0);
/// A bit for each of OWNPOOL_TEST's switches.
static TEST: AtomicU8 = AtomicU8::new(0);

/// The mode in force.
pub(crate) fn mode() -> Mode {
    Mode::from_number(MODE.load(Relaxed)).unwrap_or(Mode::Off)
}

/// Whether hooks may take from private generators in this mode: `auto` or `always`. The C
/// API draws from the same pages in every mode.
#[inline(always)]
pub(crate) fn is_serving() -> bool {
    MODE.load(Relaxed) >= Mode::Auto as u8
}
const _: () =
    assert!((Mode::Observe as u8) < Mode::Auto as u8 && (Mode::Auto as u8) < Mode::Always as u8);

/// Sets the mode, in one store: a signal handler or another thread may change it at the
/// same time.
pub(crate) fn set_mode(mode: Mode) {
    MODE.store(mode as u8, Release);
}

/// The limits that hold for every thread.
pub(crate) fn limits() -> Limits {
    Limits {
        rate_per_s: RATE.load(Relaxed),
        burst: BURST.load(Relaxed),
        bulk: BULK.load(Relaxed),
    }
}

/// OWNPOOL_FORGIVE_SECS in milliseconds; 0: never.
#[inline]
pub(crate) fn forgive_ms() -> u64 {
    FORGIVE_MS.load(Relaxed)
}

/// OWNPOOL_RESEED_BYTES; 0: at every refill.
#[inline]
pub(crate) fn reseed_bytes() -> u64 {
    RESEED_BYTES.load(Relaxed)
}

/// OWNPOOL_RESEED_SECS in milliseconds.
pub(crate) fn reseed_ms() -> u64 {
    RESEED_MS.load(Relaxed)
}

/// OWNPOOL_TEST.
pub(crate) fn test() -> TestSwitches {
    let bits = TEST.load(Relaxed);
    TestSwitches {
        wipe: bits & 1 != 0,
        no_vdso: bits & 2 != 0,
        fail_known_answer: bits & 4 != 0,
        odd_vdso: bits & 8 != 0,
    }
}

/// Stores every setting but the mode. Once, from the constructor.
pub(crate) fn keep(settings: &Settings<'_>) {
    MODE.keep_whole();
    RATE.store(settings.rate_per_s, Relaxed);
    BURST.store(settings.burst, Relaxed);
    BULK.store(settings.bulk, Relaxed);
    FORGIVE_MS.store(settings.forgive_secs.saturating_mul(1000), Relaxed);
    RESEED_BYTES.store(settings.reseed_bytes, Relaxed);
    RESEED_MS.store(settings.reseed_secs.saturating_mul(1000), Relaxed);
    let test = &settings.test;
    let bits = [
        test.wipe,
        test.no_vdso,
        test.fail_known_answer,
        test.odd_vdso,
    ];
    let bits = (0..)
        .zip(bits)
        .fold(0, |all, (bit, set)| all | u8::from(set) << bit);
    TEST.store(bits, Relaxed);
}

/// Reads every `OWNPOOL_` variable of the environment, and complains of what it cannot
/// take.
pub(crate) fn from_environment() -> Settings<'static> {
    let mut settings = Settings::DEFAULT;
    // SAFETY: libc has set it before it starts us.
    let mut next = unsafe { environ };
    if next.is_null() {
        return settings;
    }
    // SAFETY: an environment ends with a null pointer (environ(7)), and is not changed
    // while constructors run.
    while let Some(variable) = unsafe { next.read().as_ref() } {
        // SAFETY: not the end yet; and a C string.
        let variable = unsafe {
            next = next.add(1);
            CStr::from_ptr(variable).to_bytes()
        };
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
    settings
}

/// One line that names the setting, what is wrong, and what is used instead.
fn complain(name: &[u8], value: &[u8], complaint: Complaint) {
    let mut line = LineBuffer::<256>::new();
    line.push(b"ownpool: ")
        .push_shown(name)
        .push(b": ")
        .push(complaint.words().as_bytes());
    if complaint == Complaint::UnknownName {
        line.push(b"; ignored\n");
    } else {
        let default = row(name).map_or("", |row| row.default);
        let default = if default.is_empty() {
            "nothing"
        } else {
            default
        };
        line.push(b": \"")
            .push_shown(value)
            .push(b"\"; using ")
            .push(default.as_bytes())
            .push(b"\n");
    }
    diagnostics::line(line.bytes());
}
