//! The command: what it prints, its exit statuses, what it does with bad input.

mod bench;
mod check;
mod report;
mod run;
mod transcripts;
mod untrusted_input;
