//! Every system call that the library adds, predicted and compared; and each of them
//! failing, one at a time.
//!
//! The model below is the library's own arithmetic written down once more: bytes left in a
//! thread's buffer, when a seed is drawn, what a fork wipes. Its list must equal the trace,
//! call for call. Then every call of that list is refused in turn (ENOSYS, EAGAIN, and a
//! getrandom that gives 16 of 32 bytes, as its result tells): the program must go on with right
//! results and strong, different bytes, which it checks itself (`tests/c/kernel_calls.c`).
use ownpool_tests::support::trace::{self, Call, Trace};
use ownpool_tests::support::{Place, preloaded, preloaded_with, ran};
use std::path::{Path, PathBuf};

/// Which kind of page and seed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// MAP_DROPPABLE and the vDSO's getrandom.
    Best,
    /// MADV_WIPEONFORK, and so the system call.
    Wipe,
    /// The system call, in whatever page there is.
    NoVdso,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Best, Kind::Wipe, Kind::NoVdso];

    fn switch(self) -> &'static str {
        match self {
            Kind::Best => "",
            Kind::Wipe => "wipe",
            Kind::NoVdso => "novdso",
        }
    }
}

/// Whether this kernel has the vDSO's getrandom, and with it MAP_DROPPABLE: as the library
/// itself reports.
fn has_vdso(program: &Path) -> bool {
    let mut command = preloaded_with(program, &[("OWNPOOL_VERBOSE", "1")]);
    let printed = ran(&mut command).stderr;
    assert!(printed.contains("vdso)"), "{printed}");
    !printed.contains("no vdso")
}

/// One thread as the model sees it.
#[derive(Clone, Default)]
struct Thread {
    moved: bool,
    /// Seeded by the present epoch.
    seeded: bool,
    available: usize,
    /// The vDSO's state in the page has its key.
    keyed: bool,
    level: usize,
}

struct Model<'a> {
    kind: Kind,
    vdso: bool,
    auto: bool,
    parts: &'a [&'a str],
    calls: Vec<String>,
}

const YIELD: usize = 3 * 1024 - 32;

/// What the constructor asks: FIPS mode, or, where there is no such file, whether /proc/sys is
/// really there; and the standard descriptors.
fn at_start() -> Vec<String> {
    let fips = "/proc/sys/crypto/fips_enabled";
    let mut calls = vec![format!("open {fips}")];
    if !Path::new(fips).exists() {
        calls.push("open /proc/sys/kernel/osrelease".into());
    }
    calls.extend(["read".into(), "close".into()]);
    calls.extend((0..3).map(|fd| format!("fstat {fd}")));
    calls
}

impl Model<'_> {
    fn call(&mut self, call: &str) {
        self.calls.push(call.to_owned());
    }

    fn run(&mut self, mut thread: Thread, mut at: usize) {
        while let Some(part) = self.parts.get(at) {
            self.call(&format!("part {at}"));
            at += 1;
            match *part {
                "fork" => {
                    let mut child = thread.clone();
                    (child.seeded, child.available, child.keyed) = (false, 0, false);
                    self.run(child, at);
                }
                "reseed" => (thread.seeded, thread.keyed) = (false, false),
                "thread" => return self.run(Thread::default(), at),
                draws => {
                    let (len, times) = draws.split_once(['x', 'h']).expect("draws");
                    for _ in 0..times.parse().expect("a number") {
                        self.draw(&mut thread, len.parse().expect("a length"));
                    }
                }
            }
        }
    }

    fn draw(&mut self, thread: &mut Thread, len: usize) {
        // The fast path: enough in the buffer, and of this epoch or else the kernel's.
        if thread.moved && len < 1024 && len <= thread.available {
            thread.available -= len;
            if !thread.seeded {
                thread.available = 0;
                self.call(&format!("program getrandom {len}"));
            }
            return;
        }
        if !thread.moved {
            thread.level += len.max(32);
            if self.auto && len <= 4096 && thread.level <= 4096 {
                return self.call(&format!("program getrandom {len}"));
            }
            self.move_here(thread);
        }
        if !thread.seeded {
            self.seed(thread);
            (thread.seeded, thread.available) = (true, YIELD);
        }
        let strides = len - len % 1024;
        if strides > 0 {
            if thread.available < 32 {
                self.refill(thread);
            }
            thread.available -= 32;
            if strides >= 16 << 10 {
                self.seed(thread);
            }
        }
        let mut rest = len - strides;
        while rest > 0 {
            if thread.available == 0 {
                self.refill(thread);
            }
            let now = rest.min(thread.available);
            thread.available -= now;
            rest -= now;
        }
    }

    fn move_here(&mut self, thread: &mut Thread) {
        thread.moved = true;
        self.call("mmap");
        if !self.vdso || self.kind == Kind::Wipe {
            for advice in [0x6e6f, libc::MADV_WIPEONFORK, libc::MADV_DONTDUMP] {
                self.call(&format!("madvise {advice}"));
            }
        }
    }

    fn refill(&mut self, thread: &mut Thread) {
        self.seed(thread);
        thread.available = YIELD;
    }

    fn seed(&mut self, thread: &mut Thread) {
        if !self.vdso || self.kind != Kind::Best {
            self.call("getrandom 32 nonblocking");
        } else if !core::mem::replace(&mut thread.keyed, true) {
            self.call("vdso getrandom 32");
        }
    }
}

/// A call as the model writes it; `None` for the program's own that are not draws.
fn written(call: &Call) -> Option<String> {
    let [first, second, third, ..] = call.args;
    let name = match call.number {
        libc::SYS_close if (first as i64) <= -1000 => {
            return Some(format!("part {}", -1000 - first as i64));
        }
        libc::SYS_getrandom if call.by_library() && third == 1 => {
            format!("getrandom {second} nonblocking")
        }
        libc::SYS_getrandom if call.by_vdso() => format!("vdso getrandom {second}"),
        // glibc's malloc wants eight bytes for itself, by an instruction of libc.
        libc::SYS_getrandom if second == 8 && third == 1 => return None,
        libc::SYS_getrandom => return Some(format!("program getrandom {second}")),
        _ if !call.by_library() => return None,
        // Which of the two goes by the libc: the one that its own fstat is.
        libc::SYS_fstat | libc::SYS_newfstatat => format!("fstat {first}"),
        libc::SYS_mmap => "mmap".to_owned(),
        libc::SYS_madvise => format!("madvise {third}"),
        libc::SYS_openat => format!("open {}", call.path.as_deref().unwrap_or("?")),
        libc::SYS_read => "read".to_owned(),
        libc::SYS_close => "close".to_owned(),
        other => format!("system call {other}"),
    };
    Some(name)
}

struct Calls {
    place: Place,
    program: PathBuf,
    vdso: bool,
}

impl Calls {
    fn new() -> Calls {
        let place = Place::new();
        let program = place.compile("kernel_calls", &["-O2"]);
        let vdso = has_vdso(&program);
        Calls {
            place,
            program,
            vdso,
        }
    }

    fn trace(
        &self,
        kind: Kind,
        mode: &str,
        parts: &[&str],
        answer: impl FnMut(&Call) -> Option<i64>,
    ) -> Trace {
        let mut command = preloaded(&self.program);
        command.args(parts).current_dir(self.place.path());
        command.env("OWNPOOL_MODE", mode).env("OWNPOOL_RATE", "1");
        trace::run(command.env("OWNPOOL_TEST", kind.switch()), answer)
    }

    fn predicted(&self, kind: Kind, mode: &str, parts: &[&str]) -> Vec<String> {
        let mut model = Model {
            kind,
            vdso: self.vdso,
            auto: mode == "auto",
            parts,
            calls: at_start(),
        };
        model.run(Thread::default(), 0);
        model.calls
    }

    /// The trace of these parts equals the model's. The kernel renews its own generator
    /// once a minute, and every state of the vDSO's then draws once more: so a second look.
    fn compare(&self, kind: Kind, mode: &str, parts: &[&str]) {
        let predicted = self.predicted(kind, mode, parts);
        for look in 0..2 {
            let trace = self.trace(kind, mode, parts, |_| None);
            assert!(trace.succeeded(), "{kind:?} {parts:?}: {}", trace.stderr);
            assert!(trace.stdout.starts_with("private "), "{}", trace.stdout);
            let real: Vec<String> = trace.calls.iter().filter_map(written).collect();
            if look == 1 || real == predicted {
                assert_eq!(real, predicted, "{kind:?} {mode} {parts:?}");
                return;
            }
        }
    }
}

const PARTS: &[&str] = &[
    "16x3", "256x20", "2048x2", "8192x1", "20000x1", "reseed", "16x2", "fork", "16x3", "1100x3",
    "256h15", "thread", "16x3", "1000x4",
];

#[test]
fn the_trace_equals_the_model() {
    let bench = Calls::new();
    for kind in Kind::ALL {
        bench.compare(kind, "always", PARTS);
        // Light callers make the call that they asked for and no other: 127 keys' worth.
        bench.compare(kind, "auto", &["16x128"]);
        for parts in [
            &["16x200", "16x200", "fork", "16x200"][..],
            &["4096x1", "4097x1", "16x3", "thread", "16x3", "5000x2"],
            &["256h16", "256h2", "20000x3", "reseed", "20000x1", "16x2"],
        ] {
            bench.compare(kind, "auto", parts);
        }
    }
}

#[test]
fn the_model_can_be_wrong() {
    let bench = Calls::new();
    let real = bench.trace(Kind::NoVdso, "always", &["1000x4"], |_| None);
    let real: Vec<String> = real.calls.iter().filter_map(written).collect();
    let predicted = |kind, mode, parts: &[&str]| bench.predicted(kind, mode, parts);
    assert_eq!(real, predicted(Kind::NoVdso, "always", &["1000x4"]));
    assert_ne!(real, predicted(Kind::NoVdso, "always", &["1000x3"]));
    assert_ne!(real, predicted(Kind::NoVdso, "auto", &["1000x4"]));
    assert_ne!(real, predicted(Kind::Wipe, "always", &["1000x5", "1000x3"]));
}

/// Every call that the library makes, or the vDSO for it, fails in turn.
fn each_call_fails(kind: Kind) {
    let bench = Calls::new();
    let ours = |call: &Call| call.by_library() || call.by_vdso();
    let whole = bench.trace(kind, "always", PARTS, |_| None);
    assert!(whole.succeeded(), "{}", whole.stderr);
    let count = whole.calls.iter().filter(|call| ours(call)).count();
    assert!(count >= 8, "{count} calls");
    // A lie for getrandom alone: half of the bytes, and none written.
    const SHORT: i64 = 16;
    for failure in [-i64::from(libc::ENOSYS), -i64::from(libc::EAGAIN), SHORT] {
        let mut refused = 0;
        for nth in 0..count {
            let mut seen = 0;
            let mut which = String::new();
            let trace = bench.trace(kind, "always", PARTS, |call| {
                if !ours(call) {
                    return None;
                }
                seen += 1;
                let lie = failure == SHORT && call.number != libc::SYS_getrandom;
                if seen - 1 != nth || lie {
                    return None;
                }
                which = format!("{call:?}");
                Some(failure)
            });
            assert!(
                trace.succeeded(),
                "{kind:?}, call {nth} gives {failure}: {which}: status {:#x}: {}",
                trace.status,
                trace.stderr
            );
            assert!(trace.stdout.starts_with("private "), "{}", trace.stdout);
            refused += trace.calls.iter().filter(|call| call.refused).count();
        }
        let draws = |call: &&Call| ours(call) && call.number == libc::SYS_getrandom;
        let expected = match failure {
            SHORT => whole.calls.iter().filter(draws).count(),
            _ => count,
        };
        assert!(refused >= expected - 1, "{refused} of {expected}");
    }
}

#[test]
fn each_call_may_fail() {
    each_call_fails(Kind::Best);
}

#[test]
fn each_call_may_fail_in_pages_that_are_wiped() {
    each_call_fails(Kind::Wipe);
}

#[test]
fn each_call_may_fail_without_the_vdso() {
    each_call_fails(Kind::NoVdso);
}
