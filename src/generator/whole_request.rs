//! Whole requests under the protocol: everything that is not the fast path.
//!
//! Promises: all of a request is good, or the kernel answers all of it.

use super::{Taken, current_epoch, fence, refill};
use crate::vdso;
use core::ffi::c_uint;
use core::sync::atomic::Ordering::Relaxed;
use ownpool_core::counts::{Entry, Reason};

/// Fills every piece from this thread's generator, as one request.
///
/// # Safety
/// Every piece is writable for its length.
#[inline(never)]
pub(crate) unsafe fn fill(
    pieces: impl Iterator<Item = (*mut u8, usize)>,
    entry: Entry,
) -> Result<(), Reason> {
    let Some(mut taken) = Taken::take() else {
        return Err(Reason::Busy);
    };
    let before = taken.page.handed_out();
    // SAFETY: `pieces` are the program's memory, and ours until we return.
    let mut outcome = unsafe { fill_from(&mut taken, pieces) };
    if outcome.is_ok() && !taken.is_current(current_epoch()) {
        outcome = Err(Reason::Unseeded);
    }
    match outcome {
        Ok(()) => taken.count(entry),
        Err(_) => taken.forget(before),
    }
    taken.put_back();
    outcome
}

/// # Safety
/// As [`fill`].
#[inline(always)]
unsafe fn fill_from(
    taken: &mut Taken,
    pieces: impl Iterator<Item = (*mut u8, usize)>,
) -> Result<(), Reason> {
    // Once, before the first piece: a seed writes the magic, and one between two pieces
    // would vouch for an earlier piece that a wipe had zeroed.
    refill::seed_if_due(taken)?;
    for (dest, len) in pieces {
        // SAFETY: `dest` is good for `len` bytes, and none of them lies in the page.
        unsafe { refill::fill(taken, dest, len)? };
    }
    Ok(())
}

/// Mode `vdso`: the kernel's own generator, with a state in this thread's page, for every
/// piece in turn, as one request of `len` bytes. The result of getrandom(2), or why there is
/// none. A piece that is cut short is the last one.
///
/// No magic is read or written: the vDSO copes with a wiped or dropped state by itself, and
/// a magic would vouch for a generator that has no seed. But it sees a fork in one call
/// only: what it gave before stands in the child as in the parent. So the request is counted
/// first, in the page, and a count that was wiped since tells.
///
/// # Safety
/// Every piece is writable for its length; `len` is their sum, and not zero.
#[inline(never)]
pub(crate) unsafe fn fill_by_vdso(
    pieces: impl Iterator<Item = (*mut u8, usize)>,
    len: usize,
    flags: c_uint,
    entry: Entry,
) -> Result<usize, Reason> {
    let Some(mut taken) = Taken::take() else {
        return Err(Reason::Busy);
    };
    let epoch = current_epoch();
    let bytes = &taken.page.counts.bytes;
    let before = bytes.load(Relaxed);
    let counted = before.saturating_add(len as u64);
    bytes.store(counted, Relaxed);
    fence();
    let mut done = Ok(0);
    for (dest, len) in pieces {
        let state = refill::vdso_state(&mut taken);
        // SAFETY: `dest` is good for `len` bytes; the state is of the right size and kind,
        // and ours while the token is.
        let drawn = unsafe { vdso::getrandom(dest, len, flags, state) }.unwrap_or(-1);
        let so_far = done.unwrap_or(0);
        match usize::try_from(drawn) {
            Ok(drawn) => done = Ok(so_far + drawn),
            Err(_) if so_far == 0 => done = Err(Reason::Unseeded),
            Err(_) => {}
        }
        if drawn != len as isize {
            break;
        }
    }
    fence();
    let is_whole = taken.page.counts.bytes.load(Relaxed) == counted;
    if !is_whole || current_epoch() != epoch {
        // A fork, a lost page, or reseeded meanwhile: these bytes may come of a state that
        // was copied or restored.
        done = Err(Reason::Unseeded);
    }
    if is_whole {
        let served = done.unwrap_or(0) as u64;
        taken.page.counts.bytes.store(before + served, Relaxed);
    }
    if done.is_ok() {
        taken.count(entry);
    }
    taken.put_back();
    done
}
