//! `tests/c/draws.c` in a directory of its own, and what its report counts.

use ownpool_tests::support::{Place, bare, library, preloaded, reports, succeeds};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Draws {
    pub(crate) place: Place,
    pub(crate) draws: PathBuf,
}

impl Draws {
    pub(crate) fn new() -> Draws {
        let place = Place::new();
        let draws = place.compile("draws", &[]);
        Draws { place, draws }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.file(name)
    }

    /// The program under the library, reporting to a new file. A slow leak, so
    /// that the 129th call of 32 bytes' cost is over a burst of 4,096 however
    /// slow the machine is: it would take half a minute to leak one cost.
    pub(crate) fn draws(&self, arguments: &[&str]) -> Command {
        let mut command = preloaded(&self.draws);
        command.args(arguments).env("OWNPOOL_RATE", "1");
        command.env("OWNPOOL_STATS", self.path("report"));
        command
    }

    /// The one report of a program that must end well and silently.
    pub(crate) fn report(&self, command: &mut Command) -> Value {
        assert_eq!(succeeds(command), "");
        let mut all = reports(&self.path("report"));
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// A program under `tests/c/trace.c`, which writes its system calls to `trace.out`.
    pub(crate) fn tracer(&self, hooked: bool, program: &Path, arguments: &[&str]) -> Command {
        let mut command = bare(self.place.compile("trace", &[]));
        command.arg(self.path("trace.out")).arg(program);
        command.args(arguments);
        if hooked {
            command.env("TRACED_PRELOAD", library()).env("HOOKED", "1");
        }
        command
    }

    /// What the tracer wrote: number and first argument of each system call, in order.
    pub(crate) fn traced(&self) -> Vec<(i64, i64)> {
        let text = std::fs::read_to_string(self.path("trace.out")).unwrap();
        let call = |line: &str| {
            let mut words = line.split(' ').skip(1).map(|word| word.parse().unwrap());
            (words.next().unwrap(), words.next().unwrap())
        };
        text.lines().map(call).collect()
    }
}

/// A number at a path of members.
pub(crate) fn number(report: &Value, path: &str) -> u64 {
    let number = report.pointer(path).and_then(Value::as_u64);
    number.unwrap_or_else(|| panic!("{path} in {report}"))
}

/// Each entry's requests add up to those served and those that fell through.
pub(crate) fn adds_up(report: &Value) {
    let entries = report["entries"].as_object().expect("entries");
    let sum: u64 = entries.values().filter_map(Value::as_u64).sum();
    let all = number(report, "/kernel/calls") + number(report, "/private/calls");
    assert_eq!(sum, all, "{report}");
}

/// `counted!(report; private.calls = 3, refills = 1)`: the report has these numbers, and
/// adds up.
macro_rules! counted {
    ($report:expr; $($($member:ident).+ = $wanted:expr),+ $(,)?) => {{
        let report = &$report;
        $(
            let path = concat!($("/", stringify!($member)),+);
            assert_eq!(crate::draws::number(report, path), $wanted, "{path} in {report}");
        )+
        crate::draws::adds_up(report);
    }};
}
pub(crate) use counted;
