//! The pure rooms: what ownpool computes, without a kernel, a clock, a thread or a global.
//!
//! Time comes in as a number, entropy as an array, text as bytes. Nothing here knows libc
//! or allocates, so the library, the command and the tests can all use it.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod counts;
pub mod crng;
pub mod leaky_bucket;
pub mod line_buffer;
mod named;
pub mod settings;
pub mod uniform;
pub mod wipe_on_fork;
