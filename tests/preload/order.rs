//! The order of the fast path's accesses in the release library, by disassembly: what the
//! compiler made of the volatile accesses and fences of `src/thread/mod.rs`.
//!
//! Every path through each function is walked (loops twice), every memory access is told by
//! the register that it goes through, and the string of them must be one of these:
//!
//! ```text
//! not for us                             (nothing)
//! no page, or a call in flight           t
//! no page, but idle                      t h
//! too little left                        t h a r p
//! answered                               t h a (l+ e+ d+)* w m c+ p
//! wiped, dropped or of an older epoch    t h a (l+ e+ d+)* w m c a m f c g r p
//! ```
//!
//! t take the slot, h load home, a load `available`, l load from the buffer, e erase it,
//! d store to the caller, w store `available`, m load the magic, c count, f and g forget
//! `available` and the magic, r look whether the page has its thread yet (without, no p), p put
//! the slot back. Each l has its e, in the same place, and its d. A wide register is touched
//! only where `WIDE` has been looked at and says so. What leaves the fast path, `fill` and
//! what it calls, is not read here: `tests/single_step.rs` runs it.
use ownpool_tests::support;
use std::collections::HashMap;
use std::process::Command;

/// `Tls::home`, `Tls::idle`, `Page::magic`, `Page::available`, and the counts: the offsets that `src/thread/{tls,page}.rs` assert.
const HOME: i64 = 0;
const SLOT: i64 = 8;
const HOT: i64 = 3520;
const MAGIC: i64 = HOT;
const AVAILABLE: i64 = HOT + 8;
const COUNTS: core::ops::Range<i64> = HOT + 16..HOT + 72;
/// `Page::retired`.
const RETIRED: i64 = HOT + 160;

/// One instruction of a listing.
#[derive(Clone, Debug)]
struct Instruction {
    address: u64,
    name: String,
    operands: Vec<String>,
    /// Whether it asks for `handout::WIDE`.
    asks_wide: bool,
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
    let in_rust = format!("{}{name}17h", name.len());
    let is_exported = listing.lines().any(|line| line.ends_with(&exported));
    let mut lines = listing.lines().skip_while(|line| match is_exported {
        true => !line.ends_with(&exported),
        false => !(line.ends_with(">:") && line.contains(&in_rust)),
    });
    assert!(lines.next().is_some(), "no function {name}");
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(parse)
        .collect()
}

fn parse(line: &str) -> Option<Instruction> {
    let (address, rest) = line.split_once(':')?;
    let asks_wide = rest.contains("cmp ") && rest.contains("7handout4WIDE17h");
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
        asks_wide,
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
    /// The instruction before was the question for `WIDE`.
    asked: bool,
    /// It was answered with yes.
    wide: bool,
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
            if name == "call" {
                // On to the slow path, as by a jump out of the function.
                ways.push((path.letters, false));
                break;
            }
            if name == "ret" {
                // A word is given in a register, once all is done.
                let word = path.holds.get("rax") == Some(&Holds::Secret);
                let letters = match word && path.to_erase.is_empty() {
                    true => path.letters.replacen("le", "led", 1),
                    false => path.letters,
                };
                ways.push((letters, true));
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
                        path.wide |= path.asked && name == "je";
                        todo.push(other);
                    }
                    (_, None) => ways.push((path.letters.clone(), false)),
                }
                path.asked = false;
                continue;
            }
            path.asked = instruction.asks_wide;
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
    if !path.wide && instruction.operands.iter().any(|it| it.contains("zmm")) {
        return Err(format!("{name} {first}, which this processor may not have"));
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
            Some((Holds::Page, RETIRED, _)) if only_reads_first => letter = Some('r'),
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
            Some((Holds::Page, RETIRED, _)) => {
                letter = Some('r');
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
    if !returns && ["", "t", "th", "thar", "tharp"].contains(&letters) {
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
        // A word that is lost is not given.
        let kept = !returns && counts[2] == 0;
        if counts[1] != counts[0] || counts[2] != counts[0] && !kept {
            return false;
        }
    }
    match (rest.strip_prefix("wm"), returns) {
        (Some(counts), true) => counts.starts_with('c') && counts.trim_start_matches('c') == "p",
        // Forgetting looks at count, amount and magic, to set the count right.
        (Some(forgets), false) => ["camfcgr", "camfcgrp"].contains(&forgets),
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
        // The slot stays taken only where the page has lost its thread.
        let put = format!("{letters}p");
        if letters.ends_with('r') && !ways.iter().any(|(other, _)| *other == put) {
            return Err(format!("{letters}, and never {put}"));
        }
    }
    Ok(ways
        .iter()
        .filter(|(letters, returns)| *returns && letters.contains('d'))
        .count())
}

const FAST: [&str; 6] = [
    "getrandom",
    "getentropy",
    "arc4random_buf",
    "syscall_getrandom",
    "ownpool_getrandom",
    "ownpool_fill",
];
/// Those that give a word in a register.
const WORDS: [&str; 3] = ["arc4random", "ownpool_u32", "ownpool_u64"];

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
    for name in WORDS {
        let answered = check(&function(&listing, name));
        assert!(answered == Ok(1), "{name}: {answered:?}");
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
    // t-h, h-a, l-e and e-d of every arm, w-m, m-c, c-p, and those of forgetting.
    assert!(noticed >= 20, "{noticed} of {}", accesses.len());
}
