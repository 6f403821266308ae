//! What the release library asks of the loader and of libc, and what it offers.
//!
//! Settles: exports and imports equal `tests/golden/{exports,imports}.txt`
//! (`UPDATE_GOLDEN=1` rewrites them; the diff is what gets reviewed). The list of
//! imports is the proof that no path panics, allocates or formats. It loads on
//! libcs from 2.17 on, into threads with little static TLS, and stays loaded.
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader, Sym};
use object::{Endianness, Object, ObjectSymbol};
use ownpool_tests::support::{self, Place, golden};
use std::collections::BTreeSet;

type Header = FileHeader64<Endianness>;

/// The library's bytes, read once for each test.
fn bytes() -> Vec<u8> {
    std::fs::read(support::library()).expect("the library can be read")
}

/// Every dynamic symbol: name, version if it has one, and whether it is defined.
fn symbols(bytes: &[u8]) -> Vec<(String, Option<String>, bool)> {
    let header = Header::parse(bytes).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, bytes).unwrap();
    let versions = sections.versions(endian, bytes).unwrap();
    let table = sections.symbols(endian, bytes, elf::SHT_DYNSYM).unwrap();
    table
        .enumerate()
        .skip(1)
        .map(|(index, symbol)| {
            let name = table.symbol_name(endian, symbol).unwrap();
            let version = versions.as_ref().and_then(|versions| {
                let index = versions.version_index(endian, index);
                let version = versions.version(index).unwrap()?;
                Some(String::from_utf8_lossy(version.name()).into_owned())
            });
            let name = String::from_utf8_lossy(name).into_owned();
            (name, version, !symbol.is_undefined(endian))
        })
        .collect()
}

/// Compares lines with a golden list.
fn golden_list(name: &str, lines: &BTreeSet<String>) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    golden(&format!("tests/golden/{name}"), &text);
}

#[test]
fn exports_are_the_golden_list() {
    let exported = symbols(&bytes())
        .into_iter()
        .filter(|(_, _, defined)| *defined)
        .map(|(name, _, _)| name)
        .collect();
    golden_list("exports.txt", &exported);
}

#[test]
fn imports_are_the_golden_list_and_old_enough() {
    let imported: Vec<_> = symbols(&bytes())
        .into_iter()
        .filter(|(_, _, defined)| !defined)
        .collect();
    let refused = "memcpy memset memmove memcmp bcmp strlen abort malloc calloc realloc free \
                   dlsym dlopen __tls_get_addr";
    for (name, version, _) in &imported {
        assert!(
            refused.split(' ').all(|it| it != name),
            "{name} is imported"
        );
        if let Some(version) = version {
            let number = version.strip_prefix("GLIBC_").expect("a version of glibc");
            let parts = number.split('.').map(|part| part.parse().unwrap());
            let parts: Vec<u32> = parts.collect();
            assert!(parts <= vec![2, 17], "{name}@{version} is newer than 2.17");
        }
    }
    let lines = imported
        .into_iter()
        .map(|(name, version, _)| match version {
            Some(version) => format!("{name}@{version}"),
            None => name,
        })
        .collect();
    golden_list("imports.txt", &lines);
}

#[test]
fn the_loader_needs_libc_alone_and_keeps_the_library() {
    let bytes = bytes();
    let header = Header::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, &*bytes).unwrap();
    let (entries, strings) = sections.dynamic(endian, &*bytes).unwrap().unwrap();
    let strings = sections.strings(endian, &*bytes, strings).unwrap();
    let (mut needed, mut flags, mut flags_1, mut soname) = (Vec::new(), 0, 0, Vec::new());
    for entry in entries {
        let value = entry.d_val(endian);
        let text = || strings.get(value as u32).unwrap().to_vec();
        match entry.tag32(endian) {
            Some(elf::DT_NEEDED) => needed.push(String::from_utf8(text()).unwrap()),
            Some(elf::DT_SONAME) => soname = text(),
            Some(elf::DT_FLAGS) => flags = value,
            Some(elf::DT_FLAGS_1) => flags_1 = value,
            // A library must not change its host's search path, nor need relocating code.
            Some(elf::DT_RPATH | elf::DT_RUNPATH | elf::DT_TEXTREL) => panic!("refused entry"),
            _ => {}
        }
    }
    assert_eq!(needed, ["libc.so.6"]);
    assert_eq!(soname, b"libownpool.so.0");
    assert_ne!(flags & u64::from(elf::DF_STATIC_TLS), 0, "STATIC_TLS");
    assert_ne!(flags & u64::from(elf::DF_BIND_NOW), 0, "BIND_NOW");
    assert_ne!(flags_1 & u64::from(elf::DF_1_NODELETE), 0, "NODELETE");
}

#[test]
fn segments_are_small_in_tls_and_never_writable_code() {
    let bytes = bytes();
    let header = Header::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    let segments = header.program_headers(endian, &*bytes).unwrap();
    let (mut tls, mut stack, mut code) = (None, None, 0);
    for segment in segments {
        let flags = segment.p_flags(endian);
        match segment.p_type(endian) {
            elf::PT_TLS => tls = Some(segment.p_memsz(endian)),
            elf::PT_GNU_STACK => stack = Some(flags),
            elf::PT_LOAD => {
                let both = elf::PF_W | elf::PF_X;
                assert_ne!(flags & both, both, "W+X");
                code += u32::from(flags & elf::PF_X != 0);
            }
            _ => {}
        }
    }
    // Surplus static TLS is 1,664 bytes for all libraries that dlopen brings (glibc).
    assert!(tls.is_some_and(|len| (1..=64).contains(&len)), "{tls:?}");
    let not_executable = |flags| flags & elf::PF_X == 0;
    assert!(stack.is_some_and(not_executable), "{stack:?}");
    assert_eq!(code, 1);
}

#[test]
fn no_section_runs_anything_but_the_start_and_the_end() {
    // One entry of ours in each, beside what the compiler's start files put there.
    let bytes = bytes();
    let file = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
    let named = file.symbols().count() > 0;
    assert!(named, "not stripped, so that profilers can name us");
    for (name, most) in [(".init_array", 16), (".fini_array", 16)] {
        let section = object::ObjectSection::size(&file.section_by_name(name).unwrap());
        assert!((8..=most).contains(&section), "{name}: {section}");
    }
    assert!(file.section_by_name(".ctors").is_none());
    // Everything exported is a function: no datum for a program to collide with.
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        let name = symbol.name();
        assert_eq!(symbol.kind(), object::SymbolKind::Text, "{name:?}");
    }
}

#[test]
fn the_best_backend_is_built_in() {
    // RUSTFLAGS in the environment silently replaces `.cargo/config.toml`.
    let place = Place::new();
    let program = place.compile("version", &[]);
    let version = support::succeeds(&mut support::preloaded(&program));
    let backend = if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        "avx512"
    } else if is_x86_feature_detected!("avx2") {
        "avx2"
    } else {
        "sse2"
    };
    let wanted = format!("ownpool {} ({backend})\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version, wanted);
}
