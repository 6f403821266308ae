//! Nothing that threads share is written on the fast path.
//!
//! Read off the release library: the instructions of a fast path write through registers
//! only (this thread's words, its page, the caller's memory), never to an address of the
//! library's own; and what they read of the library's lies on cache lines that no call
//! writes.
use object::{Object, ObjectSymbol};
use ownpool_tests::support;
use std::process::Command;

/// The fast paths: exported names, but for what `syscall` jumps to.
const FAST: &str = "getrandom getentropy arc4random arc4random_buf 17syscall_getrandom17h \
                    ownpool_u32 ownpool_u64";

/// Bytes that are read on every call, and the pairs of cache lines they are to keep.
const QUIET: &[&str] = &["9generator5EPOCH17h", "6config4MODE17h", "6x86_644WIDE17h"];
const PAIR: u64 = 128;

fn library() -> Vec<u8> {
    std::fs::read(support::library()).expect("the library can be read")
}

/// The name and address of the one symbol of this name, or, for Rust's own
/// spelling of names, with this in it.
fn symbol(file: &object::File<'_>, part: &str) -> (String, u64) {
    let is_it = |name| name == part || part.ends_with("17h") && str::contains(name, part);
    let found = file.symbols().filter(|it| it.name().is_ok_and(is_it));
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 1, "symbols with {part}");
    (found[0].name().unwrap().to_owned(), found[0].address())
}

/// The instructions of a function, as objdump (binutils) spells them.
fn instructions(name: &str) -> Vec<String> {
    let output = Command::new("objdump")
        .args(["-d", "-M", "intel", "--no-show-raw-insn"])
        .arg(format!("--disassemble={name}"))
        .arg(support::library())
        .output()
        .expect("objdump is installed (binutils)");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| Some(line.split_once(":\t")?.1.trim().to_owned()))
        .collect()
}

/// Whether an instruction writes to memory of the library's own.
fn writes_to_the_library(instruction: &str) -> bool {
    let (operation, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
    let first = operands.split(',').next().unwrap_or("").trim();
    let only_reads = ["cmp", "test", "jmp", "call", "push", "bt"].contains(&operation);
    !only_reads && first.contains("PTR [rip")
}

#[test]
fn fast_paths_write_nothing_of_the_library() {
    let bytes = library();
    let file = object::File::parse(&*bytes).unwrap();
    for part in FAST.split(' ') {
        let (name, _) = symbol(&file, part);
        let code = instructions(&name);
        let stores = |line: &&String| line.starts_with("mov ") && line.contains("PTR [r");
        let whole = code.len() > 20 && code.iter().filter(stores).count() > 3;
        assert!(whole, "{name}: not the fast path\n{code:#?}");
        let shared = code.iter().filter(|line| writes_to_the_library(line));
        let shared: Vec<_> = shared.collect();
        assert!(shared.is_empty(), "{name} writes {shared:?}");
    }
}

#[test]
fn the_check_sees_a_write() {
    for (instruction, writes) in [
        ("inc    QWORD PTR [rip+0x2a]        # 3f000 <X>", true),
        ("mov    QWORD PTR [rip+0x2a],rax        # 3f000 <X>", true),
        ("lock xadd QWORD PTR [rip+0x2a],rax", true),
        ("mov    rax,QWORD PTR [rip+0x2a]        # 3f000 <X>", false),
        ("cmp    QWORD PTR [rip+0x2a],rax", false),
        ("jmp    QWORD PTR [rip+0x2a]", false),
    ] {
        assert_eq!(writes_to_the_library(instruction), writes, "{instruction}");
    }
}

#[test]
fn what_fast_paths_read_has_its_own_cache_lines() {
    let bytes = library();
    let file = object::File::parse(&*bytes).unwrap();
    for part in QUIET {
        let (name, address) = symbol(&file, part);
        assert_eq!(address % PAIR, 0, "{name}");
        let close: Vec<_> = file
            .symbols()
            .filter(|other| (address + 1..address + PAIR).contains(&other.address()))
            .filter_map(|other| other.name().ok())
            .collect();
        assert!(close.is_empty(), "{name} shares its lines with {close:?}");
    }
}
