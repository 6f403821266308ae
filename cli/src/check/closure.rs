//! A program and every library that the loader brings in with it.
//!
//! Promises: breadth first, as the loader goes, each file once whatever names lead to it; no
//! recursion, and bounds on the number of objects and on the bytes read, so that a forest of
//! hostile libraries ends too. What could not be found or read is told, not guessed.

use super::binary::Binary;
use super::loader::Loader;
use crate::regular_file;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The largest programs seen link some 300 libraries.
const MAX_OBJECTS: usize = 1024;

/// Bytes of all libraries together.
const MAX_BYTES: u64 = 4 << 30;

/// One file of the program.
pub(crate) struct Object {
    pub(crate) path: PathBuf,
    pub(crate) binary: Binary,
    /// The number of the object that asked for it first.
    pub(crate) asker: Option<usize>,
}

/// All of them, the program first.
pub(crate) struct Closure {
    pub(crate) objects: Vec<Object>,
    /// What is missing or unreadable, in words.
    pub(crate) troubles: Vec<String>,
}

impl Closure {
    pub(crate) fn of(path: PathBuf, binary: Binary, loader: &Loader) -> Closure {
        let mut closure = Closure {
            objects: vec![Object {
                path,
                binary,
                asker: None,
            }],
            troubles: Vec::new(),
        };
        let mut names: HashSet<Vec<u8>> = HashSet::new();
        let mut files: HashSet<(u64, u64)> = HashSet::new();
        let mut bytes_read = 0;
        let mut by = 0;
        while let Some(object) = closure.objects.get(by) {
            for name in object.binary.needed.clone() {
                if !names.insert(name.clone()) {
                    continue;
                }
                if closure.objects.len() == MAX_OBJECTS || bytes_read > MAX_BYTES {
                    closure
                        .troubles
                        .push("more libraries than are looked at".into());
                    return closure;
                }
                let shown = crate::output::plain(&name);
                let Some(path) = loader.find(&closure.objects, by, &name) else {
                    closure.troubles.push(format!(
                        "{shown} is needed and not found: the program may not start"
                    ));
                    continue;
                };
                match std::fs::metadata(&path) {
                    Ok(metadata) if !files.insert((metadata.dev(), metadata.ino())) => continue,
                    Ok(metadata) => bytes_read += metadata.len(),
                    Err(_) => {}
                }
                let binary = regular_file::read(&path)
                    .map_err(|error| error.to_string())
                    .and_then(|bytes| Binary::read(&bytes).map_err(|error| error.to_string()));
                match binary {
                    Ok(binary) => {
                        names.extend(binary.soname.clone());
                        closure.objects.push(Object {
                            path,
                            binary,
                            asker: Some(by),
                        });
                    }
                    Err(why) => closure.troubles.push(format!(
                        "{}: {why}",
                        crate::output::plain(path.as_os_str().as_encoded_bytes())
                    )),
                }
            }
            by += 1;
        }
        closure
    }
}
