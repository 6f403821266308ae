//! Seeding, reseeding and refilling a page, and large requests.
//!
//! Promises: a page that is not seeded by this epoch is seeded before a byte of it leaves;
//! the kernel's bytes are folded into the key before it is expanded; anything but exactly
//! 32 bytes from the kernel is an error, and the kernel then answers the whole request
//! itself. Must never expand a key whose page was wiped, leave a key on the stack, or write
//! the magic during a refill: a refill that revived the magic of a page wiped in the middle
//! of it would vouch for a key of zeros.
//!
//! The page may be wiped (a signal handler forks and this is the child) or dropped (memory
//! pressure) between any two accesses. Whatever is computed from zeros after that is caught
//! when the magic is read again before the answer.

use super::{Taken, current_epoch, fence};
use crate::arch::{copy_out, rewrite_whole, scrub};
use crate::{config, probes, sys, vdso};
use core::ffi::c_void;
use core::slice;
use core::sync::atomic::Ordering::Relaxed;
use ownpool_core::counts::Reason;
use ownpool_core::crng::keystream::{KEY, STRIDE};
use ownpool_core::crng::{Crng, SHORT_YIELD, YIELD};

/// From here on a large request mixes fresh kernel bytes into its own key: 105 ns, or 245
/// by the system call, against 2,300 for the keystream (measured, AVX-512).
const FRESH: usize = 16 << 10;

/// Smaller ones have the page reseeded for them when this much has been drawn since.
const FRESH_TOGETHER: u64 = 64 << 10;

/// How much of a buffer a refill makes.
#[derive(Clone, Copy)]
enum Length {
    Whole,
    /// A third, for subkeys alone.
    Short,
}

impl Length {
    const fn bytes(self) -> usize {
        match self {
            Length::Whole => YIELD,
            Length::Short => SHORT_YIELD,
        }
    }
}

/// Seeds the page if this epoch has not. Once a request, before its first byte.
pub(super) fn seed_if_due(taken: &mut Taken) -> Result<(), Reason> {
    if taken.is_current(current_epoch()) {
        Ok(())
    } else {
        seed(taken)
    }
}

/// Writes `len` bytes to `dest`: whole strides straight from a subkey, the rest from the
/// buffer. Good only if the magic is still there after the last piece. The page was seeded.
///
/// # Safety
/// `dest` is writable for `len`.
pub(super) unsafe fn fill(
    taken: &mut Taken,
    mut dest: *mut u8,
    mut len: usize,
) -> Result<(), Reason> {
    if len >= STRIDE {
        let strides = len - len % STRIDE;
        // SAFETY: the start of the caller's memory, which is only written to.
        stream(taken, unsafe { slice::from_raw_parts_mut(dest, strides) })?;
        // SAFETY: at most its end.
        dest = unsafe { dest.add(strides) };
        len -= strides;
    }
    while len > 0 {
        let mut available = taken.available() as usize;
        if available == 0 {
            refill(taken, Length::Whole, false)?;
            available = YIELD;
        }
        let now = len.min(available);
        let left = available - now;
        // SAFETY: `available` bytes are unread, and `len` bytes of the caller's are left.
        unsafe {
            copy_out(taken.bytes().add(left), dest, now);
            dest = dest.add(now);
        }
        taken.set_available(left as u64);
        len -= now;
    }
    Ok(())
}

/// The first seed of this epoch, and a refill from it.
#[cold]
fn seed(taken: &mut Taken) -> Result<(), Reason> {
    taken.make_available(0);
    let epoch = current_epoch();
    // Magic first, then the seed. The other way round, a fork between the two would leave a
    // child that writes a valid magic over a key of zeros: every such child would draw the
    // same bytes. This way round the child's magic is wiped with the key, and it starts
    // here again.
    taken.page.magic.store(epoch, Relaxed);
    fence();
    // An older key, if this is a reseed, stays in: XOR can only add.
    let done = reseed(taken).and_then(|()| expand(taken, epoch, Length::Whole));
    if done.is_err() {
        // A magic without a seed would vouch for zeros.
        taken.page.magic.store(0, Relaxed);
    }
    done
}

/// Fast key erasure, with fresh kernel bytes folded in first if they are due: by the
/// settings, or because the caller says so. The page was seeded.
#[inline(always)]
fn refill(taken: &mut Taken, length: Length, due: bool) -> Result<(), Reason> {
    let epoch = current_epoch();
    let since = add_drawn(taken, length.bytes());
    if due || reseed_is_due(taken, since) {
        reseed(taken)?;
    }
    expand(taken, epoch, length)
}

/// This much more has been drawn since the page was reseeded; how much it is by now.
fn add_drawn(taken: &mut Taken, len: usize) -> u64 {
    let since = &taken.page.since_reseed;
    let sum = since.load(Relaxed).saturating_add(len as u64);
    since.store(sum, Relaxed);
    sum
}

/// Expands the key, unless the page has been wiped.
#[inline(always)]
fn expand(taken: &mut Taken, epoch: u64, length: Length) -> Result<(), Reason> {
    if !taken.is_current(epoch) {
        return Err(Reason::Unseeded);
    }
    run_cipher(taken.crng(), Run::Refill(length));
    fence();
    let reseeded = taken.page.since_reseed.load(Relaxed) == 0;
    probes::refill(length.bytes(), reseeded);
    let refills = &taken.page.counts.refills;
    refills.store(refills.load(Relaxed) + 1, Relaxed);
    taken.make_available(length.bytes() as u64);
    Ok(())
}

/// Whole strides of keystream, straight into the caller's memory, from a key of their own.
/// The page was seeded.
fn stream(taken: &mut Taken, dest: &mut [u8]) -> Result<(), Reason> {
    let mut available = taken.available() as usize;
    // A large request has kernel bytes for itself alone. Smaller ones share some: those go
    // into the page's key, since a subkey is used by one request and gone, and the next
    // would come of the same old buffer.
    let own_seed = dest.len() >= FRESH;
    let due = !own_seed && {
        let since = taken.page.since_reseed.load(Relaxed);
        since.saturating_add(dest.len() as u64) >= together()
    };
    if due || available < KEY {
        // The bytes that are left are not worth keeping: a refill forgets them.
        refill(taken, Length::Short, due)?;
        available = SHORT_YIELD;
    }
    fence();
    taken.crng().draw_subkey(available);
    fence();
    taken.make_available((available - KEY) as u64);
    if own_seed {
        draw_seed(taken)?;
    }
    // A wiped subkey would make a stream that anyone can compute.
    if !taken.is_current(current_epoch()) {
        return Err(Reason::Unseeded);
    }
    let len = dest.len();
    run_cipher(taken.crng(), Run::Stream(dest));
    fence();
    let bytes = &taken.page.counts.bytes;
    bytes.store(bytes.load(Relaxed) + len as u64, Relaxed);
    if !own_seed {
        add_drawn(taken, len);
    }
    Ok(())
}

/// After how many bytes requests that share kernel bytes have the page reseeded: a limit of
/// its own where refills have none, since they always do.
fn together() -> u64 {
    match config::reseed_bytes() {
        0 => FRESH_TOGETHER,
        bytes => bytes,
    }
}

/// What the cipher is run for.
enum Run<'a> {
    Refill(Length),
    Stream(&'a mut [u8]),
}

/// A run of the cipher, with nothing of the key left outside the page by us: the compiler
/// keeps copies of it in registers and in stack slots, which this overwrites. (A signal
/// that falls into it has the kernel save those registers on the stack.)
#[inline(never)]
fn run_cipher(crng: &mut Crng, run: Run<'_>) {
    #[inline(never)]
    fn go(crng: &mut Crng, run: Run<'_>) {
        match run {
            Run::Refill(Length::Whole) => crng.refill(),
            Run::Refill(Length::Short) => crng.refill_short(),
            Run::Stream(dest) => crng.stream(dest),
        }
    }
    go(crng, run);
    scrub();
}

/// Whether this refill reseeds.
fn reseed_is_due(taken: &Taken, since: u64) -> bool {
    let bytes = config::reseed_bytes();
    if bytes == 0 || since >= bytes {
        return true;
    }
    // Without a clock, age cannot be told: reseed.
    let Some(now_ms) = vdso::now_ms() else {
        return true;
    };
    let age_ms = now_ms.saturating_sub(taken.page.reseeded_ms.load(Relaxed));
    age_ms >= config::reseed_ms()
}

/// The vDSO's state in this page, empty if it is of another epoch: a memory image that was
/// restored has the old state too, and would draw the old seed from it.
#[inline(always)]
pub(super) fn vdso_state(taken: &mut Taken) -> *mut c_void {
    let state = taken.page.vdso.get();
    let epoch = current_epoch();
    // Emptied before the epoch is written: the other way round, a handler that jumped away
    // in between would leave an old state marked new.
    if taken.page.vdso_epoch.load(Relaxed) != epoch {
        // SAFETY: ours while the token is.
        unsafe { state.write_volatile([0; vdso::STATE_MAX]) };
        taken.page.vdso_epoch.store(epoch, Relaxed);
    }
    state.cast()
}

/// Draws 32 bytes from the kernel for the page's key, and keeps when.
#[inline(always)]
fn reseed(taken: &mut Taken) -> Result<(), Reason> {
    draw_seed(taken)?;
    taken.page.since_reseed.store(0, Relaxed);
    if config::reseed_bytes() != 0 {
        let now_ms = vdso::now_ms().unwrap_or(0);
        taken.page.reseeded_ms.store(now_ms, Relaxed);
    }
    Ok(())
}

/// Draws 32 bytes from the kernel into the generator's seed.
fn draw_seed(taken: &mut Taken) -> Result<(), Reason> {
    fence();
    // GRND_NONBLOCK: early at boot the kernel may have nothing yet. Then the caller's own
    // request decides whether to wait, not we.
    const FLAGS: u32 = libc::GRND_NONBLOCK;
    let state = vdso_state(taken);
    let seed = taken.crng().seed_mut();
    let dest = seed.as_mut_ptr();
    // SAFETY: 32 bytes of the page; the vDSO's state in it is of the size and in memory of
    // the kind that it asks for.
    let (drawn, by_vdso) = unsafe {
        match vdso::getrandom(dest, KEY, FLAGS, state) {
            Some(drawn) => (drawn == KEY as isize, true),
            None => (sys::getrandom(dest.cast(), KEY, FLAGS) == Ok(KEY), false),
        }
    };
    rewrite_whole(seed);
    fence();
    if !drawn {
        return Err(Reason::Unseeded);
    }
    probes::reseed(KEY, by_vdso);
    let reseeds = &taken.page.counts.reseeds;
    reseeds.store(reseeds.load(Relaxed) + 1, Relaxed);
    Ok(())
}
