//! What the command writes: results on standard output, complaints on standard
//! error, each complaint one line that starts with `ownpool: `.
//!
//! Promises: names that come from files (programs, modules, symbols) are shown with
//! control characters escaped, so a hostile file cannot drive the terminal. A reader
//! that goes away early (`| head`) is no error and no panic, which `println!` would make it.

use core::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Exit status for a failure of this command itself, as env(1) has it.
pub(crate) const OUR_FAILURE: u8 = 125;

/// Standard output, for a command that writes piece by piece.
#[derive(Default)]
pub(crate) struct Stdout {
    error: Option<std::io::Error>,
}

impl Stdout {
    /// Writes, and says whether there is any use in going on.
    pub(crate) fn write(&mut self, text: &str) -> bool {
        if self.error.is_none() {
            let mut stdout = std::io::stdout().lock();
            let written = stdout.write_all(text.as_bytes());
            self.error = written.and_then(|()| stdout.flush()).err();
        }
        self.error.is_none()
    }

    /// The exit status: `status`, unless what was written did not arrive.
    pub(crate) fn finish(self, status: u8) -> ExitCode {
        match self.error {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => {
                failure(format_args!("standard output: {error}"))
            }
            _ => ExitCode::from(status),
        }
    }
}

/// Writes a finished text to standard output; the status is `status` if it arrived.
pub(crate) fn result(text: &str, status: u8) -> ExitCode {
    let mut output = Stdout::default();
    output.write(text);
    output.finish(status)
}

/// One line on standard error. If that fails, there is no place left to tell it.
pub(crate) fn complain(what: impl Display) {
    let line = format!("ownpool: {what}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// One line on standard error and the status for our own failures.
pub(crate) fn failure(what: impl Display) -> ExitCode {
    complain(what);
    ExitCode::from(OUR_FAILURE)
}

/// What clap has to say: help and version with status 0, misuse in one line and with 125
/// instead of its own 2, since `run` must not be mistaken for the program that it did not
/// start.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as NothingSaid;
    if !error.use_stderr() || error.kind() == NothingSaid {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { OUR_FAILURE } else { 0 });
    }
    failure(misuse(&error.render().to_string()))
}

/// clap's paragraphs in one line: what is wrong, what comes close, and where to read on.
/// Its advice to put `--` in front of an unknown option is left out: in front of COMMAND
/// that would make the option the program.
fn misuse(text: &str) -> String {
    let (said, usage) = text.split_once("\n\nUsage: ").unwrap_or((text, ""));
    let mut line = String::new();
    for part in said.lines().map(str::trim) {
        match part.strip_prefix("tip: ") {
            Some(tip) if tip.starts_with("to pass") => {}
            Some(tip) => line = format!("{line}; {tip}"),
            None if part.is_empty() || part.starts_with("For more information") => {}
            None => line = format!("{line} {part}"),
        }
    }
    let is_name = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    let names: Vec<&str> = usage.split_whitespace().take_while(is_name).collect();
    let command = match names.is_empty() {
        true => "ownpool".to_owned(),
        false => names.join(" "),
    };
    let line = line.strip_prefix(" error: ").unwrap_or(&line);
    printable(format!("{line} (see {command} --help)"))
}

/// A name from outside, fit for a terminal: control characters, the marks that change
/// the direction of text and those that end a line are escaped, bytes that are no UTF-8 replaced.
pub(crate) fn printable(name: impl AsRef<[u8]>) -> String {
    let mut shown = String::new();
    for character in String::from_utf8_lossy(name.as_ref()).chars() {
        match character {
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                shown.extend(character.escape_unicode());
            }
            _ if character.is_control() => shown.extend(character.escape_default()),
            _ => shown.push(character),
        }
    }
    shown
}

/// A number in groups of three digits: `1,597,952`.
pub(crate) fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A number and its noun: `1 thread`, `2 threads`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        let threads = [0, 1, 1000].map(|number| counted(number, "thread"));
        assert_eq!(threads, ["0 threads", "1 thread", "1,000 threads"]);
    }

    #[test]
    fn names_cannot_drive_a_terminal() {
        assert_eq!(printable("/usr/bin/perl"), "/usr/bin/perl");
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(printable(b"\xff\x80z"), "\u{fffd}\u{fffd}z");
    }
}
