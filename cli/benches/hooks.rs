//! What it costs to stand in front of a function.
//!
//! The same loop over getrandom(16) runs in child processes, each started with
//! another preload: none, an empty hook as one written in C, one made with the
//! `redhook` crate, and the library in several modes. Behind the hooks stands
//! once a getrandom that does nothing, so that nanoseconds can be seen, and once
//! the kernel. Promises: every child shows which files answer in front; children
//! take turns, and the figures are medians. Run by `cargo test --benches` it goes
//! through all of it with a moment each.

use core::ffi::{CStr, c_uint, c_void};
use core::hint::black_box;
use ownpool_measure::artifacts;
use ownpool_measure::samples::median;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;

/// What the loop asks for: a UUID's worth.
const LEN: usize = 16;

/// Calls before the clock starts; the library has then moved a thread that it moves.
const WARM_UP: u64 = 20_000;

/// A way to be hooked: name, hooks in front to back, and the library's settings.
struct Way<'a> {
    name: &'static str,
    hooks: Vec<&'a Path>,
    settings: &'a [(&'a str, &'a str)],
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(calls) = arguments
        .iter()
        .skip_while(|word| *word != "--child")
        .nth(1)
    {
        return child(calls.parse().unwrap_or(1));
    }
    // cargo bench says so; cargo test says nothing.
    let full = arguments.iter().any(|word| word == "--bench");
    if let Err(why) = parent(full) {
        eprintln!("hooks: {why}");
        std::process::exit(1);
    }
}

/// Times the loop, and tells the file that answers first and ns per call.
fn child(calls: u64) {
    // SAFETY: the name is a C string; dlsym only looks it up.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"getrandom".as_ptr()) };
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr writes to `info` only, which is writable and zeroed.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    if address.is_null() || found == 0 {
        return;
    }
    // SAFETY: filled in by dladdr; its name is a C string that lives as long as its object.
    let file = unsafe { CStr::from_ptr(info.assume_init().dli_fname) };
    // SAFETY: whoever answers to this name has this type.
    let getrandom = unsafe { core::mem::transmute::<*mut c_void, Getrandom>(address) };
    let getrandom = black_box(getrandom);
    let mut dest = [0u8; LEN];
    let mut whole = true;
    let mut run = |calls: u64| {
        let start = Instant::now();
        for _ in 0..calls {
            // SAFETY: the array is writable for its length.
            let got = unsafe { getrandom(dest.as_mut_ptr().cast(), LEN, 0) };
            whole &= usize::try_from(got) == Ok(LEN);
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    };
    run(WARM_UP);
    let ns = run(calls);
    black_box(dest);
    if whole {
        println!("{} {ns}", file.to_string_lossy());
    }
}

fn parent(full: bool) -> Result<(), String> {
    let library = artifacts::library()?;
    // Hooks are compared at the speed that they would be shipped with.
    let profile: &[&str] = if full {
        &["--release", "-p", "ownpool-cli", "--examples"]
    } else {
        &["-p", "ownpool-cli", "--examples"]
    };
    let [floor, empty, redhook] = ["floor_getrandom", "empty_hook", "redhook_getrandom"]
        .map(|name| artifacts::shared(name, profile));
    let (floor, empty, redhook) = (floor?, empty?, redhook?);
    let library = library.as_path();
    let off = &[("OWNPOOL_MODE", "off")];
    // A bucket that the loop cannot fill: every call stays light.
    let light = &[("OWNPOOL_MODE", "auto"), ("OWNPOOL_BURST", "1024G")];
    let ways = [
        Way {
            name: "bare",
            hooks: vec![],
            settings: off,
        },
        Way {
            name: "an empty hook",
            hooks: vec![&empty],
            settings: off,
        },
        Way {
            name: "redhook",
            hooks: vec![&redhook],
            settings: off,
        },
        Way {
            name: "ownpool, off",
            hooks: vec![library],
            settings: off,
        },
        Way {
            name: "ownpool, auto, light (judged)",
            hooks: vec![library],
            settings: light,
        },
        Way {
            name: "ownpool, observe, heavy (judged)",
            hooks: vec![library],
            settings: &[("OWNPOOL_MODE", "observe")],
        },
        Way {
            name: "ownpool, auto, heavy (served)",
            hooks: vec![library],
            settings: &[("OWNPOOL_MODE", "auto")],
        },
    ];
    let rounds = if full { 9 } else { 1 };
    for (behind, last, calls) in [
        ("nothing", Some(floor.as_path()), 2_000_000),
        ("the kernel", None, 100_000),
    ] {
        let calls = if full { calls } else { 1_000 };
        let mut samples: Vec<Vec<f64>> = ways.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (way, samples) in ways.iter().zip(&mut samples) {
                samples.push(measure(way, last, calls)?);
            }
        }
        println!(
            "getrandom({LEN}) with {behind} behind the hook, ns per call (median of {rounds})"
        );
        let medians: Vec<f64> = samples.iter().map(|samples| median(samples)).collect();
        let bare = medians.first().copied().unwrap_or(f64::NAN);
        for (way, ns) in ways.iter().zip(&medians) {
            println!("  {:<40} {ns:>8.2}  {:>+8.2}", way.name, ns - bare);
        }
    }
    Ok(())
}

/// One child's figure.
fn measure(way: &Way<'_>, last: Option<&Path>, calls: u64) -> Result<f64, String> {
    let files: Vec<&Path> = way.hooks.iter().copied().chain(last).collect();
    let preload: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let output = Command::new("/proc/self/exe")
        .args(["--child", &calls.to_string()])
        .env("LD_PRELOAD", preload.join(":"))
        .envs(way.settings.iter().copied())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (front, ns) = text
        .trim()
        .rsplit_once(' ')
        .ok_or_else(|| format!("{}: a call came short", way.name))?;
    // ld.so goes on without a preload that it cannot load.
    match preload.first() {
        Some(file) if file != front => {
            return Err(format!("{}: answered by {front}, not by {file}", way.name));
        }
        _ => {}
    }
    ns.parse()
        .map_err(|_| format!("{}: not a number: {ns}", way.name))
}
