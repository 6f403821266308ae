//! Whether the generator may be used in this process at all; looked at once.
//!
//! Promises: no thread draws from a cipher that does not make the keystream of RFC 8439,
//! nor on a host in FIPS mode, which wants the kernel's validated generator.

use super::page::Owned;
use crate::config;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use ownpool_core::crng;

/// What is known of the process.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Verdict {
    /// Not looked at yet.
    Unknown = 0,
    Usable = 1,
    /// Wrong keystream, or a kernel that does not wipe on fork.
    Unusable = 2,
    /// The host is in FIPS mode, or may be.
    Fips = 3,
}

static VERDICT: AtomicU8 = AtomicU8::new(Verdict::Unknown as u8);

/// What is known so far.
pub(crate) fn verdict() -> Verdict {
    match VERDICT.load(Relaxed) {
        1 => Verdict::Usable,
        2 => Verdict::Unusable,
        3 => Verdict::Fips,
        _ => Verdict::Unknown,
    }
}

/// The generator is not to be used in this process, for this reason.
pub(super) fn rule_out(why: Verdict) {
    VERDICT.store(why as u8, Relaxed);
}

/// Whether the generator may be used. The first time the page, which is zero and not in use
/// yet, is what the known answer is made in: it is larger than the stack that we allow
/// ourselves.
pub(super) fn passes(owned: &Owned) -> bool {
    if verdict() == Verdict::Unknown {
        // SAFETY: the page has one owner, who is here.
        let crng = unsafe { &mut *owned.page.crng.get() };
        let found = match crng::known_answer(crng, config::test().fail_known_answer) {
            true => Verdict::Usable,
            false => Verdict::Unusable,
        };
        VERDICT.store(found as u8, Relaxed);
    }
    verdict() == Verdict::Usable
}
