//! A program for `check`, a module for `report`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    ownpool_cli::fuzzing::elf(bytes);
});
