//! Operators find every line that the library prints in the guide.

use super::text;
use ownpool_core::settings;
use ownpool_tests::support::{bare, library, root};
use std::path::Path;

/// Operators find every line that the library prints in the guide, word for word.
#[test]
fn the_guide_explains_every_line() {
    let guide = include_str!("../../../docs/operating.md");
    let preloaded = |name: &str, value: &str| {
        let output = bare(Path::new("/bin/true"))
            .env("LD_PRELOAD", library())
            .env(name, value)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr)
    };
    for (name, value, line) in [
        (
            "OWNPOOL_MODE",
            "fast",
            "ownpool: OWNPOOL_MODE: not a mode: \"fast\"; using auto",
        ),
        (
            "OWNPOOL_RATE",
            "fast",
            "ownpool: OWNPOOL_RATE: not a number: \"fast\"; using 320",
        ),
        (
            "OWNPOOL_BURST",
            "99999999999999999999",
            "ownpool: OWNPOOL_BURST: too large: \"...\"; using 4096",
        ),
        (
            "OWNPOOL_VERBOSE",
            "yes",
            "ownpool: OWNPOOL_VERBOSE: neither 0 nor 1: \"yes\"; using 0",
        ),
        (
            "OWNPOOL_FOO",
            "1",
            "ownpool: OWNPOOL_FOO: no such setting; ignored",
        ),
    ] {
        assert!(guide.contains(&format!("`{line}`")), "{line}");
        assert_eq!(preloaded(name, value), line.replace("...", value) + "\n");
    }
    // For tests alone, and so not in the guide.
    assert_eq!(
        preloaded("OWNPOOL_TEST", "x"),
        "ownpool: OWNPOOL_TEST: not a test switch: \"x\"; using nothing\n"
    );
    assert_eq!(preloaded("OWNPOOL_RATE", "7"), "");
    let long = "x".repeat(settings::STATS_MAX + 1);
    assert!(preloaded("OWNPOOL_STATS", &long).starts_with("ownpool: OWNPOOL_STATS: too long: "));
    let verbose = preloaded("OWNPOOL_VERBOSE", "1");
    assert!(
        verbose.starts_with("ownpool: 0.1.0 (")
            && verbose.contains(" mode=auto rate=320 burst=4096 "),
        "{verbose}"
    );
    use settings::Complaint as C;
    // A new kind of complaint does not compile here until it is explained there.
    let explained = |complaint: settings::Complaint| match complaint {
        C::UnknownName
        | C::NotAMode
        | C::NotANumber
        | C::TooLarge
        | C::NotAChoice
        | C::NotASwitch
        | C::TooLong => {
            assert!(guide.contains(complaint.words()), "{complaint:?}")
        }
        C::NotATest => {}
    };
    for complaint in [
        C::UnknownName,
        C::NotAMode,
        C::NotANumber,
        C::TooLarge,
        C::NotAChoice,
        C::NotASwitch,
        C::TooLong,
        C::NotATest,
    ] {
        explained(complaint);
    }
    // And no whole line in the library's own text is left out.
    let mut lines = 0;
    let mut directories = vec![root().join("src")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let texts = source.split("b\"ownpool: ").skip(1);
            let whole = texts.filter_map(|rest| rest.split_once('"')?.0.strip_suffix("\\n"));
            for line in whole {
                lines += 1;
                let line = format!("ownpool: {line}");
                assert!(guide.contains(&line), "{line} of {path:?}");
            }
        }
    }
    assert!(lines > 0);
}
