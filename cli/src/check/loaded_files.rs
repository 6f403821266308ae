//! A program and the libraries that the loader brings in with it, each read.
//!
//! Promises: bounds on the number of libraries and on the bytes read. What could not be
//! found or read is told, not guessed.

use super::binary::Binary;
use super::loader_list;
use super::program_kind::ProgramKind;
use crate::output::printable;
use crate::regular_file;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The largest programs seen link some 300 libraries.
const MAX_LIBRARIES: usize = 1024;

/// Bytes of all libraries together.
const MAX_BYTES: u64 = 4 << 30;

/// One of the files.
pub(crate) struct LoadedFile {
    pub(crate) path: PathBuf,
    pub(crate) binary: Binary,
}

impl LoadedFile {
    pub(crate) fn shown(&self) -> String {
        printable(self.path.as_os_str().as_bytes())
    }

    pub(crate) fn soname(&self) -> &[u8] {
        self.binary.soname.as_deref().unwrap_or_default()
    }
}

/// All of them.
pub(crate) struct LoadedFiles {
    pub(crate) program: LoadedFile,
    pub(crate) libraries: Vec<LoadedFile>,
    /// What is not known of the libraries, in words.
    pub(crate) unknown: Vec<String>,
}

impl LoadedFiles {
    pub(crate) fn of(path: PathBuf, binary: Binary) -> LoadedFiles {
        let mut unknown = Vec::new();
        let listed = match (&binary.kind, binary.list_risk) {
            (_, Some(risk)) => Err(risk.into()),
            (ProgramKind::Dynamic(loader), None) => {
                loader_list::libraries(&path, Path::new(OsStr::from_bytes(loader)))
            }
            _ => Ok(Vec::new()),
        };
        let paths = listed.unwrap_or_else(|why| {
            unknown.push(format!(
                "its libraries are not known: {why}; --run tells more"
            ));
            Vec::new()
        });
        let mut libraries = Vec::new();
        let mut bytes_read = 0;
        for path in paths {
            if libraries.len() == MAX_LIBRARIES || bytes_read > MAX_BYTES {
                unknown.push("more libraries than are looked at".into());
                break;
            }
            let read = regular_file::read(&path).map_err(|error| error.to_string());
            bytes_read += read.as_ref().map_or(0, |bytes| bytes.len() as u64);
            match read.and_then(|bytes| Binary::read(&bytes).map_err(|error| error.to_string())) {
                Ok(binary) => libraries.push(LoadedFile { path, binary }),
                Err(why) => {
                    unknown.push(format!("{}: {why}", printable(path.as_os_str().as_bytes())));
                }
            }
        }
        LoadedFiles {
            program: LoadedFile { path, binary },
            libraries,
            unknown,
        }
    }

    /// The program, then its libraries.
    pub(crate) fn all(&self) -> impl Iterator<Item = &LoadedFile> {
        core::iter::once(&self.program).chain(&self.libraries)
    }
}
