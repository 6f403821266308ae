//! The one decision: served here, or left to the kernel and why.
//!
//! Promises: policy and generator meet here and nowhere else; what it answers is
//! good to the last byte, and everything it is not sure of falls through to the
//! real function, which answers as it always did. errno is never touched. Must
//! never invent an error, wait, or decide by anything but mode, bucket, standing,
//! descriptor and confinement. `hooks` and `api` call it.

use crate::bucket::{Charge, Policy, Verdict};
use crate::callers::{Note, note};
use crate::settings::{Mode, Settings};
use crate::stats::{self, Door, Reason};
use crate::thread::{self, SMALL, Standing, Take, Tls};
use crate::{confine, probes, real, report, urandom, vdso};
use core::ffi::{c_int, c_uint, c_void};
use core::iter;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// What became of a request.
pub(crate) enum Outcome {
    /// Answered with this many bytes.
    Served(usize),
    /// The real function answers.
    FallThrough,
}

/// The mode in force. `Off` until `init` has run: other libraries' constructors
/// and .preinit_array come before ours.
static MODE: AtomicU8 = AtomicU8::new(Mode::Off as u8);
/// Whether hooks may take from private generators in this mode: `auto` or
/// `always`. The C API draws from the same pages in every mode.
static SERVING: AtomicBool = AtomicBool::new(false);
static RATE: AtomicU64 = AtomicU64::new(0);
static BURST: AtomicU64 = AtomicU64::new(0);
static BULK: AtomicU64 = AtomicU64::new(0);

pub(crate) fn mode() -> Mode {
    Mode::from_u8(MODE.load(Ordering::Relaxed))
}

/// Changes the mode. Every thread's next byte is decided anew.
pub(crate) fn set_mode(mode: Mode) {
    SERVING.store(matches!(mode, Mode::Auto | Mode::Always), Ordering::Relaxed);
    MODE.store(mode as u8, Ordering::Release);
    thread::new_epoch();
}

/// Once, from `init`.
pub(crate) fn start(settings: &Settings<'_>) {
    RATE.store(settings.rate_per_s, Ordering::Relaxed);
    BURST.store(settings.burst, Ordering::Relaxed);
    BULK.store(settings.bulk, Ordering::Relaxed);
    set_mode(settings.mode);
}

fn policy() -> Policy {
    Policy {
        rate_per_s: RATE.load(Ordering::Relaxed),
        burst: BURST.load(Ordering::Relaxed),
        bulk: BULK.load(Ordering::Relaxed),
    }
}

/// The lowest address that is served: below lie null and what is never mapped
/// (vm.mmap_min_addr).
const LOWEST: usize = 64 << 10;
/// Where user space ends, less a margin (x86-64, four-level page tables).
const HIGHEST: usize = (1 << 47) - (64 << 10);
/// The most that one read gives (MAX_RW_COUNT, read(2)).
const LONGEST: usize = 0x7fff_f000;

/// Whether a user-space copy to `dest` behaves as the kernel's would.
#[inline(always)]
pub(crate) fn plain(dest: *mut c_void, len: usize) -> bool {
    // One comparison: an address below LOWEST wraps to a huge number.
    len.wrapping_sub(1) < LONGEST && (dest as usize).wrapping_sub(LOWEST) <= HIGHEST - LOWEST - len
}

/// The fast path of getrandom(2) and everything that amounts to it: small, plain,
/// and this thread has enough. Anything but [`Take::Done`] goes on to [`getrandom`].
///
/// # Safety
/// As getrandom(2): `dest` is writable for `len`, or is something that the
/// kernel would refuse.
#[inline(always)]
pub(crate) unsafe fn quickly(dest: *mut c_void, len: usize, flags: c_uint, door: Door) -> Take {
    // GRND_RANDOM and unknown flags are the kernel's; a seeded generator
    // satisfies GRND_NONBLOCK and GRND_INSECURE as it is.
    let known = flags & !(libc::GRND_NONBLOCK | GRND_INSECURE) == 0;
    if known && len <= SMALL && plain(dest, len) && SERVING.load(Ordering::Relaxed) {
        // SAFETY: the caller's contract; the range is plain.
        unsafe { thread::take(dest.cast(), len, door) }
    } else {
        Take::Absent
    }
}

/// linux/random.h, since Linux 5.6; not in every libc.
const GRND_INSECURE: c_uint = 4;

/// getrandom(2) and everything that amounts to it, after the fast path came to
/// `so_far`. `caller` is the return address of whoever asks.
///
/// # Safety
/// As [`quickly`].
#[inline(never)]
pub(crate) unsafe fn getrandom(
    dest: *mut c_void,
    len: usize,
    flags: c_uint,
    door: Door,
    caller: usize,
    so_far: Take,
) -> Outcome {
    let mode = mode();
    if mode == Mode::Off {
        return Outcome::FallThrough;
    }
    if so_far == Take::Lost {
        return fall_through(len, door, Reason::Unseeded);
    }
    if flags & !(libc::GRND_NONBLOCK | GRND_INSECURE) != 0 {
        return fall_through(len, door, Reason::Flags);
    }
    if !plain(dest, len) {
        return fall_through(len, door, Reason::Pointer);
    }
    // A short buffer is a moved thread's, or one's that was forgiven: for the first,
    // there is nothing to judge.
    let judged = if so_far == Take::Short && matches!(thread::standing(), Standing::Moved) {
        moved(len, door, caller)
    } else {
        judge(mode, len, door, caller)
    };
    if let Err(reason) = judged {
        return fall_through(len, door, reason);
    }
    // glibc before 2.41 makes getrandom a cancellation point, and a thread that
    // loops on it must stay cancellable. Before the slot is taken: this may not return.
    real::testcancel();
    // SAFETY: the caller's contract; the range is plain.
    let done = unsafe {
        match mode {
            Mode::Vdso => thread::fill_by_vdso(dest.cast(), len, flags, door),
            _ => thread::fill(iter::once((dest.cast(), len)), len, door).map(|()| len),
        }
    };
    match done {
        Ok(done) => Outcome::Served(done),
        Err(reason) => fall_through(len, door, reason),
    }
}

/// What a request for descriptors asks for, once its pieces are known to be plain.
pub(crate) trait Pieces {
    /// Each destination and its length, in order.
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)>;
}

/// One buffer.
pub(crate) struct Whole(pub(crate) *mut c_void, pub(crate) usize);

impl Pieces for Whole {
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)> {
        iter::once((self.0.cast(), self.1))
    }
}

/// The vectors of readv(2).
pub(crate) struct Vectors<'a>(pub(crate) &'a [libc::iovec]);

impl Vectors<'_> {
    /// The sum of their lengths.
    pub(crate) fn total(&self) -> usize {
        self.0
            .iter()
            .fold(0, |sum, vector| sum.saturating_add(vector.iov_len))
    }
}

impl Pieces for Vectors<'_> {
    fn pieces(&self) -> impl Iterator<Item = (*mut u8, usize)> {
        self.0
            .iter()
            .map(|vector| (vector.iov_base.cast(), vector.iov_len))
    }
}

/// A read of a hinted descriptor: judge, ask, serve.
///
/// # Safety
/// As readv(2): every piece is writable for its length, or is something that
/// the kernel would refuse.
#[inline(never)]
pub(crate) unsafe fn read(fd: c_int, wanted: &impl Pieces, caller: usize) -> Outcome {
    let mode = mode();
    if mode == Mode::Off {
        return Outcome::FallThrough;
    }
    let mut len = 0usize;
    let mut first = core::ptr::null_mut();
    let mut first_len = 0;
    for (dest, piece) in wanted.pieces() {
        if !plain(dest.cast(), piece) {
            return fall_through(len, Door::Read, Reason::Pointer);
        }
        if len == 0 {
            (first, first_len) = (dest, piece);
        }
        len = len.saturating_add(piece);
    }
    if len.wrapping_sub(1) >= LONGEST {
        return fall_through(len, Door::Read, Reason::Pointer);
    }
    if confine::confined() {
        return fall_through(len, Door::Read, Reason::Confined);
    }
    if urandom::unsure(fd) && !urandom::make_sure(fd) {
        return Outcome::FallThrough;
    }
    let judged = judge_read(mode, fd, first.cast(), first_len, len, caller);
    if let Err(reason) = judged {
        return match reason {
            // Not a request for randomness at all: nothing is counted but that.
            Reason::NotUrandom => {
                stats::count_not_urandom();
                Outcome::FallThrough
            }
            _ => fall_through(len, Door::Read, reason),
        };
    }
    // read(2) is a cancellation point.
    real::testcancel();
    // SAFETY: the caller's contract; every piece is plain.
    let done = unsafe {
        match mode {
            Mode::Vdso => read_by_vdso(wanted),
            _ => thread::fill(wanted.pieces(), len, Door::Read).map(|()| len),
        }
    };
    match done {
        Ok(done) => Outcome::Served(done),
        Err(reason) => fall_through(len, Door::Read, reason),
    }
}

/// # Safety
/// As [`read`], and every piece is plain.
unsafe fn read_by_vdso(wanted: &impl Pieces) -> Result<usize, Reason> {
    let mut total = 0;
    for (dest, len) in wanted.pieces() {
        // SAFETY: the caller's contract. A later piece that is refused makes the
        // kernel answer the whole request anew.
        total += unsafe { thread::fill_by_vdso(dest, len, 0, Door::Read)? };
    }
    Ok(total)
}

/// Judges a read, and asks what the descriptor is only if the caller is over its
/// allowance: a light read stays the one system call that it was.
///
/// The standing is looked at first, so that a thread is moved only for a
/// descriptor that is urandom.
fn judge_read(
    mode: Mode,
    fd: c_int,
    dest: *mut c_void,
    dest_len: usize,
    len: usize,
    caller: usize,
) -> Result<(), Reason> {
    let standing = thread::standing();
    let judged = matches!(standing, Standing::Light) && matches!(mode, Mode::Auto | Mode::Observe);
    if matches!(standing, Standing::Never) {
        return Err(Reason::Busy);
    }
    if judged && charge(len) == Verdict::Within {
        seen(len, Door::Read, caller, false);
        return Err(Reason::Light);
    }
    // SAFETY: `dest` is the caller's buffer, in which it wants random bytes.
    if !unsafe { urandom::ask(fd, dest, dest_len) } {
        if judged {
            refund(len);
        }
        return Err(if urandom::hinted(fd) {
            Reason::Pointer
        } else {
            Reason::NotUrandom
        });
    }
    over(mode, standing, len, Door::Read, caller)
}

/// Judges a request of the getrandom family: `Ok` if this thread has a page and
/// may use it.
fn judge(mode: Mode, len: usize, door: Door, caller: usize) -> Result<(), Reason> {
    let standing = thread::standing();
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
fn over(
    mode: Mode,
    standing: Standing,
    len: usize,
    door: Door,
    caller: usize,
) -> Result<(), Reason> {
    match (mode, standing) {
        (Mode::Observe, _) => {
            stats::count_would_move(len, thread::note_heavy());
            seen(len, door, caller, true);
            Err(Reason::Mode)
        }
        (Mode::Vdso, _) if !vdso::has_getrandom() => Err(Reason::Mode),
        (_, Standing::Moved) => moved(len, door, caller),
        // A move maps memory and reads a file: nothing that a confined program asked for.
        _ if confine::confined() => Err(Reason::Confined),
        _ => {
            probes::moving(len, level());
            if thread::move_here() {
                moved(len, door, caller)
            } else {
                Err(Reason::Unseeded)
            }
        }
    }
}

/// A thread that has a page leaves the fast path.
#[inline]
fn moved(len: usize, door: Door, caller: usize) -> Result<(), Reason> {
    if report::wanted() {
        let (calls, bytes) = thread::drawn_with(len);
        note(&Note {
            caller,
            door,
            len,
            calls,
            bytes,
            thread: Tls::here() as usize,
            moved: true,
        });
    }
    if thread::forgives() && thread::forgive(&policy()) {
        Err(Reason::Light)
    } else {
        Ok(())
    }
}

/// Notes the site of a call that was judged.
#[inline]
fn seen(len: usize, door: Door, caller: usize, moved: bool) {
    if report::wanted() {
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
fn charge(len: usize) -> Verdict {
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

fn refund(len: usize) {
    // SAFETY: this thread's own words, copied out and back in.
    unsafe {
        let place = &raw mut (*Tls::here()).bucket;
        let mut bucket = place.read_volatile();
        bucket.refund(len as u64);
        place.write_volatile(bucket);
    }
}

#[inline]
fn fall_through(len: usize, door: Door, reason: Reason) -> Outcome {
    stats::count_kernel(Tls::here() as usize, door, len, reason);
    if !matches!(reason, Reason::Light | Reason::Mode) {
        probes::fell_through(reason, len);
    }
    Outcome::FallThrough
}
