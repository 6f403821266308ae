//! A tracer: runs a program, sees every system call of every thread and child of it,
//! tells which loaded file each was made from, and may answer any of them in the kernel's
//! place. By ptrace(2) and nothing else, so that a fresh machine needs no strace.
//!
//! The tracee's standard output and error go to files and come back whole. A run ends
//! after [`LONGEST`] at the latest: the program is then killed and the test fails.

use core::mem::{self, size_of};
use core::ptr;
use core::time::Duration;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

/// A traced run that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(60);

/// One system call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The thread that made it.
    pub thread: i32,
    /// Its number, one of `libc::SYS_*`.
    pub number: i64,
    /// Its arguments.
    pub args: [u64; 6],
    /// What it gave: a negative number is an errno. `None` while it has not returned,
    /// and for those that never do.
    pub result: Option<i64>,
    /// Name of the mapping that holds the instruction: the last component of a path, or
    /// as in /proc/PID/maps, "[vdso]".
    pub from: String,
    /// How many execve(2) the process had behind it, the first one included.
    pub image: usize,
    /// Whether it was answered by the test.
    pub refused: bool,
    /// For calls that take a path first or second: the path.
    pub path: Option<String>,
}

impl Call {
    /// Whether our library made it, by an instruction of its own.
    pub fn by_library(&self) -> bool {
        self.from.starts_with("libownpool.so")
    }

    /// Whether the vDSO made it.
    pub fn by_vdso(&self) -> bool {
        self.from == "[vdso]"
    }
}

/// A finished run.
#[derive(Debug)]
pub struct Trace {
    /// Every system call, in the order in which they began.
    pub calls: Vec<Call>,
    /// How the program ended, as wait(2) has it.
    pub status: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Trace {
    /// Whether the program ended with exit status 0.
    pub fn succeeded(&self) -> bool {
        self.status == 0
    }
}

/// `struct ptrace_syscall_info` of linux/ptrace.h (Linux 5.3).
#[repr(C)]
struct Info {
    op: u8,
    _pad: [u8; 3],
    _arch: u32,
    instruction: u64,
    _stack: u64,
    data: [u64; 8],
}
const ENTRY: u8 = 1;
const EXIT: u8 = 2;
/// Offsets into `struct user` (sys/user.h, x86-64): eight bytes a register.
const RAX: usize = 10 * 8;
const ORIG_RAX: usize = 15 * 8;

/// Runs `command` to its end. For every call that begins, `answer` may give the result
/// that the program sees instead: the kernel then does not make the call at all.
pub fn run(command: &mut Command, mut answer: impl FnMut(&Call) -> Option<i64>) -> Trace {
    let mut stdout = tempfile::tempfile().expect("a file for standard output");
    let mut stderr = tempfile::tempfile().expect("a file for standard error");
    command
        .stdin(std::process::Stdio::null())
        .stdout(stdout.try_clone().expect("another descriptor"))
        .stderr(stderr.try_clone().expect("another descriptor"));
    // SAFETY: one system call between fork and exec, as pre_exec asks for.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    #[allow(
        clippy::zombie_processes,
        reason = "`follow` waits for it, by waitpid as a tracer must"
    )]
    let child = command.spawn().expect("the program starts");
    let first = child.id() as i32;
    let (finished, watched) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        let hangs = watched.recv_timeout(LONGEST) == Err(mpsc::RecvTimeoutError::Timeout);
        if hangs {
            // SAFETY: our own child, not reaped yet: the loop below is still waiting for it.
            unsafe { libc::kill(first, libc::SIGKILL) };
        }
        hangs
    });
    let (calls, status) = follow(first, &mut answer);
    drop(finished);
    assert!(!watchdog.join().expect("the watchdog"), "the program hangs");
    Trace {
        calls,
        status,
        stdout: text(&mut stdout),
        stderr: text(&mut stderr),
    }
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().expect("a file can be rewound");
    file.read_to_end(&mut bytes).expect("and read");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is known of one traced thread.
#[derive(Default)]
struct Thread {
    /// The call in flight, an index of the list, and what the test answered.
    call: Option<(usize, Option<i64>)>,
    image: usize,
    maps: Vec<(u64, u64, String)>,
}

fn follow(first: i32, answer: &mut impl FnMut(&Call) -> Option<i64>) -> (Vec<Call>, i32) {
    let mut threads: HashMap<i32, Thread> = HashMap::new();
    let mut calls: Vec<Call> = Vec::new();
    let mut last_status = -1;
    loop {
        let mut status = 0;
        // Children of this thread alone: other tests of this program wait for theirs.
        // SAFETY: the status is ours to be written.
        let id = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if id == -1 {
            // ECHILD: all have ended.
            return (calls, last_status);
        }
        if !libc::WIFSTOPPED(status) {
            threads.remove(&id);
            if id == first {
                last_status = status;
            }
            continue;
        }
        let mut signal = 0;
        let stop = libc::WSTOPSIG(status);
        let event = status >> 16;
        let is_new = !threads.contains_key(&id);
        let state = threads.entry(id).or_default();
        if is_new {
            if id == first {
                let options = libc::PTRACE_O_TRACESYSGOOD
                    | libc::PTRACE_O_TRACEFORK
                    | libc::PTRACE_O_TRACEVFORK
                    | libc::PTRACE_O_TRACECLONE
                    | libc::PTRACE_O_TRACEEXEC
                    | libc::PTRACE_O_EXITKILL;
                request(libc::PTRACE_SETOPTIONS, id, 0, options as usize);
            }
            // The first stop of a thread: by the execve, or by its birth. Neither is
            // a signal that the program should see.
            state.image = 1;
        } else if stop == libc::SIGTRAP | 0x80 {
            at_call(id, state, &mut calls, answer);
        } else if event == libc::PTRACE_EVENT_EXEC {
            state.image += 1;
            state.maps.clear();
        } else if event == 0 {
            signal = stop;
        }
        request(libc::PTRACE_SYSCALL, id, 0, signal as usize);
    }
}

fn at_call(
    id: i32,
    state: &mut Thread,
    calls: &mut Vec<Call>,
    answer: &mut impl FnMut(&Call) -> Option<i64>,
) {
    // SAFETY: plain numbers.
    let mut info: Info = unsafe { mem::zeroed() };
    request(
        libc::PTRACE_GET_SYSCALL_INFO,
        id,
        size_of::<Info>(),
        &raw mut info as usize,
    );
    if info.op == ENTRY {
        let [number, args @ .., _] = info.data;
        let mut call = Call {
            thread: id,
            number: number as i64,
            args: args.first_chunk::<6>().copied().expect("six arguments"),
            result: None,
            from: place(id, state, info.instruction),
            image: state.image,
            refused: false,
            path: None,
        };
        call.path = path_of(&call);
        let answered = answer(&call);
        call.refused = answered.is_some();
        if call.refused {
            // No such call: the kernel then does nothing.
            request(libc::PTRACE_POKEUSER, id, ORIG_RAX, usize::MAX);
        }
        calls.push(call);
        state.call = Some((calls.len() - 1, answered));
    } else if info.op == EXIT
        && let Some((index, answered)) = state.call.take()
    {
        if let Some(result) = answered {
            request(libc::PTRACE_POKEUSER, id, RAX, result as usize);
        }
        calls[index].result = Some(answered.unwrap_or(info.data[0] as i64));
    }
}

/// A ptrace(2) request. A thread that was killed meanwhile fails it; its end comes next.
fn request(what: libc::c_uint, id: i32, address: usize, data: usize) {
    // SAFETY: numbers, or the address of a structure of the size that goes with it.
    unsafe { libc::ptrace(what, id, address, data) };
}

/// The mapping that an address lies in.
fn place(id: i32, state: &mut Thread, address: u64) -> String {
    for look in 0..2 {
        for (start, end, name) in &state.maps {
            if (*start..*end).contains(&address) {
                return name.clone();
            }
        }
        if look == 0 {
            state.maps = maps(id);
        }
    }
    String::from("?")
}

fn maps(id: i32) -> Vec<(u64, u64, String)> {
    let text = std::fs::read_to_string(format!("/proc/{id}/maps")).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let name = words.nth(4).unwrap_or("?");
            Some((
                u64::from_str_radix(start, 16).ok()?,
                u64::from_str_radix(end, 16).ok()?,
                name.rsplit('/').next().unwrap_or(name).to_owned(),
            ))
        })
        .collect()
}

/// The path of a call that takes one.
fn path_of(call: &Call) -> Option<String> {
    let address = match call.number {
        libc::SYS_open
        | libc::SYS_readlink
        | libc::SYS_execve
        | libc::SYS_access
        | libc::SYS_stat => call.args[0],
        libc::SYS_openat | libc::SYS_newfstatat | libc::SYS_readlinkat => call.args[1],
        _ => return None,
    };
    let mut path = [0u8; 256];
    let local = libc::iovec {
        iov_base: path.as_mut_ptr().cast(),
        iov_len: path.len(),
    };
    // Not beyond the page that it starts in: the next one may not be there.
    let remote = libc::iovec {
        iov_base: ptr::without_provenance_mut(address as usize),
        iov_len: path.len().min(4096 - address as usize % 4096),
    };
    // SAFETY: the kernel writes at most the length of `path` there.
    let got = unsafe {
        libc::process_vm_readv(call.thread, &raw const local, 1, &raw const remote, 1, 0)
    };
    let bytes = path.get(..usize::try_from(got).ok()?)?;
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
