//! Values that keep a pair of cache lines to themselves.
//!
//! Promises: what is read on every call does not lie beside what other threads write, so
//! that threads which draw at the same time do not take lines from one another. Pairs,
//! because processors fetch lines by twos. Must never be used for per-thread values: those
//! lie in TLS and in pages of their own.

use core::hint::black_box;
use core::ops::Deref;

/// A value on lines of its own.
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

impl<T> CachePadded<T> {
    /// Lets the optimizer believe that the whole value is read: it would otherwise keep the
    /// value and drop the padding. Once, when the process starts.
    pub(crate) fn keep_whole(&'static self) {
        black_box(self);
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
