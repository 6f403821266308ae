//! What the figures were taken on.
//!
//! Everything is read from files and calls that need no privilege; what cannot
//! be had is "unknown". Must never: name the host or its owner. A report is made
//! to be passed on.

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
    /// The instruction sets that decide over a keystream's speed, and over the old designs'.
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
            line.split_once(':')
                .map(|(_, value)| value.trim().to_owned())
        };
        let flags = field("flags").unwrap_or_default();
        let has = |flag: &str| flags.split(' ').any(|word| word == flag);
        let firmware: Vec<String> = ["sys_vendor", "product_name"]
            .iter()
            .map(|file| text(&format!("/sys/class/dmi/id/{file}")).trim().to_owned())
            .filter(|words| !words.is_empty())
            .collect();
        let load = text("/proc/loadavg")
            .split(' ')
            .next()
            .and_then(|word| word.parse().ok());
        Machine {
            computer: if firmware.is_empty() {
                unknown()
            } else {
                firmware.join(" ")
            },
            cpu: field("model name").unwrap_or_else(unknown),
            family_model: format!(
                "family {}, model {}",
                field("cpu family").unwrap_or_else(unknown),
                field("model\t").unwrap_or_else(unknown)
            ),
            extensions: ["aes", "vaes", "avx2", "avx512f", "sha_ni", "rdrand"]
                .into_iter()
                .filter(|flag| has(flag))
                .map(String::from)
                .collect(),
            virtual_machine: has("hypervisor"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!("Linux {}", text("/proc/sys/kernel/osrelease").trim()),
            libc: libc(),
            load,
        }
    }

    /// In one sentence.
    pub fn sentence(&self) -> String {
        let load = self.load.map_or_else(unknown, |load| load.to_string());
        format!(
            "{}, {}; {} cores{}; {}; {}; load average {load} before the run",
            self.cpu,
            self.family_model,
            self.cores,
            if self.virtual_machine {
                ", virtual"
            } else {
                ""
            },
            self.extensions.join(", "),
            self.kernel,
        )
    }

    /// Lines for the head of a table.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let kind = if self.virtual_machine {
            "virtual, "
        } else {
            ""
        };
        let cores = if self.cores == 1 { "core" } else { "cores" };
        vec![
            (
                "machine",
                format!("{} ({kind}{} {cores})", self.computer, self.cores),
            ),
            (
                "CPU",
                format!(
                    "{}, {} ({})",
                    self.cpu,
                    self.family_model,
                    self.extensions.join(", ")
                ),
            ),
            ("kernel", self.kernel.clone()),
            ("libc", self.libc.clone()),
            (
                "load",
                self.load
                    .map_or_else(unknown, |load| format!("{load} before the start")),
            ),
        ]
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
    let found =
        unsafe { Library::this().get::<Version>(c"gnu_get_libc_version".to_bytes_with_nul()) };
    let Ok(version) = found else { return unknown() };
    // SAFETY: it takes nothing and gives a static string.
    let text = unsafe { CStr::from_ptr(version()) };
    format!("glibc {}", text.to_string_lossy())
}
