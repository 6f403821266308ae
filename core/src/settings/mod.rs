//! The one table of settings: every `OWNPOOL_` name, its default, its unit and what it does,
//! and how a value is read from bytes.
//!
//! Promises: a value that does not parse leaves the setting as it was and says why in one
//! [`Complaint`]; nothing else is lost. The README, the manual page and the command's help
//! are made from, or tested against, [`TABLE`]. Must never look at the environment: names
//! and values are handed in as bytes.

mod values;

use crate::named::named;

named! {
    /// What happens to light and to heavy callers, in the order of the manual. Modes numbered
    /// `Auto` and above serve from private generators.
    Mode [5] {
        /// Light callers go to the kernel, heavy ones get a private generator.
        Auto = 3, "auto";
        /// Every caller gets a private generator from the first byte.
        Always = 4, "always";
        /// Every caller is served by the kernel's vDSO getrandom, where there is one.
        Vdso = 1, "vdso";
        /// No caller is served; what would have been moved is counted.
        Observe = 2, "observe";
        /// No caller is served, nothing is judged.
        Off = 0, "off";
    }
}

impl Mode {
    /// The mode of this name, if there is one.
    pub const fn parse(name: &[u8]) -> Option<Mode> {
        let mut modes: &[Mode] = &Mode::ALL;
        while let Some((&mode, others)) = modes.split_first() {
            if values::same(mode.name().as_bytes(), name) {
                return Some(mode);
            }
            modes = others;
        }
        None
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

/// Makes all there is of each setting from its one row: the field that it fills, the
/// function that reads it, and the four columns of the table.
macro_rules! settings {
    (for users { $($field:ident: $type:ty = $read:ident($default:literal), $name:literal, $unit:literal, $help:literal;)* }
     for tests { $($hidden_field:ident: $hidden_type:ty = $hidden_read:ident($hidden_default:literal), $hidden_name:literal;)* }) => {
        /// The settings in force. Texts are borrowed from where they were handed in.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings<'a> {
            $(#[doc = concat!("`", $name, "`, ", $unit)] pub $field: $type,)*
            $(#[doc = concat!("`", $hidden_name, "`")] pub $hidden_field: $hidden_type,)*
        }

        /// Every setting there is for users. Another `OWNPOOL_` name is complained about.
        pub const TABLE: &[Setting] = &[$(Setting {
            name: $name,
            default: $default,
            unit: $unit,
            help: $help,
        },)*];

        impl Settings<'_> {
            /// What holds when nothing is set: the `default` column of [`TABLE`].
            pub const DEFAULT: Settings<'static> = Settings {
                $($field: values::expect(values::$read($default.as_bytes(), None)),)*
                $($hidden_field: values::expect(values::$hidden_read($hidden_default.as_bytes(), None)),)*
            };
        }

        impl<'a> Settings<'a> {
            /// Takes one environment variable. An empty value means the default.
            ///
            /// # Errors
            /// The setting keeps its value and the [`Complaint`] says why.
            pub fn set(&mut self, name: &[u8], value: &'a [u8]) -> Result<(), Complaint> {
                let default = Settings::DEFAULT;
                $(if name == $name.as_bytes() {
                    self.$field = values::$read(value, Some(default.$field))?;
                    return Ok(());
                })*
                $(if name == $hidden_name.as_bytes() {
                    self.$hidden_field = values::$hidden_read(value, Some(default.$hidden_field))?;
                    return Ok(());
                })*
                Err(Complaint::UnknownName)
            }
        }
    };
}

settings! {
  for users {
    mode: Mode = mode("auto"),
        "OWNPOOL_MODE", "auto, always, vdso, observe or off",
        "who is served by a private generator, and who by the kernel";
    rate_per_s: u64 = size("320"),
        "OWNPOOL_RATE", "bytes per second",
        "leak rate of a thread's bucket; 0: heavy at once";
    burst: u64 = size("4096"),
        "OWNPOOL_BURST", "bytes",
        "size of a thread's bucket; 0: heavy at once";
    bulk: u64 = size("4096"),
        "OWNPOOL_BULK", "bytes",
        "one request larger than this is heavy by itself; 0: heavy at once";
    forgive_secs: u64 = number("0"),
        "OWNPOOL_FORGIVE_SECS", "seconds",
        "light behaviour after which a moved thread returns to the kernel, looked at when refilling; 0: never";
    reseed_bytes: u64 = size("0"),
        "OWNPOOL_RESEED_BYTES", "bytes",
        "bytes between kernel reseeds; 0: at every refill of the buffer";
    reseed_secs: u64 = number("300"),
        "OWNPOOL_RESEED_SECS", "seconds",
        "age at which the key is reseeded all the same; looked at when refilling";
    only: &'a [u8] = text(""),
        "OWNPOOL_ONLY", "names, colon-separated",
        "programs to act in (last component of argv[0] or of the executable); empty: all";
    skip: &'a [u8] = text("gpg:gpg-agent:ssh-keygen:openssl:cryptsetup:wg"),
        "OWNPOOL_SKIP", "names, colon-separated",
        "programs to stay out of: makers of long-lived keys stay with the kernel";
    ignore_fips: bool = ignore("honour"),
        "OWNPOOL_FIPS", "honour or ignore",
        "ignore: act on a host in FIPS mode too, or where /proc/sys does not tell";
    stats: &'a [u8] = path(""),
        "OWNPOOL_STATS", "stderr, or a path",
        "where the report goes when the process ends; %p is the pid, %n the program";
    verbose: bool = switch("0"),
        "OWNPOOL_VERBOSE", "0 or 1",
        "1: one line on fd 2 with the settings in force when the library starts";
  }
  for tests {
    test: TestSwitches = test_switches(""), "OWNPOOL_TEST";
  }
}

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
    /// Neither honour nor ignore.
    NotAChoice,
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
            Complaint::NotAChoice => "neither honour nor ignore",
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
    /// Believe that the vDSO asks for ordinary memory.
    pub odd_vdso: bool,
    /// Let the known-answer check fail.
    pub fail_known_answer: bool,
}

impl Settings<'_> {
    /// Whether the library acts in a program that goes by these names (basenames
    /// of argv[0], of the path it was started by, and of its file). A path in a list
    /// stands for its last component: otherwise it would match nothing, and a
    /// maker of keys that is to be skipped would be served.
    pub fn acts_in(&self, names: &[&[u8]]) -> bool {
        let listed = |list: &[u8]| {
            list.split(|&byte| byte == b':')
                .map(basename)
                .any(|name| !name.is_empty() && names.contains(&name))
        };
        (self.only.is_empty() || listed(self.only)) && !listed(self.skip)
    }
}

/// The row of this name, if it is a setting for users.
pub fn row(name: &[u8]) -> Option<&'static Setting> {
    TABLE.iter().find(|row| row.name.as_bytes() == name)
}

/// The last component of a path.
pub fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
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
        for row in TABLE {
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
            assert_eq!(Mode::from_number(mode as u8), Some(mode));
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
