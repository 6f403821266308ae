//! What the library costs a thread in memory: a light one, and a moved one.
//!
//! Many threads are parked, then each makes one light call, then each becomes
//! heavy; between these steps the kernel is asked what the process holds. What
//! the steps add, divided by the threads, is the cost. TLS does not show in such
//! a difference (it is there from each thread's start), so its size is read from
//! the library's own program headers. Promises: nothing but the library's calls
//! happens in the threads between two readings; stacks, allocator arenas and
//! the reader's own buffers are touched before the first.

use super::contenders::Functions;
use core::hint::black_box;
use object::Endianness;
use object::elf::{FileHeader64, PT_TLS};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use serde::{Deserialize, Serialize};
use std::sync::Barrier;

/// How many threads share the cost of what is made once.
const THREADS: usize = 200;

/// What one thread adds, in bytes. Negative where the process gave memory back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Pages in memory (Rss of /proc/self/smaps_rollup).
    pub(super) resident: f64,
    /// Address space (/proc/self/maps).
    pub(super) mapped: f64,
    /// The part of it that is the heap.
    pub(super) heap: f64,
}

/// The memory report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) threads: usize,
    /// Bytes of static TLS that the library has in every thread.
    pub(super) tls: u64,
    pub(super) light: Cost,
    /// What moving adds to a light thread.
    pub(super) moved: Cost,
}

#[derive(Clone, Copy)]
struct Held {
    resident: f64,
    mapped: f64,
    heap: f64,
}

/// Measures this process.
///
/// # Errors
/// What could not be read, or which call came short.
pub(super) fn run(functions: Functions, library: &str) -> Result<Memory, String> {
    let file = std::fs::read(library).map_err(|error| format!("{library}: {error}"))?;
    let tls = tls(&file).ok_or_else(|| format!("{library}: not an ELF file of this machine"))?;
    drop(file);
    let step = Barrier::new(THREADS + 1);
    let readings = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let body = || {
                warm_up();
                step.wait();
                step.wait();
                let light = call(functions, 16);
                step.wait();
                step.wait();
                // 64 KiB in small requests: over any BURST that is in force by default.
                let heavy = (0..1024).all(|_| call(functions, 64));
                step.wait();
                step.wait();
                light && heavy
            };
            threads.push(
                std::thread::Builder::new()
                    .stack_size(256 << 10)
                    .spawn_scoped(scope, body)
                    .map_err(|error| {
                        // The others wait for a rendezvous that cannot take place.
                        crate::output::complain(format_args!(
                            "bench: cannot start {THREADS} threads: {error}"
                        ));
                        std::process::exit(i32::from(crate::output::OUR_FAILURE))
                    }),
            );
        }
        let mut readings = Vec::new();
        for _ in 0..3 {
            step.wait();
            // The first reading pays for its own buffers.
            let _ = held();
            readings.push(held());
            step.wait();
        }
        let good = threads
            .into_iter()
            .flatten()
            .all(|thread| thread.join().unwrap_or(false));
        if good {
            readings.into_iter().collect::<Option<Vec<Held>>>()
        } else {
            None
        }
    });
    let readings = readings.ok_or("a call came short, or /proc/self cannot be read")?;
    match readings.as_slice() {
        &[parked, light, moved] => Ok(Memory {
            threads: THREADS,
            tls,
            light: cost(parked, light),
            moved: cost(light, moved),
        }),
        _ => Err(String::from("a reading is missing")),
    }
}

/// Lines for the terminal.
pub(super) fn lines(memory: &Memory) -> Vec<String> {
    let line = |name: &str, cost: &Cost| {
        format!(
            "{name:<14} {:>8.0} {:>10.0} {:>8.0}",
            cost.resident, cost.mapped, cost.heap
        )
    };
    let mut lines = vec![
        format!("memory, bytes per thread ({} threads)", memory.threads),
        format!("static TLS     {:>8}", memory.tls),
        format!(
            "{:<14} {:>8} {:>10} {:>8}",
            "", "resident", "mapped", "heap"
        ),
        line("a light call", &memory.light),
        line("being moved", &memory.moved),
    ];
    if memory.moved.mapped < 1.0 {
        lines.push(String::from("no thread was moved"));
    }
    lines
}

/// The memory size of the thread-local segment, 0 without one.
fn tls(file: &[u8]) -> Option<u64> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let tls = segments
        .iter()
        .find(|segment| segment.p_type(endian) == PT_TLS);
    Some(tls.map_or(0, |segment| segment.p_memsz(endian)))
}

fn call(functions: Functions, len: usize) -> bool {
    let mut dest = [0u8; 64];
    // SAFETY: the array is writable for 64 bytes, and no caller asks for more.
    unsafe { (functions.getrandom)(dest.as_mut_ptr().cast(), len.min(dest.len()), 0) > 0 }
}

/// Touches this thread's stack and its allocator's arena.
fn warm_up() {
    black_box([0u8; 64 << 10]);
    drop(black_box(vec![0u8; 100]));
}

fn cost(before: Held, after: Held) -> Cost {
    let each = |before: f64, after: f64| (after - before) / THREADS as f64;
    Cost {
        resident: each(before.resident, after.resident),
        mapped: each(before.mapped, after.mapped),
        heap: each(before.heap, after.heap),
    }
}

/// What the process holds now, in bytes.
fn held() -> Option<Held> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let resident = line
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse::<f64>()
        .ok()?
        * 1024.0;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let (mut mapped, mut heap) = (0.0, 0.0);
    for line in maps.lines() {
        let (low, high) = line.split(' ').next()?.split_once('-')?;
        let size = u64::from_str_radix(high, 16)
            .ok()?
            .saturating_sub(u64::from_str_radix(low, 16).ok()?);
        mapped += size as f64;
        if line.ends_with("[heap]") {
            heap += size as f64;
        }
    }
    Some(Held {
        resident,
        mapped,
        heap,
    })
}
