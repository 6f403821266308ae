//! What can be counted from outside: system calls, and the report.
//!
//! Settles: a heavy loop hardly enters the kernel, a light one enters it exactly
//! as without the library; every field of the report is exact, for one thread,
//! several, ended ones, and forked children; the report arrives when the standard
//! streams are gone, and goes nowhere that it should not.
use core::time::Duration;
use ownpool_tests::support;
use ownpool_tests::support::{Place, bare, preloaded, ran, reports, succeeds};
use serde_json::Value;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A directory with the compiled programs.
struct Draws {
    place: Place,
    draws: PathBuf,
}

impl Draws {
    fn new() -> Draws {
        let place = Place::new();
        let draws = place.compile("draws", &[]);
        Draws { place, draws }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.file(name)
    }

    /// The program under the library, reporting to a new file. A slow leak, so
    /// that the 129th call of 32 bytes' cost is over a burst of 4,096 however
    /// slow the machine is: it would take half a minute to leak one cost.
    fn draws(&self, arguments: &[&str]) -> Command {
        let mut command = preloaded(&self.draws);
        command
            .args(arguments)
            .env("OWNPOOL_STATS", self.path("report"))
            .env("OWNPOOL_RATE", "1");
        command
    }

    fn report(&self, command: &mut Command) -> Value {
        assert_eq!(succeeds(command), "");
        let mut all = reports(&self.path("report"));
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// The system calls of a program: number and first argument, in order.
    fn trace(&self, hooked: bool, program: &Path, arguments: &[&str]) -> Vec<(i64, i64)> {
        let tracer = self.place.compile("trace", &[]);
        let out = self.path("trace.out");
        let mut command = bare(&tracer);
        command.arg(&out).arg(program).args(arguments);
        if hooked {
            command
                .env("TRACED_PRELOAD", support::library())
                .env("HOOKED", "1")
                .env("OWNPOOL_RATE", "1");
        }
        succeeds(&mut command);
        calls_in(&out)
    }
}

/// What the tracer wrote: number and first argument of each system call.
fn calls_in(out: &Path) -> Vec<(i64, i64)> {
    std::fs::read_to_string(out)
        .unwrap()
        .lines()
        .map(|line| {
            let mut words = line.split(' ').skip(1).map(|word| word.parse().unwrap());
            (words.next().unwrap(), words.next().unwrap())
        })
        .collect()
}

/// A number at a path of members.
fn number(report: &Value, path: &str) -> u64 {
    report
        .pointer(path)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{path} in {report}"))
}

/// Numbers at several paths.
fn numbers(report: &Value, wanted: &[(&str, u64)]) {
    for (path, wanted) in wanted {
        assert_eq!(number(report, path), *wanted, "{path} in {report}");
    }
    let entries = report["entries"].as_object().expect("entries");
    let sum: u64 = entries.values().filter_map(Value::as_u64).sum();
    assert_eq!(
        sum,
        number(report, "/kernel/calls") + number(report, "/private/calls"),
        "{report}"
    );
}

fn getrandom_calls(trace: &[(i64, i64)]) -> usize {
    trace
        .iter()
        .filter(|(call, _)| *call == libc::SYS_getrandom)
        .count()
}

#[test]
fn a_hundred_thousand_draws_hardly_enter_the_kernel() {
    let place = Draws::new();
    let trace = place.trace(true, &place.draws, &["many", "100000"]);
    let calls = getrandom_calls(&trace);
    assert!((128..1500).contains(&calls), "{calls}");
    // The program itself has checked that all are different.
    let few = place.trace(false, &place.draws, &["many", "2000"]);
    assert!(getrandom_calls(&few) >= 2000, "the tracer sees them");
}

#[test]
fn python_draws_a_hundred_thousand_different_values() {
    let Some(python) = support::installed("python3") else {
        eprintln!("skipped: no python3");
        return;
    };
    let place = Draws::new();
    // The interpreter itself, not a launcher that stands in front of it.
    let python = succeeds(bare(&python).args(["-c", "import sys; print(sys.executable)"]));
    let python = Path::new(python.trim());
    // Two of 100,000 are equal by chance with 2^-95.
    let script = "import os; print(len({os.urandom(16) for _ in range(100000)}))";
    let trace = place.trace(true, python, &["-S", "-E", "-c", script]);
    let calls = getrandom_calls(&trace);
    assert!((128..1500).contains(&calls), "{calls}");
    let report = place.path("report");
    let mut command = preloaded(python);
    command
        .args(["-S", "-E", "-c", script])
        .env("OWNPOOL_STATS", &report);
    assert_eq!(succeeds(&mut command), "100000\n");
    let report = &reports(&report)[0];
    assert!(number(report, "/entries/getrandom") >= 100_000, "{report}");
    assert_eq!(number(report, "/threads_moved"), 1);
}

#[test]
fn a_light_program_makes_the_same_system_calls() {
    let place = Draws::new();
    let after_mark = |trace: Vec<(i64, i64)>| -> Vec<i64> {
        let mark = trace
            .iter()
            .position(|(call, fd)| *call == libc::SYS_close && *fd as i32 == -77)
            .expect("the mark");
        trace[mark..].iter().map(|(call, _)| *call).collect()
    };
    let alone = after_mark(place.trace(false, &place.draws, &["five"]));
    let with = after_mark(place.trace(true, &place.draws, &["five"]));
    assert!(
        alone
            .iter()
            .filter(|call| **call == libc::SYS_getrandom)
            .count()
            >= 16
    );
    assert_eq!(with, alone);
}

#[test]
fn one_thread_is_counted_exactly() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["many", "5000"]));
    let private = 5000 - 128;
    // 3,040 bytes a refill are 190 draws of 16.
    let refills = u64::div_ceil(private, 190);
    numbers(
        &report,
        &[
            ("/threads_moved", 1),
            ("/kernel/calls", 128),
            ("/kernel/bytes", 128 * 16),
            ("/private/calls", private),
            ("/private/bytes", private * 16),
            ("/would_move/threads", 0),
            ("/refills", refills),
            ("/reseeds", refills),
            ("/entries/getrandom", 5000),
            ("/fell_through/busy", 0),
            ("/fell_through/unseeded", 0),
        ],
    );
    assert_eq!(report["program"], "draws");
    assert_eq!(report["mode"], "auto");
    assert_eq!(report["ownpool"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_entry_is_counted_exactly() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["entries"]));
    let bytes = 701 * 16 + 307 * 17 + 211 * 18 + 103 * 4 + 11 * 19 + 13 * 300 + 7 * 110;
    let kernel_bytes = 128 * 16 + 3 * 16;
    numbers(
        &report,
        &[
            ("/entries/getrandom", 701 + 4),
            ("/entries/getentropy", 307),
            ("/entries/syscall", 211),
            ("/entries/arc4random", 103 + 11),
            ("/entries/read", 13 + 7),
            ("/entries/api", 0),
            ("/kernel/calls", 128 + 4),
            ("/kernel/bytes", kernel_bytes),
            ("/private/bytes", bytes + 3 * 16 - kernel_bytes),
            ("/fell_through/flags", 2),
            ("/fell_through/pointer", 2),
            ("/fell_through/not_urandom", 0),
        ],
    );
}

#[test]
fn lengths_beyond_anything_do_not_overflow_the_count() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["beyond"]));
    // The most that one request gives (MAX_RW_COUNT), three times.
    numbers(
        &report,
        &[
            ("/kernel/calls", 3),
            ("/kernel/bytes", 3 * 0x7fff_f000),
            ("/fell_through/pointer", 3),
        ],
    );
}

#[test]
fn entries_add_up_in_every_mode() {
    let place = Draws::new();
    let path = place.path("report");
    for mode in ["auto", "always", "vdso", "observe"] {
        for test in ["", "wipe", "novdso", "kat"] {
            let _ = std::fs::remove_file(&path);
            let mut command = place.draws(&["entries"]);
            command.env("OWNPOOL_MODE", mode).env("OWNPOOL_TEST", test);
            let report = place.report(&mut command);
            numbers(
                &report,
                &[
                    ("/entries/getrandom", 701 + 4),
                    ("/entries/getentropy", 307),
                    ("/entries/syscall", 211),
                    ("/entries/arc4random", 103 + 11),
                    ("/entries/read", 13 + 7),
                ],
            );
            assert_eq!(report["mode"], mode);
            let all = 705 + 307 + 211 + 114 + 20;
            let private = number(&report, "/private/calls");
            let wanted = match (mode, test) {
                (_, "kat") | ("observe", _) | ("vdso", "novdso" | "wipe") => 0,
                ("auto", _) => all - 132,
                // The four that only the kernel may judge; reads of urandom are
                // asked about first, and served all the same.
                ("always", _) => all - 4,
                // Where there is a vDSO getrandom; without one, the kernel answers.
                _ if private == 0 => 0,
                _ => all - 4,
            };
            assert_eq!(private, wanted, "{mode} {test}: {report}");
        }
    }
    let _ = std::fs::remove_file(&path);
    let mut command = place.draws(&["entries"]);
    assert_eq!(succeeds(command.env("OWNPOOL_MODE", "off")), "");
    assert!(!path.exists(), "mode off counts nothing");
}

#[test]
fn threads_are_added_up_whether_they_ended_or_not() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["threads"]));
    let all = 2 * 1000 + 2 * 2000 + 50;
    numbers(
        &report,
        &[
            ("/threads_moved", 4),
            ("/entries/getrandom", all),
            ("/kernel/calls", 4 * 128 + 50),
            ("/private/calls", all - 4 * 128 - 50),
            ("/private/bytes", 16 * (all - 4 * 128 - 50)),
            (
                "/refills",
                2 * u64::div_ceil(872, 190) + 2 * u64::div_ceil(1872, 190),
            ),
        ],
    );
}

#[test]
fn counts_start_anew_in_a_forked_child() {
    let place = Draws::new();
    assert_eq!(succeeds(&mut place.draws(&["fork"])), "");
    let both = reports(&place.path("report"));
    assert_eq!(both.len(), 2, "{both:?}");
    // The child ends first. It was moved before it was born, and is not moved again.
    numbers(
        &both[0],
        &[
            ("/threads_moved", 0),
            ("/kernel/calls", 0),
            ("/private/calls", 200),
            ("/private/bytes", 3200),
            ("/refills", 2),
        ],
    );
    numbers(
        &both[1],
        &[
            ("/threads_moved", 1),
            ("/kernel/calls", 128),
            ("/private/calls", 182),
            ("/entries/getrandom", 310),
        ],
    );
    assert_ne!(both[0]["pid"], both[1]["pid"]);
}

#[test]
fn observe_names_every_call_site_exactly() {
    let place = Draws::new();
    let mut command = place.draws(&["sites"]);
    command.env("OWNPOOL_MODE", "observe");
    let report = place.report(&mut command);
    let second: u64 = (0..300).map(|call| 20 + call % 40).sum();
    numbers(
        &report,
        &[
            ("/kernel/calls", 500),
            ("/kernel/bytes", 3200 + second),
            ("/private/calls", 0),
            ("/threads_moved", 0),
            ("/would_move/threads", 1),
            ("/would_move/calls", 500 - 128),
            ("/refills", 0),
        ],
    );
    let callers = report["callers"].as_array().unwrap();
    assert_eq!(callers.len(), 2, "{report}");
    // The heavier first.
    for (caller, (calls, bytes, largest)) in
        callers.iter().zip([(300, second, 59), (200, 3200, 16)])
    {
        assert_eq!(number(caller, "/calls"), calls, "{caller}");
        assert_eq!(number(caller, "/bytes"), bytes, "{caller}");
        assert_eq!(number(caller, "/largest"), largest, "{caller}");
        assert_eq!(number(caller, "/threads"), 1, "{caller}");
        assert_eq!(caller["entry"], "getrandom");
        assert_eq!(
            caller["module"],
            place.draws.canonicalize().unwrap().to_str().unwrap()
        );
    }
    assert_ne!(callers[0]["offset"], callers[1]["offset"]);
    // The offsets are what a symbol table counts in.
    let binary = std::fs::read(&place.draws).unwrap();
    let file = object::File::parse(&*binary).unwrap();
    for (caller, site) in callers.iter().zip(["second_site", "first_site"]) {
        let offset = caller["offset"].as_str().unwrap().trim_start_matches("0x");
        let offset = u64::from_str_radix(offset, 16).unwrap();
        let symbol = object::Object::symbols(&file)
            .find(|symbol| object::ObjectSymbol::name(symbol) == Ok(site))
            .expect("the site's function");
        let start = object::ObjectSymbol::address(&symbol);
        let end = start + object::ObjectSymbol::size(&symbol);
        assert!(
            (start..end).contains(&offset),
            "{offset:x} is not in {site}"
        );
    }
}

#[test]
fn the_serving_modes_name_the_program_too() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["many", "50000"]));
    let callers = report["callers"].as_array().unwrap();
    assert_eq!(callers.len(), 1, "{report}");
    assert_eq!(callers[0]["moved"], true);
    // All but what was drawn since the last refill.
    let calls = number(&callers[0], "/calls");
    assert!((50_000 - 190..=50_000).contains(&calls), "{report}");
}

#[test]
fn the_report_arrives_without_standard_streams() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["closed"]));
    numbers(&report, &[("/entries/getrandom", 200)]);
    let mode = place
        .path("report")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(
        mode & 0o133,
        0,
        "neither executable nor writable by others: {mode:o}"
    );
}

#[test]
fn reports_of_many_processes_are_appended_line_by_line() {
    let place = Draws::new();
    let mut children: Vec<_> = (0..8)
        .map(|_| place.draws(&["many", "300"]).spawn().unwrap())
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let all = reports(&place.path("report"));
    assert_eq!(all.len(), 8);
    for report in &all {
        numbers(report, &[("/entries/getrandom", 300)]);
    }
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let place = Draws::new();
    let target = place.path("target");
    std::fs::write(&target, "precious").unwrap();
    symlink(&target, place.path("report")).unwrap();
    assert_eq!(succeeds(&mut place.draws(&["many", "300"])), "");
    assert_eq!(std::fs::read_to_string(target).unwrap(), "precious");
    // Nor is a missing directory made, nor a directory written to; both in silence.
    for path in [place.path("no/report"), place.place.path().to_path_buf()] {
        let mut command = place.draws(&["many", "300"]);
        assert_eq!(succeeds(command.env("OWNPOOL_STATS", path)), "");
    }
}

#[test]
fn a_pipe_without_a_reader_does_not_hang_the_program() {
    let place = Draws::new();
    succeeds(bare(Path::new("/usr/bin/mkfifo")).arg(place.path("report")));
    assert_eq!(succeeds(&mut place.draws(&["many", "300"])), "");
}

/// A program with 300 places that ask: its report is longer than PIPE_BUF.
fn many_places(place: &Path) -> PathBuf {
    let draws = "getrandom(b, 16, 0);\n".repeat(300);
    let source =
        format!("#include <sys/random.h>\nint main(void) {{ char b[16];\n{draws}return 0; }}\n");
    support::gcc(place, "places", &source, &["-O1", "-w"])
}

/// Runs a program that reports to this standard error. One that hangs is killed and
/// fails the test.
fn ends_in_time(program: &Path, verbose: &str, stderr: OwnedFd) {
    let start = Instant::now();
    let mut command = preloaded(program);
    command.env("OWNPOOL_STATS", "stderr");
    command.env("OWNPOOL_VERBOSE", verbose);
    let mut child = command.stderr(stderr).spawn().unwrap();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0));
            return;
        }
        if start.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{} hangs at its end", program.display());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Fills what is behind a descriptor by single bytes, all but `free` of them. Returns how
/// many it takes when `free` is 0.
fn fill(fd: &OwnedFd, free: Option<usize>, holds: usize) -> usize {
    let fd = fd.as_raw_fd();
    // SAFETY: a flag of our own descriptor; one byte is read from a text that stays.
    unsafe {
        assert_eq!(libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK), 0);
        let mut filled = 0;
        while free.is_none_or(|free| filled + free < holds)
            && libc::write(fd, c"x".as_ptr().cast(), 1) == 1
        {
            filled += 1;
        }
        assert_eq!(libc::fcntl(fd, libc::F_SETFL, 0), 0);
        filled
    }
}

/// Makes something to read from and to write to.
type Make = fn() -> (OwnedFd, OwnedFd);

/// A pipe of this size.
fn pipe(size: i32) -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::io::pipe().unwrap();
    // SAFETY: a number about our own descriptor.
    let set = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, size) };
    assert_eq!(set, size);
    (reader.into(), writer.into())
}

fn socket() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    (reader.into(), writer.into())
}

fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    let (name, form) = (core::ptr::null_mut(), core::ptr::null());
    // SAFETY: two numbers are written; the descriptors are new, and ours.
    unsafe {
        let opened = libc::openpty(&raw mut master, &raw mut slave, name, form, form.cast());
        assert_eq!(opened, 0);
        for fd in [master, slave] {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}

#[test]
fn too_little_room_and_no_reader_do_not_hang_the_program() {
    let place = Draws::new();
    let long = many_places(place.place.path());
    let short = support::gcc(
        place.place.path(),
        "short",
        "#include <sys/random.h>\nint main(void) { char b[16]; return getrandom(b, 16, 0) != 16; }\n",
        &[],
    );
    // Room for nothing, for what a POLLOUT stands for, for a little more, for two lines.
    // A line at the start is no part of the promise for terminals.
    let cases: [(Make, &str, &[usize]); 4] = [
        (|| pipe(4096), "1", &[0, 4096]),
        (|| pipe(65536), "1", &[0, 4096, 5000, 8192, 16384, 65536]),
        (socket, "1", &[0, 500, 5000]),
        (
            terminal,
            "0",
            &[0, 1, 100, 300, 600, 900, 1500, 3000, 6000, 9000],
        ),
    ];
    for (make, verbose, rooms) in cases {
        let holds = fill(&make().1, None, 0);
        for &free in rooms {
            for program in [&long, &short] {
                let (reader, writer) = make();
                fill(&writer, Some(free), holds);
                ends_in_time(program, verbose, writer);
                drop(reader);
            }
        }
    }
}

#[test]
fn a_slow_reader_of_a_small_place_gets_the_whole_report() {
    let place = Draws::new();
    let long = many_places(place.place.path());
    let cases: [Make; 3] = [|| pipe(4096), socket, terminal];
    for make in cases {
        // The reader must run within the tenth of a second that the program waits in all:
        // on a machine that is busy beyond measure it may fail to do so, but not ten times.
        let whole = (0..10).any(|_| {
            let (reader, writer) = make();
            let mut reader = std::fs::File::from(reader);
            let printed = std::thread::spawn(move || {
                let mut printed = Vec::new();
                let mut piece = [0; 2048];
                // A terminal gives an error at its end (EIO).
                while let Ok(len @ 1..) = reader.read(&mut piece) {
                    printed.extend_from_slice(&piece[..len]);
                    std::thread::sleep(Duration::from_millis(1));
                }
                printed
            });
            ends_in_time(&long, "1", writer);
            let printed = String::from_utf8(printed.join().unwrap()).unwrap();
            let report = printed.lines().nth(1).unwrap_or_default();
            assert!(printed.starts_with("ownpool: "), "{printed}");
            serde_json::from_str::<Value>(report)
                .is_ok_and(|report| report["callers"].as_array().unwrap().len() > 100)
        });
        assert!(whole);
    }
}

/// The program opens a FIFO itself, without waiting; the report is longer than it holds.
#[test]
fn a_reader_of_a_small_fifo_gets_the_whole_report() {
    let place = Draws::new();
    let long = many_places(place.place.path());
    let path = place.path("report");
    succeeds(bare(Path::new("/usr/bin/mkfifo")).arg(&path));
    // Ten times, as above.
    let whole = (0..10).any(|_| {
        let fifo = path.clone();
        let reader = std::thread::spawn(move || {
            let mut printed = String::new();
            std::fs::File::open(fifo)
                .unwrap()
                .read_to_string(&mut printed)
                .unwrap();
            printed
        });
        // Held open for writing until the program has ended, and shrunk.
        let writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        // SAFETY: a number about our own descriptor.
        let set = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) };
        assert_eq!(set, 4096);
        let mut command = preloaded(&long);
        assert_eq!(succeeds(command.env("OWNPOOL_STATS", &path)), "");
        drop(writer);
        let printed = reader.join().unwrap();
        printed.len() > 8192 && serde_json::from_str::<Value>(&printed).is_ok()
    });
    assert!(whole);
}

/// The calls that write a report: those of ordinary lines, and of a long one to a file.
#[test]
fn a_report_is_one_poll_and_one_write() {
    let place = Draws::new();
    let long = many_places(place.place.path());
    let tracer = place.place.compile("trace", &[]);
    for (program, arguments) in [(&place.draws, &["many", "300"][..]), (&long, &[])] {
        for target in ["file", "stderr"] {
            let (out, printed) = (place.path("trace.out"), place.path("printed"));
            let mut command = bare(&tracer);
            command.arg(&out).arg(program).args(arguments);
            command
                .env("TRACED_PRELOAD", support::library())
                .env("HOOKED", "1")
                .env(
                    "OWNPOOL_STATS",
                    if target == "file" {
                        printed.as_os_str()
                    } else {
                        target.as_ref()
                    },
                )
                .stderr(std::fs::File::create(&printed).unwrap());
            assert!(command.status().unwrap().success());
            assert_eq!(reports(&printed).len(), 1);
            let calls = calls_in(&out);
            let at = calls
                .iter()
                .rposition(|(call, _)| *call == libc::SYS_poll)
                .expect("a poll");
            let around: Vec<i64> = calls[at..].iter().map(|(call, _)| *call).collect();
            let wanted = [
                libc::SYS_poll,
                libc::SYS_rt_sigprocmask,
                libc::SYS_write,
                libc::SYS_rt_sigprocmask,
            ];
            assert!(around.starts_with(&wanted), "{target}: {around:?}");
            let polls = calls.iter().filter(|(call, _)| *call == libc::SYS_poll);
            assert_eq!(polls.count(), 1, "{target}");
        }
    }
}

#[test]
fn standard_error_is_written_only_while_it_is_what_it_was() {
    let place = Draws::new();
    let mut command = place.draws(&["many", "300"]);
    let printed = ran(command.env("OWNPOOL_STATS", "stderr"));
    assert_eq!((printed.status, printed.stdout.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&printed.stderr).expect("one line");
    numbers(&report, &[("/entries/getrandom", 300)]);
    assert_eq!(printed.stderr.matches('\n').count(), 1);

    let data = place.path("data");
    let mut command = place.draws(&["datafile", data.to_str().unwrap()]);
    assert_eq!(succeeds(command.env("OWNPOOL_STATS", "stderr")), "");
    assert_eq!(std::fs::read_to_string(&data).unwrap(), "data");
    // Closed at the end, and closed from the start.
    let mut command = place.draws(&["closed"]);
    assert_eq!(succeeds(command.env("OWNPOOL_STATS", "stderr")), "");
    let mut shell = bare(Path::new("/bin/sh"));
    shell
        .args([
            "-c",
            "HOOKED=1 OWNPOOL_STATS=stderr LD_PRELOAD=\"$1\" exec \"$2\" many 300 2>&-",
            "sh",
        ])
        .arg(support::library())
        .arg(&place.draws);
    assert_eq!(succeeds(&mut shell), "");
}

/// A pipe whose reader is gone.
fn broken_pipe() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn a_line_that_cannot_be_written_does_not_end_the_program() {
    let place = Draws::new();
    // SIGPIPE would, and SIGXFSZ where files may not grow. Both lines that the
    // library writes: when it starts, and when the program ends.
    for (name, value) in [
        ("OWNPOOL_FOO", "1"),
        ("OWNPOOL_VERBOSE", "1"),
        ("OWNPOOL_STATS", "stderr"),
    ] {
        let mut command = place.draws(&["many", "300"]);
        let status = command.env(name, value).stderr(broken_pipe()).status();
        assert_eq!(status.unwrap().code(), Some(0), "{name}");
    }
    let mut shell = bare(Path::new("/bin/bash"));
    let script =
        "ulimit -f 0; HOOKED=1 OWNPOOL_STATS=\"$3\" LD_PRELOAD=\"$1\" exec \"$2\" many 300";
    shell.args(["-c", script, "bash"]).arg(support::library());
    shell.arg(&place.draws).arg(place.path("report"));
    assert_eq!(succeeds(&mut shell), "");
    // The program's own broken pipe ends it as ever: its mask is what it was.
    let mut command = place.draws(&["own_pipe"]);
    command.env("OWNPOOL_FOO", "1").stderr(broken_pipe());
    let ended = ran(command.env("OWNPOOL_VERBOSE", "1").stdout(broken_pipe()));
    assert_eq!(ended.status, -libc::SIGPIPE);
}

#[test]
fn no_report_after_other_endings_and_none_of_nothing() {
    let place = Draws::new();
    for (ending, status) in [
        ("_exit", 0),
        ("quick_exit", 0),
        ("exec", 0),
        ("kill", -libc::SIGKILL),
        ("abort", -libc::SIGABRT),
    ] {
        let ended = ran(&mut place.draws(&["lost", ending]));
        assert_eq!(
            (ended.status, ended.stderr.as_str()),
            (status, ""),
            "{ending}"
        );
        assert!(!place.path("report").exists(), "{ending}");
    }
    assert_eq!(succeeds(&mut place.draws(&["nothing"])), "");
    assert!(!place.path("report").exists());
    // The same command with something drawn does write one.
    numbers(
        &place.report(&mut place.draws(&["many", "1"])),
        &[("/kernel/calls", 1)],
    );
}
