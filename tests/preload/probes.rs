//! The static probes, read from the notes of the release library: which there are, what
//! arguments they have, and that each stands on a `nop`.
//!
//! The format is SystemTap's (sdt.h, "UserSpaceProbeImplementation"): type 3, owner
//! "stapsdt", three addresses, then provider, name and arguments, each ending with a NUL.
use object::{Object, ObjectSection};
use ownpool_tests::support;
use std::collections::BTreeMap;

/// One probe: where it is, and how many arguments it has.
struct Probe {
    address: u64,
    base: u64,
    arguments: usize,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Every place of every probe, by `provider:name`.
fn probes(file: &object::File<'_>) -> BTreeMap<String, Vec<Probe>> {
    let section = file.section_by_name(".note.stapsdt").expect("probes");
    let mut notes = section.data().unwrap();
    let mut found: BTreeMap<String, Vec<Probe>> = BTreeMap::new();
    while notes.len() > 12 {
        let length = |at: usize| u32::from_le_bytes(notes[at..at + 4].try_into().unwrap()) as usize;
        let (owner, content) = (length(0), length(4));
        assert_eq!((length(8), &notes[12..12 + owner]), (3, &b"stapsdt\0"[..]));
        let start = 12 + owner.next_multiple_of(4);
        let note = &notes[start..start + content];
        let mut texts = note[24..].split(|&byte| byte == 0);
        let mut text = || String::from_utf8(texts.next().unwrap().to_vec()).unwrap();
        let (provider, name, arguments) = (text(), text(), text());
        found
            .entry(format!("{provider}:{name}"))
            .or_default()
            .push(Probe {
                address: word(note, 0),
                base: word(note, 8),
                arguments: arguments.split_whitespace().count(),
            });
        notes = &notes[start + content.next_multiple_of(4)..];
    }
    found
}

#[test]
fn the_library_has_the_probes_that_the_guide_names() {
    let bytes = std::fs::read(support::library()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let found = probes(&file);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let expected = [
        "ownpool:fell_through",
        "ownpool:move",
        "ownpool:refill",
        "ownpool:reseed",
    ];
    assert_eq!(names, expected);
    let guide = include_str!("../../docs/operating.md");
    for (name, places) in &found {
        assert!(guide.contains(name.as_str()), "{name} is not in the guide");
        assert!(
            places.iter().all(|probe| probe.arguments == 2),
            "{name}: two arguments"
        );
    }
}

#[test]
fn each_probe_is_a_nop_where_its_note_says() {
    const NOP: u8 = 0x90;
    let bytes = std::fs::read(support::library()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let text = file.section_by_name(".text").expect("code");
    let base = file
        .section_by_name(".stapsdt.base")
        .expect("the base of the notes");
    for (name, places) in probes(&file) {
        for probe in places {
            // Addresses count from where the base was when the note was written.
            let address = probe.address + base.address() - probe.base;
            let code = text.data_range(address, 1).unwrap();
            assert_eq!(code, Some(&[NOP][..]), "{name} at {address:#x}");
        }
    }
}
