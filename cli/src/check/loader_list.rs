//! Which libraries a program loads, by the word of this system's own dynamic loader.
//!
//! `ld.so --list PROGRAM` searches as a start of the program would: run paths,
//! LD_LIBRARY_PATH, the cache, the directories for this very processor. It maps what it
//! finds, prints the paths and exits.
//!
//! Promises:
//! - No code of the program runs. In this mode the loader relocates nothing and calls
//!   nothing, neither constructors nor IFUNC resolvers (tried with glibc 2.36). Audit modules
//!   that the program names would run before that: such a program is refused ([`risk`]).
//! - The loader is the one that started this command; the path in the program is never executed.
//! - It ends: a named pipe in place of a library, a file that makes the loader loop or crash,
//!   and output without end are one line of complaint.
//!
//! A library is not looked at beforehand. One that is made to attack the loader does so here
//! as it would when the program starts.

use super::program_kind::{ProgramKind, program_kind};
use crate::elf::{Image, symbols::Dynamic};
use crate::output::printable;
use crate::regular_file;
use object::LittleEndian as Le;
use object::elf as e;
use object::read::elf::ProgramHeader;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Chosen, not measured: the largest programs seen take 50 ms.
const SECONDS: u32 = 10;

/// Bytes of the list that are read: 1,024 paths of PATH_MAX.
const MAX_OUTPUT: u64 = 4 << 20;

/// Where a program's addresses must end. The loader lies far above, and maps a program of
/// fixed addresses over whatever is there.
const MAX_ADDRESS: u64 = 1 << 44;

/// Why the loader must not be asked about this program.
pub(crate) fn risk(image: &Image<'_>, dynamic: &Dynamic<'_>) -> Option<&'static str> {
    let names = |tag| dynamic.values(tag).next().is_some();
    if names(e::DT_AUDIT) || names(e::DT_DEPAUDIT) {
        return Some("it names audit modules, which would run");
    }
    let mut end = 0;
    for segment in image.segments_of(e::PT_LOAD) {
        let start = segment.p_vaddr(Le);
        let len = segment.p_memsz(Le).max(segment.p_filesz(Le));
        let next = start.saturating_add(len);
        if start < end || next > MAX_ADDRESS {
            return Some("its segments are not in order");
        }
        end = next;
    }
    let mut tables = image.segments_of(e::PT_DYNAMIC);
    let inside = |table: &e::ProgramHeader64<_>| image.at_address(table.p_vaddr(Le));
    (!tables.all(|table| inside(table).is_some())).then_some("its dynamic section is not mapped")
}

/// The libraries of a program whose own loader is `interpreter`, in the order of loading.
///
/// # Errors
/// Why they are not known, in words.
pub(crate) fn libraries(program: &Path, interpreter: &Path) -> Result<Vec<PathBuf>, String> {
    let loader = system_loader().ok_or("this command's own loader is not known")?;
    if std::fs::canonicalize(interpreter).ok() != std::fs::canonicalize(&loader).ok() {
        return Err("its loader is not the one of this system".into());
    }
    let (output, input) = std::io::pipe().map_err(|error| error.to_string())?;
    let mut command = Command::new(&loader);
    command.arg("--list").arg(program).env_clear();
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", path);
    }
    // SAFETY: signal, alarm and setrlimit are async-signal-safe and touch no memory of ours.
    unsafe {
        command.pre_exec(|| {
            // The alarm stays set across exec, and ends the loader whatever it waits for.
            libc::signal(libc::SIGALRM, libc::SIG_DFL);
            libc::alarm(SECONDS);
            let none = Rlimit {
                current: Some(0),
                maximum: Some(0),
            };
            setrlimit(Resource::Core, none)?;
            Ok(())
        });
    }
    let told = |error| format!("{}: {error}", printable(loader.as_os_str().as_bytes()));
    let errors = input.try_clone().map_err(told)?;
    let spawned = command
        .stdin(Stdio::null())
        .stdout(input)
        .stderr(errors)
        .spawn();
    // With it go our ends of the pipe, so that reading ends with the loader.
    drop(command);
    let mut child = spawned.map_err(told)?;
    let mut text = Vec::new();
    let read = output.take(MAX_OUTPUT).read_to_end(&mut text);
    let status = child.wait().map_err(told)?;
    read.map_err(told)?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(listed(&text)),
        (_, Some(libc::SIGALRM)) => Err(format!("the loader did not end in {SECONDS} seconds")),
        (_, Some(signal)) => Err(format!("the loader dies of it (signal {signal})")),
        _ => Err(format!("the loader refuses it: {}", refusal(&text))),
    }
}

/// What this command's own executable names as its loader, if that is the GNU C library's.
fn system_loader() -> Option<PathBuf> {
    let bytes = regular_file::read(Path::new("/proc/self/exe")).ok()?;
    let image = Image::parse(&bytes).ok()?;
    let ProgramKind::Dynamic(loader) = program_kind(&image, image.dynamic().as_ref()).ok()? else {
        return None;
    };
    let path = PathBuf::from(OsStr::from_bytes(&loader));
    let known = ["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
    let is_known = known
        .iter()
        .any(|name| path.file_name() == Some(OsStr::new(name)));
    (path.is_absolute() && is_known).then_some(path)
}

/// The paths in lines such as `\tlibc.so.6 => /lib/libc.so.6 (0x7f00...)`. The vDSO has none.
fn listed(text: &[u8]) -> Vec<PathBuf> {
    let lines = text.split(|&byte| byte == b'\n');
    let path = |line: &[u8]| {
        let entry = line.strip_prefix(b"\t")?;
        let entry = entry.get(..memchr::memmem::rfind(entry, b" (0x")?)?;
        let path = match memchr::memmem::find(entry, b" => ") {
            Some(at) => entry.get(at + 4..)?,
            None => Some(entry).filter(|entry| entry.contains(&b'/'))?,
        };
        Some(PathBuf::from(OsStr::from_bytes(path)))
    };
    lines.filter_map(path).collect()
}

/// The loader's complaint without the program's name and what is alike in all of them.
fn refusal(text: &[u8]) -> String {
    let line = text.trim_ascii().rsplit(|&byte| byte == b'\n').next();
    let line = printable(line.unwrap_or_default());
    let reason = line.split_once("error while loading shared libraries: ");
    reason.map_or(line.clone(), |(_, reason)| reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_line_by_line() {
        let text = b"\tlinux-vdso.so.1 (0x7f0)\n\tlibx.so => a b/libx.so (0x7f1)\nx: no version\n\t/lib64/ld.so (0x7f2)\n\ttorn";
        assert_eq!(
            listed(text),
            ["a b/libx.so", "/lib64/ld.so"].map(PathBuf::from)
        );
        let text = b"warning\n/x: error while loading shared libraries: liby.so: gone\n";
        assert_eq!(refusal(text), "liby.so: gone");
    }

    #[test]
    fn a_program_that_the_loader_would_map_over_itself_is_a_risk() {
        let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let at_risk = |bytes: &[u8]| {
            let image = Image::parse(bytes).unwrap();
            risk(&image, &image.dynamic().unwrap())
        };
        assert_eq!(at_risk(&bytes), None);
        // p_vaddr of the first segment to be loaded; headers of 56 bytes follow the file's.
        let headers = 64..bytes.len() - 56;
        let mut headers = headers.step_by(56);
        let first = headers
            .find(|&at| bytes[at..at + 4] == [1, 0, 0, 0])
            .unwrap();
        bytes[first + 16..][..8].copy_from_slice(&MAX_ADDRESS.to_le_bytes());
        assert_eq!(at_risk(&bytes), Some("its segments are not in order"));
    }

    #[test]
    fn this_test_is_listed_by_its_own_loader() {
        let (program, loader) = (std::env::current_exe().unwrap(), system_loader().unwrap());
        let list = libraries(&program, &loader).unwrap();
        assert!(
            list.iter().any(|path| path.ends_with("libc.so.6")),
            "{list:?}"
        );
        let why = libraries(&program, Path::new("/lib/other-ld.so")).unwrap_err();
        assert!(why.contains("not the one of this system"), "{why}");
    }
}
