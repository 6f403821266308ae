//! The release library and command, built once by each test program.

use ownpool_measure::artifacts::{Artifacts, release};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The absolute path of the release `libownpool.so`.
pub fn library() -> PathBuf {
    artifacts().library.clone()
}

/// The absolute path of the release `ownpool`; the library lies beside it.
pub fn command() -> PathBuf {
    artifacts().command.clone()
}

fn artifacts() -> &'static Artifacts {
    static ARTIFACTS: OnceLock<Artifacts> = OnceLock::new();
    ARTIFACTS.get_or_init(|| {
        let artifacts = release().expect("cargo builds the library and the command");
        assert_eq!(artifacts.library.parent(), artifacts.command.parent());
        artifacts
    })
}
