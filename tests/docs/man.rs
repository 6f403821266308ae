//! The manual pages: they render without a warning, and `man/ownpool.3` agrees with
//! `include/ownpool.h`. That the others agree with the command's options and with the
//! settings is settled beside those, in `cli/src/generated_docs.rs`.
use ownpool_tests::support::{installed, root, succeeds};
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: [&str; 3] = ["ownpool.1", "ownpool.3", "ownpool.7"];

fn page(name: &str) -> PathBuf {
    root().join("man").join(name)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file is there")
}

/// By whatever of these is installed: `man` warns where groff does, mandoc on its own.
#[test]
fn pages_render_without_warnings() {
    let ways: [(&str, &[&str]); 3] = [
        ("man", &["--warnings", "-l"]),
        ("groff", &["-ww", "-man", "-Tutf8"]),
        ("mandoc", &["-Tlint", "-Wwarning"]),
    ];
    for (tool, arguments) in ways {
        let Some(tool) = installed(tool) else {
            continue;
        };
        for name in PAGES {
            let mut command = Command::new(&tool);
            command.args(arguments).arg(page(name));
            command.env("LC_ALL", "C.UTF-8").env("MANWIDTH", "80");
            let text = succeeds(command.env("PAGER", "cat"));
            // A lint is silent, the others print the page.
            let lint = tool.ends_with("mandoc");
            assert_eq!(text.is_empty(), lint, "{tool:?} {name}: {text}");
        }
    }
}

/// The page without fonts and quotes: what a reader sees of its prototypes.
fn plain(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        let line = match line.split_once(' ') {
            Some((macro_name, rest)) if macro_name.starts_with('.') => rest,
            _ => line,
        };
        // Arguments of .BI and .IR are set without a space between them: those in quotes
        // keep their own.
        let mut quoted = false;
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ' ' if !quoted && line.contains('"') => {}
                _ => text.push(character),
            }
        }
        text.push('\n');
    }
    text.replace("\\-", "-")
}

#[test]
fn the_page_of_the_library_has_every_prototype_and_field() {
    let header = read(&root().join("include/ownpool.h"));
    let source = read(&page("ownpool.3"));
    let plain = plain(&source);
    let mut prototypes = 0;
    let declares = |line: &&str| line.contains(' ') && line.ends_with(");");
    for line in header.lines().filter(declares) {
        let prototype = line.trim_start_matches("OWNPOOL_CHECKED ");
        assert!(plain.contains(prototype), "{prototype} in\n{plain}");
        let name = prototype.split('(').next().unwrap();
        let name = name.rsplit([' ', '*']).next().unwrap();
        let described = source.contains(&format!(".BR {name} ()"));
        assert!(described, "{name} is not described");
        prototypes += 1;
    }
    assert_eq!(prototypes, 10);
    let mut fields = 0;
    for field in header
        .lines()
        .filter_map(|line| line.trim().strip_prefix("uint64_t ")?.strip_suffix(';'))
        .filter(|field| !field.contains('('))
    {
        assert!(plain.contains(field), "{field}");
        fields += 1;
    }
    assert_eq!(fields, 10);
    for part in ["MAJOR", "MINOR", "PATCH"] {
        let name = format!("OWNPOOL_VERSION_{part}");
        assert!(plain.contains(&name) && header.contains(&name));
    }
}
