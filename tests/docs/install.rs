//! `make install` and `make uninstall`, as a packager and as a user meet them: into a
//! temporary DESTDIR and into a prefix of one's own.
use ownpool_tests::support::{
    self, Place, command, installed, library, prints, ran, root, succeed, succeeds,
};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `make TARGET` with these variables, on the artifacts that the tests have built. `None`
/// where there is no make.
fn make(target: &str, variables: &[(&str, &str)]) -> Option<()> {
    let mut make = Command::new(installed("make")?);
    make.current_dir(root())
        .args(["-s", target])
        .env_remove("MAKEFLAGS")
        .arg(format!("LIBRARY={}", library().display()))
        .arg(format!("COMMAND={}", command().display()));
    make.args(
        variables
            .iter()
            .map(|(name, value)| format!("{name}={value}")),
    );
    assert_eq!(succeeds(&mut make), "");
    Some(())
}

/// Every file and link below, by its path from there, sorted.
fn files(place: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![place.to_path_buf()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
            } else {
                let path = path.strip_prefix(place).expect("below");
                found.push(path.to_str().expect("a plain name").to_string());
            }
        }
    }
    found.sort();
    found
}

fn functions() -> Vec<String> {
    let header = std::fs::read_to_string(root().join("include/ownpool.h")).unwrap();
    header
        .lines()
        .filter(|line| line.ends_with(");"))
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .map(str::to_string)
        .collect()
}

/// All that is installed, by the default directories.
fn expected() -> Vec<String> {
    let fixed = "bin/ownpool include/ownpool.h lib/libownpool.so lib/libownpool.so.0 \
                 lib/pkgconfig/ownpool.pc share/bash-completion/completions/ownpool \
                 share/fish/vendor_completions.d/ownpool.fish share/man/man1/ownpool.1 \
                 share/man/man3/ownpool.3 share/man/man7/ownpool.7 \
                 share/zsh/site-functions/_ownpool";
    let mut expected: Vec<String> = fixed.split(' ').map(str::to_string).collect();
    expected.push(format!("lib/libownpool.so.{VERSION}"));
    let functions = functions();
    assert_eq!(functions.len(), 10);
    let pages = functions.iter();
    expected.extend(pages.map(|name| format!("share/man/man3/{name}.3")));
    expected.sort();
    expected
}

#[test]
fn what_is_installed_and_that_uninstall_leaves_nothing() {
    let place = Place::new();
    let stage = place.file("stage");
    let destdir = [("DESTDIR", stage.to_str().unwrap())];
    let Some(()) = make("install", &destdir) else {
        return;
    };
    let prefix = stage.join("usr/local");
    assert_eq!(files(&prefix), expected());
    let outside = files(&stage).len() - expected().len();
    assert_eq!(outside, 0, "something lies outside the prefix");
    for (link, to) in [
        ("lib/libownpool.so", "libownpool.so.0".to_string()),
        ("lib/libownpool.so.0", format!("libownpool.so.{VERSION}")),
    ] {
        assert_eq!(prefix.join(link).read_link().unwrap(), Path::new(&to));
    }
    for name in expected() {
        let metadata = prefix.join(&name).metadata().unwrap();
        let mode = metadata.permissions().mode();
        let program = name == "bin/ownpool" || name.starts_with("lib/libownpool");
        assert_eq!(mode & 0o777, if program { 0o755 } else { 0o644 }, "{name}");
    }
    // A second time over the first changes nothing.
    make("install", &destdir).unwrap();
    assert_eq!(files(&prefix), expected());
    // A file that is not ours stays.
    std::fs::write(prefix.join("lib/other.so"), "").unwrap();
    make("uninstall", &destdir).unwrap();
    assert_eq!(files(&stage), ["usr/local/lib/other.so"]);
}

#[test]
fn every_directory_can_be_chosen() {
    let place = Place::new();
    let at = |name: &str| place.file(name).to_str().unwrap().to_string();
    let libraries = "p/lib/x86_64-linux-gnu";
    let [prefix, lib, include, man] = ["p", libraries, "i", "m"].map(at);
    let directories = [
        ("PREFIX", &*prefix),
        ("LIBDIR", &*lib),
        ("INCLUDEDIR", &*include),
        ("MANDIR", &*man),
    ];
    let Some(()) = make("install", &directories) else {
        return;
    };
    for name in [
        "p/bin/ownpool",
        "p/lib/x86_64-linux-gnu/libownpool.so.0",
        "i/ownpool.h",
        "m/man7/ownpool.7",
    ] {
        assert!(place.file(name).is_file(), "{name}");
    }
    let text = std::fs::read_to_string(format!("{lib}/pkgconfig/ownpool.pc")).unwrap();
    for line in [
        format!("prefix={prefix}\n"),
        "libdir=${prefix}/lib/x86_64-linux-gnu\n".to_string(),
        format!("includedir={include}\n"),
        format!("Version: {VERSION}\n"),
    ] {
        assert!(text.contains(&line), "{line} in {text}");
    }
    assert!(!text.contains('@'), "{text}");
    // The command finds the library there, too.
    proves_itself(&place.file("p/bin/ownpool"));
    make("uninstall", &directories).unwrap();
    assert_eq!(files(place.path()), Vec::<String>::new());
}

/// `ownpool run` of this command: the program under it is moved.
fn proves_itself(ownpool: &Path) {
    // To a file: head closes descriptor 2 before it ends.
    let place = Place::new();
    let report = place.file("report");
    let mut run = Command::new(ownpool);
    run.args(["run", &format!("--stats={}", report.display())]);
    run.args(["--", "head", "-c", "100000", "/dev/urandom"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let output = succeed(run.env_clear().env("PATH", path));
    assert_eq!(output.stdout.len(), 100_000);
    let report = support::reports(&report);
    assert_eq!(report.len(), 1);
    assert_eq!(report[0]["threads_moved"], 1);
}

/// A user with a prefix of one's own: the command, a C program by pkg-config, a manual
/// page, completions.
#[test]
fn an_installed_tree_works() {
    let place = Place::new();
    let prefix = place.path().to_str().unwrap().to_string();
    let Some(()) = make("install", &[("PREFIX", &prefix)]) else {
        return;
    };
    proves_itself(&place.file("bin/ownpool"));
    if let Some(pkg_config) = installed("pkg-config") {
        by_pkg_config(place.path(), &pkg_config);
    }
    if let Some(man) = installed("man") {
        for name in ["ownpool_fill", "ownpool_reseed"] {
            let mut page = Command::new(&man);
            page.args(["--warnings", "3", name]).env("PAGER", "cat");
            page.env("MANPATH", place.file("share/man"));
            let text = prints(page.env("LC_ALL", "C.UTF-8"));
            assert!(text.contains("ownpool_reseed"), "{text}");
        }
    }
    completions(&place.file("share"));
}

fn by_pkg_config(prefix: &Path, pkg_config: &Path) {
    let ask = |arguments: &[&str]| {
        let mut ask = Command::new(pkg_config);
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        succeeds(ask.args(arguments).arg("ownpool"))
    };
    assert_eq!(ask(&["--modversion"]).trim(), VERSION);
    let flags = ask(&["--cflags", "--libs"]);
    let source = "#include <ownpool.h>\n#include <stdio.h>\nint main(void) { \
                  printf(\"%s %u\\n\", OWNPOOL_VERSION, ownpool_uniform(1)); }\n";
    let mut arguments = vec!["-Wall", "-Wextra", "-Werror"];
    arguments.extend(flags.split_whitespace());
    let binary = support::gcc(prefix, "x", source, &arguments);
    let printed = succeeds(Command::new(&binary).env("LD_LIBRARY_PATH", prefix.join("lib")));
    assert_eq!(printed, format!("{VERSION} 0\n"));
}

/// bash is asked what follows; the others at least take the file.
fn completions(share: &Path) {
    if let Some(bash) = installed("bash") {
        let script = share.join("bash-completion/completions/ownpool");
        let words = |line: &str, at: usize| {
            let mut ask = Command::new(&bash);
            ask.args(["--norc", "-c"]).arg(format!(
                "source {}; COMP_WORDS=({line} ''); COMP_CWORD={at}; \
                 _ownpool ownpool '' ownpool; echo \"${{COMPREPLY[@]}}\"",
                script.display()
            ));
            succeeds(&mut ask)
        };
        let first = words("ownpool", 1);
        for name in ["run", "check", "report"] {
            assert!(first.split_whitespace().any(|word| word == name), "{first}");
        }
    }
    for (shell, file) in [
        ("zsh", "zsh/site-functions/_ownpool"),
        ("fish", "fish/vendor_completions.d/ownpool.fish"),
    ] {
        if let Some(shell) = installed(shell) {
            succeeds(Command::new(shell).arg("-n").arg(share.join(file)));
        }
    }
}

/// Where nothing is built, install fails and installs nothing.
#[test]
fn install_before_make_is_an_error() {
    let Some(make) = installed("make") else {
        return;
    };
    let place = Place::new();
    let mut command = Command::new(make);
    command.args(["-s", "install", "LIBRARY=/nonexistent/libownpool.so"]);
    command.arg(format!("DESTDIR={}", place.path().display()));
    let done = ran(command.current_dir(root()));
    let told = done.stderr.contains("run make first");
    assert!(done.status == 2 && told, "{done:?}");
    assert_eq!(files(place.path()), Vec::<String>::new());
}
