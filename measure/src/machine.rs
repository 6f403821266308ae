//! What the figures were taken on.
//!
//! Everything is read from files and calls that need no privilege; what cannot
//! be had is "unknown". Must never: name the host or its owner. A report is made
//! to be passed on.

use crate::symbols;
use core::ffi::{CStr, c_char};
use libloading::os::unix::Library;
use serde::{Deserialize, Serialize};

/// The machine, the kernel and the libc under a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Maker and model, as the firmware has them.
    pub computer: String,
    /// The processor, by its own name.
    pub cpu: String,
    /// Family and model, by number: several processors share a name.
    pub family_model: String,
    /// The instruction sets that decide a keystream's speed, and that of the old designs.
    pub extensions: Vec<String>,
    /// Whether a hypervisor is below.
    pub virtual_machine: bool,
    /// Cores that this process may use.
    pub cores: usize,
    /// Its release.
    pub kernel: String,
    /// Its name and version.
    pub libc: String,
    /// Runnable threads, averaged over the last minute: above 1, something else was at work.
    pub load: Option<f64>,
}

impl Machine {
    /// This one.
    pub fn look() -> Machine {
        let cpuinfo = text("/proc/cpuinfo");
        let field = |name: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let known = |name: &str| field(name).unwrap_or_else(unknown);
        let flags = field("flags").unwrap_or_default();
        let has = |flag: &&str| flags.split(' ').any(|word| word == *flag);
        let extensions = ["aes", "vaes", "avx2", "avx512f", "sha_ni", "rdrand"];
        let firmware = ["sys_vendor", "product_name"]
            .map(|file| text(&format!("/sys/class/dmi/id/{file}")))
            .join(" ");
        let load = text("/proc/loadavg");
        Machine {
            computer: match firmware.split_whitespace().collect::<Vec<_>>().join(" ") {
                words if words.is_empty() => unknown(),
                words => words,
            },
            cpu: known("model name"),
            family_model: format!("family {}, model {}", known("cpu family"), known("model\t")),
            extensions: extensions
                .into_iter()
                .filter(has)
                .map(String::from)
                .collect(),
            virtual_machine: has(&"hypervisor"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!("Linux {}", text("/proc/sys/kernel/osrelease").trim()),
            libc: libc(),
            load: load.split(' ').next().and_then(|word| word.parse().ok()),
        }
    }

    /// In one sentence.
    pub fn sentence(&self) -> String {
        let kind = if self.virtual_machine {
            ", virtual"
        } else {
            ""
        };
        format!(
            "{}, {}; {} cores{kind}; {}; {}; load average {} before the run",
            self.cpu,
            self.family_model,
            self.cores,
            self.extensions.join(", "),
            self.kernel,
            self.load()
        )
    }

    /// Lines for the head of a table: name and words.
    pub fn lines(&self) -> [(&'static str, String); 5] {
        let kind = if self.virtual_machine {
            "virtual, "
        } else {
            ""
        };
        let cores = if self.cores == 1 { "core" } else { "cores" };
        let (computer, cpu, family_model) = (&self.computer, &self.cpu, &self.family_model);
        let extensions = self.extensions.join(", ");
        [
            (
                "machine",
                format!("{computer} ({kind}{} {cores})", self.cores),
            ),
            ("CPU", format!("{cpu}, {family_model} ({extensions})")),
            ("kernel", self.kernel.clone()),
            ("libc", self.libc.clone()),
            ("load", format!("{} before the start", self.load())),
        ]
    }

    fn load(&self) -> String {
        self.load.map_or_else(unknown, |load| load.to_string())
    }
}

fn unknown() -> String {
    String::from("unknown")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The libc in force, which need not be the one that the command was built with.
fn libc() -> String {
    type Version = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: the type is that of gnu_get_libc_version(3).
    let found: Option<Version> =
        unsafe { symbols::find(&Library::this(), c"gnu_get_libc_version") };
    let Some(version) = found else {
        return unknown();
    };
    // SAFETY: it takes nothing and gives a static string.
    let text = unsafe { CStr::from_ptr(version()) };
    format!("glibc {}", text.to_string_lossy())
}
