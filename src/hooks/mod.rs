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

mod random;
mod read;

/// `$name` jumps on to `$work` with the return address as one more, last argument:
/// who called. Stable Rust has no other way to learn it. A hook jumps here when its
/// fast path is not enough, so that the fast path need not ask; the return address
/// is still on top of the stack then. (Were it a call one day, the address would be
/// one of our own: a wrong name in the report, and no more.)
///
/// A stack that is not aligned to 16 bytes, as the ABI asks of every caller, is
/// aligned on the way. Assembly by hand, JITs and stubs of foreign-function interfaces
/// call so, and libc's thin wrappers serve them all the same; the work would die in
/// the first store that demands alignment. (A fast path has none.) That takes a call,
/// with a frame that gives the old stack pointer back. Not for everybody: one more
/// return costs 7 ns when a system call has come before it. Unwinding is described for
/// every instruction: a thread may be cancelled within the work, and a profiler's
/// signal may come anywhere.
///
/// `$register` is the first argument register that the other arguments leave free
/// (System V ABI, x86-64). There is always one: an argument on the stack would not
/// be where the work looks for it.
macro_rules! who_called {
    ($(#[$attribute:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?,
     in $register:literal => $work:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "lea r11, [rsp + 8]",
                "test r11b, 15",
                "jnz 2f",
                "jmp {work}",
                "2:",
                "push rbp",
                ".cfi_def_cfa_offset 16",
                ".cfi_offset rbp, -16",
                "mov rbp, rsp",
                ".cfi_def_cfa_register rbp",
                "and rsp, -16",
                "call {work}",
                "leave",
                ".cfi_restore rbp",
                ".cfi_def_cfa rsp, 8",
                "ret",
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
