//! A thread's few words of its own, in initial-exec thread-local storage.
//!
//! Promises: reaching them is two instructions and no call (`thread_local!` in
//! a shared library goes through `__tls_get_addr`, 2 ns dearer, and may allocate
//! on first use); [`BYTES`] bytes a thread, all zero at its start. Must never
//! grow without need: static TLS is taken from every thread's stack, and
//! programs start threads with 16 KiB in all. Only `thread` uses it.
//!
//! Every access is volatile: a signal handler on the same thread may draw,
//! fork, or jump away between any two of them.

use super::page::Page;
use crate::bucket::Bucket;
use core::arch::{asm, global_asm};
use core::mem::offset_of;
use core::ptr;

/// The words. All-zero: a light thread that has not drawn yet.
#[repr(C)]
pub(crate) struct Tls {
    /// Where this thread stands: [`LIGHT`], [`NEVER`], [`NOTED`], or the address
    /// of its page, fixed from then on.
    pub(super) home: usize,
    /// The page, and [`IDLE`] unless a call is in flight; 0: no page yet.
    slot: usize,
    /// A light thread's level.
    pub(crate) bucket: Bucket,
    /// The number of this thread's page plus 1; 0: it has none. A thread that was
    /// forgiven keeps its page.
    pub(super) number: u32,
    _unused: u32,
}

/// `home`: the kernel answers, the bucket judges.
pub(super) const LIGHT: usize = 0;
/// `home`: the kernel answers for good (or a move is in progress).
pub(super) const NEVER: usize = 1;
/// `home`: the kernel answers; `observe` has seen this thread over its allowance.
pub(super) const NOTED: usize = 2;

/// The lowest bit of `slot`, which no page's address has.
const IDLE: usize = 1;

/// What a light thread costs.
pub(crate) const BYTES: usize = 40;
const _: () = assert!(size_of::<Tls>() == BYTES);
const _: () = assert!(offset_of!(Tls, home) == 0 && offset_of!(Tls, slot) == 8);

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

impl Tls {
    /// This thread's words. They stay where they are while the thread lives.
    #[inline(always)]
    pub(crate) fn here() -> *mut Tls {
        let here: *mut Tls;
        // SAFETY: fs:0 holds the thread pointer (x86-64 TLS ABI); the linker puts
        // the symbol's offset from it into the GOT. Nothing is written.
        unsafe {
            asm!(
                "mov {here}, qword ptr fs:[0]",
                "add {here}, qword ptr [rip + ownpool_tls@GOTTPOFF]",
                here = out(reg) here,
                options(pure, nomem, nostack),
            );
        }
        here
    }

    /// Step 1 of a call: takes the slot and leaves null. Null: busy, or not moved.
    ///
    /// Taken by one instruction, not a locked one, which would cost 5 ns: only this
    /// thread and its own signal handlers use the word. But a handler may change to
    /// another user-level thread, which draws and is left in mid-draw: a plain store
    /// after that would let two draws use one page. A handler that falls before it
    /// and leaves the page idle does no harm: we have not looked at the page yet.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread.
    #[inline(always)]
    pub(super) unsafe fn take_slot(this: *mut Tls) -> *mut Page {
        // SAFETY: the caller's contract; the word is at offset 8. Whoever clears the
        // bit is alone with the page, which is this thread's until it ends.
        unsafe {
            let found = ptr::read_volatile(&raw const (*this).slot);
            if found == 0 {
                return ptr::null_mut();
            }
            asm!(
                "btr dword ptr [{this} + 8], 0",
                "jnc {busy}",
                this = in(reg) this,
                busy = label { return ptr::null_mut() },
                options(nostack),
            );
            (found & !IDLE) as *mut Page
        }
    }

    /// Step 6 of a call: the page is idle again.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread, `page` what
    /// [`take_slot`](Self::take_slot) gave, or a new one.
    #[inline(always)]
    pub(super) unsafe fn put_slot(this: *mut Tls, page: *mut Page) {
        // SAFETY: the caller's contract.
        unsafe { ptr::write_volatile(&raw mut (*this).slot, page as usize | IDLE) }
    }

    /// Whether there is a page, and no call is in flight.
    ///
    /// # Safety
    /// `this` is from [`Tls::here`] on this thread.
    #[inline(always)]
    pub(super) unsafe fn is_idle(this: *mut Tls) -> bool {
        // SAFETY: the caller's contract.
        unsafe { ptr::read_volatile(&raw const (*this).slot) & IDLE != 0 }
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
