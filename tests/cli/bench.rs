//! `ownpool bench` keeps its promises about form: it runs, it measures under the
//! library and refuses to without, and every file that it writes can be read and
//! names everybody. No figure is judged here: a busy machine must not fail a test.
use ownpool_tests::support;
use ownpool_tests::support::Place;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SIZES: [u64; 11] = [4, 8, 16, 32, 64, 256, 1024, 4096, 16384, 65536, 1048576];

/// The command and the library as they are installed: bin and lib side by side.
fn installed(with_library: bool) -> Place {
    let prefix = Place::new();
    fs::create_dir(prefix.file("bin")).unwrap();
    fs::create_dir(prefix.file("lib")).unwrap();
    support::copy_program(&support::command(), &prefix.file("bin/ownpool"));
    if with_library {
        fs::copy(support::library(), prefix.file("lib/libownpool.so")).unwrap();
    }
    prefix
}

fn bench(prefix: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(prefix.join("bin/ownpool"));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OWNPOOL_"))
    {
        command.env_remove(name);
    }
    command
        .arg("bench")
        .args(arguments)
        .current_dir(prefix)
        .env_remove("LD_PRELOAD")
        .output()
        .unwrap()
}

fn good(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    assert_eq!(errors, "", "nothing on stderr when it is no terminal");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn words<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|row| row[key].as_str().unwrap())
        .collect()
}

#[test]
fn a_quick_run_writes_what_it_found() {
    let prefix = installed(true);
    // A region of a page that somebody wrote; the rest of it has to stay.
    let page = "# Speed\n\n<!-- ownpool bench: speed -->\nold\n<!-- end of ownpool bench: speed -->\n\nThe end.\n";
    fs::write(prefix.file("page.md"), page).unwrap();
    let arguments = [
        "--quick",
        "--json",
        "out.json",
        "--svg",
        "out.svg",
        "--markdown",
        "page.md",
    ];
    let text = good(&bench(prefix.path(), &arguments));

    let json: Value =
        serde_json::from_str(&fs::read_to_string(prefix.file("out.json")).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let setup = &json["setup"];
    let measured = words(&setup["peers"], "who");
    let absent = words(&setup["absent"], "who");
    for who in ["vDSO", "libbsd", "OpenSSL", "glibc"] {
        assert!(
            measured.contains(&who) ^ absent.contains(&who),
            "{who} is measured, or named with the reason"
        );
    }
    for who in ["kernel", "ownpool", "ownpool_fill"]
        .iter()
        .chain(&measured)
    {
        for bytes in SIZES {
            let row = rows.iter().find(|row| {
                row["door"] == "getrandom"
                    && row["threads"] == 1
                    && row["bytes"] == bytes
                    && row["who"] == **who
            });
            let row = row.unwrap_or_else(|| panic!("{who} at {bytes}"));
            let (ns, rate) = (
                row["ns"].as_f64().unwrap(),
                row["gb_per_s"].as_f64().unwrap(),
            );
            assert!(ns > 0.0 && rate > 0.0 && row["rounds"].as_u64().unwrap() >= 1);
            assert!(row["ns_min"].as_f64().unwrap() <= ns && ns <= row["ns_max"].as_f64().unwrap());
        }
        let shown = |line: &str| {
            line.trim().starts_with("1 MiB") && line.split(' ').any(|word| word == *who)
        };
        assert!(text.lines().any(shown), "{who} in the table");
    }
    for door in ["read", "getentropy", "arc4random_buf"] {
        assert!(
            rows.iter()
                .any(|row| row["door"] == door && row["who"] == "ownpool"),
            "{door}"
        );
    }
    for (name, value) in setup["machine"].as_object().unwrap() {
        assert!(!value.is_null() || name == "load", "{name}");
    }
    let (version, backend) = (
        setup["version"].as_str().unwrap(),
        setup["backend"].as_str().unwrap(),
    );
    assert!(
        version.starts_with("ownpool ") && version.ends_with(&format!("({backend})")),
        "{version}"
    );
    for word in [
        version,
        setup["machine"]["cpu"].as_str().unwrap(),
        setup["machine"]["kernel"].as_str().unwrap(),
    ] {
        assert!(text.contains(word), "{word} in the table's head");
    }

    let svg = fs::read_to_string(prefix.file("out.svg")).unwrap();
    let picture = roxmltree::Document::parse(&svg).unwrap();
    assert_eq!(picture.root_element().tag_name().name(), "svg");
    let elements = |name: &'static str| {
        picture
            .descendants()
            .filter(move |node| node.is_element() && node.tag_name().name() == name)
    };
    let labels: Vec<&str> = elements("text")
        .filter_map(|node| node.text())
        .map(str::trim)
        .collect();
    for who in ["kernel", "ownpool", "ownpool_fill"]
        .iter()
        .chain(&measured)
    {
        // Once in each of the two panels.
        assert_eq!(
            labels.iter().filter(|label| *label == who).count(),
            2,
            "{who} in the picture"
        );
    }
    assert!(elements("polyline").count() >= 2 * (measured.len() + 2));

    let markdown = fs::read_to_string(prefix.file("page.md")).unwrap();
    assert!(
        markdown.starts_with("# Speed\n\n<!-- ownpool bench: speed -->\n")
            && markdown.ends_with("-->\n\nThe end.\n")
    );
    assert!(
        !markdown.contains("\nold\n") && markdown.contains("| 1 MiB |"),
        "{markdown}"
    );
}

#[test]
fn memory_and_scaling_have_their_own_reports() {
    let prefix = installed(true);
    let arguments = [
        "--quick",
        "--memory",
        "--scaling",
        "--threads",
        "2",
        "--json",
        "out.json",
    ];
    let text = good(&bench(prefix.path(), &arguments));
    assert!(
        text.contains("static TLS") && text.contains("being moved") && text.contains("arithmetic"),
        "{text}"
    );
    let json: Value =
        serde_json::from_str(&fs::read_to_string(prefix.file("out.json")).unwrap()).unwrap();
    let memory = &json["memory"];
    // What the library promises to cost a thread; sizes, so no noise.
    let bytes = |who: &str, what: &str| memory[who][what].as_f64().unwrap();
    assert!(memory["tls"].as_u64().unwrap() <= 64, "{memory}");
    assert!(
        bytes("light", "mapped") <= 64.0 && bytes("light", "heap") <= 64.0,
        "{memory}"
    );
    assert!(
        bytes("moved", "mapped") <= 4160.0 && bytes("moved", "heap") <= 64.0,
        "{memory}"
    );
    let rows = json["rows"].as_array().unwrap();
    for who in ["arithmetic", "kernel", "ownpool"] {
        for threads in [1, 2] {
            let row = rows.iter().find(|row| {
                row["door"] == "scaling" && row["who"] == who && row["threads"] == threads
            });
            assert!(
                row.unwrap()["calls_per_s"].as_f64().unwrap() > 0.0,
                "{who} {threads}"
            );
        }
    }
}

#[test]
fn without_the_library_it_is_an_error_of_one_line() {
    let prefix = installed(false);
    for arguments in [&["--quick"][..], &["--inner", "--quick"]] {
        let output = bench(prefix.path(), arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125), "{errors}");
        assert!(
            errors.starts_with("ownpool: ") && errors.lines().count() == 1,
            "{errors}"
        );
        assert!(output.stdout.is_empty());
    }
}
