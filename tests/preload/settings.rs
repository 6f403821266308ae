//! Every setting, end to end, through the environment.
//!
//! Settles: what each setting changes; and that no environment at all, set-user-id
//! programs and hosts in FIPS mode do no harm.
//!
//! Nothing here depends on chance. Where time plays a part, a slow machine can
//! only make a thread lighter, and the limits leave it seconds.
use ownpool_core::settings as table;
use ownpool_tests::support::{self, Place, bare, compile_c_as, preloaded, ran, reports, succeeds};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Policy {
    pub(crate) place: Place,
    pub(crate) policy: PathBuf,
}

impl Policy {
    pub(crate) fn new() -> Policy {
        let place = Place::new();
        let policy = place.compile("policy", &[]);
        Policy { place, policy }
    }

    pub(crate) fn policy(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
        let mut command = preloaded(&self.policy);
        // A report with a relative path must not end up in the project.
        command.current_dir(self.place.path());
        command.args(arguments).envs(settings.iter().copied());
        command
    }

    /// What the program prints under these settings; it must be silent on fd 2.
    pub(crate) fn prints(&self, arguments: &[&str], settings: &[(&str, &str)]) -> String {
        let printed = succeeds(&mut self.policy(arguments, settings));
        printed.trim_end().to_owned()
    }

    /// What the library prints under these settings, while the program goes on.
    pub(crate) fn complains(&self, settings: &[(&str, &str)]) -> String {
        let done = ran(&mut self.policy(&[], settings));
        assert_eq!(done.status, 0, "{done:?}");
        done.stderr
    }
}

/// Half a minute leaks less than one call's cost.
pub(crate) const SLOW_LEAK: (&str, &str) = ("OWNPOOL_RATE", "1");

fn vdso() -> bool {
    let place = Policy::new();
    let verbose = place.complains(&[("OWNPOOL_VERBOSE", "1")]);
    assert!(verbose.contains("vdso) mode="), "{verbose}");
    !verbose.contains("no vdso")
}

#[test]
fn mode() {
    let place = Policy::new();
    let with_mode = |mode| place.prints(&[], &[SLOW_LEAK, ("OWNPOOL_MODE", mode)]);
    assert_eq!(with_mode("auto"), "129");
    assert_eq!(with_mode(""), "129");
    assert_eq!(with_mode("always"), "1");
    assert_eq!(with_mode("vdso"), if vdso() { "1" } else { "0" });
    assert_eq!(with_mode("observe"), "0");
    assert_eq!(with_mode("off"), "0");
    for mode in table::Mode::ALL {
        let printed = place.prints(&["mode"], &[("OWNPOOL_MODE", mode.name())]);
        assert_eq!(printed, mode.name());
    }
    // Without a vDSO only the kernel can answer in this mode.
    let without = [("OWNPOOL_MODE", "vdso"), ("OWNPOOL_TEST", "novdso")];
    assert_eq!(place.prints(&[], &without), "0");
}

#[test]
fn rate() {
    let place = Policy::new();
    assert_eq!(place.prints(&[], &[SLOW_LEAK]), "129");
    assert_eq!(place.prints(&[], &[("OWNPOOL_RATE", "0")]), "1");
    // 100 calls cost 3,200; a pause of 20 ms leaks 10,000 bytes at the least, as
    // the coarse clock ticks every 10 ms or more often.
    assert_eq!(
        place.prints(&["paced"], &[("OWNPOOL_RATE", "1M")]),
        "kernel"
    );
    assert_eq!(place.prints(&["paced"], &[SLOW_LEAK]), "private");
}

#[test]
fn burst() {
    let place = Policy::new();
    let with_burst = |burst| place.prints(&[], &[SLOW_LEAK, ("OWNPOOL_BURST", burst)]);
    assert_eq!(with_burst("0"), "1");
    assert_eq!(with_burst("320"), "11");
    assert_eq!(with_burst("8K"), "257");
    assert_eq!(with_burst("8k"), "257");
    assert_eq!(with_burst("1M"), "0");
    assert_eq!(with_burst("1G"), "0");
    assert_eq!(with_burst("9223372036854775807"), "0");
}

#[test]
fn bulk() {
    let place = Policy::new();
    let first = |len, bulk| {
        let wide = ("OWNPOOL_BURST", "1G");
        place.prints(&[len], &[SLOW_LEAK, wide, ("OWNPOOL_BULK", bulk)])
    };
    assert_eq!(first("4096", ""), "kernel");
    assert_eq!(first("4097", ""), "private");
    assert_eq!(first("1", "0"), "private");
    assert_eq!(first("100", "100"), "kernel");
    assert_eq!(first("101", "100"), "private");
    assert_eq!(first("65536", "64K"), "kernel");
    assert_eq!(first("65537", "64K"), "private");
    assert_eq!(first("1048577", "1M"), "private");
    assert_eq!(first("1048577", "1G"), "kernel");
}

#[test]
fn forgive_secs() {
    let place = Policy::new();
    // Ten calls every 10 ms are 16,000 bytes a second: light at this rate. Moved by the
    // first bytes all the same: 4,000 calls at once cost 128,000 bytes, which take six
    // seconds to leak.
    let (burst, bulk) = (("OWNPOOL_BURST", "4K"), ("OWNPOOL_BULK", "4K"));
    let with = |forgive| {
        let forgive = ("OWNPOOL_FORGIVE_SECS", forgive);
        let settings = [("OWNPOOL_RATE", "20K"), burst, bulk, forgive];
        place.prints(&["forgive"], &settings)
    };
    assert_eq!(with("1"), "forgiven");
    assert_eq!(with("0"), "not forgiven");
    assert_eq!(with("1000"), "not forgiven");
}

#[test]
fn reseed_bytes() {
    let place = Policy::new();
    // 40,000 calls of 16 bytes are 211 refills of 3,040 bytes.
    let with = |bytes| {
        let settings = [("OWNPOOL_MODE", "always"), ("OWNPOOL_RESEED_BYTES", bytes)];
        place.prints(&["reseeds", "40000"], &settings)
    };
    assert_eq!(with("0"), "211 211");
    assert_eq!(with("1"), "211 211");
    assert_eq!(with("1G"), "211 1");
    // Every eleventh refill passes 32 KiB: 10 of the 210 that come after the seed
    // leave 30,400 bytes, the next makes 33,440.
    assert_eq!(with("32K"), "211 20");
}

#[test]
fn reseed_secs() {
    let place = Policy::new();
    let with = |secs| {
        let mode = ("OWNPOOL_MODE", "always");
        let bytes = ("OWNPOOL_RESEED_BYTES", "1G");
        place.prints(&["aged"], &[mode, bytes, ("OWNPOOL_RESEED_SECS", secs)])
    };
    assert_eq!(with("300"), "1 1");
    // Once more after the pause; more often only if the machine stood still.
    let once = with("1");
    let (refills, reseeds) = once.split_once(' ').unwrap();
    let [refills, reseeds] = [refills, reseeds].map(|count| count.parse::<u32>().unwrap());
    let seldom = (refills + 1..refills + 3).contains(&reseeds);
    assert!(refills < 4 && seldom, "{once:?}");
    // At every refill: 11 before the pause, and one or two after it.
    assert_eq!(with("0"), "11 12");
}

#[test]
fn only_and_skip() {
    let place = Policy::new();
    let moved =
        |settings: &[(&str, &str)]| place.prints(&[], &[settings, &[SLOW_LEAK]].concat()) == "129";
    for (only, is_moved) in [
        ("policy", true),
        ("php:policy", true),
        ("", true),
        ("php", false),
    ] {
        assert_eq!(moved(&[("OWNPOOL_ONLY", only)]), is_moved, "{only}");
    }
    for (skip, is_moved) in [
        ("policy", false),
        ("a::policy:b", false),
        ("polic:policyy:policy/:", true),
    ] {
        assert_eq!(moved(&[("OWNPOOL_SKIP", skip)]), is_moved, "{skip}");
    }
    let both = [("OWNPOOL_ONLY", "policy"), ("OWNPOOL_SKIP", "policy")];
    assert!(!moved(&both));
    // By the name that the program is called by, and by that of its file.
    for (only, name) in [("other", "/some/where/other"), ("policy", "other")] {
        let mut command = place.policy(&[], &[SLOW_LEAK, ("OWNPOOL_ONLY", only)]);
        assert_eq!(succeeds(command.arg0(name)), "129\n");
    }
    // Makers of long-lived keys are skipped as it comes; another list replaces theirs.
    for name in table::Settings::DEFAULT.skip.split(|byte| *byte == b':') {
        let name = String::from_utf8_lossy(name);
        let keys = compile_c_as(place.place.path(), &name, "policy", &[]);
        let mut command = preloaded(&keys);
        assert_eq!(succeeds(command.env("OWNPOOL_RATE", "1")), "0\n", "{name}");
        command.env("OWNPOOL_SKIP", "");
        assert_eq!(succeeds(&mut command), "129\n", "{name}");
    }
    // A program that is skipped complains of nonsense all the same, writes no
    // report, and can use the C API.
    let report = place.place.file("none");
    let settings = [
        ("OWNPOOL_SKIP", "policy"),
        ("OWNPOOL_STATS", report.to_str().unwrap()),
        ("OWNPOOL_BURST", "x"),
    ];
    assert_eq!(
        place.complains(&settings),
        "ownpool: OWNPOOL_BURST: not a number: \"x\"; using 4096\n"
    );
    assert!(!report.exists());
    assert_eq!(place.prints(&["mode"], &settings[..1]), "off");
}

#[test]
fn stats() {
    let place = Policy::new();
    let path = |name: &str| place.place.file(name);
    let with = |target: &Path| {
        let mut command = place.policy(&[], &[SLOW_LEAK]);
        command.env("OWNPOOL_STATS", target);
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        assert!(child.wait_with_output().unwrap().status.success());
        pid
    };
    let pid = with(&path("plain"));
    let report = &reports(&path("plain"))[0];
    assert_eq!(report["pid"], pid);
    assert_eq!(report["program"], "policy");
    let pid = with(&path("a%p-%n.%%p%x%"));
    assert_eq!(reports(&path(&format!("a{pid}-policy.%p%x%"))).len(), 1);
    // The longest path that is taken, a name of 200 bytes in a deep directory.
    let top = place.place.path().to_path_buf();
    let deep = (0..3).fold(top, |deep, _| deep.join("d".repeat(200)));
    std::fs::create_dir_all(&deep).unwrap();
    let longest = deep.join("r".repeat(200));
    with(&longest);
    assert_eq!(reports(&longest).len(), 1);
    // What is not UTF-8 is a path all the same.
    let odd = OsString::from_vec(b"odd\xff \"name".to_vec());
    let odd = place.place.file(odd);
    with(&odd);
    assert_eq!(reports(&odd).len(), 1);
}

#[test]
fn verbose() {
    let place = Policy::new();
    let line = place.complains(&[
        ("OWNPOOL_VERBOSE", "1"),
        ("OWNPOOL_MODE", "observe"),
        ("OWNPOOL_RATE", "2K"),
        ("OWNPOOL_BURST", "3"),
        ("OWNPOOL_BULK", "1M"),
        ("OWNPOOL_FORGIVE_SECS", "4"),
        ("OWNPOOL_RESEED_BYTES", "5"),
        ("OWNPOOL_RESEED_SECS", "6"),
        ("OWNPOOL_ONLY", "policy:php"),
        ("OWNPOOL_TEST", "novdso"),
    ]);
    let (start, rest) = line.split_once(" (").unwrap();
    assert_eq!(start, format!("ownpool: {}", env!("CARGO_PKG_VERSION")));
    let (backend, rest) = rest.split_once(", ").unwrap();
    assert!(["avx512", "avx2", "sse2"].contains(&backend), "{line}");
    assert_eq!(
        rest,
        "no vdso) mode=observe rate=2048 burst=3 bulk=1048576 forgive_secs=4 reseed_bytes=5 \
         reseed_secs=6 stats=unset only=policy:php skip=default\n"
    );
    // In a program that is skipped, the mode is off; a path stands for its last component.
    for skip in ["policy", "gpg:/usr/bin/policy"] {
        let line = place.complains(&[("OWNPOOL_VERBOSE", "1"), ("OWNPOOL_SKIP", skip)]);
        assert!(line.contains(" mode=off rate=320 burst=4096 "), "{line}");
        let end = format!(" only=unset skip={skip}\n");
        assert!(line.ends_with(&end), "{line}");
    }
    assert_eq!(place.complains(&[("OWNPOOL_VERBOSE", "0")]), "");
}

#[test]
fn test_switches() {
    let place = Policy::new();
    let moved = ["wipe", "novdso", "wipe,novdso"].map(|test| (test, "129"));
    for (test, calls) in moved.into_iter().chain([("kat", "0")]) {
        let settings = [SLOW_LEAK, ("OWNPOOL_TEST", test)];
        assert_eq!(place.prints(&[], &settings), calls, "{test}");
    }
}

#[test]
fn an_empty_environment_and_no_arguments() {
    let place = Policy::new();
    // The loader itself can be told what to preload, without any variable.
    let loader = Path::new("/lib64/ld-linux-x86-64.so.2");
    let mut command = Command::new(loader);
    command.env_clear().arg("--preload").arg(support::library());
    assert_eq!(ran(command.arg("/bin/true")).status, 0);
    let mut command = preloaded(&place.policy);
    command.env_clear().env("LD_PRELOAD", support::library());
    command.env("HOOKED", "1");
    let calls: u32 = succeeds(&mut command).trim().parse().unwrap();
    // At the default rate a slow machine leaks a little: 10 calls a second.
    assert!((129..1000).contains(&calls), "{calls}");
    let mut command = preloaded(&place.policy);
    assert_eq!(succeeds(command.arg0("").env("OWNPOOL_RATE", "1")), "129\n");
}

#[test]
fn set_user_id_programs_are_left_alone() {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can make a set-user-id program of another user's");
        return;
    }
    let place = Place::below("/tmp");
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
    // Readable by every user, under the name that the program asks for.
    let library = place.file("libownpool.so.0");
    std::fs::copy(support::library(), &library).unwrap();
    let rpath = format!("-Wl,-rpath,{}", place.path().display());
    let program = place.compile(
        "elevated",
        &[library.to_str().unwrap(), &rpath, "-Wl,--no-as-needed"],
    );
    let settings = [
        ("OWNPOOL_RATE", "nonsense"),
        ("OWNPOOL_MODE", "always"),
        ("OWNPOOL_FOO", "1"),
        ("OWNPOOL_VERBOSE", "1"),
        ("OWNPOOL_STATS", "stderr"),
    ];
    // As itself, it listens to its environment.
    let done = ran(bare(&program).envs(settings));
    assert_eq!(done.stdout, "secure 0 mode always private 300\n");
    assert!(done.stderr.lines().count() >= 3, "{done:?}");
    // As another user's, run by a third, it does not.
    chown(&program, Some(1), Some(1)).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o6755)).unwrap();
    let mut command = bare(&program);
    command.envs(settings).env("LD_PRELOAD", &library);
    command.uid(65_534).gid(65_534);
    let done = ran(&mut command);
    if done.stdout.starts_with("secure 0") {
        eprintln!("skipped: this file system knows no set-user-id");
        return;
    }
    let wanted = "secure 1 mode off private 0\n";
    assert_eq!((done.status, &*done.stdout, &*done.stderr), (0, wanted, ""));
}

#[test]
fn hosts_in_fips_mode_stay_on_the_kernel() {
    let place = Policy::new();
    // In a mount namespace of its own, where /proc/sys holds that switch alone.
    let script = "mount -t tmpfs none /proc/sys && mkdir /proc/sys/crypto || exit 77; \
                  echo \"$1\" > /proc/sys/crypto/fips_enabled; shift; exec \"$@\"";
    let host = |value: &str, arguments: &[&str]| {
        let mut command = bare("/usr/bin/unshare");
        command.args(["--mount", "/bin/sh", "-c", script, "sh", value]);
        command.arg("/usr/bin/env");
        command.arg(format!("LD_PRELOAD={}", support::library().display()));
        command.args(["HOOKED=1", "OWNPOOL_RATE=1"]);
        ran(command.arg(&place.policy).args(arguments))
    };
    let strict = host("1", &[]);
    if strict.status == 77 || strict.stderr.contains("unshare") {
        eprintln!("skipped: no mount namespace: {strict:?}");
        return;
    }
    assert_eq!((&*strict.stdout, &*strict.stderr), ("0\n", ""));
    assert_eq!(host("0", &[]).stdout, "129\n");
    // The library's own functions still work; the kernel answers them.
    assert_eq!(host("1", &["mode"]).status, 0);
}
