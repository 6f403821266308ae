//! Which requests are over the allowance, and what follows for them.
//!
//! Promises: a light call costs a bucket's addition; a hook moves a thread only here,
//! never while the process is confined, and never in `observe`, `vdso` without a vDSO, or `off`.
//! Must never look at the request's memory.

use super::set_mode;
use crate::generator::{self, NotMoved, Standing};
use crate::stats::{self, Call, call_sites};
use crate::{config, probes, seccomp, vdso};
use ownpool_core::counts::Reason;
use ownpool_core::leaky_bucket::{Charge, Verdict};
use ownpool_core::settings::Mode;

/// Decides on a request of the getrandom family: `Ok` if this thread has a page and may use
/// it.
pub(super) fn decide(mode: Mode, call: &Call) -> Result<(), Reason> {
    let standing = generator::standing();
    match (mode, standing) {
        (_, Standing::KernelOnly) => return Err(Reason::Busy),
        (Mode::Auto | Mode::Observe, Standing::Light) if charge(call.len) == Verdict::Within => {
            call_sites::record_judged(call, false);
            return Err(Reason::Light);
        }
        _ => {}
    }
    decide_heavy(mode, standing, call)
}

/// What follows for a caller that is over its allowance, or in a mode without one.
#[inline]
pub(super) fn decide_heavy(mode: Mode, standing: Standing, call: &Call) -> Result<(), Reason> {
    match (mode, standing) {
        (Mode::Observe, _) => {
            if generator::observe_heavy() {
                stats::count_would_move();
            }
            call_sites::record_judged(call, true);
            Err(Reason::Observed)
        }
        (Mode::Vdso, _) if !vdso::has_getrandom() => Err(Reason::Mode),
        (_, Standing::Moved) => as_moved(call),
        // A move maps memory and reads a file: nothing that a confined program asked for.
        _ if seccomp::confined() => Err(Reason::Confined),
        _ => {
            probes::moving(call.len, generator::bucket().level);
            match generator::move_thread() {
                Ok(()) => as_moved(call),
                Err(why) => {
                    if why == NotMoved::Fips {
                        set_mode(Mode::Off);
                    }
                    Err(Reason::Unseeded)
                }
            }
        }
    }
}

/// A thread that has a page leaves the fast path: it is served, unless it is forgiven.
#[inline]
pub(super) fn as_moved(call: &Call) -> Result<(), Reason> {
    if call_sites::wanted() {
        generator::record_site(call);
    }
    if config::forgive_ms() != 0 && generator::forgive_if_due(&config::limits()) {
        Err(Reason::Light)
    } else {
        Ok(())
    }
}

/// Charges this thread's bucket.
pub(super) fn charge(len: usize) -> Verdict {
    let limits = config::limits();
    let mut bucket = generator::bucket();
    let verdict = match bucket.charge(&limits, len as u64) {
        Charge::Decided(verdict) => verdict,
        Charge::AskClock => match vdso::now_ms() {
            Some(now_ms) => bucket.settle(&limits, now_ms),
            // Without a clock nothing leaks, so only size tells: in doubt, the kernel.
            None => Verdict::Within,
        },
    };
    generator::set_bucket(bucket);
    verdict
}

/// Takes a charge back.
pub(super) fn refund(len: usize) {
    let mut bucket = generator::bucket();
    bucket.refund(len as u64);
    generator::set_bucket(bucket);
}
