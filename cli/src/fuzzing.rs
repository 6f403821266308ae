//! Bytes from strangers, put through everything that reads them.
//!
//! The three functions are what the fuzz targets call. The tests below call them with real
//! files that were cut, changed and spliced, from a fixed seed: the same thousands of cases
//! in every run. A panic ends them; so does work that does not end.

use crate::check::{binary::Binary, env_command, find_program};
use crate::elf::Image;
use crate::report::function_table::FunctionTable;
use crate::report::{each_line, record::Process, table};

/// An ELF file, as `check` reads programs and `report` reads modules.
pub fn elf(bytes: &[u8]) {
    if let Err(damage) = Binary::read(bytes) {
        assert!(!damage.to_string().is_empty());
    }
    let Ok(image) = Image::parse(bytes) else {
        return;
    };
    assert!(image.build_id().len() <= 128);
    image.section(".gnu_debuglink");
    let dynamic = image
        .dynamic()
        .and_then(|dynamic| image.dynamic_symbols(&dynamic));
    for symbols in [image.full_symbols(), dynamic].into_iter().flatten() {
        let module = FunctionTable::new(&symbols);
        for address in [0, 1, 0x1000, 0x1139, 0x2000, u64::MAX - 1, u64::MAX] {
            if let Some((_, start)) = module.function_at(address) {
                assert!(start <= address);
            }
        }
    }
}

/// A file of reports.
pub fn report(bytes: &[u8]) {
    let read = each_line(bytes, |number, line| {
        assert!(number > 0);
        match line.and_then(Process::parse) {
            Ok(process) => {
                let text = table::table(&process);
                assert!(
                    !text
                        .bytes()
                        .any(|byte| byte.is_ascii_control() && byte != b'\n'),
                    "{text:?}"
                );
                // What we write, we read again as the same.
                let json = process.json();
                assert_eq!(
                    Process::parse(json.as_bytes()).map(|again| again.json()),
                    Ok(json)
                );
            }
            Err(why) => assert!(!why.is_empty() && !why.contains('\n')),
        }
        true
    });
    assert!(read.is_ok());
}

/// The beginning of a script, env's argument.
pub fn script(bytes: &[u8]) {
    if let Some((interpreter, argument)) = find_program::shebang(bytes) {
        assert!(!interpreter.is_empty());
        let _ = env_command::parse(argument);
    }
    let _ = env_command::parse(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift64: the cases are the same in every run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, end: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % end.max(1) as u64) as usize
        }

        /// Cut, flip, overwrite with a telling value, or splice; one to eight times.
        fn spoil(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
            let mut bad = bytes.to_vec();
            for _ in 0..=self.below(8) {
                if bad.is_empty() {
                    break;
                }
                // Headers are where the decisions are: half of the hits go there.
                let at = if self.below(2) == 0 {
                    self.below(bad.len().min(1024))
                } else {
                    self.below(bad.len())
                };
                match self.below(6) {
                    0 => bad.truncate(at),
                    1 => bad[at] ^= 1 << self.below(8),
                    2 => bad[at] = self.below(256) as u8,
                    3 => {
                        let telling = [
                            0,
                            1,
                            0x7f,
                            0xff,
                            0xffff,
                            0x7fff_ffff,
                            0xffff_ffff,
                            u64::MAX,
                            1 << 63,
                        ];
                        let value = telling[self.below(telling.len())].to_le_bytes();
                        let len = [1, 2, 4, 8][self.below(4)].min(bad.len() - at);
                        bad[at..at + len].copy_from_slice(&value[..len]);
                    }
                    4 => {
                        let from = self.below(other.len());
                        let len = self.below(64).min(other.len() - from).min(bad.len() - at);
                        bad[at..at + len].copy_from_slice(&other[from..from + len]);
                    }
                    _ => {
                        let len = self.below(64).min(bad.len() - at);
                        bad.drain(at..at + len);
                    }
                }
            }
            bad
        }
    }

    /// Small real programs with all that is read: symbols, build-id, notes, debug link.
    fn programs() -> Vec<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("p.c");
        std::fs::write(
            &source,
            "#include <sys/random.h>\nint main(void) { char b[16]; return getrandom(b, 16, 0); }\n",
        )
        .unwrap();
        let kinds: [&[&str]; 4] = [
            &["-Wl,--build-id=sha1", "-Wl,-rpath,$ORIGIN/lib"],
            &["-s", "-Wl,--hash-style=sysv"],
            &[
                "-shared",
                "-fPIC",
                "-Wl,--hash-style=both",
                "-Wl,-soname,libc.so.6",
            ],
            &["-no-pie", "-rdynamic"],
        ];
        let built = kinds.map(|arguments| {
            let program = folder.path().join("p");
            let gcc = std::process::Command::new("gcc")
                .args(["-o"])
                .arg(&program)
                .arg(&source)
                .args(arguments)
                .output();
            assert!(gcc.as_ref().unwrap().status.success(), "{gcc:?}");
            std::fs::read(program).unwrap()
        });
        built.to_vec()
    }

    #[test]
    fn spoiled_programs_are_facts_or_damage() {
        let programs = programs();
        let mut dice = Dice(0x2545_f491_4f6c_dd1d);
        let mut taken = 0;
        for round in 0..6000 {
            let program = &programs[round % programs.len()];
            let other = &programs[dice.below(programs.len())];
            let bad = dice.spoil(program, other);
            elf(&bad);
            taken += usize::from(Binary::read(&bad).is_ok());
        }
        // Neither are they all refused at the door, nor does everything pass.
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
                assert!(Binary::read(&program[..len]).is_err(), "{len}");
            }
        }
    }

    /// 65,535 headers over the same bytes, and a symbol table of names without an end: the
    /// time must stay that of one pass. (A pass over 8 MiB takes milliseconds; the product
    /// of both would take hours.)
    #[test]
    fn repeated_headers_cost_one_pass() {
        let mut bytes = programs().swap_remove(0);
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
    fn spoiled_reports_are_lines_or_complaints() {
        let good = concat!(
            r#"{"ownpool":"0.1.0","backend":"avx512","pid":1,"program":"python3","mode":"auto","threads_moved":1,"#,
            r#""kernel":{"calls":128,"bytes":2048},"private":{"calls":99872,"bytes":1597952},"#,
            r#""would_move":{"threads":0,"calls":0,"bytes":0},"refills":526,"reseeds":526,"entries":{"getrandom":100000},"#,
            r#""fell_through":{"busy":0},"callers":[{"module":"/bin/p","build_id":"0a","offset":"0x1139","#,
            r#""entry":"getrandom","calls":1,"bytes":16,"largest":16,"threads":1,"moved":true}]}"#,
            "\n"
        );
        let other = r#"\u001b]},{"[[[[[["ownpool":18446744073709551615,-1,1e400,null,"","\ud800"}"#
            .repeat(4);
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for _ in 0..6000 {
            let lines = [
                dice.spoil(good.as_bytes(), other.as_bytes()),
                good.into(),
                dice.spoil(other.as_bytes(), good.as_bytes()),
            ];
            report(&lines.concat());
        }
        report("[".repeat(1 << 20).as_bytes());
        report(format!("{{\"ownpool\":\"1\",\"x\":{}", "[".repeat(1 << 20)).as_bytes());
    }

    #[test]
    fn spoiled_scripts_end() {
        let good = b"#!/usr/bin/env -S -i A=x PATH=/y python3 -u # end\n";
        let mut dice = Dice(0xd1b5_4a32_d192_ed03);
        for _ in 0..6000 {
            script(&dice.spoil(good, b"\\${}'\"#!-S-i--unset="));
        }
    }
}
