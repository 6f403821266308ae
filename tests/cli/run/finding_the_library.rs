//! The library is found beside the command, or nothing is run.

use super::{assert_refused, text};
use ownpool_tests::support::{Place, bare, command, copy_program, library};
use std::path::{Path, PathBuf};

/// The command alone, in a directory of its own; the library goes where `library_in` says.
fn installed_as(root: &Path, library_in: Option<&str>) -> PathBuf {
    let bin = root.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    copy_program(&command(), &bin.join("ownpool"));
    if let Some(place) = library_in {
        std::fs::create_dir_all(root.join(place)).unwrap();
        std::fs::copy(library(), root.join(place).join("libownpool.so")).unwrap();
    }
    bin.join("ownpool")
}

#[test]
fn a_missing_library_is_never_a_silent_run() {
    let root = Place::new();
    let alone = installed_as(root.path(), None);
    let output = bare(&alone)
        .args(["run", "touch"])
        .arg(root.file("ran"))
        .output()
        .unwrap();
    let bin = root.file("bin").canonicalize().unwrap();
    assert_refused(
        &output,
        &["libownpool.so not found", bin.to_str().unwrap(), "/lib"],
    );
    assert!(!root.file("ran").exists());
    // Something of that name that ld.so would pass over with a warning is no library either.
    std::fs::write(bin.join("libownpool.so"), "a text").unwrap();
    assert_refused(
        &bare(&alone).args(["run", "true"]).output().unwrap(),
        &["not a shared library"],
    );
}

#[test]
fn the_library_is_found_where_it_is_installed() {
    for place in [
        "bin",
        "lib",
        "lib/x86_64-linux-gnu",
        "lib/aarch64-linux-gnu",
        "lib64",
    ] {
        if place.contains("linux-gnu") && !place.contains(std::env::consts::ARCH) {
            continue;
        }
        let root = Place::new();
        let ours = installed_as(root.path(), Some(place));
        // By a link and a relative path too: the executable's own directory counts.
        std::os::unix::fs::symlink(&ours, root.file("link")).unwrap();
        let output = bare(Path::new("./link"))
            .current_dir(root.path())
            .args(["run", "printenv", "LD_PRELOAD"])
            .output()
            .unwrap();
        let expected = root
            .path()
            .canonicalize()
            .unwrap()
            .join(place)
            .join("libownpool.so");
        assert_eq!(
            text(&output.stdout).trim_end(),
            expected.to_str().unwrap(),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_path_that_ld_so_would_split_is_refused() {
    for name in ["a:b", "a b", "a$LIB"] {
        let root = Place::new();
        let odd = installed_as(&root.file(name), Some("bin"));
        let output = bare(&odd).args(["run", "true"]).output().unwrap();
        assert_refused(&output, &["LD_PRELOAD cannot hold", name]);
    }
}
