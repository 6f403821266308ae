//! The library's system calls, without libc.
//!
//! Promises: errno is never touched (results come back as [`Errno`]), no call
//! is a cancellation point, none goes through the PLT, so a program that
//! defines its own `getrandom` or `open` is never called back. Must never
//! decide anything. The system calls are: getrandom, mmap, madvise, fstat,
//! ioctl, read of no bytes; open, read, close of a file under /proc and of /dev/urandom; open, write,
//! getpid, readlink, poll, rt_sigprocmask, rt_sigtimedwait for a line on fd 2 or a report;
//! kill and exit_group where the process ends for want of any randomness.

use crate::arch::{PAGE, system_call};
use core::ffi::{CStr, c_int, c_short, c_uint, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// An error number of the kernel, positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

/// Makes a system call of up to six arguments and returns what the kernel did.
///
/// # Safety
/// The arguments must be sound for the call: pointers valid as it needs them.
#[inline(always)]
pub(crate) unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: the caller answers for what the call does to memory.
    let result = unsafe { system_call(number, arguments) };
    // Errors are -4095 to -1 (syscall(2), "Architecture calling conventions").
    if (-4095..0).contains(&result) {
        Err(Errno(-result as c_int))
    } else {
        Ok(result as usize)
    }
}

/// Arguments, and zeros for those that are not there.
#[inline(always)]
pub(crate) fn padded<const N: usize>(given: [usize; N]) -> [usize; 6] {
    let mut arguments = [0; 6];
    for (argument, given) in arguments.iter_mut().zip(given) {
        *argument = given;
    }
    arguments
}

/// The system call of this name, with up to six arguments of any integer or pointer type.
macro_rules! kernel_call {
    ($name:ident $(, $argument:expr)*) => {
        $crate::sys::call(libc::$name, $crate::sys::padded([$($argument as usize),*]))
    };
}
pub(crate) use kernel_call;

/// getrandom(2).
///
/// # Safety
/// `dest` may be anything that the kernel may be asked to write `len` bytes to.
pub(crate) unsafe fn getrandom(
    dest: *mut c_void,
    len: usize,
    flags: c_uint,
) -> Result<usize, Errno> {
    // SAFETY: the kernel checks the pointer; writing there is the caller's wish.
    unsafe { kernel_call!(SYS_getrandom, dest, len, flags) }
}

/// A fresh, zeroed page, private to this process.
pub(crate) fn map_page(prot: c_int, flags: c_int) -> Result<*mut c_void, Errno> {
    // SAFETY: no address is asked for, so nothing that exists is replaced.
    unsafe { kernel_call!(SYS_mmap, 0, PAGE, prot, flags, usize::MAX, 0) }
        .map(|address| address as *mut c_void)
}

/// madvise(2) on one page.
///
/// # Safety
/// `page` is a page of ours, and the advice does what its owner wants.
pub(crate) unsafe fn advise(page: *mut c_void, advice: c_int) -> Result<(), Errno> {
    // SAFETY: the page is the caller's, who answers for the advice.
    unsafe { kernel_call!(SYS_madvise, page, PAGE, advice) }.map(|_| ())
}

/// What a descriptor leads to, as far as is asked here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    mode: u32,
    special: u64,
}

impl Identity {
    /// The kind of file: one of `libc::S_IF*`, or 0 for those that have none.
    pub(crate) fn kind(&self) -> u32 {
        self.mode & libc::S_IFMT
    }

    /// Whether this is the urandom device: character device 1:9
    /// (Linux Documentation/admin-guide/devices.txt).
    pub(crate) fn is_urandom(&self) -> bool {
        self.kind() == libc::S_IFCHR && self.special == libc::makedev(1, 9)
    }
}

/// Whether fstat(3) of this libc is the system call newfstatat with an empty path.
static FSTAT_BY_PATH: AtomicBool = AtomicBool::new(false);

/// Chooses the form of fstat that the dynamic loader uses itself: a filter that
/// was made for this userland knows that one, and may kill for the other.
/// glibc 2.33 to 2.38 have newfstatat, all others (and musl) fstat.
pub(crate) fn choose_fstat(glibc: &[u8]) {
    let by_path = matches!(
        glibc,
        [b'2', b'.', b'3', b'3'..=b'8'] | [b'2', b'.', b'3', b'3'..=b'8', b'.', ..]
    );
    FSTAT_BY_PATH.store(by_path, Relaxed);
}

/// fstat(2).
#[inline]
pub(crate) fn identity(fd: c_int) -> Result<Identity, Errno> {
    // Zeroes, and so no device, where a filter answers 0 without making the call
    // (SECCOMP_RET_ERRNO with errno 0, seccomp(2)).
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let place = stat.as_mut_ptr();
    // SAFETY: the kernel writes one `struct stat` to a place of that size.
    unsafe {
        if FSTAT_BY_PATH.load(Relaxed) {
            let empty = c"".as_ptr();
            kernel_call!(SYS_newfstatat, fd, empty, place, libc::AT_EMPTY_PATH)?;
        } else {
            kernel_call!(SYS_fstat, fd, place)?;
        }
    }
    // SAFETY: numbers all through, and zeroes where the kernel wrote nothing.
    let stat = unsafe { stat.assume_init_ref() };
    Ok(Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        mode: stat.st_mode,
        special: stat.st_rdev,
    })
}

/// Whether a descriptor may be read from: a read of no bytes, which a device
/// answers at once. Write-only ones and those of O_PATH refuse.
pub(crate) fn readable(fd: c_int) -> bool {
    let nothing = core::ptr::dangling_mut::<u8>();
    // SAFETY: no bytes are written.
    unsafe { kernel_call!(SYS_read, fd, nothing, 0) == Ok(0) }
}

/// ioctl(RNDGETENTCNT), random(4): succeeds on the random devices, ENOTTY elsewhere.
///
/// # Safety
/// The kernel may write an `int` to `count`, wherever that is.
#[inline]
pub(crate) unsafe fn entropy_count(fd: c_int, count: *mut c_void) -> Result<(), Errno> {
    // `_IOR('R', 0x00, int)`, linux/random.h.
    const RNDGETENTCNT: usize = 0x8004_5200;
    // SAFETY: the kernel checks the pointer; writing there is the caller's contract.
    unsafe { kernel_call!(SYS_ioctl, fd, RNDGETENTCNT, count) }.map(|_| ())
}

/// Reads the start of a small file; how much of `dest` is filled.
pub(crate) fn read_file(path: &CStr, dest: &mut [u8]) -> Result<usize, Errno> {
    let fd = open(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    // SAFETY: the kernel writes at most `dest.len()` bytes to `dest`.
    let read = unsafe { kernel_call!(SYS_read, fd, dest.as_mut_ptr(), dest.len()) };
    close(fd);
    read
}

/// Reads a small file byte by byte until `each` has seen enough, in pieces: the caller may be
/// on the smallest of stacks.
pub(crate) fn read_bytes(path: &CStr, mut each: impl FnMut(u8) -> bool) -> Result<(), Errno> {
    let fd = open(path, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let mut piece = [0u8; 768];
    let done = loop {
        // SAFETY: the kernel writes at most `piece.len()` bytes to `piece`.
        match unsafe { kernel_call!(SYS_read, fd, piece.as_mut_ptr(), piece.len()) } {
            Ok(0) => break Ok(()),
            Ok(len) if piece.iter().take(len).all(|&byte| each(byte)) => {}
            Ok(_) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    close(fd);
    done
}

/// open(2), mode 0644 for a file that is made. As openat, which is what libc
/// (glibc 2.26 and later) and its loader use: filters may not know open any more.
pub(crate) fn open(path: &CStr, flags: c_int) -> Result<c_int, Errno> {
    // SAFETY: `path` ends with a NUL.
    unsafe { kernel_call!(SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0o644) }
        .map(|fd| fd as c_int)
}

/// close(2) of a descriptor that [`open`] gave.
pub(crate) fn close(fd: c_int) {
    // SAFETY: the descriptor is ours. Nothing can be done about an error.
    let _ = unsafe { kernel_call!(SYS_close, fd) };
}

/// write(2), once: how much was taken.
pub(crate) fn write(fd: c_int, text: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads `text`.
    unsafe { kernel_call!(SYS_write, fd, text.as_ptr(), text.len()) }
}

/// poll(2) of one descriptor for POLLOUT, for at most `wait_ms`: what it says of the
/// descriptor, nothing when the time is over.
pub(crate) fn poll_for_room(fd: c_int, wait_ms: c_int) -> Result<c_short, Errno> {
    let mut asked = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one pollfd, which the kernel reads and writes.
    unsafe { kernel_call!(SYS_poll, &raw mut asked, 1, wait_ms) }.map(|_| asked.revents)
}

/// Signals as the kernel has them: a bit each, from 1 on, in eight bytes.
pub(crate) type Signals = u64;

/// Blocks signals in this thread; which were blocked before.
pub(crate) fn block(signals: Signals) -> Result<Signals, Errno> {
    let mut before = 0;
    mask(libc::SIG_BLOCK, &raw const signals, &raw mut before).map(|()| before)
}

/// Sets what this thread blocks.
pub(crate) fn set_blocked(signals: Signals) {
    // It was done once, by `block`. Nothing can be done about an error.
    let _ = mask(libc::SIG_SETMASK, &raw const signals, core::ptr::null_mut());
}

fn mask(how: c_int, set: *const Signals, old: *mut Signals) -> Result<(), Errno> {
    // SAFETY: sets are of the size that is told, or null.
    unsafe { kernel_call!(SYS_rt_sigprocmask, how, set, old, size_of::<Signals>()) }.map(|_| ())
}

/// Takes one pending signal of these back, if there is one: rt_sigtimedwait(2), without
/// waiting.
pub(crate) fn take_back(signals: Signals) {
    let now = [0u64; 2];
    // SAFETY: a set and a timespec of zero; nothing is written.
    let _ = unsafe {
        kernel_call!(
            SYS_rt_sigtimedwait,
            &raw const signals,
            0,
            &raw const now,
            size_of::<Signals>()
        )
    };
}

/// The path of the program's own file: readlink(2) of /proc/self/exe.
pub(crate) fn executable(dest: &mut [u8]) -> Result<usize, Errno> {
    let path = c"/proc/self/exe".as_ptr();
    // SAFETY: the kernel writes at most `dest.len()` bytes to `dest`.
    unsafe { kernel_call!(SYS_readlink, path, dest.as_mut_ptr(), dest.len()) }
}

/// getpid(2).
pub(crate) fn pid() -> u64 {
    // SAFETY: no arguments, no memory, no error.
    unsafe { kernel_call!(SYS_getpid) }.unwrap_or(0) as u64
}

/// Ends the process by SIGABRT, or else by any means there is.
pub(crate) fn die() -> ! {
    // SAFETY: signals to ourselves; the loop is for a program that survives them.
    unsafe {
        let _ = kernel_call!(SYS_kill, pid(), libc::SIGABRT);
        loop {
            let _ = kernel_call!(SYS_exit_group, 134);
        }
    }
}
