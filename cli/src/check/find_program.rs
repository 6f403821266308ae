//! From the word that a user types to the ELF program that runs: PATH, scripts, env(1).
//!
//! Promises: the kernel's rules for `#!` lines (the first 256 bytes, one argument, at most
//! five interpreters one after the other) and execvp's for PATH. Bounded, so that scripts
//! that name each other end.

use super::env_command::{self, Env};
use crate::elf;
use crate::output::printable;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// BINPRM_BUF_SIZE of the kernel, since 5.1.
const HEAD: u64 = 256;

/// Interpreters in a row that the kernel follows (fs/exec.c: deeper is ELOOP).
const MAX_DEPTH: usize = 5;

/// Programs started by env(1) that are followed.
const MAX_ENVS: usize = 8;

/// The program behind a command.
#[derive(Debug)]
pub(crate) struct FoundProgram {
    /// What was followed, in words, outermost first.
    pub(crate) steps: Vec<String>,
    /// The ELF file, free of symbolic links.
    pub(crate) path: PathBuf,
    /// What it will see as argv[0].
    pub(crate) argv0: OsString,
    /// What it will see as AT_EXECFN, which the library takes for the executable: the file
    /// that was executed, before links and `#!` lines were followed.
    pub(crate) executed: PathBuf,
    /// Why the library would not get as far as this program, if it would not.
    pub(crate) loses_preload: Option<String>,
}

/// The program that this command runs, or one line that says why none can be told.
pub(crate) fn find_program(command: &OsStr) -> Result<FoundProgram, String> {
    let mut steps = Vec::new();
    let mut loses_preload = None;
    let mut path = in_path(command, std::env::var_os("PATH").as_deref())?;
    let mut argv0 = command.to_os_string();
    let mut executed = path.clone();
    let (mut depth, mut envs) = (0, 0);
    loop {
        let shown = printable(path.as_os_str().as_bytes());
        let head = head(&path).map_err(|error| format!("{shown}: {error}"))?;
        if elf::is_elf(&head) {
            let path = std::fs::canonicalize(&path).map_err(|error| format!("{shown}: {error}"))?;
            return Ok(FoundProgram {
                steps,
                path,
                argv0,
                executed,
                loses_preload,
            });
        }
        let (interpreter, argument) = shebang(&head).ok_or_else(|| {
            format!("{shown}: neither an ELF program nor a script with a #! line")
        })?;
        depth += 1;
        if depth > MAX_DEPTH {
            return Err(format!(
                "{shown}: more than {MAX_DEPTH} interpreters in a row; the kernel refuses that"
            ));
        }
        let name = printable(interpreter);
        steps.push(format!("{shown} is a script of {name}"));
        path = PathBuf::from(OsStr::from_bytes(interpreter));
        argv0 = path.clone().into_os_string();
        check_executable(&path).map_err(|why| format!("{shown}: its interpreter {name}: {why}"))?;
        if path.file_name() == Some(OsStr::new("env")) {
            envs += 1;
            if envs > MAX_ENVS {
                return Err(format!("{shown}: scripts start each other without end"));
            }
            let env = env_command::parse(argument).map_err(|why| format!("{shown}: {why}"))?;
            let Env {
                program,
                path: search,
                loses,
            } = env;
            loses_preload = loses_preload.or_else(|| loses.map(|why| format!("{shown}: {why}")));
            let search = search.or_else(|| std::env::var_os("PATH"));
            path = in_path(&program, search.as_deref())
                .map_err(|why| format!("{shown}: env: {why}"))?;
            steps.push(format!(
                "env starts {}",
                printable(path.as_os_str().as_bytes())
            ));
            argv0 = program;
            executed = path.clone();
            depth = 0;
        }
    }
}

/// As execvp: a word with a slash is a path, any other is looked for in PATH; what is there
/// but cannot be executed is remembered while looking on.
fn in_path(command: &OsStr, search: Option<&OsStr>) -> Result<PathBuf, String> {
    let shown = printable(command.as_bytes());
    if command.is_empty() {
        return Err("an empty name is no program".into());
    }
    if command.as_bytes().contains(&b'/') {
        check_executable(Path::new(command)).map_err(|why| format!("{shown}: {why}"))?;
        return Ok(command.into());
    }
    // Without PATH, glibc looks in _CS_PATH.
    let search = search.unwrap_or(OsStr::new("/bin:/usr/bin"));
    let mut denied = None;
    for directory in std::env::split_paths(search) {
        // An empty element is the working directory.
        let path = Path::new(".").join(directory).join(command);
        match check_executable(&path) {
            Ok(()) => return Ok(path),
            Err(why) if why != NOT_FOUND => denied = denied.or(Some(why)),
            Err(_) => {}
        }
    }
    let why = denied.unwrap_or_else(|| "not found in PATH".into());
    Err(format!("{shown}: {why}"))
}

const NOT_FOUND: &str = "not found";

/// Whether the kernel would let us execute this file.
fn check_executable(path: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => NOT_FOUND.into(),
        _ => error.to_string(),
    })?;
    if metadata.is_dir() {
        Err("a directory".into())
    } else if !metadata.is_file() {
        Err("not a regular file".into())
    } else {
        accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).map_err(|_| "not executable".into())
    }
}
fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    file.take(HEAD).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Interpreter and argument of a `#!` line (fs/binfmt_script.c): blanks are spaces and tabs,
/// all that follows the interpreter is one argument without the blanks at its ends.
pub(crate) fn shebang(head: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = head.strip_prefix(b"#!")?;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let end = rest.iter().position(|byte| matches!(byte, b'\n' | 0));
    let line = rest.get(..end.unwrap_or(rest.len()))?;
    let from = line.iter().position(|byte| !blank(byte))?;
    let line = line.get(from..)?;
    let len = line.iter().position(blank);
    if end.is_none() && len.is_none() && head.len() as u64 == HEAD {
        // The path itself was cut off: the kernel refuses rather than run its beginning.
        return None;
    }
    let (interpreter, argument) = line.split_at(len.unwrap_or(line.len()));
    Some((interpreter, argument.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_lines_as_the_kernel_reads_them() {
        let read = |text: &str| {
            shebang(text.as_bytes()).map(|(one, two)| (printable(one), printable(two)))
        };
        let some = |one: &str, two: &str| Some((one.to_string(), two.to_string()));
        assert_eq!(read("#!/bin/sh\n"), some("/bin/sh", ""));
        assert_eq!(read("#! \t/bin/sh  -e x \nrest"), some("/bin/sh", "-e x"));
        assert_eq!(read("#!/bin/sh"), some("/bin/sh", ""));
        assert_eq!(read("#!\n"), None);
        assert_eq!(read("#!   "), None);
        assert_eq!(read("# !/bin/sh"), None);
        assert_eq!(read(&format!("#!/{}", "x".repeat(253))), None);
        assert_eq!(
            read(&format!("#!/{}", "x".repeat(200))).map(|(path, _)| path.len()),
            Some(201)
        );
    }
}
