//! What the tests share.

mod artifacts;
mod c;
mod files;
mod process;
pub mod trace;

pub use artifacts::{command, library};
pub use c::{compile_c, compile_c_as, compiles, gcc, installed};
pub use files::{copy_program, golden, linked, reports, write_script};
pub use process::{
    Ran, bare, number_after, preloaded, preloaded_with, prints, ran, succeed, succeeds,
};

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The root of the project.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A directory for one test, gone when the test ends.
pub struct Place {
    directory: TempDir,
}

impl Place {
    /// An empty directory.
    pub fn new() -> Place {
        Place {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    /// An empty directory in this one.
    pub fn below(parent: &str) -> Place {
        Place {
            directory: tempfile::tempdir_in(parent).expect("a directory"),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A file in it.
    pub fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// `tests/c/NAME.c`, compiled into it with these further arguments.
    pub fn compile(&self, name: &str, arguments: &[&str]) -> PathBuf {
        compile_c(self.path(), name, arguments)
    }
}

impl Default for Place {
    fn default() -> Place {
        Place::new()
    }
}
