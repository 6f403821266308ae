//! The order of the fast path's accesses in the release library, by disassembly: what the
//! compiler made of the volatile accesses and fences of `src/thread/mod.rs`.
//!
//! Every path through each function is walked (loops twice), every memory access is told by
//! the register that it goes through, and the string of them must be one of these:
//!
//! ```text
//! not for us                             (nothing)
//! no page, or a call in flight           t
//! too little left                        t h a p
//! answered                               t h a (l+ e+ d+)* w m c+ p
//! wiped, dropped or of an older epoch    t h a (l+ e+ d+)* w m c a m f c g p
//! ```
//!
//! t take the slot, h load home, a load `available`, l load from the buffer, e erase it,
//! d store to the caller, w store `available`, m load the magic, c count, f and g forget
//! `available` and the magic, p put the slot back. Each l has its e, in the same place, and
//! its d.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on ends where it stands"
)]

mod support;

use std::collections::HashMap;
use std::process::Command;

/// `Tls::home`, `Tls::idle`, `Page::magic`, `Page::available`, and the counts, which end with the
/// same cache line: the offsets that `src/thread/{tls,page}.rs` assert.
const HOME: i64 = 0;
const SLOT: i64 = 8;
const HOT: i64 = 3520;
const MAGIC: i64 = HOT;
const AVAILABLE: i64 = HOT + 8;
const COUNTS: core::ops::Range<i64> = HOT + 16..HOT + 64;

/// One instruction of a listing.
#[derive(Clone, Debug)]
struct Instruction {
    address: u64,
    name: String,
    operands: Vec<String>,
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    ThreadPointer,
    Tls,
    Page,
    Buffer,
    Dest,
    /// Bytes of the buffer.
    Secret,
    Zero,
}

/// The whole library, disassembled.
fn listing() -> String {
    let output = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn", "-M", "intel", "-w"])
        .arg(support::library())
        .output()
        .expect("objdump is installed (binutils)");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

/// The instructions of the function whose symbol has this name as its last component.
fn function(listing: &str, name: &str) -> Vec<Instruction> {
    let exported = format!("<{name}>:");
    let mut lines = listing
        .lines()
        .skip_while(|line| !line.ends_with(&exported));
    assert!(lines.next().is_some(), "no function {name}");
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(parse)
        .collect()
}

fn parse(line: &str) -> Option<Instruction> {
    let (address, rest) = line.split_once(':')?;
    let rest = rest.split('#').next()?.trim();
    let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Some(Instruction {
        address: u64::from_str_radix(address.trim(), 16).ok()?,
        name: name.to_owned(),
        operands: operands
            .split(',')
            .map(|operand| operand.trim().to_owned())
            .filter(|operand| !operand.is_empty())
            .collect(),
    })
}

/// The full register that a name is part of: eax, ax and al are rax.
fn register(name: &str) -> Option<String> {
    if let Some(number) = name
        .strip_prefix("xmm")
        .or(name.strip_prefix("ymm"))
        .or(name.strip_prefix("zmm"))
    {
        return Some(format!("v{number}"));
    }
    if let Some(number) = name.strip_prefix('r')
        && number.starts_with(|first: char| first.is_ascii_digit())
    {
        return Some(format!("r{}", number.trim_end_matches(['d', 'w', 'b'])));
    }
    let core = name.trim_start_matches(['r', 'e']);
    let full = match core {
        "ax" | "al" => "rax",
        "bx" | "bl" => "rbx",
        "cx" | "cl" => "rcx",
        "dx" | "dl" => "rdx",
        "si" | "sil" => "rsi",
        "di" | "dil" => "rdi",
        "bp" | "bpl" => "rbp",
        "sp" => "rsp",
        _ => return None,
    };
    Some(full.to_owned())
}

/// The registers, the displacement and the text of a memory operand.
fn memory(operand: &str) -> Option<(Vec<String>, i64, String)> {
    let (_, inside) = operand.split_once('[')?;
    let inside = inside.strip_suffix(']')?;
    let (mut registers, mut displacement) = (Vec::new(), 0);
    for term in inside.replace('-', "+-").split('+') {
        let (negative, term) = term.strip_prefix('-').map_or((1, term), |term| (-1, term));
        if let Some(hex) = term.strip_prefix("0x") {
            displacement += negative * i64::from_str_radix(hex, 16).ok()?;
        } else if let Some(found) = register(term.split('*').next()?) {
            registers.push(found);
        }
    }
    Some((registers, displacement, inside.to_owned()))
}

/// One way through a function.
#[derive(Clone, Default)]
struct Path {
    at: usize,
    holds: HashMap<String, Holds>,
    letters: String,
    /// Places loaded from and not yet erased.
    to_erase: Vec<String>,
    visits: HashMap<usize, u32>,
}

/// Every way through the function: its accesses, and whether it returns rather than
/// jumping on to the slow path.
fn walk(code: &[Instruction]) -> Result<Vec<(String, bool)>, String> {
    let mut first = Path::default();
    first.holds.insert("rdi".to_owned(), Holds::Dest);
    let (mut todo, mut ways) = (vec![first], Vec::new());
    while let Some(mut path) = todo.pop() {
        loop {
            let instruction = code.get(path.at).ok_or("runs out of the function")?;
            let visits = path.visits.entry(path.at).or_default();
            *visits += 1;
            if *visits > 2 {
                break;
            }
            path.at += 1;
            let name = instruction.name.as_str();
            if name == "ret" {
                ways.push((path.letters, true));
                break;
            }
            if name.starts_with('j') {
                let target = instruction.operands.first().ok_or("a jump to nowhere")?;
                let target = target.split_whitespace().next().unwrap_or_default();
                let target = u64::from_str_radix(target, 16).map_err(|_| "a jump by register")?;
                let inside = code.iter().position(|other| other.address == target);
                match (name, inside) {
                    ("jmp", Some(to)) => path.at = to,
                    ("jmp", None) => {
                        ways.push((path.letters, false));
                        break;
                    }
                    (_, Some(to)) => {
                        let mut other = path.clone();
                        other.at = to;
                        todo.push(other);
                    }
                    (_, None) => ways.push((path.letters.clone(), false)),
                }
                continue;
            }
            step(instruction, &mut path)?;
            if ways.len() + todo.len() > 100_000 {
                return Err("too many ways".to_owned());
            }
        }
    }
    Ok(ways)
}

fn step(instruction: &Instruction, path: &mut Path) -> Result<(), String> {
    let name = instruction.name.as_str();
    let none = String::new();
    let first = instruction.operands.first().unwrap_or(&none);
    let second = instruction.operands.get(1).unwrap_or(&none);
    if name == "call" {
        return Err(format!("calls {first}"));
    }
    if [
        "nop",
        "cs",
        "data16",
        "push",
        "pop",
        "endbr64",
        "vzeroupper",
    ]
    .contains(&name)
    {
        return Ok(());
    }
    let held = |operand: &str| register(operand).and_then(|name| path.holds.get(&name).copied());
    // Where a memory operand leads: the first of its registers that is known.
    let leads = |operand: &str| {
        let (registers, displacement, text) = memory(operand)?;
        let base = registers.iter().find_map(|name| path.holds.get(name))?;
        Some((*base, displacement, text))
    };
    let only_reads_first = ["cmp", "test"].contains(&name);
    let only_writes_first = name.contains("mov") || name == "lea" || name.starts_with("set");
    let mut letter = None;
    let mut now = None;
    if name == "lea" {
        now = match leads(second) {
            Some((Holds::Page | Holds::Buffer, ..)) => Some(Holds::Buffer),
            Some((Holds::Dest, ..)) => Some(Holds::Dest),
            _ => None,
        };
    } else if first.contains('[') {
        let zero = second == "0x0" || held(second) == Some(Holds::Zero);
        match leads(first) {
            Some((Holds::Tls, SLOT, _)) if name == "shr" => letter = Some('t'),
            Some((Holds::Tls, SLOT, _)) if second == "0x1" => letter = Some('p'),
            Some((Holds::Page, MAGIC, _)) if only_reads_first => letter = Some('m'),
            Some((Holds::Page, MAGIC, _)) if zero => letter = Some('g'),
            Some((Holds::Page, AVAILABLE, _)) if only_reads_first => letter = Some('a'),
            Some((Holds::Page, AVAILABLE, _)) if zero => letter = Some('f'),
            Some((Holds::Page, AVAILABLE, _)) if only_writes_first => letter = Some('w'),
            Some((Holds::Page, at, _)) if COUNTS.contains(&at) => letter = Some('c'),
            Some((Holds::Buffer, _, text)) if zero && only_writes_first => {
                let at = path.to_erase.iter().position(|loaded| *loaded == text);
                path.to_erase
                    .remove(at.ok_or(format!("erases {text}, which it has not loaded"))?);
                letter = Some('e');
            }
            Some((Holds::Dest, ..)) if held(second) == Some(Holds::Secret) => {
                if !path.to_erase.is_empty() {
                    return Err("gives bytes that are not erased yet".to_owned());
                }
                letter = Some('d');
            }
            Some((holds, at, _)) => {
                return Err(format!("{name} {first}, {second}: {holds:?}+{at}"));
            }
            None => {}
        }
    } else if second.contains("fs:0x0") {
        now = Some(Holds::ThreadPointer);
    } else if second.contains('[') {
        now = match leads(second) {
            Some((Holds::Tls, HOME, _)) => {
                letter = Some('h');
                Some(Holds::Page)
            }
            Some((Holds::Page, AVAILABLE, _)) => {
                letter = Some('a');
                None
            }
            Some((Holds::Page, MAGIC, _)) => {
                letter = Some('m');
                None
            }
            Some((Holds::Page, at, _)) if COUNTS.contains(&at) => {
                letter = Some('c');
                None
            }
            Some((Holds::Buffer, _, text)) => {
                path.to_erase.push(text);
                letter = Some('l');
                Some(Holds::Secret)
            }
            Some((holds, at, _)) => {
                return Err(format!("{name} {first}, {second}: {holds:?}+{at}"));
            }
            // The offset of our words, from the GOT.
            None if name == "add" && held(first) == Some(Holds::ThreadPointer) => Some(Holds::Tls),
            None => None,
        };
        if only_reads_first {
            now = held(first);
        }
    } else if only_reads_first {
        now = held(first);
    } else if name.contains("xor") && instruction.operands.iter().all(|operand| operand == first) {
        now = Some(Holds::Zero);
    } else if name.contains("mov") {
        now = held(second);
    } else if ["add", "sub", "inc", "dec"].contains(&name) {
        // A pointer that goes on; a page's address never changes.
        now = held(first).filter(|holds| matches!(holds, Holds::Buffer | Holds::Dest));
    }
    if let Some(letter) = letter {
        path.letters.push(letter);
    }
    if let Some(target) = register(first) {
        match now {
            Some(holds) => path.holds.insert(target, holds),
            None => path.holds.remove(&target),
        };
    }
    Ok(())
}

/// Whether a string of accesses is one of those above.
fn in_order(letters: &str, returns: bool) -> bool {
    if !returns && ["", "t", "thap"].contains(&letters) {
        return true;
    }
    let Some(mut rest) = letters.strip_prefix("tha") else {
        return false;
    };
    while rest.starts_with('l') {
        let mut counts = [0; 3];
        for (letter, count) in ['l', 'e', 'd'].into_iter().zip(&mut counts) {
            let after = rest.trim_start_matches(letter);
            *count = rest.len() - after.len();
            rest = after;
        }
        if counts != [counts[0]; 3] {
            return false;
        }
    }
    match (rest.strip_prefix("wm"), returns) {
        (Some(counts), true) => counts.starts_with('c') && counts.trim_start_matches('c') == "p",
        // Forgetting looks at count, amount and magic, to set the count right.
        (Some(forgets), false) => forgets == "camfcgp",
        _ => false,
    }
}

/// Checks a function; the number of its ways that answer.
fn check(code: &[Instruction]) -> Result<usize, String> {
    let ways = walk(code)?;
    for (letters, returns) in &ways {
        if !in_order(letters, *returns) {
            return Err(format!("{letters}, returns: {returns}"));
        }
    }
    Ok(ways
        .iter()
        .filter(|(letters, returns)| *returns && letters.contains('d'))
        .count())
}

const FAST: [&str; 3] = ["getrandom", "getentropy", "arc4random_buf"];

#[test]
fn the_release_library_keeps_the_order() {
    let listing = listing();
    for name in FAST {
        let answered = check(&function(&listing, name));
        // Seven arms of `hand_out`, three of them loops.
        assert!(
            answered.clone().is_ok_and(|ways| ways >= 10),
            "{name}: {answered:?}"
        );
    }
}

/// The same code with two of its accesses in the other order, or one left out, is noticed.
#[test]
fn any_other_order_is_noticed() {
    let code = function(&listing(), "getrandom");
    assert!(check(&code).is_ok());
    // Which instructions are accesses, by walking with each left out: those that matter.
    let mut noticed = 0;
    let accesses: Vec<usize> = (0..code.len())
        .filter(|&at| {
            let name = &code[at].name;
            let reaches = |operand: &String| operand.contains('[') && !operand.contains("rip");
            code[at].operands.iter().any(reaches)
                && !["lea", "nop", "cs", "data16"].contains(&name.as_str())
        })
        .collect();
    assert!(accesses.len() > 50, "{} accesses", accesses.len());
    for pair in accesses.windows(2) {
        let [first, second] = [pair[0], pair[1]];
        // Neighbours of the same kind (two loads, two erasures) may change places.
        let mut swapped = code.clone();
        let address = swapped[first].address;
        swapped[first].address = swapped[second].address;
        swapped[second].address = address;
        swapped.swap(first, second);
        noticed += usize::from(check(&swapped).is_err());
        let mut without = code.clone();
        without[first].name = "nop".to_owned();
        without[first].operands.clear();
        let counts = code[first].operands[0].contains("+0x1");
        assert!(
            check(&without).is_err() || counts,
            "without {:?}",
            code[first]
        );
    }
    // s-n, n-a, l-e and e-d of every arm, w-m, m-c, c-p, and the two of forgetting.
    assert!(noticed >= 20, "{noticed} of {}", accesses.len());
}
