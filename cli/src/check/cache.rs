//! /etc/ld.so.cache, in the form that glibc has written since 2.2, and /etc/ld.so.conf where
//! there is no cache.
//!
//! Promises: a damaged cache gives what can be read of it; no entry may point outside it.
//! The layout is that of glibc's `sysdeps/generic/dl-cache.h`.

use crate::{elf::text_at, regular_file};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";

/// Size of the header that begins with [`MAGIC`], and of an entry behind it.
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// Entries for libraries of this kind carry these flags: ELF libc6, and the 64-bit ABI.
const FLAGS: u32 = if cfg!(target_arch = "aarch64") {
    0x0a03
} else {
    0x0303
};

/// Files and lines of ld.so.conf that are followed.
const MAX_FILES: usize = 64;

/// Names and where they lead.
#[derive(Default)]
pub(crate) struct Cache {
    paths: HashMap<Vec<u8>, Vec<PathBuf>>,
    folders: Vec<PathBuf>,
}

impl Cache {
    /// The machine's cache or, without one, the folders that it would be made from.
    pub(crate) fn load() -> Cache {
        match regular_file::read(Path::new("/etc/ld.so.cache")) {
            Ok(bytes) => Cache {
                paths: parse(&bytes),
                folders: Vec::new(),
            },
            Err(_) => {
                let mut folders = Vec::new();
                let mut files = 0;
                configured(Path::new("/etc/ld.so.conf"), &mut folders, &mut files);
                Cache {
                    paths: HashMap::new(),
                    folders,
                }
            }
        }
    }

    /// The paths of this name, in order of preference.
    pub(crate) fn find(&self, name: &[u8]) -> impl Iterator<Item = PathBuf> {
        let listed = self.paths.get(name).cloned().unwrap_or_default();
        let name = OsStr::from_bytes(name);
        let guessed: Vec<PathBuf> = self
            .folders
            .iter()
            .map(|folder| folder.join(name))
            .collect();
        listed.into_iter().chain(guessed)
    }
}

pub(crate) fn parse(bytes: &[u8]) -> HashMap<Vec<u8>, Vec<PathBuf>> {
    let mut paths: HashMap<Vec<u8>, Vec<PathBuf>> = HashMap::new();
    // Before glibc 2.32 the table of the old form stands in front of this one.
    let Some(table) = memchr::memmem::find(bytes, MAGIC).and_then(|at| bytes.get(at..)) else {
        return paths;
    };
    let word =
        |at: usize| -> Option<u32> { Some(u32::from_le_bytes(*table.get(at..)?.first_chunk()?)) };
    let count = word(MAGIC.len()).map_or(0, |count| count as usize);
    let entries = table
        .get(HEADER..)
        .unwrap_or_default()
        .chunks_exact(ENTRY)
        .take(count);
    for at in (0..entries.len()).map(|index| HEADER + index * ENTRY) {
        let text = |place| text_at(table, word(place)? as usize, crate::elf::PATH_MAX);
        if word(at) == Some(FLAGS)
            && let (Some(name), Some(path)) = (text(at + 4), text(at + 8))
        {
            paths
                .entry(name.to_vec())
                .or_default()
                .push(PathBuf::from(OsStr::from_bytes(path)));
        }
    }
    paths
}

/// Folders named in a file of ld.so.conf(5) form and in the files that it includes.
fn configured(path: &Path, folders: &mut Vec<PathBuf>, files: &mut usize) {
    *files += 1;
    if *files > MAX_FILES {
        return;
    }
    let Ok(bytes) = regular_file::read(path) else {
        return;
    };
    let text = String::from_utf8_lossy(&bytes);
    for line in text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
    {
        match line
            .strip_prefix("include")
            .filter(|rest| rest.starts_with([' ', '\t']))
        {
            Some(pattern) => {
                for included in
                    matching(&path.parent().unwrap_or(Path::new("/")).join(pattern.trim()))
                {
                    configured(&included, folders, files);
                }
            }
            None if line.starts_with('/') => folders.push(PathBuf::from(line)),
            None => {}
        }
    }
}

/// The files that a pattern with one `*` in its last component stands for, sorted.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let Some((before, after)) = name.split_once('*') else {
        return vec![pattern.to_path_buf()];
    };
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_this_machine_knows_its_libc() {
        let Ok(bytes) = std::fs::read("/etc/ld.so.cache") else {
            return;
        };
        let paths = parse(&bytes);
        assert!(
            paths[b"libc.so.6".as_slice()]
                .iter()
                .all(|path| path.is_absolute())
        );
    }

    #[test]
    fn a_damaged_cache_gives_what_it_has() {
        let Ok(bytes) = std::fs::read("/etc/ld.so.cache") else {
            return;
        };
        for len in (0..bytes.len()).step_by(97) {
            parse(&bytes[..len]);
        }
        let mut huge = bytes.clone();
        let at = memchr::memmem::find(&huge, MAGIC).unwrap() + MAGIC.len();
        huge[at..at + 4].fill(0xff);
        assert!(parse(&huge).len() >= parse(&bytes).len());
    }

    #[test]
    fn included_folders_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        std::fs::write(
            folder.path().join("main"),
            "include d/*.conf\n/b # last\nnonsense\ninclude main\n",
        )
        .unwrap();
        std::fs::write(folder.path().join("d/x.conf"), "/a\n").unwrap();
        std::fs::write(folder.path().join("d/x.bak"), "/never\n").unwrap();
        let (mut folders, mut files) = (Vec::new(), 0);
        configured(&folder.path().join("main"), &mut folders, &mut files);
        assert_eq!(folders[..2], [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert!(files > MAX_FILES && !folders.contains(&PathBuf::from("/never")));
    }
}
