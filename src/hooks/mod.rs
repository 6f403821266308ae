//! The interposed functions: ours under libc's names.
//!
//! Each hook is four moves: guard, ask `policy`, answer, otherwise the next definition.
//! Promises: a hook works from the first instruction of the process on, in signal handlers,
//! in forked children and after the thread's destructor; what `policy` leaves alone, the
//! real function answers. Must never allocate, lock, format, read the environment, or call
//! a hooked name.
//!
//! Where the return address is wanted a hook comes in two: the exported name with the fast
//! path, and what it jumps to, by way of a trampoline ([`return_address`]), when that is not
//! enough. A jump, because a call would make the fast path save registers.
//!
//! Deliberately absent: fread (a stream may hold bytes of something else), close, dup and
//! fcntl (descriptors are asked about, so there is nothing to remember).

mod open;
mod random;
mod read;
mod syscall;

use crate::arch::return_address;

/// Our functions and libc's declarations have the same type, or this does not compile.
macro_rules! like_libc {
    ($($name:ident: $type:ty;)*) => {$(
        #[allow(clippy::disallowed_methods, reason = "compared, not called")]
        const _: [$type; 2] = [$name, libc::$name];
    )*};
}
pub(crate) use like_libc;
