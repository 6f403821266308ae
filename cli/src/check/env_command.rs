//! What env(1) starts when it stands on a `#!` line: `env NAME`, or
//! `env -S [-i] [VAR=VALUE]... NAME [ARG]...` without quotes.

use crate::output::printable;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// What follows from env's arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Env {
    pub(crate) program: OsString,
    /// PATH, where env sets it.
    pub(crate) path: Option<OsString>,
    /// Why LD_PRELOAD does not survive, if it does not.
    pub(crate) loses: Option<&'static str>,
}

/// Reads the one argument that the kernel hands to env.
///
/// # Errors
/// Why it is not known what env would start, in words.
pub(crate) fn parse(argument: &[u8]) -> Result<Env, String> {
    let words: Vec<&[u8]> = match argument.strip_prefix(b"-S") {
        Some(text) => text.split(u8::is_ascii_whitespace).collect(),
        None => vec![argument],
    };
    let mut found = Env::default();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        let name = word.split(|&byte| byte == b'=').next().unwrap_or_default();
        match word {
            b"-i" | b"-" => found.loses = Some("env empties the environment, LD_PRELOAD with it"),
            _ if word.starts_with(b"-") || word.iter().any(|byte| b"'\"\\$#".contains(byte)) => {
                let word = printable(word);
                return Err(format!("what env makes of {word} is not known here"));
            }
            _ if name.len() == word.len() => {
                found.program = OsStr::from_bytes(word).into();
                return Ok(found);
            }
            _ if name == b"LD_PRELOAD" => found.loses = Some("env sets another LD_PRELOAD"),
            _ => {
                let value = word.strip_prefix(b"PATH=").map(OsStr::from_bytes);
                found.path = value.map(OsStr::to_os_string).or(found.path);
            }
        }
    }
    Err("env is not told what to start".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_starts_the_first_word_that_sets_nothing() {
        for (argument, name, loses) in [
            ("python3", "python3", false),
            ("python3 -u", "python3 -u", false),
            ("-S python3 -u '$x'", "python3", false),
            ("-Spython3 -u", "python3", false),
            ("-S A=1  B=x perl -w", "perl", false),
            ("-S -i python3", "python3", true),
            ("-S - python3", "python3", true),
            ("-S LD_PRELOAD=x python3", "python3", true),
        ] {
            let env = parse(argument.as_bytes()).unwrap();
            assert_eq!(
                (env.program.to_str(), env.loses.is_some()),
                (Some(name), loses)
            );
        }
        assert_eq!(parse(b"-S PATH=/x p").unwrap().path, Some("/x".into()));
        for (argument, why) in [
            ("", "env is not told what to start"),
            ("-S A=1", "env is not told what to start"),
            ("-S -u X p", "what env makes of -u is not known here"),
            ("-S 'a b'", "what env makes of 'a is not known here"),
            ("-vS p", "what env makes of -vS p is not known here"),
        ] {
            assert_eq!(parse(argument.as_bytes()).unwrap_err(), why);
        }
    }
}
