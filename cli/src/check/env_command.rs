//! What env(1) does when it stands on a `#!` line.

use crate::output::plain;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What follows from env's arguments.
#[derive(Debug, PartialEq, Eq)]
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
/// Why env would start nothing, in words.
pub(crate) fn parse(argument: &[u8]) -> Result<Env, String> {
    let mut words = match split_option(argument) {
        Some((_, text)) => split(text)?,
        None if argument.is_empty() => Vec::new(),
        None => vec![argument.to_vec()],
    }
    .into_iter();
    let mut found = Env {
        program: OsString::new(),
        path: None,
        loses: None,
    };
    const CLEARED: &str = "env empties the environment, LD_PRELOAD with it";
    const UNSET: &str = "env takes LD_PRELOAD out of the environment";
    if split_option(argument).is_some_and(|(flags, _)| flags.contains(&b'i')) {
        found.loses = Some(CLEARED);
    }
    while let Some(word) = words.next() {
        match word.as_slice() {
            b"-i" | b"-" | b"--ignore-environment" => found.loses = Some(CLEARED),
            b"--" | b"-v" | b"--debug" => {}
            b"-u" | b"--unset" | b"-C" | b"--chdir" => {
                if words.next().as_deref() == Some(b"LD_PRELOAD")
                    && word.starts_with(b"-u") | (word == b"--unset")
                {
                    found.loses = Some(UNSET);
                }
            }
            b"-uLD_PRELOAD" | b"--unset=LD_PRELOAD" => found.loses = Some(UNSET),
            word if word.starts_with(b"-") => {}
            word => match word.iter().position(|&byte| byte == b'=') {
                Some(at) => {
                    let (name, value) = word.split_at(at);
                    match name {
                        b"LD_PRELOAD" => found.loses = Some("env sets another LD_PRELOAD"),
                        b"PATH" => {
                            found.path = Some(OsString::from_vec(
                                value.get(1..).unwrap_or_default().to_vec(),
                            ))
                        }
                        _ => {}
                    }
                }
                None => {
                    found.program = OsStr::from_bytes(word).to_os_string();
                    return Ok(found);
                }
            },
        }
    }
    Err("env is not told what to start".into())
}

/// Flags and text of `-S TEXT`, `-STEXT`, `-vS TEXT`, `--split-string=TEXT`.
fn split_option(argument: &[u8]) -> Option<(&[u8], &[u8])> {
    for long in [b"--split-string=".as_slice(), b"--split-string "] {
        if let Some(text) = argument.strip_prefix(long) {
            return Some((b"", text));
        }
    }
    let flags = argument.strip_prefix(b"-")?;
    let at = flags
        .iter()
        .position(|byte| !matches!(byte, b'i' | b'v' | b'0'))?;
    let (before, after) = flags.split_at(at);
    Some((before, after.strip_prefix(b"S")?))
}

/// Words of a `-S` text: blanks part them, quotes and backslashes join, `#` at a word's
/// start ends them, `${NAME}` stands for a variable.
fn split(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, quote) {
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (byte, Some(open)) if byte == open => quote = None,
            (b' ' | b'\t' | b'\n' | b'\r', None) => words.extend(word.take()),
            (b'#', None) if word.is_none() => break,
            (b'\\', quote) if quote != Some(b'\'') => {
                let Some((&escaped, after)) = rest.split_first() else {
                    return Err("env -S: stray backslash".into());
                };
                rest = after;
                match escaped {
                    b'_' if quote.is_none() => words.extend(word.take()),
                    b'c' if quote.is_none() => break,
                    b'_' => word.get_or_insert_default().push(b' '),
                    b't' => word.get_or_insert_default().push(b'\t'),
                    b'n' => word.get_or_insert_default().push(b'\n'),
                    other => word.get_or_insert_default().push(other),
                }
            }
            (b'$', quote) if quote != Some(b'\'') => {
                let name = rest
                    .strip_prefix(b"{")
                    .and_then(|rest| rest.split(|&byte| byte == b'}').next());
                let Some(name) = name.filter(|name| rest.len() > name.len() + 1) else {
                    return Err("env -S: only ${NAME} is expanded".into());
                };
                rest = rest.get(name.len() + 2..).unwrap_or_default();
                let value = std::env::var_os(OsStr::from_bytes(name)).unwrap_or_default();
                word.get_or_insert_default()
                    .extend_from_slice(value.as_bytes());
            }
            (byte, _) => word.get_or_insert_default().push(byte),
        }
    }
    if quote.is_some() {
        return Err(format!("env -S: no closing quote in {}", plain(text)));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(argument: &str) -> String {
        parse(argument.as_bytes()).map_or_else(|why| why, |env| env.program.into_string().unwrap())
    }

    #[test]
    fn the_program_that_env_starts() {
        for (argument, name) in [
            ("python3", "python3"),
            ("python3 -u", "python3 -u"),
            ("-S python3 -u", "python3"),
            ("-Spython3 -u", "python3"),
            ("-vS A=1 B='x y' perl -w", "perl"),
            ("--split-string=ruby --jit", "ruby"),
            ("-S \"a b\" c", "a b"),
            ("-S a\\_b", "a"),
            ("-S -u X -C /tmp p", "p"),
            ("-S # nothing", "env is not told what to start"),
            ("", "env is not told what to start"),
            ("-S 'x", "env -S: no closing quote in  'x"),
        ] {
            assert_eq!(program(argument), name, "{argument}");
        }
    }

    #[test]
    fn what_env_takes_away() {
        for (argument, loses) in [
            ("-S -i python3", true),
            ("-iS python3", true),
            ("-S - python3", true),
            ("-S -u LD_PRELOAD python3", true),
            ("-S --unset LD_PRELOAD python3", true),
            ("-S -u OTHER python3", false),
            ("-S LD_PRELOAD=x python3", true),
            ("-S -C LD_PRELOAD python3", false),
            ("python3", false),
        ] {
            assert_eq!(
                parse(argument.as_bytes()).unwrap().loses.is_some(),
                loses,
                "{argument}"
            );
        }
        assert_eq!(parse(b"-S PATH=/x p").unwrap().path, Some("/x".into()));
    }
}
