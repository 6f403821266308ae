//! What it costs to stand in front of a function.
//!
//! The same loop over getrandom(16) runs in child processes, each started with
//! another preload: none, an empty hook as one written in C, one made with the
//! `redhook` crate, and the library in several modes. Behind the hooks stands
//! once a getrandom that does nothing, so that nanoseconds can be seen, and once
//! the kernel. Promises: every child shows which files answer in front; children
//! take turns, and the figures are medians. Run by `cargo test --benches` it goes
//! through all of it with a moment each.

use core::ffi::{c_uint, c_void};
use core::hint::black_box;
use libloading::os::unix::Library;
use ownpool_measure::artifacts;
use ownpool_measure::samples::median;
use ownpool_measure::symbols;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;

/// What the loop asks for: a UUID's worth.
const LEN: usize = 16;

/// Calls before the clock starts; the library has then moved a thread that it moves.
const WARM_UP: u64 = 20_000;

/// A way to be hooked: name, the hook in front, and the library's settings.
struct Way<'a> {
    name: &'static str,
    hook: Option<&'a Path>,
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

/// Times the loop, and prints the file that answers first and ns per call.
fn child(calls: u64) {
    // SAFETY: the name is the function's, and this its type.
    let getrandom: Option<Getrandom> = unsafe { symbols::find(&Library::this(), c"getrandom") };
    let Some(getrandom) = getrandom else { return };
    let Some(file) = symbols::file_of(getrandom as usize) else {
        return;
    };
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
        println!("{file} {ns}");
    }
}

fn parent(full: bool) -> Result<(), String> {
    let library = artifacts::library()?;
    // Hooks are compared at the speed that they would be shipped with.
    let profile: &[&str] = match full {
        true => &["-p", "ownpool-cli", "--examples", "--release"],
        false => &["-p", "ownpool-cli", "--examples"],
    };
    let [floor, empty, redhook] = ["floor_getrandom", "empty_hook", "redhook_getrandom"]
        .map(|name| artifacts::shared(name, profile));
    let (floor, empty, redhook) = (floor?, empty?, redhook?);
    let library = library.as_path();
    let off: &[_] = &[("OWNPOOL_MODE", "off")];
    // A bucket that the loop cannot fill: every call stays light.
    let light = &[("OWNPOOL_MODE", "auto"), ("OWNPOOL_BURST", "1024G")];
    let way = |name, hook, settings| Way {
        name,
        hook,
        settings,
    };
    let observe = &[("OWNPOOL_MODE", "observe")];
    let auto = &[("OWNPOOL_MODE", "auto")];
    let ways = [
        way("bare", None, off),
        way("an empty hook", Some(empty.as_path()), off),
        way("redhook", Some(redhook.as_path()), off),
        way("ownpool, off", Some(library), off),
        way("ownpool, auto, light (judged)", Some(library), light),
        way("ownpool, observe, heavy (judged)", Some(library), observe),
        way("ownpool, auto, heavy (served)", Some(library), auto),
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
    let files: Vec<&Path> = way.hook.into_iter().chain(last).collect();
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
        .ok_or_else(|| format!("{}: a call was answered short", way.name))?;
    // ld.so goes on without a preload that it cannot load.
    if let Some(file) = preload.first().filter(|file| *file != front) {
        return Err(format!("{}: answered by {front}, not by {file}", way.name));
    }
    ns.parse()
        .map_err(|_| format!("{}: not a number: {ns}", way.name))
}
