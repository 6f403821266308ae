//! A file of reports.
#![no_main]

include!("../command.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::report(bytes));
