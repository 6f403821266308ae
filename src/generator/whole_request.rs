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

/// Mode `vdso`: the kernel's own generator, with a state in this thread's page. The result
/// of getrandom(2), or why there is none.
///
/// One piece at most: the vDSO sees a fork in its own call and starts that piece again, but
/// what it gave before stands in the child as it does in the parent. No magic is read or
/// written: the vDSO copes with a wiped or dropped state by itself, and a magic would vouch
/// for a generator that has no seed.
///
/// # Safety
/// `dest` is writable for `len`.
#[inline(never)]
pub(crate) unsafe fn fill_by_vdso(
    dest: *mut u8,
    len: usize,
    flags: c_uint,
    entry: Entry,
) -> Result<usize, Reason> {
    let Some(mut taken) = Taken::take() else {
        return Err(Reason::Busy);
    };
    let epoch = current_epoch();
    let state = refill::vdso_state(&mut taken);
    // SAFETY: `dest` is good for `len` bytes; the state is of the right size and kind, and
    // ours while the token is.
    let drawn = unsafe { vdso::getrandom(dest, len, flags, state) }.unwrap_or(-1);
    let mut done = usize::try_from(drawn).map_err(|_| Reason::Unseeded);
    fence();
    if current_epoch() != epoch {
        // Reseeded meanwhile: these bytes may come of a state that was restored.
        done = Err(Reason::Unseeded);
    }
    if let Ok(done) = done {
        let bytes = &taken.page.counts.bytes;
        bytes.store(bytes.load(Relaxed) + done as u64, Relaxed);
        taken.count(entry);
    }
    taken.put_back();
    done
}
