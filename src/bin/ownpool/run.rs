//! `ownpool run`: put the library in front of a program and become it.

use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn main(_args: Args) -> ExitCode {
    ExitCode::from(super::OUR_FAILURE)
}
