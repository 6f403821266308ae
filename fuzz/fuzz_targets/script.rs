//! A script's first line, env's argument, the loader's cache.
#![no_main]

include!("../command.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::script(bytes));
