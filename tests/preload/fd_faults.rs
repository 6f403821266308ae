//! Asking can fail: then the kernel answers, and the bytes are right all the same.
//!
//! A tracer gives errors in the place of the n-th fstat or ioctl of the library, once or
//! from then on, while `tests/c/confinement.c` reads by every length that takes another
//! path and judges every byte. Random bytes are told from others with odds below 2^-64 in
//! all.
use ownpool_tests::support::trace::{self, Call, Trace};
use ownpool_tests::support::{Place, number_after, preloaded_with};
use std::path::Path;

/// What the library asks with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Fstat,
    Ioctl,
}

impl Question {
    /// About a descriptor that the program opened; those of the start are others.
    fn is(self, call: &Call) -> bool {
        let number = match self {
            Question::Fstat => [libc::SYS_fstat, libc::SYS_newfstatat],
            Question::Ioctl => [libc::SYS_ioctl; 2],
        };
        call.by_library() && number.contains(&call.number) && (3..1000).contains(&call.args[0])
    }
}

/// Runs the reader, giving this error to the calls that `fails` picks.
fn run_with(program: &Path, errno: i32, mut fails: impl FnMut(&Call) -> bool) -> Trace {
    let mut command = preloaded_with(program, &[("OWNPOOL_MODE", "always")]);
    let answer = |call: &Call| fails(call).then_some(-i64::from(errno));
    let trace = trace::run(command.arg("heavy"), answer);
    let (well, printed) = (trace.succeeded(), &trace.stderr);
    let present = printed.starts_with("lives, hook present");
    assert!(well && present, "{errno}: {:x} {printed}", trace.status);
    trace
}

/// The same for those questions that `fails` picks by their number from 1 on.
fn run(program: &Path, question: Question, errno: i32, fails: impl Fn(u32) -> bool) -> Trace {
    let mut asked = 0;
    run_with(program, errno, |call| {
        asked += u32::from(question.is(call));
        question.is(call) && fails(asked)
    })
}

fn refused(trace: &Trace) -> usize {
    trace.calls.iter().filter(|call| call.refused).count()
}

fn asked(trace: &Trace, question: Question) -> usize {
    trace.calls.iter().filter(|call| question.is(call)).count()
}

fn served(trace: &Trace) -> u64 {
    number_after(&trace.stderr, "served")
}

/// Reads that reached the kernel.
fn kernel_reads(trace: &Trace) -> usize {
    let reads = |call: &&Call| call.number == libc::SYS_read && call.args[0] == 3;
    trace.calls.iter().filter(reads).count()
}

const ERRNOS: [i32; 9] = [
    libc::EPERM,
    libc::EINTR,
    libc::EIO,
    libc::EBADF,
    libc::ENOMEM,
    libc::EINVAL,
    libc::ENOTTY,
    libc::EOVERFLOW,
    libc::ENOSYS,
];

#[test]
fn an_fstat_that_fails_leaves_the_descriptor_to_the_kernel() {
    let place = Place::new();
    let program = place.compile("confinement", &["-ldl"]);
    let question = Question::Fstat;
    let whole = run(&program, question, 0, |_| false);
    // And a success without the call being made, as a filter may have it: nothing is written.
    for (turn, errno) in ERRNOS.into_iter().chain([0]).enumerate() {
        // The first question, one of the first few, one amid.
        let at = [1, 2, 3, 5, 40][turn % 5];
        let trace = run(&program, question, errno, |number| number == at);
        // No hint is left, so whatever follows is the kernel's.
        let counts = (refused(&trace), asked(&trace, question));
        assert_eq!(counts, (1, at as usize));
        assert!(served(&trace) < served(&whole), "{at}");
        let fewer = served(&whole) - served(&trace);
        let more = kernel_reads(&trace) - kernel_reads(&whole);
        assert_eq!(fewer, more as u64, "{at}: each read is answered once");
    }
}

/// Where the ioctl is not known, or not allowed, and fstat still finds urandom,
/// fstat alone is asked from then on, and no request is left to the kernel.
#[test]
fn a_host_without_the_ioctl_is_asked_by_fstat() {
    let place = Place::new();
    let program = place.compile("confinement", &["-ldl"]);
    let question = Question::Ioctl;
    let whole = run(&program, question, 0, |_| false);
    for (turn, errno) in ERRNOS.into_iter().enumerate() {
        if errno == libc::EBADF {
            continue; // no descriptor, or none that can be read
        }
        let from = [1, 2, 40][turn % 3];
        let trace = run(&program, question, errno, |number| number >= from);
        let counts = (refused(&trace), asked(&trace, question));
        assert_eq!(counts, (1, from as usize), "{errno}");
        assert_eq!(served(&whole), served(&trace), "{errno}");
        assert_eq!(kernel_reads(&trace), kernel_reads(&whole), "{errno}");
    }
}

/// Both questions fail at once.
#[test]
fn a_descriptor_that_cannot_be_asked_about_is_the_kernels() {
    let place = Place::new();
    let program = place.compile("confinement", &["-ldl"]);
    for errno in ERRNOS {
        let mut ioctls = 0;
        let trace = run_with(&program, errno, |call| {
            ioctls += u32::from(Question::Ioctl.is(call));
            ioctls >= 5 && (Question::Ioctl.is(call) || Question::Fstat.is(call))
        });
        // The ioctl, and the fstat that is asked about it: no hint is left then.
        let wanted = if errno == libc::EBADF { 1 } else { 2 };
        assert_eq!(refused(&trace), wanted, "{errno}");
        assert!(kernel_reads(&trace) > 300, "{errno}");
    }
}

#[test]
fn an_ioctl_that_finds_a_bad_pointer_leaves_that_request_to_the_kernel() {
    let place = Place::new();
    let program = place.compile("confinement", &["-ldl"]);
    let whole = run(&program, Question::Ioctl, 0, |_| false);
    let trace = run(&program, Question::Ioctl, libc::EFAULT, |at| at % 3 == 0);
    let refused = refused(&trace);
    assert!(refused > 10, "{refused}");
    assert_eq!(served(&whole) - served(&trace), refused as u64);
    assert_eq!(kernel_reads(&trace) - kernel_reads(&whole), refused);
}

/// /proc/self/status cannot be read: there may be a filter, so only fstat asks.
#[test]
fn without_the_status_file_only_fstat_asks() {
    let place = Place::new();
    let program = place.compile("confinement", &["-ldl"]);
    for (what, errno) in [
        (libc::SYS_openat, libc::ENOENT),
        (libc::SYS_openat, libc::EMFILE),
        (libc::SYS_openat, libc::EACCES),
        (libc::SYS_read, libc::EIO),
        (libc::SYS_read, 0),
    ] {
        let mut looked = false;
        let trace = run_with(&program, errno, |call| {
            let status = call.by_library() && call.path.as_deref() == Some("/proc/self/status");
            looked |= status;
            match what {
                libc::SYS_openat => status,
                // The first read of ours behind that open.
                _ => looked && call.by_library() && call.number == what,
            }
        });
        assert!(looked && refused(&trace) > 0);
        assert!(served(&trace) > 500, "{}", trace.stderr);
        assert_eq!(asked(&trace, Question::Ioctl), 0, "{what} {errno}");
    }
}
