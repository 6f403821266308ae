//! Values that keep a pair of cache lines to themselves.
//!
//! Promises: what is read on every call does not lie beside what other threads
//! write, so that threads which draw at the same time do not take lines from one
//! another. Pairs, because processors fetch lines by twos. Must never be used for
//! per-thread values: those lie in TLS and in pages of their own.

use core::arch::asm;
use core::ops::Deref;

/// A value on lines of its own.
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

impl<T> CachePadded<T> {
    /// Lets the address out, to nobody: the optimizer would otherwise keep the
    /// value and drop the padding. Once, from whoever starts the value's room.
    pub(crate) fn keep_whole(&'static self) {
        // SAFETY: an empty instruction.
        unsafe { asm!("/* {0} */", in(reg) self, options(nostack, preserves_flags)) };
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
