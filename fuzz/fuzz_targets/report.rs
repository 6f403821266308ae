//! A file of reports.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ownpool_cli::fuzzing::report(bytes));
