//! The documents agree with the code.
//!
//! Settles: the table of settings in README.md is `settings::TABLE`, row by row
//! (`UPDATE_GOLDEN=1` rewrites it between its markers); no document names a
//! setting or a file that there is not; ARCHITECTURE.md knows every room.
use ownpool_core::settings;
use ownpool_tests::support::{golden, root};
use std::path::PathBuf;

const BEGIN: &str = "<!-- settings -->\n";
const END: &str = "<!-- /settings -->";

/// The table as Markdown. A default of nothing is an empty cell; a pipe would end one.
fn table() -> String {
    let mut text = String::from("| setting | default | unit | meaning |\n|---|---|---|---|\n");
    for row in settings::TABLE {
        for cell in [row.name, row.default, row.unit, row.help] {
            let fits = !cell.contains(['|', '\n', '`']);
            assert!(fits, "{cell:?} does not fit a cell");
        }
        let default = match row.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let (name, unit, help) = (row.name, row.unit, row.help);
        text += &format!("| `{name}` | {default} | {unit} | {help} |\n");
    }
    text
}

/// The documents of the project: the Markdown files at its root and in `docs/`.
fn documents() -> Vec<PathBuf> {
    [root().to_path_buf(), root().join("docs")]
        .iter()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// The text with what stands between the markers replaced; `None`: no markers.
fn with_table(text: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END).expect("the table's end is marked");
    Some(format!("{before}{BEGIN}{}{END}{after}", table()))
}

#[test]
fn the_readme_has_the_table_of_settings() {
    let mut seen = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(wanted) = with_table(&text) else {
            continue;
        };
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        golden(name, &wanted);
        seen.push(name.to_owned());
    }
    assert!(seen.contains(&"README.md".to_owned()), "{seen:?}");
}

#[test]
fn every_setting_that_a_document_names_exists() {
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        for (at, prefix) in text.match_indices("OWNPOOL_") {
            // The header's macros are other names with the same start.
            let rest =
                text[at + prefix.len()..].split(|c: char| !c.is_ascii_uppercase() && c != '_');
            let name = format!("{prefix}{}", rest.into_iter().next().unwrap_or_default());
            let name = name.trim_end_matches('_');
            let known = settings::row(name.as_bytes()).is_some()
                || ["OWNPOOL", "OWNPOOL_FOO", "OWNPOOL_H", "OWNPOOL_VERSION"].contains(&name)
                || name.starts_with("OWNPOOL_VERSION_");
            assert!(known, "{} names {name}", path.display());
        }
    }
}

#[test]
fn every_file_that_a_document_names_exists() {
    let mut seen = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        // Odd pieces stand between backticks, in prose and in tables.
        for name in text.split('`').skip(1).step_by(2) {
            let places = "src core cli measure lineage tests docs include fuzz";
            let (place, inside) = name.split_once('/').unwrap_or_default();
            let ours = places.split(' ').any(|ours| ours == place) && !inside.is_empty();
            // Commands and patterns are no names.
            if ours && !name.contains([' ', '*', '{', '\n']) {
                let exists = root().join(name).exists();
                assert!(exists, "{} names {name}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn the_architecture_knows_every_room() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let slash = if path.is_dir() { "/" } else { "" };
        // `lib.rs` lists the rooms and is none; `bin` holds other programs.
        let known = ["lib.rs", "bin"].contains(&name.as_str())
            || text.contains(&format!("`src/{name}{slash}`"));
        assert!(known, "ARCHITECTURE.md does not know src/{name}");
    }
}

#[test]
fn markers_are_found_and_what_is_between_them_is_replaced() {
    let text = format!("a\n{BEGIN}| old |\n{END}\nb\n");
    let wanted = format!("a\n{BEGIN}{}{END}\nb\n", table());
    assert_eq!(with_table(&text), Some(wanted));
    assert_eq!(with_table("no markers"), None);
    assert_eq!(table().lines().count(), settings::TABLE.len() + 2);
}
