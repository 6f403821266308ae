//! Where the dynamic loader would find a library, by the rules of ld.so(8).
//!
//! Promises: the order is the loader's: DT_RPATH of the asking object and of those that
//! brought it in (where they have no DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH of the asking
//! object, the cache, the default folders. A file of another class or machine is passed over,
//! as it passes it over. Without a cache, /etc/ld.so.conf says which folders would be in it.

use super::cache;
use super::closure::Object;
use crate::elf;
use crate::library::MACHINE;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What `$LIB` may stand for; it is fixed in each build of the loader, and the file system
/// tells which one this is.
#[cfg(not(target_arch = "aarch64"))]
const LIBS: [&str; 3] = ["lib/x86_64-linux-gnu", "lib64", "lib"];
#[cfg(target_arch = "aarch64")]
const LIBS: [&str; 3] = ["lib/aarch64-linux-gnu", "lib64", "lib"];

/// `$PLATFORM`, which the kernel gives as AT_PLATFORM.
const PLATFORM: &str = if cfg!(target_arch = "aarch64") {
    "aarch64"
} else {
    "x86_64"
};

/// Longest list of folders that is followed, in elements.
const MAX_FOLDERS: usize = 256;

/// The loader's places on this machine, for programs that this environment starts.
pub(crate) struct Loader {
    library_path: Vec<u8>,
    cache: cache::Cache,
    defaults: Vec<PathBuf>,
}

impl Loader {
    /// Reads the environment and the cache.
    pub(crate) fn here() -> Loader {
        let mut defaults: Vec<PathBuf> = LIBS.iter().map(|lib| Path::new("/").join(lib)).collect();
        defaults.extend(LIBS.iter().map(|lib| Path::new("/usr").join(lib)));
        Loader {
            library_path: std::env::var_os("LD_LIBRARY_PATH")
                .unwrap_or_default()
                .into_vec(),
            cache: cache::Cache::load(),
            defaults,
        }
    }

    /// The file that this name leads to when the object numbered `by` asks for it.
    pub(crate) fn find(&self, objects: &[Object], by: usize, name: &[u8]) -> Option<PathBuf> {
        let object = objects.get(by)?;
        if name.contains(&b'/') {
            return expanded(name, &object.path)
                .into_iter()
                .find(|path| fits(path));
        }
        let in_list = |list: &[u8], origin: &Path| in_folders(list, origin, name);
        if object.binary.runpath.is_none() {
            let mut asker = Some(by);
            while let Some(object) = asker.and_then(|number| objects.get(number)) {
                let rpath = object
                    .binary
                    .rpath
                    .as_ref()
                    .filter(|_| object.binary.runpath.is_none());
                if let Some(found) = rpath.and_then(|list| in_list(list, &object.path)) {
                    return Some(found);
                }
                asker = object.asker;
            }
        }
        let program = objects
            .first()
            .map_or(Path::new("/"), |program| &program.path);
        let listed = Some(&self.library_path).filter(|list| !list.is_empty());
        listed
            .and_then(|list| in_list(list, program))
            .or_else(|| in_list(object.binary.runpath.as_ref()?, &object.path))
            .or_else(|| self.cache.find(name).find(|path| fits(path)))
            .or_else(|| {
                let some = !object.binary.no_default_folders;
                some.then(|| {
                    self.defaults
                        .iter()
                        .find_map(|folder| in_folder(folder, name))
                })?
            })
    }
}

/// The first folder of a list that has a fitting file. Empty elements mean the working directory.
fn in_folders(list: &[u8], origin: &Path, name: &[u8]) -> Option<PathBuf> {
    list.split(|&byte| byte == b':' || byte == b';')
        .take(MAX_FOLDERS)
        .flat_map(|folder| expanded(if folder.is_empty() { b"." } else { folder }, origin))
        .find_map(|folder| in_folder(&folder, name))
}

/// Plain first, though the loader prefers glibc-hwcaps: builds for newer processors import
/// the same names, and few machines have them.
fn in_folder(folder: &Path, name: &[u8]) -> Option<PathBuf> {
    let name = OsStr::from_bytes(name);
    let levels = [
        "",
        "glibc-hwcaps/x86-64-v2",
        "glibc-hwcaps/x86-64-v3",
        "glibc-hwcaps/x86-64-v4",
    ];
    levels
        .iter()
        .map(|level| folder.join(level).join(name))
        .find(|path| fits(path))
}

/// A path with `$ORIGIN`, `$LIB` and `$PLATFORM` (also in braces) replaced: one path for
/// every meaning that `$LIB` can have.
fn expanded(path: &[u8], object: &Path) -> Vec<PathBuf> {
    if !path.contains(&b'$') {
        return vec![PathBuf::from(OsStr::from_bytes(path))];
    }
    let origin = object
        .parent()
        .unwrap_or(Path::new("/"))
        .as_os_str()
        .as_bytes();
    let each = |lib: &str| {
        let mut out = Vec::new();
        let mut rest = path;
        while let Some(at) = memchr::memchr(b'$', rest) {
            let (before, from) = rest.split_at(at);
            out.extend_from_slice(before);
            let tokens = [
                ("ORIGIN", origin),
                ("LIB", lib.as_bytes()),
                ("PLATFORM", PLATFORM.as_bytes()),
            ];
            let replaced = tokens
                .iter()
                .find_map(|(token, value)| Some((after_token(from, token)?, value)));
            rest = match replaced {
                Some((after, value)) => {
                    out.extend_from_slice(value);
                    after
                }
                None => {
                    out.push(b'$');
                    from.get(1..).unwrap_or_default()
                }
            };
        }
        out.extend_from_slice(rest);
        PathBuf::from(OsStr::from_bytes(&out))
    };
    let mut paths: Vec<PathBuf> = LIBS.into_iter().map(each).collect();
    paths.dedup();
    paths
}

/// What follows `$TOKEN` or `${TOKEN}`, if that is what stands here.
fn after_token<'a>(from: &'a [u8], token: &str) -> Option<&'a [u8]> {
    let bare = from.strip_prefix(b"$")?;
    if let Some(braced) = bare.strip_prefix(b"{") {
        return braced.strip_prefix(token.as_bytes())?.strip_prefix(b"}");
    }
    let after = bare.strip_prefix(token.as_bytes())?;
    let longer = after
        .first()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (!longer).then_some(after)
}

/// Whether the loader would take this file: regular, ELF, our class and machine.
fn fits(path: &Path) -> bool {
    let mut head = Vec::new();
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let read = opened.and_then(|file| match file.metadata()?.is_file() {
        true => file.take(20).read_to_end(&mut head),
        false => Ok(0),
    });
    let ours = elf::ident(&head).is_ok_and(|ident| ident.bits == 64 && ident.machine == MACHINE);
    read.is_ok() && elf::is_elf(&head) && ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_replaced_as_the_loader_does() {
        let object = Path::new("/opt/app/bin/server");
        let first = |path: &str| {
            expanded(path.as_bytes(), object)
                .first()
                .unwrap()
                .display()
                .to_string()
        };
        assert_eq!(first("$ORIGIN/../lib"), "/opt/app/bin/../lib");
        assert_eq!(first("${ORIGIN}lib"), "/opt/app/binlib");
        assert_eq!(
            first("/a/$PLATFORM/${LIB}"),
            format!("/a/{PLATFORM}/{}", LIBS[0])
        );
        assert_eq!(first("$ORIGINS/x$"), "$ORIGINS/x$");
        assert_eq!(expanded(b"/a/$LIB", object).len(), LIBS.len());
        assert_eq!(expanded(b"$ORIGIN", object).len(), 1);
    }

    #[test]
    fn only_libraries_of_this_machine_fit() {
        assert!(fits(Path::new("/proc/self/exe")));
        assert!(
            !fits(Path::new("/etc/passwd"))
                && !fits(Path::new("/"))
                && !fits(Path::new("/dev/zero"))
        );
    }
}
