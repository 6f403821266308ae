//! A thread's few words of its own, in initial-exec thread-local storage.
//!
//! Promises: reaching them is two instructions and no call (`thread_local!` in
//! a shared library goes through `__tls_get_addr`, 2 ns dearer, and may allocate
//! on first use); [`BYTES`] bytes a thread, all zero at its start. Must never
//! grow without need: static TLS is taken from every thread's stack, and
//! programs start threads with 16 KiB in all. `thread` uses it, and `serve` for the
//! bucket.
//!
//! Every access is volatile: a signal handler on the same thread may draw,
//! fork, or jump away between any two of them.

use super::page::Page;
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use core::ptr;
use ownpool_core::leaky_bucket::Bucket;

/// The words. All-zero: a light thread that has not drawn yet.
#[repr(C)]
pub(crate) struct Tls {
    /// Where this thread stands: [`LIGHT`], [`NEVER`], [`NOTED`], or the address
    /// of its page, fixed from then on.
    pub(super) home: usize,
    /// 1 when the page is idle, 0 while a call is in flight, or without a page.
    idle: u64,
    /// A light thread's level.
    pub(crate) bucket: Bucket,
    /// The number of this thread's page plus 1; 0: it has none. A thread that was
    /// forgiven keeps its page.
    pub(super) number: u32,
    /// 1 once the thread ends: it is not moved any more.
    pub(super) ending: u32,
}

/// `home`: the kernel answers, the bucket judges.
pub(super) const LIGHT: usize = 0;
/// `home`: the kernel answers for good (or a move is in progress).
pub(super) const NEVER: usize = 1;
/// `home`: the kernel answers; `observe` has seen this thread over its allowance.
pub(super) const NOTED: usize = 2;

/// What a light thread costs.
pub(crate) const BYTES: usize = 40;
const _: () = assert!(size_of::<Tls>() == BYTES);
const _: () = assert!(offset_of!(Tls, home) == 0 && offset_of!(Tls, idle) == 8);

global_asm!(
    ".pushsection .tbss.ownpool, \"awT\", @nobits",
    ".balign 8",
    ".globl ownpool_tls",
    ".hidden ownpool_tls",
    ".type ownpool_tls, @object",
    ".size ownpool_tls, {bytes}",
    "ownpool_tls:",
    ".zero {bytes}",
    ".popsection",
    bytes = const BYTES,
);

/// The address of this thread's words, with these options besides `nostack`.
///
/// fs:0 holds the thread pointer (x86-64 TLS ABI); the linker puts the symbol's offset
/// from it into the GOT. Nothing is written.
macro_rules! address {
    ($($option:ident),*) => {{
        let address: usize;
        asm!(
            "mov {address}, qword ptr fs:[0]",
            "add {address}, qword ptr [rip + ownpool_tls@GOTTPOFF]",
            address = out(reg) address,
            options(nostack, $($option),*),
        );
        address
    }};
}

impl Tls {
    /// This thread's words. They stay where they are while the thread lives.
    #[inline(always)]
    pub(crate) fn here() -> *mut Tls {
        // SAFETY: as said at `address`. `pure`: once will do for a whole call.
        unsafe { address!(pure, nomem) as *mut Tls }
    }

    /// Whether these are the words of the thread that runs now, asked anew: a user-level
    /// thread may have gone on elsewhere.
    #[inline(always)]
    pub(super) fn is_here(this: *mut Tls) -> bool {
        // SAFETY: as said at `address`.
        unsafe { address!() == this as usize }
    }

    /// Step 1 of a call: takes the page, if it is idle. `None`: busy, or not moved.
    ///
    /// Look and take are one instruction, without the lock that costs 5 ns: only
    /// this thread and its own signal handlers use the word, but a handler may run
    /// another user-level thread on this one, which draws and is suspended in its
    /// turn. Between a look and a take of their own it would have used the page.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread.
    #[inline(always)]
    pub(super) unsafe fn take_slot(this: *mut Tls) -> Option<*mut Page> {
        // SAFETY: the caller's contract. Whoever has cleared the bit is alone with
        // the page, and `home` stays until it is set again.
        unsafe {
            asm!(
                // Shifts the bit out into the carry flag: 1 becomes 0, 0 stays.
                "shr dword ptr [{this} + 8], 1",
                "jnc {busy}",
                this = in(reg) this,
                busy = label { return None },
                options(nostack),
            );
            // Idle and without a page these words cannot be, unless a call that outlived
            // another thread has just put its slot back here.
            let home = Tls::home(this);
            if home <= NOTED {
                return None;
            }
            Some(home as *mut Page)
        }
    }

    /// Step 6 of a call: the page is idle again.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread, whose page was taken, or is new.
    #[inline(always)]
    pub(super) unsafe fn put_slot(this: *mut Tls) {
        // SAFETY: the caller's contract.
        unsafe { ptr::write_volatile(&raw mut (*this).idle, 1) }
    }

    /// Where this thread stands.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread.
    #[inline(always)]
    pub(super) unsafe fn home(this: *mut Tls) -> usize {
        // SAFETY: the caller's contract.
        unsafe { ptr::read_volatile(&raw const (*this).home) }
    }

    /// Moves `home` from one value to another in one instruction, so that a
    /// signal handler cannot fall between the look and the change.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread.
    pub(super) unsafe fn turn_home(this: *mut Tls, from: usize, to: usize) -> bool {
        use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
        // SAFETY: the word is aligned and lives as long as the thread; every
        // other access is from this thread too.
        let home = unsafe { AtomicUsize::from_ptr(&raw mut (*this).home) };
        home.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
    }

    /// Sets `home`.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread, and no page is lost by it.
    pub(super) unsafe fn set_home(this: *mut Tls, home: usize) {
        // SAFETY: the caller's contract.
        unsafe { ptr::write_volatile(&raw mut (*this).home, home) }
    }
}
