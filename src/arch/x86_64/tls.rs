//! A thread's few words of its own, in initial-exec thread-local storage.
//!
//! Promises: every access is one instruction relative to the thread pointer, whichever
//! thread runs it. A user-level thread may be stopped between any two instructions and go
//! on in another kernel thread, when the first one has ended: it never writes to words
//! that are not those of the thread it is on, because no address of them is ever kept.
//! (`thread_local!` in a shared library goes through `__tls_get_addr`, 2 ns dearer, and
//! may allocate on first use.) Must never grow without need: static TLS is taken from
//! every thread's stack, and programs start threads with 16 KiB in all.

use core::arch::{asm, global_asm};
use core::ffi::c_void;

/// How many words there are. All are zero when a thread starts.
pub(crate) const WORDS: usize = 4;

/// What stands behind the words where libc has set a thread up, and, all but certainly,
/// nowhere else.
const MARK: i32 = 0x6f77_6e70;

global_asm!(
    ".pushsection .tdata.ownpool, \"awT\", @progbits",
    ".balign 8",
    ".globl ownpool_tls",
    ".hidden ownpool_tls",
    ".type ownpool_tls, @object",
    ".size ownpool_tls, {bytes} + 8",
    "ownpool_tls:",
    ".zero {bytes}",
    ".quad {mark}",
    ".popsection",
    bytes = const WORDS * 8, mark = const MARK,
);

/// Whether these are words of this library at all: a raw clone may have a thread pointer to a
/// block of its own (CLONE_SETTLS), and what lies below that is the program's data.
#[inline(always)]
pub(crate) fn is_set_up() -> bool {
    // SAFETY: reads at a fixed distance from the thread pointer; a block of the program's own
    // that is not even mapped so far below it is not a thread that libc's functions serve.
    unsafe {
        asm!(
            "cmp qword ptr fs:[{offset} + {bytes}], {mark}",
            "jne {foreign}",
            offset = in(reg) offset(), bytes = const WORDS * 8, mark = const MARK,
            foreign = label { return false },
            options(nostack),
        );
    }
    true
}

/// Where the words begin, counted from the thread pointer: the same for every thread. The
/// linker puts it into the GOT (x86-64 TLS ABI).
#[inline(always)]
fn offset() -> usize {
    let offset: usize;
    // SAFETY: reads the GOT. `pure`: once will do for a whole call.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + ownpool_tls@GOTTPOFF]",
            offset = out(reg) offset,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    offset
}

/// Reads a word.
#[inline(always)]
pub(crate) fn load<const WORD: usize>() -> usize {
    const { assert!(WORD < WORDS) };
    let value: usize;
    // SAFETY: within the words of the thread that runs this.
    unsafe {
        asm!(
            "mov {value}, qword ptr fs:[{offset} + {word} * 8]",
            offset = in(reg) offset(), word = const WORD, value = out(reg) value,
            options(nostack, preserves_flags),
        );
    }
    value
}

/// Writes a word.
#[inline(always)]
pub(crate) fn store<const WORD: usize>(value: usize) {
    const { assert!(WORD < WORDS) };
    // SAFETY: as in `load`.
    unsafe {
        asm!(
            "mov qword ptr fs:[{offset} + {word} * 8], {value}",
            offset = in(reg) offset(), word = const WORD, value = in(reg) value,
            options(nostack, preserves_flags),
        );
    }
}

/// Changes a word from one value to another, unless it has a third one. Without the lock
/// that costs 5 ns: threads share the word only with their own signal handlers.
#[inline(always)]
pub(crate) fn exchange<const WORD: usize>(from: usize, to: usize) -> bool {
    const { assert!(WORD < WORDS) };
    // SAFETY: as in `load`.
    unsafe {
        asm!(
            "cmpxchg qword ptr fs:[{offset} + {word} * 8], {to}",
            "jne {other}",
            offset = in(reg) offset(), word = const WORD, to = in(reg) to,
            inout("rax") from => _,
            other = label { return false },
            options(nostack),
        );
    }
    true
}

/// A number that is this thread's own while it lives: its thread pointer.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let pointer: *const c_void;
    // SAFETY: fs:0 holds the thread pointer (x86-64 TLS ABI).
    unsafe {
        asm!(
            "mov {pointer}, qword ptr fs:[0]",
            pointer = out(reg) pointer,
            options(nostack, preserves_flags),
        );
    }
    pointer as usize
}
