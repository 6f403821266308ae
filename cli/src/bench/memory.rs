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
use ownpool_measure::image;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Barrier;
use std::thread::Builder;

/// How many threads share the cost of what is made once.
const THREADS: usize = 200;

/// What the process holds, or what one thread adds, in bytes. Negative where the
/// process gave memory back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Held {
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
    pub(super) light: Held,
    /// What moving adds to a light thread.
    pub(super) moved: Held,
}

/// Measures this process.
///
/// # Errors
/// What could not be read, or that a call was answered short.
pub(super) fn measure(functions: Functions, library: &Path) -> Result<Memory, String> {
    let tls = image::sizes(library)?.tls;
    let step = Barrier::new(THREADS + 1);
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
    let readings = std::thread::scope(|scope| {
        let start = |_| {
            Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, body)
        };
        let threads: Result<Vec<_>, _> = (0..THREADS).map(start).collect();
        let threads = threads.unwrap_or_else(|error| {
            // Those that were started wait at a barrier that is never complete.
            crate::output::complain(format_args!(
                "bench: cannot start {THREADS} threads: {error}"
            ));
            std::process::exit(i32::from(crate::output::OUR_FAILURE))
        });
        let readings = [(); 3].map(|()| {
            step.wait();
            // The first reading pays for its own buffers.
            let _ = Held::now();
            let reading = Held::now();
            step.wait();
            reading
        });
        let answered = threads
            .into_iter()
            .all(|thread| thread.join().unwrap_or(false));
        readings.map(|reading| reading.filter(|_| answered))
    });
    let [Some(parked), Some(light), Some(moved)] = readings else {
        return Err("a call was answered short, or /proc/self cannot be read".into());
    };
    Ok(Memory {
        threads: THREADS,
        tls,
        light: light.a_thread_since(parked),
        moved: moved.a_thread_since(light),
    })
}

impl Memory {
    /// Lines for the terminal.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |name: &str, held: &Held| {
            format!(
                "{name:<14} {:>8.0} {:>10.0} {:>8.0}",
                held.resident, held.mapped, held.heap
            )
        };
        let mut lines = vec![
            format!("memory, bytes per thread ({} threads)", self.threads),
            format!("static TLS     {:>8}", self.tls),
            format!(
                "{:<14} {:>8} {:>10} {:>8}",
                "", "resident", "mapped", "heap"
            ),
            line("a light call", &self.light),
            line("being moved", &self.moved),
        ];
        if self.moved.mapped < 1.0 {
            lines.push(String::from("no thread was moved"));
        }
        lines
    }
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

impl Held {
    /// What was added since, divided by the threads.
    fn a_thread_since(self, before: Held) -> Held {
        let each = |before: f64, after: f64| (after - before) / THREADS as f64;
        Held {
            resident: each(before.resident, self.resident),
            mapped: each(before.mapped, self.mapped),
            heap: each(before.heap, self.heap),
        }
    }

    /// What the process holds now.
    fn now() -> Option<Held> {
        let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
        let resident = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
        let resident: f64 = resident.trim().trim_end_matches(" kB").parse().ok()?;
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let (mut mapped, mut heap) = (0.0, 0.0);
        for line in maps.lines() {
            let (low, high) = line.split(' ').next()?.split_once('-')?;
            let address = |digits| u64::from_str_radix(digits, 16).ok();
            let size = address(high)?.saturating_sub(address(low)?) as f64;
            mapped += size;
            if line.ends_with("[heap]") {
                heap += size;
            }
        }
        Some(Held {
            resident: resident * 1024.0,
            mapped,
            heap,
        })
    }
}
