//! The interposed functions: ours under libc's names.
//!
//! Each hook is four moves: guard, ask `serve`, answer, otherwise `real`.
//! Promises: a hook works from the first instruction of the process on, in
//! signal handlers, in forked children and after the thread's destructor; what
//! `serve` leaves alone, the real function answers. Must never allocate, lock,
//! format, read the environment, or call a hooked name.
//!
//! Deliberately absent: fread (a stream may hold bytes of something else),
//! close, dup and fcntl (descriptors are asked, so nobody needs to remember).

mod getrandom;
mod urandom;

/// `$name` jumps on to `$work` with the return address as one more, last argument:
/// who called. Stable Rust has no other way to learn it. A hook jumps here when its
/// fast path is not enough, so that the fast path need not ask; the return address
/// is still on top of the stack then. (Were it a call one day, the address would be
/// one of our own: a wrong name in the report, and no more.)
///
/// `$register` is the first argument register that the other arguments leave free
/// (System V ABI, x86-64).
macro_rules! who_called {
    ($(#[$attribute:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?,
     in $register:literal => $work:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {work}",
                ".cfi_endproc",
                work = sym $work,
            )
        }
        // Arguments are passed on as they are: the work must take them as they come.
        const _: unsafe extern "C" fn($($type,)* usize) $(-> $ret)? = $work;
    };
}
pub(crate) use who_called;

/// Our functions and libc's declarations have the same type, or this does not compile.
macro_rules! like_libc {
    ($($name:ident: $type:ty;)*) => {$(
        #[allow(clippy::disallowed_methods, reason = "compared, not called")]
        const _: [$type; 2] = [$name, libc::$name];
    )*};
}
pub(crate) use like_libc;
