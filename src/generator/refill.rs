//! Seeding, reseeding and refilling a page, and large requests.
//!
//! Promises: a page that is not seeded by this epoch is seeded before a byte of
//! it leaves; the kernel's bytes are folded into the key before it is expanded;
//! anything but exactly 32 bytes from the kernel is an error, and the kernel
//! then answers the whole request itself. Must never expand a key whose page was
//! wiped, leave a key on the stack, or write the magic during a refill: a refill
//! that revived the magic of a page wiped in the middle of it would vouch for a
//! key of zeros. Only `thread` calls it, with the slot taken.
//!
//! The page may be wiped (a signal handler forks and this is the child) or
//! dropped (memory pressure) between any two accesses. Whatever is computed from
//! zeros after that is caught when the magic is read again before the answer.

use super::copy_out::hand_out;
use super::page::{self, Page};
use super::scrub::scrub;
use super::{LIMITS, current_epoch, fence};
use crate::stats::Reason;
use crate::{probes, sys, vdso};
use core::arch::asm;
use core::ffi::c_void;
use core::ptr::{read_volatile, write_volatile};
use core::slice;
use core::sync::atomic::Ordering::Relaxed;
use ownpool_core::crng::keystream::{KEY, STRIDE};
use ownpool_core::crng::{Crng, SHORT_YIELD, YIELD};

/// From here on a large request mixes fresh kernel bytes into its own key: 105 ns,
/// or 245 by the system call, against 2,300 for the keystream (measured, AVX-512).
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
///
/// # Safety
/// `page` is this thread's, its slot taken.
pub(super) unsafe fn seed_if_due(page: *mut Page) -> Result<(), Reason> {
    // SAFETY: the page is ours.
    unsafe {
        if read_volatile(&raw const (*page).magic) != current_epoch() {
            seed(page)?;
        }
    }
    Ok(())
}

/// Writes `len` bytes to `dest`: whole strides straight from a subkey, the rest
/// from the buffer. Good only if the magic is still there after the last piece.
///
/// # Safety
/// As [`seed_if_due`], which came before; `dest` is writable for `len`.
pub(super) unsafe fn fill(page: *mut Page, mut dest: *mut u8, len: usize) -> Result<(), Reason> {
    // SAFETY: the page is ours; `dest` is only stepped within `len`.
    unsafe {
        let mut rest = len;
        if len >= STRIDE {
            let strides = len - len % STRIDE;
            stream(page, slice::from_raw_parts_mut(dest, strides))?;
            dest = dest.add(strides);
            rest -= strides;
        }
        while rest > 0 {
            let mut available = read_volatile(&raw const (*page).available) as usize;
            if available == 0 {
                refill(page, Length::Whole, false)?;
                available = YIELD;
            }
            let now = rest.min(available);
            let left = available - now;
            hand_out(bytes(page).add(left), dest, now);
            write_volatile(&raw mut (*page).available, left as u64);
            dest = dest.add(now);
            rest -= now;
        }
    }
    Ok(())
}

/// Where the buffer starts.
///
/// # Safety
/// `page` is a state page.
#[inline(always)]
pub(super) unsafe fn bytes(page: *mut Page) -> *mut u8 {
    // SAFETY: a projection within the page; the reference ends here.
    unsafe { (*page).crng.bytes_mut().as_mut_ptr() }
}

/// The first seed of this epoch, and a refill from it.
///
/// # Safety
/// As [`seed_if_due`].
#[cold]
unsafe fn seed(page: *mut Page) -> Result<(), Reason> {
    // SAFETY: the page is ours.
    unsafe {
        page::make_available(page, 0);
        let epoch = current_epoch();
        // Magic first, then the seed. The other way round, a fork between the two
        // would leave a child that writes a valid magic over a key of zeros:
        // every such child would draw the same bytes. This way round the child's
        // magic is wiped with the key, and it starts here again.
        write_volatile(&raw mut (*page).magic, epoch);
        fence();
        // An older key, if this is a reseed, stays in: XOR can only add.
        let done = reseed(page).and_then(|()| expand(page, epoch, Length::Whole));
        if done.is_err() {
            // A magic without a seed would vouch for zeros.
            write_volatile(&raw mut (*page).magic, 0);
        }
        done
    }
}

/// Fast key erasure, with fresh kernel bytes folded in first if they are due: by
/// the settings, or because the caller says so.
///
/// # Safety
/// As [`fill`], and the page was seeded.
#[inline(always)]
unsafe fn refill(page: *mut Page, length: Length, due: bool) -> Result<(), Reason> {
    // SAFETY: the page is ours.
    unsafe {
        let epoch = current_epoch();
        let since = drawn(page, length.bytes());
        if due || reseed_is_due(page, since) {
            reseed(page)?;
        }
        expand(page, epoch, length)
    }
}

/// Notes that this much more has been drawn since the page was reseeded; how much it
/// is by now.
///
/// # Safety
/// As [`fill`].
unsafe fn drawn(page: *mut Page, len: usize) -> u64 {
    // SAFETY: the page is ours.
    unsafe {
        let since = read_volatile(&raw const (*page).since_reseed).saturating_add(len as u64);
        write_volatile(&raw mut (*page).since_reseed, since);
        since
    }
}

/// Expands the key, unless the page has been wiped.
///
/// # Safety
/// As [`fill`].
#[inline(always)]
unsafe fn expand(page: *mut Page, epoch: u64, length: Length) -> Result<(), Reason> {
    // SAFETY: the page is ours.
    unsafe {
        fence();
        if read_volatile(&raw const (*page).magic) != epoch || !page::has_thread(page) {
            return Err(Reason::Unseeded);
        }
        run_cipher(&mut (*page).crng, Run::Refill(length));
        fence();
        let reseeded = read_volatile(&raw const (*page).since_reseed) == 0;
        probes::refill(length.bytes(), reseeded);
        let refills = read_volatile(&raw const (*page).counts.refills);
        write_volatile(&raw mut (*page).counts.refills, refills + 1);
        page::make_available(page, length.bytes() as u64);
        Ok(())
    }
}

/// Whole strides of keystream, straight into the caller's memory, from a key of
/// their own.
///
/// # Safety
/// As [`fill`], and the page was seeded.
unsafe fn stream(page: *mut Page, dest: &mut [u8]) -> Result<(), Reason> {
    // SAFETY: the page is ours.
    unsafe {
        let mut available = read_volatile(&raw const (*page).available) as usize;
        // A large request has kernel bytes for itself alone. Smaller ones share some:
        // those go into the page's key, since a subkey is used by one request and
        // gone, and the next would come of the same old buffer.
        let alone = dest.len() >= FRESH;
        let due = !alone && {
            let since = read_volatile(&raw const (*page).since_reseed);
            since.saturating_add(dest.len() as u64) >= together()
        };
        if due || available < KEY {
            // The bytes that are left are not worth keeping: a refill forgets them.
            refill(page, Length::Short, due)?;
            available = SHORT_YIELD;
        }
        fence();
        (*page).crng.draw_subkey(available);
        fence();
        page::make_available(page, (available - KEY) as u64);
        if alone {
            draw_seed(page)?;
        }
        // A wiped subkey would make a stream that everybody knows.
        if read_volatile(&raw const (*page).magic) != current_epoch() || !page::has_thread(page) {
            return Err(Reason::Unseeded);
        }
        let len = dest.len();
        run_cipher(&mut (*page).crng, Run::Stream(dest));
        fence();
        let bytes = &raw mut (*page).counts.bytes;
        write_volatile(bytes, read_volatile(bytes) + len as u64);
        if !alone {
            drawn(page, len);
        }
        Ok(())
    }
}

/// After how many bytes requests that share kernel bytes have the page reseeded: a
/// limit of its own where refills have none, since they always do.
fn together() -> u64 {
    match LIMITS.reseed_bytes.load(Relaxed) {
        0 => FRESH_TOGETHER,
        bytes => bytes,
    }
}

/// What the cipher is run for.
enum Run<'a> {
    Refill(Length),
    Stream(&'a mut [u8]),
}

/// A run of the cipher, with nothing of the key left outside the page by us: the
/// compiler keeps copies of it in registers and in stack slots, which this overwrites.
/// (A signal that falls into it has the kernel save those registers on the stack.)
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
///
/// # Safety
/// As [`fill`].
unsafe fn reseed_is_due(page: *mut Page, since: u64) -> bool {
    let bytes = LIMITS.reseed_bytes.load(Relaxed);
    if bytes == 0 || since >= bytes {
        return true;
    }
    // Without a clock, age cannot be told: reseed.
    let Some(now) = vdso::now_ms() else {
        return true;
    };
    // SAFETY: the page is ours.
    let then = unsafe { read_volatile(&raw const (*page).reseeded_ms) };
    now.saturating_sub(then) >= LIMITS.reseed_secs.load(Relaxed).saturating_mul(1000)
}

/// The vDSO's state in this page, empty if it is of another epoch: a memory image
/// that was restored has the old state too, and would draw the old seed from it.
///
/// # Safety
/// As [`fill`].
#[inline(always)]
pub(super) unsafe fn vdso_state(page: *mut Page) -> *mut c_void {
    // SAFETY: the page is ours. Emptied before the epoch is noted: the other way
    // round, a handler that jumped away in between would leave an old state noted new.
    unsafe {
        let state = (&raw mut (*page).vdso).cast::<c_void>();
        let epoch = current_epoch();
        if read_volatile(&raw const (*page).vdso_epoch) != epoch {
            write_volatile(state.cast::<[u8; vdso::STATE_MAX]>(), [0; vdso::STATE_MAX]);
            write_volatile(&raw mut (*page).vdso_epoch, epoch);
        }
        state
    }
}

/// Draws 32 bytes from the kernel for the page's key, and notes when.
///
/// # Safety
/// As [`fill`].
#[inline(always)]
unsafe fn reseed(page: *mut Page) -> Result<(), Reason> {
    // SAFETY: the page is ours.
    unsafe {
        draw_seed(page)?;
        write_volatile(&raw mut (*page).since_reseed, 0);
        if LIMITS.reseed_bytes.load(Relaxed) != 0 {
            write_volatile(&raw mut (*page).reseeded_ms, vdso::now_ms().unwrap_or(0));
        }
    }
    Ok(())
}

/// Draws 32 bytes from the kernel into the generator's seed.
///
/// # Safety
/// As [`fill`].
unsafe fn draw_seed(page: *mut Page) -> Result<(), Reason> {
    // SAFETY: the page is ours, and the vDSO's state in it is of the size and in
    // memory of the kind that it asks for.
    unsafe {
        let seed = (*page).crng.seed_mut().as_mut_ptr();
        fence();
        // GRND_NONBLOCK: early at boot the kernel may have nothing yet. Then the
        // caller's own request decides whether to wait, not we.
        let state = vdso_state(page);
        let by_vdso = vdso::getrandom(seed, KEY, libc::GRND_NONBLOCK, state);
        let drawn = match by_vdso {
            Some(drawn) => drawn == KEY as isize,
            None => sys::getrandom(seed.cast(), KEY, libc::GRND_NONBLOCK) == Ok(KEY),
        };
        join(seed);
        fence();
        if !drawn {
            return Err(Reason::Unseeded);
        }
        probes::reseed(KEY, by_vdso.is_some());
        let reseeds = read_volatile(&raw const (*page).counts.reseeds);
        write_volatile(&raw mut (*page).counts.reseeds, reseeds + 1);
        Ok(())
    }
}

/// Rewrites 32 bytes as two whole vectors. The vDSO has stored them in four pieces just
/// now, and a vector loaded across two stores that are still on their way waits for the
/// cache: 5 ns a refill. (The pieces one by one do not, nor what is stored whole.)
///
/// # Safety
/// `place` is readable and writable for 32 bytes.
#[inline(always)]
unsafe fn join(place: *mut u8) {
    // SAFETY: the caller's contract.
    unsafe {
        asm!(
            "movq {a}, qword ptr [{place}]",
            "movhps {a}, qword ptr [{place} + 8]",
            "movq {b}, qword ptr [{place} + 16]",
            "movhps {b}, qword ptr [{place} + 24]",
            "movups [{place}], {a}",
            "movups [{place} + 16], {b}",
            place = in(reg) place, a = out(xmm_reg) _, b = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}
