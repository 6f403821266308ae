//! `include/ownpool.h` equals what cbindgen (pinned in Cargo.toml) makes of `src/c_api.rs`
//! today, and its version macros are Cargo.toml's.
//!
//! `UPDATE_GOLDEN=1 cargo test` rewrites it; the diff is what gets reviewed.
use ownpool_tests::support::{golden, root};

/// What stands between the include guard and the first declaration.
fn preamble() -> String {
    format!(
        "#include <stddef.h>\n\
         #include <stdint.h>\n\
         #include <sys/types.h>\n\n\
         /* The version of this header; ownpool_version() tells the library's. */\n\
         #define OWNPOOL_VERSION \"{}\"\n\
         #define OWNPOOL_VERSION_MAJOR {}\n\
         #define OWNPOOL_VERSION_MINOR {}\n\
         #define OWNPOOL_VERSION_PATCH {}\n\n\
         /* The compiler warns where the result of such a function is not looked at. */\n\
         #if defined(__GNUC__)\n\
         #define OWNPOOL_CHECKED __attribute__((__warn_unused_result__))\n\
         #else\n\
         #define OWNPOOL_CHECKED\n\
         #endif",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    )
}

/// The header as cbindgen makes it. It only parses: no expansion, no unstable features.
fn generated() -> String {
    let mut config = cbindgen::Config::from_file(root().join("cbindgen.toml"))
        .expect("cbindgen.toml is well-formed");
    config.after_includes = Some(preamble());
    let bindings = cbindgen::Builder::new()
        .with_src(root().join("src/c_api.rs"))
        .with_config(config)
        .generate()
        .expect("src/c_api.rs parses");
    let mut text = Vec::new();
    bindings.write(&mut text);
    // Rust's heading for what the caller owes reads oddly in C; the comments that
    // cbindgen puts behind its own lines are no C90.
    String::from_utf8(text)
        .expect("the header is UTF-8")
        .replace(" * # Safety\n", " * The caller's part:\n")
        .replace("#endif // __cplusplus", "#endif")
        .replace("#endif  // __cplusplus", "#endif")
        .replace("}  // extern \"C\"", "}")
}

#[test]
fn the_header_is_what_cbindgen_makes() {
    golden("include/ownpool.h", &generated());
}

/// What a C reader must find, whatever the tool makes of the source.
#[test]
fn every_function_is_declared_once_and_documented() {
    let read = |name| std::fs::read_to_string(root().join(name)).expect("it is there");
    let (header, source) = (read("include/ownpool.h"), read("src/c_api.rs"));
    let functions: Vec<&str> = source
        .split("extern \"C\" fn ")
        .skip(1)
        .filter_map(|rest| rest.split('(').next())
        .filter(|name| name.starts_with("ownpool_"))
        .collect();
    assert_eq!(functions.len(), 10, "{functions:?}");
    for name in functions {
        let declared = header.matches(&format!("{name}(")).count();
        assert!(declared >= 1, "{name} is not declared");
        assert!(header.contains(&format!(" * {name}: ")), "{name}: no text");
    }
    for needed in [
        "#ifndef OWNPOOL_H",
        "extern \"C\" {",
        "struct ownpool_stats {",
        "int ownpool_stats(struct ownpool_stats *out, size_t size);",
        "const char *ownpool_mode(void);",
        "uint32_t ownpool_u32(void);",
        "int ownpool_set_mode(const char *mode);",
    ] {
        assert!(header.contains(needed), "{needed}");
    }
    assert!(!header.contains("# Safety") && !header.contains("//"));
}
