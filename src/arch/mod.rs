//! Everything that depends on the processor, behind one list of names.
//!
//! Promises: every line of assembly and every constant of an architecture is below here,
//! and the rest of the library is the same on all. A new architecture is a new directory
//! with this list:
//!
//! | name | what |
//! |---|---|
//! | `tls` | this thread's words: load, store, and compare and exchange in one instruction |
//! | `copy_out`, `word_32`, `word_64` | move bytes out of the buffer: load, erase, store |
//! | `scrub` | zero what the cipher left on the stack and in registers |
//! | `rewrite_whole` | store 32 bytes anew in pieces that can be loaded at once |
//! | `add_unlocked` | add to a counter that one thread writes, in one instruction |
//! | `system_call` | enter the kernel |
//! | `return_address!`, `syscall_stub!` | hooks that must not have a frame |
//! | `PAGE`, `USER_END`, `VDSO_GETRANDOM`, `VDSO_CLOCK_GETTIME` | constants |
//!
//! and the memory functions that compiled code may call.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;
