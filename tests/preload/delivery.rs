//! How a report arrives.
//!
//! Settles: it comes in whole lines, by one poll and one write, also when the standard
//! streams are gone; it goes nowhere that it should not; and whatever is behind the
//! descriptor, the program neither hangs nor ends by it.

use crate::draws::{Draws, counted};
use core::time::Duration;
use ownpool_tests::support::{self, bare, preloaded, ran, reports, succeeds};
use serde_json::Value;
use std::fs::{File, OpenOptions, read_to_string};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[test]
fn the_report_arrives_without_standard_streams() {
    let place = Draws::new();
    let report = place.report(&mut place.draws(&["closed"]));
    counted!(report; entries.getrandom = 200);
    let metadata = place.path("report").metadata().unwrap();
    let mode = metadata.permissions().mode() & 0o133;
    assert_eq!(mode, 0, "neither executable nor writable by others");
}

#[test]
fn reports_of_many_processes_are_appended_line_by_line() {
    let place = Draws::new();
    let start = |_| place.draws(&["many", "300"]).spawn().unwrap();
    let mut children: Vec<_> = (0..8).map(start).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let all = reports(&place.path("report"));
    assert_eq!(all.len(), 8);
    for report in &all {
        counted!(report; entries.getrandom = 300);
    }
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let place = Draws::new();
    let target = place.path("target");
    std::fs::write(&target, "precious").unwrap();
    symlink(&target, place.path("report")).unwrap();
    assert_eq!(succeeds(&mut place.draws(&["many", "300"])), "");
    assert_eq!(read_to_string(target).unwrap(), "precious");
    // Nor is a missing directory made, nor a directory written to; both in silence.
    for path in [place.path("no/report"), place.place.path().to_path_buf()] {
        let mut command = place.draws(&["many", "300"]);
        assert_eq!(succeeds(command.env("OWNPOOL_STATS", path)), "");
    }
}

#[test]
fn a_pipe_without_a_reader_does_not_hang_the_program() {
    let place = Draws::new();
    succeeds(bare("/usr/bin/mkfifo").arg(place.path("report")));
    assert_eq!(succeeds(&mut place.draws(&["many", "300"])), "");
}

/// A program with this many places that ask: of 300, its report is longer than PIPE_BUF.
fn places_that_ask(place: &Draws, count: usize) -> PathBuf {
    let draws = "if (getrandom(b, 16, 0) != 16) return 1;\n".repeat(count);
    let source =
        format!("#include <sys/random.h>\nint main(void) {{ char b[16];\n{draws}return 0; }}\n");
    let name = format!("places{count}");
    support::gcc(place.place.path(), &name, &source, &["-O1"])
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
/// many it takes when `free` is `None`.
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

/// Sets how much a pipe holds.
fn set_size(pipe: &impl AsRawFd, size: i32) {
    // SAFETY: a number about our own descriptor.
    let set = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, size) };
    assert_eq!(set, size);
}

fn pipe(size: i32) -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::io::pipe().unwrap();
    set_size(&writer, size);
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
    let programs = [300, 1].map(|count| places_that_ask(&place, count));
    // Room for nothing, for what a POLLOUT stands for, for a little more, for two lines.
    // A line at the start is no part of the promise for terminals.
    let at_terminal = [0, 1, 100, 300, 600, 900, 1500, 3000, 6000, 9000];
    let cases: [(Make, &str, &[usize]); 4] = [
        (|| pipe(4096), "1", &[0, 4096]),
        (|| pipe(65536), "1", &[0, 4096, 5000, 8192, 16384, 65536]),
        (socket, "1", &[0, 500, 5000]),
        (terminal, "0", &at_terminal),
    ];
    for (make, verbose, rooms) in cases {
        let holds = fill(&make().1, None, 0);
        for &free in rooms {
            for program in &programs {
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
    let long = places_that_ask(&place, 300);
    let cases: [Make; 3] = [|| pipe(4096), socket, terminal];
    for make in cases {
        // The reader must run within the tenth of a second that the program waits in all:
        // on a machine that is busy beyond measure it may fail to do so, but not ten times.
        let whole = (0..10).any(|_| {
            let (reader, writer) = make();
            let mut reader = File::from(reader);
            let reads = std::thread::spawn(move || {
                let (mut all, mut piece) = (Vec::new(), [0; 2048]);
                // A terminal gives an error at its end (EIO).
                while let Ok(len @ 1..) = reader.read(&mut piece) {
                    all.extend_from_slice(&piece[..len]);
                    std::thread::sleep(Duration::from_millis(1));
                }
                String::from_utf8(all).unwrap()
            });
            ends_in_time(&long, "1", writer);
            let printed = reads.join().unwrap();
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
    let long = places_that_ask(&place, 300);
    let path = place.path("report");
    succeeds(bare("/usr/bin/mkfifo").arg(&path));
    // Ten times, as above.
    let whole = (0..10).any(|_| {
        let fifo = path.clone();
        let reader = std::thread::spawn(move || read_to_string(fifo).unwrap());
        // Held open for writing until the program has ended, and shrunk.
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        set_size(&writer, 4096);
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
    let long = places_that_ask(&place, 300);
    for (program, arguments) in [(&place.draws, &["many", "300"][..]), (&long, &[])] {
        for to_file in [true, false] {
            let report = place.path("written");
            let mut command = place.tracer(true, program, arguments);
            command.env("OWNPOOL_STATS", "stderr");
            if to_file {
                command.env("OWNPOOL_STATS", &report);
            }
            let status = command.stderr(File::create(&report).unwrap()).status();
            assert!(status.unwrap().success());
            assert_eq!(reports(&report).len(), 1);
            let calls: Vec<i64> = place.traced().iter().map(|(call, _)| *call).collect();
            let polls = calls.iter().filter(|call| **call == libc::SYS_poll);
            assert_eq!(polls.count(), 1, "{to_file}");
            let poll = calls.iter().position(|call| *call == libc::SYS_poll);
            let around = &calls[poll.expect("a poll")..];
            let masks = libc::SYS_rt_sigprocmask;
            let wanted = [libc::SYS_poll, masks, libc::SYS_write, masks];
            assert!(around.starts_with(&wanted), "{to_file}: {around:?}");
        }
    }
}

#[test]
fn standard_error_is_written_only_while_it_is_what_it_was() {
    let place = Draws::new();
    let to_stderr = |arguments: &[&str]| {
        let mut command = place.draws(arguments);
        command.env("OWNPOOL_STATS", "stderr");
        command
    };
    let done = ran(&mut to_stderr(&["many", "300"]));
    assert_eq!((done.status, done.stdout.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&done.stderr).expect("one line");
    counted!(report; entries.getrandom = 300);
    assert_eq!(done.stderr.matches('\n').count(), 1);

    let data = place.path("data");
    let mut command = to_stderr(&["datafile", data.to_str().unwrap()]);
    assert_eq!(succeeds(&mut command), "");
    assert_eq!(read_to_string(&data).unwrap(), "data");
    // Closed at the end, and closed from the start.
    assert_eq!(succeeds(&mut to_stderr(&["closed"])), "");
    let script = "HOOKED=1 OWNPOOL_STATS=stderr LD_PRELOAD=\"$1\" exec \"$2\" many 300 2>&-";
    let mut shell = bare("/bin/sh");
    shell.args(["-c", script, "sh"]).arg(support::library());
    assert_eq!(succeeds(shell.arg(&place.draws)), "");
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
    let mut shell = bare("/bin/bash");
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
        let silent = (status, String::new());
        assert_eq!((ended.status, ended.stderr), silent, "{ending}");
        assert!(!place.path("report").exists(), "{ending}");
    }
    assert_eq!(succeeds(&mut place.draws(&["nothing"])), "");
    assert!(!place.path("report").exists());
    // The same command with something drawn does write one.
    let report = place.report(&mut place.draws(&["many", "1"]));
    counted!(report; kernel.calls = 1);
}
