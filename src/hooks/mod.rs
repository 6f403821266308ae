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

/// Exports `$name` as a trampoline that hands the return address on as one more
/// argument: who called. Stable Rust has no other way to learn it, and the load
/// costs less than can be measured. `$register` is the first argument register
/// that the function's own arguments leave free (System V ABI, x86-64).
///
/// After the arrow stands the function that does the work, which takes `caller`
/// last; after `like`, libc's declaration, which must have the same type.
macro_rules! hook {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?,
     caller in $register:literal => $work:path $(, like $libc:path)?) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {work}",
                ".cfi_endproc",
                work = sym $work,
            )
        }
        // The trampoline passes the arguments on as they are, so the work must
        // take them as they come; and libc must agree.
        const _: unsafe extern "C" fn($($type,)* usize) $(-> $ret)? = $work;
        hook!(@like [$($libc)?] $name($($type),*) $(-> $ret)?);
    };
    (@like [] $name:ident($($type:ty),*) $(-> $ret:ty)?) => {};
    (@like [$libc:path] $name:ident($($type:ty),*) $(-> $ret:ty)?) => {
        #[allow(clippy::disallowed_methods, reason = "compared, not called")]
        const _: [unsafe extern "C" fn($($type),*) $(-> $ret)?; 2] = [$name, $libc];
    };
}
pub(crate) use hook;
