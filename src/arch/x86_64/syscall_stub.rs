//! The hook of syscall(2), which must not have a frame.
//!
//! Promises: what is not meant for us is handed on untouched, with a jump, so that a raw
//! clone onto a new stack finds nothing of ours on the old one. Must never call.

/// Exports `syscall`: SYS_getrandom goes on to `$work`, with its own arguments moved to
/// where a function takes them; SYS_seccomp, prctl(PR_SET_SECCOMP) and
/// prctl(PR_SET_SYSCALL_USER_DISPATCH) set `$confined`; all else goes to the function that
/// `$next` points to, or to `$raw` while it is null.
macro_rules! syscall_stub {
    ($(#[$attribute:meta])* next = $next:path, raw = $raw:path, work = $work:path, confined = $confined:path,
     dispatch = $dispatch:path $(,)?) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn syscall() -> core::ffi::c_long {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "cmp rdi, {getrandom}",
                "je 2f",
                "cmp rdi, {seccomp}",
                "je 3f",
                "cmp rdi, {prctl}",
                "je 4f",
                "5:",
                "mov r11, qword ptr [rip + {next}]",
                "test r11, r11",
                "jz 6f",
                "jmp r11",
                "6:",
                "jmp {raw}",
                "2:",
                "mov rdi, rsi",
                "mov rsi, rdx",
                "mov rdx, rcx",
                "jmp {work}",
                "3:", // SECCOMP_SET_MODE_STRICT and SECCOMP_SET_MODE_FILTER; higher ones only ask
                "cmp esi, {filter}",
                "ja 5b",
                "mov byte ptr [rip + {confined}], 1",
                "jmp 5b",
                "4:",
                "cmp esi, {set_seccomp}",
                "je 7f",
                "cmp esi, {set_dispatch}",
                "jne 5b",
                "7:",
                "mov byte ptr [rip + {confined}], 1",
                "jmp 5b",
                ".cfi_endproc",
                getrandom = const libc::SYS_getrandom,
                seccomp = const libc::SYS_seccomp,
                prctl = const libc::SYS_prctl,
                filter = const libc::SECCOMP_SET_MODE_FILTER,
                set_seccomp = const libc::PR_SET_SECCOMP,
                set_dispatch = const $dispatch,
                next = sym $next,
                raw = sym $raw,
                work = sym $work,
                confined = sym $confined,
            )
        }
    };
}
pub(crate) use syscall_stub;
