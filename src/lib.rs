//! `libownpool.so`: gives heavy callers of getrandom and of /dev/urandom their
//! own ChaCha20 generator, inside programs that are not to be changed.
//!
//! It lives in other people's processes. So, in this order: never a weak or a
//! repeated byte; never a random byte for a descriptor that is not urandom;
//! never a crash, a hang, a changed errno or an extra visible effect; then
//! speed. In doubt it falls through to the kernel, which is behind every hook.
//!
//! ```text
//!  doors      hooks   c_api   init            (interposed names, C API, start)
//!               └──► policy ◄──┘              (the one decision)
//!  state      generator   urandom_fd   report
//!               └──► stats   seccomp   config   kernel_bytes   next_symbol
//!                      └──► vdso   diagnostics   loaded_image ──► sys
//!  bottom     arch   cache_padded   probes    (pure rooms: the crate core)
//! ```
//!
//! No std: no runtime is dragged into every process, and the list of imported
//! symbols is short enough to read. `abort` in it would mean that a path that
//! panics is left in the build; a test compares the list.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(
    test,
    allow(
        dead_code,
        unused_imports,
        reason = "unit tests build without the hooks"
    )
)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("ownpool is written for Linux on x86-64");

mod arch;
#[cfg(not(test))]
pub mod c_api;
mod cache_padded;
mod config;
mod diagnostics;
mod generator;
/// cbindgen:ignore
#[cfg(not(test))]
mod hooks;
#[cfg(not(test))]
mod init;
mod kernel_bytes;
mod loaded_image;
mod next_symbol;
mod policy;
mod probes;
mod report;
mod seccomp;
mod stats;
mod sys;
mod urandom_fd;
mod vdso;

/// No path leads here in the release build; the debug build keeps its checks.
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}
