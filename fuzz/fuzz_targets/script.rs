//! A script's first line, env's argument.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ownpool_cli::fuzzing::script(bytes));
