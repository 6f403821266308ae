//! The return address of a hook's caller, passed on as one more argument.
//!
//! Promises: a trampoline has no frame of its own on an aligned stack, passes every
//! argument on as it came, and can be unwound from any instruction: a thread may be
//! cancelled within the work, and a profiler's signal may come anywhere. Must never be
//! called: it is jumped to, with the return address on top of the stack.

/// The argument register that these arguments leave free (System V ABI, x86-64). There is
/// always one: an argument on the stack would not be where the work looks for it.
macro_rules! register_after {
    () => {
        "rdi"
    };
    ($a:ident) => {
        "rsi"
    };
    ($a:ident $b:ident) => {
        "rdx"
    };
    ($a:ident $b:ident $c:ident) => {
        "rcx"
    };
    ($a:ident $b:ident $c:ident $d:ident) => {
        "r8"
    };
    ($a:ident $b:ident $c:ident $d:ident $e:ident) => {
        "r9"
    };
}
pub(crate) use register_after;

/// `$name` jumps on to `$work` with the return address as one more, last argument. Stable
/// Rust has no other way to learn it. A hook jumps here when its fast path is not enough,
/// so that the fast path need not look; the return address is still on top of the stack
/// then. (Were it a call one day, the address would be one of our own: a wrong name in
/// the report, and no more.)
///
/// A stack that is not aligned to 16 bytes, as the ABI asks of every caller, is aligned on
/// the way. Assembly by hand, JITs and stubs of foreign-function interfaces call so, and
/// libc's thin functions serve them all the same; the work would die in the first store
/// that demands alignment. (A fast path has none.) That takes a call, with a frame that
/// gives the old stack pointer back. Not for every caller: one more return costs 7 ns when
/// a system call has come before it.
macro_rules! return_address {
    ($(#[$attribute:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)? => $work:path) => {
        $(#[$attribute])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $crate::arch::register_after!($($arg)*), ", qword ptr [rsp]"),
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
pub(crate) use return_address;
