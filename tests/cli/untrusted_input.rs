//! Real files, cut, changed and spliced, handed to what reads them, from a fixed seed: the same
//! thousands of cases in every run. A panic ends them; so does work that does not end.
use ownpool_cli::fuzzing::{elf, report, script};
use ownpool_tests::support::{Place, gcc};

/// xorshift64: the cases are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    /// Cuts, overwrites with a telling value, splices or shortens; one to eight times.
    pub(crate) fn spoil(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        const TELLING: [u64; 8] = [
            0,
            1,
            0x7f,
            0xff,
            0x7fff_ffff,
            0xffff_ffff,
            1 << 63,
            u64::MAX,
        ];
        let mut bad = bytes.to_vec();
        for _ in 0..=self.below(8) {
            // Headers are where the decisions are: half of the hits go there.
            let end = [bad.len(), bad.len().min(1024)][self.below(2)];
            let at = self.below(end);
            let from = self.below(other.len());
            let len = self.below(64).min(other.len() - from);
            let new = match self.below(6) {
                0 => &[],
                1 | 2 => &[self.below(256) as u8][..],
                3 => &TELLING[self.below(8)].to_le_bytes()[..[1, 2, 4, 8][self.below(4)]],
                _ => &other[from..from + len],
            };
            let old = match self.below(6) {
                0 => self.below(64),
                1 if new.is_empty() => bad.len(),
                _ => new.len(),
            };
            let end = bad.len().min(at + old);
            bad.splice(at.min(end)..end, new.iter().copied());
        }
        bad
    }
}

/// Small real programs with all that is read: symbols, build-id, notes, run path.
fn programs() -> [Vec<u8>; 4] {
    let place = Place::new();
    let source =
        "#include <sys/random.h>\nint main(void) { char b[16]; return getrandom(b, 16, 0); }\n";
    [
        "-Wl,--build-id=sha1 -Wl,-rpath,$ORIGIN/lib",
        "-s -Wl,--hash-style=sysv",
        "-shared -fPIC -Wl,--hash-style=both -Wl,-soname,libc.so.6",
        "-no-pie -rdynamic",
    ]
    .map(|options| {
        let options: Vec<&str> = options.split(' ').collect();
        std::fs::read(gcc(place.path(), "program", source, &options)).unwrap()
    })
}

#[test]
fn spoiled_programs_are_read_or_refused() {
    let programs = programs();
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut taken = 0;
    for round in 0..6000 {
        let program = &programs[round % programs.len()];
        let other = &programs[dice.below(programs.len())];
        let bad = dice.spoil(program, other);
        taken += usize::from(elf(&bad));
    }
    // Neither are they all refused at once, nor does everything pass.
    assert!((500..5500).contains(&taken), "{taken}");
}

/// Every cut of the headers, and cuts all over: never more than the bytes that are there.
#[test]
fn cut_programs_are_truncated() {
    for program in programs() {
        for len in (0..program.len()).filter(|len| *len < 1024 || len % 61 == 0) {
            elf(&program[..len]);
        }
        for len in [0, 3, 10, 19, 63, 200] {
            assert!(!elf(&program[..len]), "{len}");
        }
    }
}

/// 65,535 headers over the same bytes, and a symbol table of names without an end: the
/// time must stay that of one pass. (A pass over 8 MiB takes milliseconds; the product
/// of both would take hours.)
#[test]
fn repeated_headers_cost_one_pass() {
    let [mut bytes, ..] = programs();
    let headers = bytes.len().next_multiple_of(8);
    bytes.resize(headers, 0);
    for kind in [1_u32, 4].iter().cycle().take(65_534) {
        // p_type, p_flags (all), p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&7_u32.to_le_bytes());
        for word in [0_u64, 0, 0, headers as u64, headers as u64, 8] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    bytes.resize(bytes.len() + (8 << 20), b'x');
    bytes[32..40].copy_from_slice(&(headers as u64).to_le_bytes());
    bytes[56..58].copy_from_slice(&65_534_u16.to_le_bytes());
    let start = std::time::Instant::now();
    elf(&bytes);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn spoiled_reports_are_shown_or_named() {
    let good = include_bytes!("transcripts/sample.jsonl");
    let other = br#"\u001b]},{"[[[[[["ownpool":18446744073709551615,-1,1e400,null,"","\ud800"}"#;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for _ in 0..6000 {
        report(
            &[
                &dice.spoil(good, other),
                &good[..],
                &dice.spoil(other, good),
            ]
            .concat(),
        );
    }
    let deep = "[".repeat(1 << 20);
    report(deep.as_bytes());
    report(format!("{{\"ownpool\":\"1\",\"x\":{deep}").as_bytes());
}

#[test]
fn spoiled_scripts_end() {
    let good = b"#!/usr/bin/env -S -i A=x PATH=/y python3 -u # end\n";
    let mut dice = Dice(0xd1b5_4a32_d192_ed03);
    for _ in 0..6000 {
        script(&dice.spoil(good, b"\\${}'\"#!-S-i--unset="));
    }
}
