//! A program for `check`, a module for `report`.
#![no_main]

include!("../command.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::elf(bytes));
