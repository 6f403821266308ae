//! `ownpool report`: the lines that the library appends, as tables a person would read.
//!
//! Promises: every good line is shown whatever the others are like, also behind a torn one
//! that has no end; a bad one gets one line on standard error with its number, and the exit
//! status says that there was one. A file is read line by line, so that its size is no matter.

mod debug_files;
mod demangle;
pub(crate) mod function_table;
pub(crate) mod lines;
pub(crate) mod record;
pub(crate) mod symbolizer;
pub(crate) mod table;

use crate::output::{self, Stdout, printable};
use lines::each_line;
use record::Process;
use std::fs::File;
use std::io::{BufReader, Error, IsTerminal, Read, Result};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use symbolizer::Symbolizer;
use table::table;

/// Exit status when a line was bad.
const BAD_LINE: u8 = 1;

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
    let name = printable(args.file.as_os_str().as_encoded_bytes());
    show(args, &name).unwrap_or_else(|error| output::failure(format_args!("{name}: {error}")))
}

fn show(args: &Args, name: &str) -> Result<ExitCode> {
    let mut stdout = Stdout::default();
    let mut symbolizer = Symbolizer::default();
    let (mut bad_lines, mut shown) = (0, 0);
    each_line(BufReader::new(open(&args.file)?), |number, text| {
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
        symbolizer.name(&mut process.callers);
        let gap = if shown > 0 { "\n" } else { "" };
        shown += 1;
        stdout.write(&match args.json {
            true => process.json(),
            false => format!("{gap}{}", table(&process)),
        })
    })?;
    if bad_lines > MAX_COMPLAINTS {
        let bad_lines = output::grouped(bad_lines);
        output::complain(format_args!("{name}: {bad_lines} bad lines in all"));
    } else if shown == 0 && bad_lines == 0 && !args.json {
        output::complain(format_args!(
            "{name}: no reports in it: no process drew randomness, or none has ended yet"
        ));
    }
    Ok(stdout.finish(if bad_lines > 0 { BAD_LINE } else { 0 }))
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    // A device may have no end (/dev/zero), and holds no reports. A terminal has, and so
    // have the pipes of process substitution.
    if (kind.is_char_device() || kind.is_block_device()) && !file.is_terminal() {
        return Err(Error::other("a device, not a report"));
    }
    Ok(Box::new(file))
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
        Some(process) => (
            Some("torn: the next report begins in it".into()),
            Some(process),
        ),
        None => (Some(why), None),
    }
}
