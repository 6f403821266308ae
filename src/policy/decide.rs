//! Who is over the allowance, and what follows for them.
//!
//! Promises: a light call costs a bucket's addition; a thread is moved only here,
//! never while the process is confined, and never in `observe`, `vdso` without a
//! vDSO, or `off`. Must never look at the request's memory. The doors of `serve`
//! call it.

use super::{policy, set_mode};
use crate::generator::{self, Standing, Tls};
use crate::stats::call_sites::{self, Note, note};
use crate::stats::{Door, Reason, counters as stats};
use crate::{probes, seccomp, vdso};
use ownpool_core::leaky_bucket::{Charge, Verdict};
use ownpool_core::settings::Mode;

/// Judges a request of the getrandom family: `Ok` if this thread has a page and
/// may use it.
pub(super) fn judge(mode: Mode, len: usize, door: Door, caller: usize) -> Result<(), Reason> {
    let standing = generator::standing();
    match (mode, &standing) {
        (_, Standing::Never) => return Err(Reason::Busy),
        (Mode::Auto | Mode::Observe, Standing::Light) if charge(len) == Verdict::Within => {
            seen(len, door, caller, false);
            return Err(Reason::Light);
        }
        _ => {}
    }
    over(mode, standing, len, door, caller)
}

/// What follows for a caller that is over its allowance, or in a mode without one.
#[inline]
pub(super) fn over(
    mode: Mode,
    standing: Standing,
    len: usize,
    door: Door,
    caller: usize,
) -> Result<(), Reason> {
    match (mode, standing) {
        (Mode::Observe, _) => {
            if generator::note_heavy() {
                stats::count_would_move();
            }
            seen(len, door, caller, true);
            Err(Reason::Observed)
        }
        (Mode::Vdso, _) if !vdso::has_getrandom() => Err(Reason::Mode),
        (_, Standing::Moved) => moved(len, door, caller),
        // A move maps memory and reads a file: nothing that a confined program asked for.
        _ if seccomp::confined() => Err(Reason::Confined),
        _ => {
            probes::moving(len, level());
            if generator::move_here() {
                return moved(len, door, caller);
            }
            if generator::host_in_fips_mode() {
                set_mode(Mode::Off);
            }
            Err(Reason::Unseeded)
        }
    }
}

/// A thread that has a page leaves the fast path.
#[inline]
pub(super) fn moved(len: usize, door: Door, caller: usize) -> Result<(), Reason> {
    if call_sites::wanted() {
        generator::note_moved(len, door, caller);
    }
    if generator::forgives() && generator::forgive(&policy()) {
        Err(Reason::Light)
    } else {
        Ok(())
    }
}

/// Notes the site of a call that was judged.
#[inline]
pub(super) fn seen(len: usize, door: Door, caller: usize, moved: bool) {
    if call_sites::wanted() {
        let thread = Tls::here() as usize;
        note(&Note {
            caller,
            door,
            len,
            calls: 1,
            bytes: len as u64,
            thread,
            moved,
        });
    }
}

fn level() -> u64 {
    // SAFETY: this thread's own words.
    unsafe { (&raw const (*Tls::here()).bucket.level).read_volatile() }
}

/// Charges this thread's bucket. A signal handler that draws in the middle of it
/// may lose a charge: a caller is a little lighter than it was.
pub(super) fn charge(len: usize) -> Verdict {
    // SAFETY: this thread's own words, copied out and back in.
    unsafe {
        let place = &raw mut (*Tls::here()).bucket;
        let mut bucket = place.read_volatile();
        let verdict = match bucket.charge(&policy(), len as u64) {
            Charge::Decided(verdict) => verdict,
            Charge::AskClock => match vdso::now_ms() {
                Some(now_ms) => bucket.settle(&policy(), now_ms),
                // Without a clock nothing leaks, so only size tells: in doubt, the kernel.
                None => Verdict::Within,
            },
        };
        place.write_volatile(bucket);
        verdict
    }
}

pub(super) fn refund(len: usize) {
    // SAFETY: this thread's own words, copied out and back in.
    unsafe {
        let place = &raw mut (*Tls::here()).bucket;
        let mut bucket = place.read_volatile();
        bucket.refund(len as u64);
        place.write_volatile(bucket);
    }
}
