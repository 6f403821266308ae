//! The import picture: which room may know which.
//!
//! Settles: every `crate::` path in `src/` is an edge of the table below, the
//! table has no edge that is not used, and no edge closes a circle; pure rooms
//! import nothing of ours, forbid `unsafe` and know no libc; libc's hooked names
//! are called by nobody. Change the table and ARCHITECTURE.md together.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Who may import whom. A room is a file of `src/`, or a folder. From the doors
/// (interposed names, C API, start) and the end down to rooms that import nothing.
const PICTURE: &str = "
    hooks    > serve thread real urandom confine stats sure
    api      > serve thread real confine settings stats sure sys
    init     > serve thread real urandom callers report say settings stats sys text vdso
    report   > serve thread confine callers modules say settings stats sys text
    serve    > apart thread urandom real confine bucket callers probes settings stats vdso
    thread   > apart real bucket callers crng probes settings stats sys vdso
    urandom  > confine sys
    confine  > sys
    real     > elf sure sys
    callers  > stats
    probes   > stats
    sure     > say sys
    say      > sys
    vdso     > elf settings
    apart    >
    bucket   >
    crng     >
    elf      >
    mem      >
    modules  >
    settings >
    stats    >
    sys      >
    text     >
";

/// The picture, a row a room.
fn picture() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    PICTURE
        .lines()
        .filter_map(|line| line.split_once('>'))
        .map(|(room, may)| (room.trim(), may.split_whitespace().collect()))
        .collect()
}

/// Rooms without `unsafe`, libc, clock, environment, thread or global.
const PURE: &[&str] = &["bucket", "crng", "settings", "text"];

/// The most lines of code, tests, comments and blanks aside, that a file may have.
const LONGEST: usize = 300;

struct Source {
    room: String,
    path: PathBuf,
    text: String,
}

impl Source {
    /// The text before the unit tests, without comments.
    fn code(&self) -> String {
        let mut code = String::new();
        let mut lines = self.text.lines().peekable();
        while let Some(line) = lines.next() {
            let tests = lines
                .peek()
                .is_some_and(|next| next.starts_with("mod tests"));
            if line.trim() == "#[cfg(test)]" && tests {
                break;
            }
            let line = line.split("//").next().unwrap_or_default();
            if !line.trim().is_empty() {
                code.push_str(line);
                code.push('\n');
            }
        }
        code
    }

    fn is_of_the_command(&self) -> bool {
        self.room == "bin"
    }
}

fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut folders) = (Vec::new(), vec![src.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(&src).unwrap();
                let first = inside.components().next().unwrap();
                let room = Path::new(&first)
                    .file_stem()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                let text = std::fs::read_to_string(&path).unwrap();
                found.push(Source { room, path, text });
            }
        }
    }
    assert!(found.len() > picture().len(), "src/ was found");
    found
}

/// Every room that follows `crate::` in this code, in paths and in `use` trees.
fn imported(code: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let mut rooms = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        // `pub(crate)` has no `::`; `some_crate::` is a word that goes on before.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let Some(tree) = rest.strip_prefix('{') else {
            rooms.insert(word(rest));
            continue;
        };
        // The names at the first level of the braces.
        let (mut depth, mut expect) = (0, true);
        for (at, c) in tree.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => expect = true,
                c if c.is_whitespace() => {}
                _ if expect && depth == 0 => {
                    rooms.insert(word(&tree[at..]));
                    expect = false;
                }
                _ => {}
            }
        }
    }
    rooms
}

#[test]
fn use_trees_are_read_as_the_compiler_reads_them() {
    let code = "use crate::{a::{self, B}, c,\n d as e};\n pub(crate) use x;\n crate::f::g(); my_crate::h();";
    let wanted = ["a", "c", "d", "f"].map(String::from);
    assert_eq!(imported(code), BTreeSet::from(wanted));
}

#[test]
fn every_import_is_in_the_picture_and_every_edge_is_used() {
    let picture = picture();
    let mut used: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let sources = sources();
    for source in &sources {
        if source.room == "lib" || source.is_of_the_command() {
            continue;
        }
        let path = source.path.display();
        let Some((room, may)) = picture.get_key_value(source.room.as_str()) else {
            panic!("{path} is a room without a row");
        };
        for import in imported(&source.code()) {
            let known = import == *room || may.contains(import.as_str());
            assert!(known, "{path} imports {import}");
            used.entry(room).or_default().insert(import);
        }
    }
    for (room, may) in &picture {
        assert!(
            sources.iter().any(|source| source.room == *room),
            "no {room}"
        );
        for import in may {
            let needed = used.get(room).is_some_and(|used| used.contains(*import));
            assert!(
                needed,
                "{room} no longer imports {import}: shorten the picture"
            );
        }
    }
}

#[test]
fn no_edge_closes_a_circle() {
    // Take away rooms whose imports are all gone; whatever is left is a circle.
    let mut left = picture();
    loop {
        let before = left.len();
        let rooms: BTreeSet<_> = left.keys().copied().collect();
        left.retain(|_, may| !may.is_disjoint(&rooms));
        if left.len() == before {
            break;
        }
    }
    assert!(left.is_empty(), "a circle: {:?}", left.keys());
}

#[test]
fn pure_rooms_forbid_unsafe_and_know_no_libc() {
    for source in sources() {
        if !PURE.contains(&source.room.as_str()) {
            continue;
        }
        let whole = source.path.file_name().unwrap() == "mod.rs"
            || source.path.parent().unwrap().ends_with("src");
        if whole {
            assert!(
                source.text.contains("\n#![forbid(unsafe_code)]\n"),
                "{}",
                source.path.display()
            );
        }
        let code = source.code();
        for word in [
            "libc",
            "asm!",
            "static ",
            "std::",
            "AtomicU",
            "core::arch",
            "core::sync",
        ] {
            // `&'static str` is a type, not a global.
            let code = code.replace("'static ", "");
            assert!(
                !code.contains(word),
                "{} knows {word}",
                source.path.display()
            );
        }
        assert!(
            picture()[source.room.as_str()].is_empty(),
            "{} imports something of ours",
            source.room
        );
    }
}

#[test]
fn the_command_knows_the_settings_and_nothing_else_of_the_library() {
    for source in sources().iter().filter(|source| source.is_of_the_command()) {
        for line in source.code().lines().filter(|line| line.contains("#[path")) {
            assert_eq!(
                line.trim(),
                "#[path = \"../../settings.rs\"]",
                "{}",
                source.path.display()
            );
        }
    }
}

#[test]
fn nobody_calls_a_hooked_name_or_std() {
    for source in sources() {
        if source.is_of_the_command() {
            continue;
        }
        let code = source.code();
        assert!(!code.contains("std::"), "{}", source.path.display());
        for name in [
            "getrandom",
            "read",
            "pread",
            "readv",
            "open",
            "openat",
            "fopen",
            "syscall",
            "prctl",
        ] {
            let call = format!("libc::{name}(");
            assert!(
                !code.contains(&call),
                "{} calls {call}",
                source.path.display()
            );
        }
    }
}

#[test]
fn every_file_opens_with_an_essay_and_stays_short() {
    for source in sources() {
        let opens = source.text.starts_with("//! ");
        assert!(opens, "{} opens with no essay", source.path.display());
        let lines = source.code().lines().count();
        let path = source.path.display();
        assert!(
            lines <= LONGEST,
            "{path}: {lines} lines of code are more than {LONGEST}"
        );
    }
}
