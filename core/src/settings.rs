//! The one table of settings: every `OWNPOOL_` name, its default, its unit and
//! what it does, and how a value is read from bytes.
//!
//! Promises: a value that does not parse leaves the setting as it was and says
//! why in one [`Complaint`]; nothing else is lost. The README, the manual page
//! and the command's help are made from, or tested against, [`TABLE`].
//! Must never: look at the environment, allocate, or panic; the caller hands in
//! names and values as bytes. The library's `init` and the command both include
//! this file, so it knows nothing of either.

/// What happens to light and to heavy callers. In those from `Auto` on, some are served
/// by private generators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Nobody is served, nothing is judged.
    Off = 0,
    /// Everybody is served by the kernel's vDSO getrandom, where there is one.
    Vdso = 1,
    /// Nobody is served; who would have been moved is counted.
    Observe = 2,
    /// Light callers go to the kernel, heavy ones get a private generator.
    Auto = 3,
    /// Everybody gets a private generator from the first byte.
    Always = 4,
}

impl Mode {
    /// All modes, in the order of the manual.
    pub const ALL: [Mode; 5] = [
        Mode::Auto,
        Mode::Always,
        Mode::Vdso,
        Mode::Observe,
        Mode::Off,
    ];

    /// The name that users write and reports show.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Auto => "auto",
            Mode::Always => "always",
            Mode::Vdso => "vdso",
            Mode::Observe => "observe",
        }
    }

    /// The mode of this name, if there is one.
    pub fn parse(name: &[u8]) -> Option<Mode> {
        Mode::ALL
            .into_iter()
            .find(|mode| mode.name().as_bytes() == name)
    }

    /// The mode that `as u8` gave this number; anything else is `Off`.
    pub const fn from_u8(number: u8) -> Mode {
        match number {
            1 => Mode::Vdso,
            2 => Mode::Observe,
            3 => Mode::Auto,
            4 => Mode::Always,
            _ => Mode::Off,
        }
    }
}

/// One row of the table of settings.
pub struct Setting {
    /// The environment variable.
    pub name: &'static str,
    /// What holds when it is unset or empty.
    pub default: &'static str,
    /// What its number counts, or the kind of its text.
    pub unit: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
}

/// Every setting there is. An `OWNPOOL_` name that is not here is complained about.
pub const TABLE: [Setting; 12] = [
    Setting {
        name: "OWNPOOL_MODE",
        default: "auto",
        unit: "auto, always, vdso, observe or off",
        help: "who is served by a private generator, and who by the kernel",
    },
    Setting {
        name: "OWNPOOL_RATE",
        default: "320",
        unit: "bytes per second",
        help: "leak rate of a thread's bucket; 0: heavy at once",
    },
    Setting {
        name: "OWNPOOL_BURST",
        default: "4096",
        unit: "bytes",
        help: "size of a thread's bucket; 0: heavy at once",
    },
    Setting {
        name: "OWNPOOL_BULK",
        default: "4096",
        unit: "bytes",
        help: "one request larger than this is heavy by itself; 0: heavy at once",
    },
    Setting {
        name: "OWNPOOL_FORGIVE_SECS",
        default: "0",
        unit: "seconds",
        help: "light behaviour after which a moved thread returns to the kernel, looked at when refilling; 0: never",
    },
    Setting {
        name: "OWNPOOL_RESEED_BYTES",
        default: "0",
        unit: "bytes",
        help: "bytes between kernel reseeds; 0: at every refill of the buffer",
    },
    Setting {
        name: "OWNPOOL_RESEED_SECS",
        default: "300",
        unit: "seconds",
        help: "age at which the key is reseeded all the same; looked at when refilling",
    },
    Setting {
        name: "OWNPOOL_ONLY",
        default: "",
        unit: "names, colon-separated",
        help: "programs to act in (last component of argv[0] or of the executable); empty: all",
    },
    Setting {
        name: "OWNPOOL_SKIP",
        default: "gpg:gpg-agent:ssh-keygen:openssl:cryptsetup:wg",
        unit: "names, colon-separated",
        help: "programs to stay out of: makers of long-lived keys stay with the kernel",
    },
    Setting {
        name: "OWNPOOL_STATS",
        default: "",
        unit: "stderr, or a path",
        help: "where the report goes when the process ends; %p is the pid, %n the program",
    },
    Setting {
        name: "OWNPOOL_VERBOSE",
        default: "0",
        unit: "0 or 1",
        help: "1: one line on fd 2 with the settings in force when the library starts",
    },
    Setting {
        name: "OWNPOOL_TEST",
        default: "",
        unit: "names, comma-separated",
        help: "for the project's tests: wipe (no MAP_DROPPABLE), novdso, kat (fail the known answer)",
    },
];

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// No row of the table has this name.
    UnknownName,
    /// Not one of the mode names.
    NotAMode,
    /// Not decimal digits, or a suffix where none is taken.
    NotANumber,
    /// More than 2^63 - 1.
    TooLarge,
    /// Neither 0 nor 1.
    NotASwitch,
    /// Longer than [`STATS_MAX`] bytes.
    TooLong,
    /// A name that no test switch has.
    NotATest,
}

impl Complaint {
    /// The words that go between the setting's name and the offending value.
    pub const fn words(self) -> &'static str {
        match self {
            Complaint::UnknownName => "no such setting",
            Complaint::NotAMode => "not a mode",
            Complaint::NotANumber => "not a number",
            Complaint::TooLarge => "too large",
            Complaint::NotASwitch => "neither 0 nor 1",
            Complaint::TooLong => "too long",
            Complaint::NotATest => "not a test switch",
        }
    }
}

/// The longest report path that is taken; the library keeps a copy of it.
pub const STATS_MAX: usize = 1023;

/// What `OWNPOOL_TEST` switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestSwitches {
    /// Use MADV_WIPEONFORK pages where MAP_DROPPABLE is there too.
    pub wipe: bool,
    /// Seed by the system call where the vDSO has getrandom too.
    pub no_vdso: bool,
    /// Let the known-answer check fail.
    pub fail_known_answer: bool,
}

/// The settings in force. Texts are borrowed from whoever handed them in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings<'a> {
    /// `OWNPOOL_MODE`
    pub mode: Mode,
    /// `OWNPOOL_RATE`, bytes per second
    pub rate_per_s: u64,
    /// `OWNPOOL_BURST`, bytes
    pub burst: u64,
    /// `OWNPOOL_BULK`, bytes
    pub bulk: u64,
    /// `OWNPOOL_FORGIVE_SECS`
    pub forgive_secs: u64,
    /// `OWNPOOL_RESEED_BYTES`
    pub reseed_bytes: u64,
    /// `OWNPOOL_RESEED_SECS`
    pub reseed_secs: u64,
    /// `OWNPOOL_ONLY`
    pub only: &'a [u8],
    /// `OWNPOOL_SKIP`
    pub skip: &'a [u8],
    /// `OWNPOOL_STATS`
    pub stats: &'a [u8],
    /// `OWNPOOL_VERBOSE`
    pub verbose: bool,
    /// `OWNPOOL_TEST`
    pub test: TestSwitches,
}

impl Settings<'_> {
    /// What holds when nothing is set: the `default` column of [`TABLE`].
    pub const DEFAULT: Settings<'static> = Settings {
        mode: Mode::Auto,
        rate_per_s: 320,
        burst: 4096,
        bulk: 4096,
        forgive_secs: 0,
        reseed_bytes: 0,
        reseed_secs: 300,
        only: b"",
        skip: b"gpg:gpg-agent:ssh-keygen:openssl:cryptsetup:wg",
        stats: b"",
        verbose: false,
        test: TestSwitches {
            wipe: false,
            no_vdso: false,
            fail_known_answer: false,
        },
    };
}

impl<'a> Settings<'a> {
    /// Takes one environment variable. An empty value means the default.
    ///
    /// # Errors
    /// The setting keeps its value and the [`Complaint`] says why.
    pub fn set(&mut self, name: &[u8], value: &'a [u8]) -> Result<(), Complaint> {
        let default = Settings::DEFAULT;
        let empty = value.is_empty();
        match name {
            b"OWNPOOL_MODE" if empty => self.mode = default.mode,
            b"OWNPOOL_MODE" => self.mode = Mode::parse(value).ok_or(Complaint::NotAMode)?,
            b"OWNPOOL_RATE" => self.rate_per_s = size(value, default.rate_per_s)?,
            b"OWNPOOL_BURST" => self.burst = size(value, default.burst)?,
            b"OWNPOOL_BULK" => self.bulk = size(value, default.bulk)?,
            b"OWNPOOL_FORGIVE_SECS" => self.forgive_secs = number(value, default.forgive_secs)?,
            b"OWNPOOL_RESEED_BYTES" => self.reseed_bytes = size(value, default.reseed_bytes)?,
            b"OWNPOOL_RESEED_SECS" => self.reseed_secs = number(value, default.reseed_secs)?,
            b"OWNPOOL_ONLY" => self.only = value,
            b"OWNPOOL_SKIP" => self.skip = value,
            b"OWNPOOL_STATS" if value.len() > STATS_MAX => return Err(Complaint::TooLong),
            b"OWNPOOL_STATS" => self.stats = value,
            b"OWNPOOL_VERBOSE" => self.verbose = switch(value)?,
            b"OWNPOOL_TEST" => self.test = test_switches(value)?,
            _ => return Err(Complaint::UnknownName),
        }
        Ok(())
    }

    /// Whether the library acts in a program that goes by these names (basenames
    /// of argv[0], of the path it was started by, and of its file). A path in a list
    /// stands for its last component: what never matched would leave a maker of keys in.
    pub fn acts_in(&self, names: &[&[u8]]) -> bool {
        let listed = |list: &[u8]| {
            list.split(|&byte| byte == b':')
                .map(basename)
                .any(|name| !name.is_empty() && names.contains(&name))
        };
        (self.only.is_empty() || listed(self.only)) && !listed(self.skip)
    }
}

/// The row of this name.
pub fn row(name: &[u8]) -> Option<&'static Setting> {
    TABLE.iter().find(|row| row.name.as_bytes() == name)
}

/// The last component of a path.
pub fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// Decimal digits.
fn number(value: &[u8], default: u64) -> Result<u64, Complaint> {
    if value.is_empty() {
        return Ok(default);
    }
    let mut sum: u64 = 0;
    for &byte in value {
        if !byte.is_ascii_digit() {
            return Err(Complaint::NotANumber);
        }
        sum = sum
            .checked_mul(10)
            .and_then(|tens| tens.checked_add(u64::from(byte.wrapping_sub(b'0'))))
            .filter(|&sum| sum <= i64::MAX as u64)
            .ok_or(Complaint::TooLarge)?;
    }
    Ok(sum)
}

/// Decimal digits and, if there, one of K, M and G (powers of 1024).
fn size(value: &[u8], default: u64) -> Result<u64, Complaint> {
    let (digits, unit) = match value.split_last() {
        Some((b'K' | b'k', digits)) => (digits, 1 << 10),
        Some((b'M' | b'm', digits)) => (digits, 1 << 20),
        Some((b'G' | b'g', digits)) => (digits, 1 << 30),
        Some(_) => (value, 1),
        None => return Ok(default),
    };
    if digits.is_empty() {
        return Err(Complaint::NotANumber);
    }
    number(digits, 0)?
        .checked_mul(unit)
        .filter(|&bytes| bytes <= i64::MAX as u64)
        .ok_or(Complaint::TooLarge)
}

fn switch(value: &[u8]) -> Result<bool, Complaint> {
    match value {
        b"" | b"0" => Ok(false),
        b"1" => Ok(true),
        _ => Err(Complaint::NotASwitch),
    }
}

fn test_switches(value: &[u8]) -> Result<TestSwitches, Complaint> {
    let mut switches = TestSwitches::default();
    for name in value.split(|&byte| byte == b',') {
        match name {
            b"" => {}
            b"wipe" => switches.wipe = true,
            b"novdso" => switches.no_vdso = true,
            b"kat" => switches.fail_known_answer = true,
            _ => return Err(Complaint::NotATest),
        }
    }
    Ok(switches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &'static str) -> Result<Settings<'static>, Complaint> {
        let mut settings = Settings::DEFAULT;
        settings
            .set(name.as_bytes(), value.as_bytes())
            .map(|()| settings)
    }

    #[test]
    fn every_row_is_known_and_its_default_is_the_default() {
        for row in &TABLE {
            assert_eq!(
                with(row.name, row.default),
                Ok(Settings::DEFAULT),
                "{}",
                row.name
            );
            if row.name != "OWNPOOL_ONLY" && row.name != "OWNPOOL_SKIP" {
                assert_eq!(
                    with(row.name, ""),
                    Ok(Settings::DEFAULT),
                    "{} empty",
                    row.name
                );
            }
        }
    }

    #[test]
    fn sizes_take_suffixes_and_nothing_else() {
        for (text, bytes) in [
            ("0", 0),
            ("7", 7),
            ("4K", 4096),
            ("2m", 2 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(with("OWNPOOL_BURST", text).map(|s| s.burst), Ok(bytes));
        }
        for text in ["fast", "-1", " 1", "1 ", "K", "1KK", "0x10", "1.5", "+1"] {
            assert_eq!(
                with("OWNPOOL_BURST", text),
                Err(Complaint::NotANumber),
                "{text}"
            );
        }
        for text in [
            "9223372036854775808",
            "99999999999999999999999",
            "9007199254740992K",
        ] {
            assert_eq!(
                with("OWNPOOL_BURST", text),
                Err(Complaint::TooLarge),
                "{text}"
            );
        }
        assert_eq!(
            with("OWNPOOL_FORGIVE_SECS", "1K"),
            Err(Complaint::NotANumber)
        );
        assert_eq!(
            with("OWNPOOL_BURST", "9223372036854775807").map(|s| s.burst),
            Ok(i64::MAX as u64)
        );
    }

    #[test]
    fn modes_switches_and_names() {
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.name().as_bytes()), Some(mode));
            assert_eq!(Mode::from_u8(mode as u8), mode);
        }
        assert_eq!(with("OWNPOOL_MODE", "Auto"), Err(Complaint::NotAMode));
        assert_eq!(with("OWNPOOL_VERBOSE", "yes"), Err(Complaint::NotASwitch));
        assert_eq!(
            with("OWNPOOL_TEST", "wipe,nonsense"),
            Err(Complaint::NotATest)
        );
        assert_eq!(with("OWNPOOL_RATES", "1"), Err(Complaint::UnknownName));
        let long = [b'x'; STATS_MAX + 1];
        let mut settings = Settings::DEFAULT;
        assert_eq!(
            settings.set(b"OWNPOOL_STATS", &long),
            Err(Complaint::TooLong)
        );
    }

    #[test]
    fn only_and_skip_go_by_either_name() {
        let mut settings = Settings::DEFAULT;
        assert!(settings.acts_in(&[b"python3", b"python3.11"]));
        assert!(!settings.acts_in(&[b"gpg", b"gpg2"]) && !settings.acts_in(&[b"mygpg", b"gpg"]));
        assert!(settings.acts_in(&[b"gpg2", b"gpg2"]));
        settings.skip = b"/usr/bin/gpg:/opt/";
        assert!(!settings.acts_in(&[b"gpg", b"x"]) && settings.acts_in(&[b"", b"opt"]));
        settings.skip = b"";
        assert!(settings.acts_in(&[b"gpg", b"gpg"]));
        settings.only = b"php::python3";
        assert!(settings.acts_in(&[b"php", b"x"]) && settings.acts_in(&[b"x", b"python3"]));
        assert!(!settings.acts_in(&[b"", b"ruby"]));
    }

    #[test]
    fn the_last_component() {
        for (path, name) in [
            ("/usr/bin/perl", "perl"),
            ("perl", "perl"),
            ("a/", ""),
            ("", ""),
        ] {
            assert_eq!(basename(path.as_bytes()), name.as_bytes());
        }
    }
}
