//! `ownpool report`: the lines that the library appends, as tables a person would read.
//!
//! Promises: every good line is shown whatever the others are like, also behind a torn one
//! that has no end; a bad one gets one line on standard error with its number, and the exit
//! status says that there was one. A file is read line by line, so that its size is no matter.

mod debug_files;
mod demangle;
pub(crate) mod function_table;
pub(crate) mod record;
pub(crate) mod symbolizer;
pub(crate) mod table;

use crate::output;
use record::Process;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use symbolizer::Symbolizer;

/// Exit status when a line was bad.
const BAD_LINE: u8 = 1;

/// The longest line that is read: 257 callers with module paths of PATH_MAX, every byte
/// escaped to six, are 6.3 MB.
const LONGEST: u64 = 16 << 20;

/// Bad lines that are complained about one by one; a file of another kind has thousands.
const MAX_COMPLAINTS: u64 = 20;

#[derive(clap::Args)]
#[command(
    after_long_help = "FILE is what OWNPOOL_STATS=FILE or ownpool run --stats=FILE made: one line of JSON a process.\n\n\
Exit status:\n  0    every line was a report\n  1    some line was not (each is named on standard error)\n  125  FILE cannot be read, or is a device"
)]
pub(crate) struct Args {
    /// JSON instead of tables: one line a process, with the names of functions added
    #[arg(long)]
    json: bool,
    /// The report; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn main(args: &Args) -> ExitCode {
    let name = output::printable(args.file.as_os_str().as_encoded_bytes());
    let source: Box<dyn Read> = if args.file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        match File::open(&args.file) {
            // A device may have no end (/dev/zero), and holds no reports. A terminal has.
            Ok(file) if is_device(&file) && !file.is_terminal() => {
                return output::failure(format_args!("{name}: a device, not a report"));
            }
            Ok(file) => Box::new(file),
            Err(error) => return output::failure(format_args!("{name}: {error}")),
        }
    };
    let mut output = output::Stdout::new();
    let mut functions = Symbolizer::default();
    let mut bad_lines = 0;
    let mut shown = 0_u64;
    let read = each_line(BufReader::new(source), |number, text| {
        let (bad, process) = text.map_or_else(|why| (Some(why), None), read_line);
        if let Some(why) = bad {
            bad_lines += 1;
            if bad_lines <= MAX_COMPLAINTS {
                output::complain(format_args!("{name}: line {number}: {why}"));
            }
        }
        let Some(mut process) = process else {
            return true;
        };
        functions.name(&mut process.callers);
        let gap = if shown > 0 && !args.json { "\n" } else { "" };
        shown += 1;
        output.write(&format!(
            "{gap}{}",
            if args.json {
                process.json()
            } else {
                table::table(&process)
            }
        ))
    });
    if bad_lines > MAX_COMPLAINTS {
        output::complain(format_args!(
            "{name}: {} bad lines in all",
            output::grouped(bad_lines)
        ));
    }
    match read {
        Err(error) => output::failure(format_args!("{name}: {error}")),
        Ok(()) => {
            if shown == 0 && bad_lines == 0 && !args.json {
                output::complain(format_args!(
                    "{name}: no reports in it: no process drew randomness, or none has ended yet"
                ));
            }
            output.finish(if bad_lines > 0 { BAD_LINE } else { 0 })
        }
    }
}

/// What is wrong with a line, and the report in it.
fn read_line(line: &[u8]) -> (Option<String>, Option<Process>) {
    let why = match Process::parse(line) {
        Ok(process) => return (None, Some(process)),
        Err(why) => why,
    };
    // A torn line (its pipe was full) has no end, and the next process wrote behind it.
    // Quotes inside of strings are escaped, so this can only be a beginning.
    let next = memchr::memmem::rfind(line, b"{\"ownpool\":\"").filter(|&at| at > 0);
    match next.and_then(|at| Process::parse(line.get(at..)?).ok()) {
        Some(process) => {
            let why = "torn: the next report begins in it".to_string();
            (Some(why), Some(process))
        }
        None => (Some(why), None),
    }
}

/// Pipes and FIFOs are none: process substitution gives those.
fn is_device(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_char_device() || kind.is_block_device()
    })
}

/// Calls `take` with the number and text of every line that is not blank, until it says
/// that it has enough.
pub(crate) fn each_line(
    mut source: impl BufRead,
    mut take: impl FnMut(u64, Result<&[u8], String>) -> bool,
) -> std::io::Result<()> {
    let mut text = Vec::new();
    for number in 1_u64.. {
        text.clear();
        if source.by_ref().take(LONGEST).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let whole = text.len() as u64 != LONGEST || text.ends_with(b"\n");
        if !whole {
            source.skip_until(b'\n')?;
        }
        let line = if whole {
            Ok(text.trim_ascii())
        } else {
            Err(format!("longer than {} MiB", LONGEST >> 20))
        };
        if line.as_ref().is_ok_and(|line| line.is_empty()) {
            continue;
        }
        if !take(number, line) {
            break;
        }
    }
    Ok(())
}
