//! Real programs that read urandom: sizes, no repeats, and every byte in the report.
//!
//! A program that this machine lacks is named and left out; coreutils and a C
//! compiler are taken for granted. 16-byte blocks of what was read are all different:
//! among 2^22 random ones two are equal with odds below 2^-84.
use crate::draws::number;
use ownpool_tests::support::{
    Place, bare, gcc, installed, preloaded_with, reports, succeed, trace,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory, and settings that report into it.
struct Programs {
    place: Place,
}

impl Programs {
    fn new() -> Programs {
        Programs {
            place: Place::new(),
        }
    }

    fn report(&self) -> PathBuf {
        self.place.file("report")
    }

    fn command(&self, program: &str, mode: &str) -> Command {
        let mut command = preloaded_with(program, &[("OWNPOOL_MODE", mode)]);
        command.env("OWNPOOL_STATS", self.report());
        // A rate at which nothing drains within a test, so that counts are exact.
        command.env("OWNPOOL_RATE", "1");
        command.current_dir(self.place.path());
        command
    }

    /// Runs it and gives its output and the reports of all its processes.
    fn run_all(&self, command: &mut Command) -> (Vec<u8>, Vec<Value>) {
        let _ = fs::remove_file(self.report());
        let output = succeed(command).stdout;
        (output, reports(&self.report()))
    }

    /// The same, with the one report of a process of this name.
    fn run(&self, command: &mut Command, name: &str) -> (Vec<u8>, Value) {
        let (output, all) = self.run_all(command);
        let mut named = all.iter().filter(|report| report["program"] == name);
        match (named.next(), named.next()) {
            (Some(report), None) => (output, report.clone()),
            _ => panic!("{command:?}: {all:?}"),
        }
    }

    /// dd from urandom to the file `out`.
    fn dd(&self, mode: &str, size: &str, count: u32) -> Command {
        let mut dd = self.command("dd", mode);
        dd.args(["if=/dev/urandom", "of=out", "status=none"]);
        dd.args([format!("bs={size}"), format!("count={count}")]);
        dd
    }

    /// What dd wrote, which must be random.
    fn assert_out_is_random(&self, len: usize) {
        let out = fs::read(self.place.file("out")).expect("the output");
        assert_eq!(out.len(), len);
        assert_random(&out);
    }
}

/// Every 16-byte block at a multiple of 64 is different from every other.
fn assert_random(bytes: &[u8]) {
    let mut blocks: Vec<u128> = bytes
        .chunks_exact(64)
        .map(|chunk| u128::from_le_bytes(chunk[..16].try_into().expect("sixteen")))
        .collect();
    let count = blocks.len();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), count, "blocks repeat");
    assert!(blocks.first() != Some(&0), "a block of zeros");
}

fn all_bytes(report: &Value) -> u64 {
    number(report, "/kernel/bytes") + number(report, "/private/bytes")
}

/// All bytes are counted, and those over the allowance were answered privately.
fn assert_counts(report: &Value, bytes: u64, calls: u64, private_calls: u64) {
    assert_eq!(all_bytes(report), bytes, "{report}");
    assert_eq!(number(report, "/entries/read"), calls, "{report}");
    assert_eq!(number(report, "/private/calls"), private_calls, "{report}");
}

/// What `observe` would have moved: threads, calls, bytes.
fn would_move(report: &Value) -> [u64; 3] {
    ["threads", "calls", "bytes"].map(|what| number(report, &format!("/would_move/{what}")))
}

#[test]
fn dd_in_bulk() {
    let bench = Programs::new();
    for (mode, private) in [("auto", 64), ("always", 64), ("vdso", 64), ("observe", 0)] {
        let (_, report) = bench.run(&mut bench.dd(mode, "1M", 64), "dd");
        assert_counts(&report, 64 << 20, 64, private);
        let observed = [1, 64, 64 << 20];
        let wanted = if mode == "observe" { observed } else { [0; 3] };
        assert_eq!(would_move(&report), wanted, "{mode}: {report}");
        bench.assert_out_is_random(64 << 20);
    }
    let (_, all) = bench.run_all(&mut bench.dd("off", "1M", 1));
    assert!(all.is_empty());
}

/// dd reads standard input, where dup2 has put the device.
#[test]
fn dd_in_small_blocks_is_judged_call_by_call() {
    let bench = Programs::new();
    // A burst of 4,096 bytes holds 128 calls of at most 32.
    for (mode, private) in [("auto", 5000 - 128), ("always", 5000), ("vdso", 5000)] {
        let (_, report) = bench.run(&mut bench.dd(mode, "16", 5000), "dd");
        assert_counts(&report, 80_000, 5000, private);
        bench.assert_out_is_random(80_000);
    }
    // What would move is what does.
    let (_, report) = bench.run(&mut bench.dd("observe", "16", 5000), "dd");
    assert_counts(&report, 80_000, 5000, 0);
    let heavy = 5000 - 128;
    assert_eq!(would_move(&report), [1, heavy, heavy * 16]);
}

#[test]
fn head_gives_what_was_asked_for_and_counts_it() {
    let bench = Programs::new();
    for size in [1u64, 16, 4096, 5000, 1_000_003, 10 << 20] {
        let mut head = bench.command("head", "auto");
        head.args(["-c", &size.to_string(), "/dev/urandom"]);
        let (out, report) = bench.run(&mut head, "head");
        assert_eq!(out.len() as u64, size);
        assert_random(&out);
        assert_eq!(all_bytes(&report), size, "{report}");
        let private = number(&report, "/private/bytes");
        assert!(size <= 1 << 20 || private > size / 2, "{report}");
    }
}

#[test]
fn pipes_of_coreutils_go_on_as_ever() {
    let bench = Programs::new();
    let sh = |script: &str| {
        let mut sh = bench.command("sh", "always");
        succeed(sh.args(["-c", script])).stdout
    };
    let letters = sh("tr -dc a-z < /dev/urandom | head -c 200000");
    assert!(letters.len() == 200_000 && letters.iter().all(u8::is_ascii_lowercase));
    assert_random(&letters);
    let hex = sh("od -An -v -tx1 -N 100000 /dev/urandom | tr -d ' \\n'");
    assert_eq!(hex.len(), 200_000);
    assert_random(&hex);
    let shuffled = String::from_utf8(sh("seq 100000 | shuf --random-source=/dev/urandom"));
    let lines = shuffled.expect("text");
    let lines = lines.lines().map(|line| line.parse().expect("a number"));
    let mut lines: Vec<u32> = lines.collect();
    assert!(!lines.is_sorted());
    lines.sort_unstable();
    assert!(lines.into_iter().eq(1..=100_000));
    // Standard input is urandom, then a file, then a pipe, in one shell.
    let swapped = sh(
        "printf file > f; exec 0</dev/urandom; head -c 9000 | wc -c; \
                      exec 0<f; cat; echo; exec 0</dev/urandom; head -c 16 | wc -c; echo pipe | cat",
    );
    let swapped = String::from_utf8_lossy(&swapped);
    let words: Vec<&str> = swapped.split_whitespace().collect();
    assert_eq!(words, ["9000", "file", "16", "pipe"]);
    // tr dies of SIGPIPE and reports nothing; head lives.
    let heads = reports(&bench.report());
    let is_whole =
        |report: &Value| report["program"] == "head" && number(report, "/private/bytes") == 9000;
    assert!(heads.iter().any(is_whole), "{heads:?}");
}

/// Whether a program is installed; prints a line if not.
fn is_there(name: &str) -> bool {
    let there = installed(name).is_some();
    if !there {
        println!("{name} is not installed");
    }
    there
}

#[test]
fn perl_reads_unbuffered() {
    if !is_there("perl") {
        return;
    }
    let bench = Programs::new();
    let perl = r#"open(my $u, "<:raw", "/dev/urandom") or die; my $b;
        for (1..3000) { sysread($u, $b, 32) == 32 or die; print $b } close $u;
        open(my $f, "<", $0) or die; sysread($f, $b, 5) == 5 or die; print STDERR $b"#;
    fs::write(bench.place.file("script"), format!("#perl\n{perl}")).expect("a script");
    let mut command = bench.command("perl", "auto");
    command.arg("script");
    let (out, report) = bench.run(&mut command, "perl");
    assert_eq!(out.len(), 96_000);
    assert_random(&out);
    // perl may draw a seed of its own from the device, in one read or two.
    let all = number(&report, "/entries/read");
    assert!((3000..=3002).contains(&all), "{report}");
    assert_eq!(number(&report, "/private/calls"), all - 128, "{report}");
}

#[test]
fn python_reads_unbuffered() {
    if !is_there("python3") {
        return;
    }
    let bench = Programs::new();
    fs::write(bench.place.file("script"), "#perl\n").expect("a script");
    let python = "import os, sys\n\
        f = open('/dev/urandom', 'rb', buffering=0)\n\
        out = [f.read(32) for _ in range(3000)]\n\
        a = bytearray(100); n = os.readv(f.fileno(), [a]); assert n == 100\n\
        out.append(bytes(a[:64])); out.append(os.pread(f.fileno(), 64, 5))\n\
        n = f.fileno(); f.close(); g = open(sys.argv[1], 'rb', buffering=0)\n\
        assert g.fileno() == n and g.read(5) == b'#perl'\n\
        sys.stdout.buffer.write(b''.join(out))";
    let mut command = bench.command("python3", "always");
    command.args(["-c", python, "script"]);
    let (out, all) = bench.run_all(&mut command);
    assert_eq!(out.len(), 96_128);
    assert_random(&out);
    let is_whole = |report: &Value| {
        number(report, "/entries/read") == 3002 && number(report, "/private/bytes") >= 96_164
    };
    assert!(all.iter().any(is_whole), "{all:?}");
}

#[test]
fn cpp_streams_and_random_device() {
    let bench = Programs::new();
    let Some(compiler) = installed("g++") else {
        println!("g++ is not installed");
        return;
    };
    let source = bench.place.file("source.cc");
    fs::write(
        &source,
        "#include <fstream>\n#include <iostream>\n#include <random>\n\
         int main() {\n\
         std::random_device device(\"/dev/urandom\");\n\
         for (int i = 0; i < 40000; i++) { unsigned word = device(); std::cout.write((char *)&word, 4); }\n\
         std::ifstream stream(\"/dev/urandom\", std::ios::binary);\n\
         static char bytes[1000000];\n\
         if (!stream.read(bytes, sizeof bytes)) return 1;\n\
         std::cout.write(bytes, sizeof bytes);\n}\n",
    )
    .expect("a source");
    let program = bench.place.file("streams");
    let mut compile = Command::new(compiler);
    succeed(compile.args(["-O1", "-o"]).args([&program, &source]));
    let mut command = bench.command(program.to_str().expect("text"), "auto");
    let (out, report) = bench.run(&mut command, "streams");
    assert_eq!(out.len(), 1_160_000);
    assert_random(&out);
    // random_device reads 4 bytes a call, by read(2), also where it opened with fopen.
    assert!(
        number(&report, "/private/calls") >= 40_000 - 128,
        "{report}"
    );
    assert!(number(&report, "/private/bytes") > 1_000_000, "{report}");
}

/// Makers of long-lived keys stay with the kernel.
#[test]
fn key_makers_are_left_alone() {
    let bench = Programs::new();
    let cases: [(&str, &[&str]); 3] = [
        ("openssl", &["rand", "-hex", "100000"]),
        (
            "ssh-keygen",
            &["-q", "-t", "ed25519", "-N", "", "-f", "key"],
        ),
        ("gpg", &["--homedir", ".", "--gen-random", "1", "100000"]),
    ];
    for (program, arguments) in cases {
        if installed(program).is_none() {
            println!("{program} is not installed");
            continue;
        }
        let mut command = bench.command(program, "always");
        command.env("OWNPOOL_VERBOSE", "1");
        let output = command.args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{program}");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            printed.contains("ownpool: ") && printed.contains(" mode=off "),
            "{printed}"
        );
        assert!(reports(&bench.report()).is_empty(), "{program}");
    }
    // With the list of names taken away they are programs as others: the test can fail.
    if installed("openssl").is_some() {
        let mut command = bench.command("openssl", "always");
        command
            .env("OWNPOOL_SKIP", "")
            .args(["rand", "-hex", "100000"]);
        let (_, report) = bench.run(&mut command, "openssl");
        assert!(number(&report, "/private/bytes") > 0, "{report}");
    }
}

/// One open, one small read and one close make the same system calls as without us.
#[test]
fn a_light_reader_makes_the_same_calls() {
    let bench = Programs::new();
    let source = "#include <fcntl.h>\n#include <unistd.h>\n\
        int main(int c, char **v) { char b[16]; (void)v; if (c > 1) close(0);\n\
        int f = open(\"/dev/urandom\", O_RDONLY); return read(f, b, 16) != 16 || close(f); }\n";
    let program = gcc(bench.place.path(), "light", source, &[]);
    let head = installed("head").expect("coreutils");
    let cases: [(&Path, &[&str]); 3] = [
        (&program, &[]),
        (&program, &["0"]),
        (&head, &["-c", "16", "/dev/urandom"]),
    ];
    for (program, arguments) in cases {
        let calls = |command: &mut Command| {
            let trace = trace::run(command.args(arguments), |_| None);
            assert!(trace.succeeded(), "{program:?}");
            let start = trace
                .calls
                .iter()
                .position(|call| call.path.as_deref() == Some("/dev/urandom"))
                .expect("it opens the device");
            let ours = trace.calls[..start].iter().any(trace::Call::by_library);
            let after: Vec<(i64, Option<i64>)> = trace.calls[start..]
                .iter()
                .map(|call| (call.number, call.result))
                .collect();
            (ours, after)
        };
        let (absent, plain) = calls(&mut bare(program));
        let (present, with_us) = calls(&mut preloaded_with(program, &[("OWNPOOL_MODE", "auto")]));
        // At its start the library asks about the standard descriptors: it was there.
        assert!(!absent && present, "{program:?}");
        assert!(plain.len() >= 4);
        assert_eq!(plain, with_us, "{program:?}");
    }
}

/// /dev/random is never served, though its name and its ioctl are like urandom's.
#[test]
fn the_other_random_device_is_the_kernels() {
    let bench = Programs::new();
    for mode in ["auto", "always", "vdso"] {
        for size in ["16", "2000", "8192"] {
            let mut dd = bench.dd(mode, size, 600);
            let (_, all) = bench.run_all(dd.arg("if=/dev/random"));
            assert!(
                all.iter()
                    .all(|report| number(report, "/private/calls") == 0),
                "{all:?}"
            );
            if !is_there("perl") {
                continue;
            }
            // perl keeps the number that open gave. It may draw 4 bytes of urandom for a
            // seed of its own, twice.
            let mut perl = bench.command("perl", mode);
            let script = format!(
                "open(my $r, '<', '/dev/random') or die; my $b; for (1..600) {{ sysread($r, $b, {size}) == {size} or die }}"
            );
            let (_, all) = bench.run_all(perl.args(["-e", &script]));
            assert!(
                all.iter()
                    .all(|report| number(report, "/private/bytes") <= 8),
                "{all:?}"
            );
        }
    }
    if !is_there("perl") {
        return;
    }
    // The same on urandom shows that the report would tell.
    let mut perl = bench.command("perl", "always");
    let script = "open(my $r, '<', '/dev/urandom') or die; my $b; for (1..600) { sysread($r, $b, 16) == 16 or die }";
    let (_, report) = bench.run(perl.args(["-e", script]), "perl");
    assert!(number(&report, "/private/calls") >= 600, "{report}");
}
