//! One call, made each way.
//!
//! A contender is a name and a function that makes one call from a thread's
//! caller. All of these have one shape and are reached through a pointer, so that
//! what the harness costs is the same for each (about 1 ns, and within that of a
//! C program calling through its PLT). Must never: check more than that all the
//! bytes came; whatever else happened here would be timed too.

use core::ffi::{c_int, c_uint, c_void};
use core::hint::black_box;
use ownpool_measure::vdso::{State, Vdso};
use std::fs::File;
use std::os::fd::AsRawFd as _;

pub(super) type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
pub(super) type Read = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;
pub(super) type Fallible = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
pub(super) type Infallible = unsafe extern "C" fn(*mut c_void, usize);
pub(super) type RandBytes = unsafe extern "C" fn(*mut u8, c_int) -> c_int;

pub(super) const KERNEL: &str = "kernel";
pub(super) const VDSO: &str = "vDSO";
pub(super) const OWNPOOL: &str = "ownpool";
pub(super) const FILL: &str = "ownpool_fill";
pub(super) const LIBBSD: &str = "libbsd";
pub(super) const OPENSSL: &str = "OpenSSL";
pub(super) const GLIBC: &str = "glibc";
pub(super) const ARITHMETIC: &str = "arithmetic";

/// The functions under measurement, the same for every thread.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) getrandom: Getrandom,
    pub(super) read: Read,
    pub(super) getentropy: Fallible,
    pub(super) arc4random_buf: Infallible,
    pub(super) fill: Fallible,
    pub(super) vdso: Option<Vdso>,
    pub(super) libbsd: Option<Infallible>,
    pub(super) openssl: Option<RandBytes>,
    pub(super) glibc: Option<Infallible>,
}

/// How large a request can be: as large as the buffer.
pub(super) const LARGEST: usize = 4 << 20;

/// One thread's place: where bytes go, and what it calls with.
pub(super) struct Caller {
    functions: Functions,
    dest: *mut u8,
    vdso: Option<State>,
    urandom: File,
}

/// One call for `len` bytes, at most [`LARGEST`]; gives how many came, as read(2)
/// does, so that most of these end in a jump.
pub(super) type Call = fn(&Caller, usize) -> isize;

/// A name and how it is called.
#[derive(Clone, Copy)]
pub(super) struct Contender {
    pub(super) who: &'static str,
    pub(super) call: Call,
}

impl Caller {
    /// A buffer, a vDSO state and a descriptor of /dev/urandom for this thread.
    ///
    /// # Errors
    /// What could not be had.
    pub(super) fn new(functions: Functions) -> Result<Caller, String> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        // SAFETY: a new anonymous mapping disturbs nothing.
        let dest = unsafe { libc::mmap(core::ptr::null_mut(), LARGEST, prot, flags, -1, 0) };
        if dest == libc::MAP_FAILED {
            return Err(String::from("no memory for a buffer"));
        }
        let urandom =
            File::open("/dev/urandom").map_err(|error| format!("/dev/urandom: {error}"))?;
        Ok(Caller {
            functions,
            dest: dest.cast(),
            vdso: functions.vdso.and_then(Vdso::state),
            urandom,
        })
    }

    /// A fresh vDSO state, with a whole batch ahead of it: where a batch stands when
    /// a size begins decides how later copies are aligned, by a tenth of their cost.
    pub(super) fn renew(&mut self) {
        self.vdso = self.functions.vdso.and_then(Vdso::state);
    }

    /// Makes this thread a heavy caller, as a program under load would be.
    pub(super) fn drive_heavy(&self, calls: u32) -> bool {
        (0..calls).all(|_| getrandom(self, 64) == 64)
            && (0..calls / 256).all(|_| read(self, 1 << 16) == 1 << 16)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this length; nobody else has its address.
        unsafe { libc::munmap(self.dest.cast(), LARGEST) };
    }
}

/// A system call of three arguments that nobody can stand in front of.
///
/// # Safety
/// The arguments are what that call wants.
unsafe fn raw(number: libc::c_long, first: usize, second: usize, third: usize) -> isize {
    let answer: isize;
    // SAFETY: the kernel changes rax, rcx and r11 alone, and writes where the
    // caller's arguments allow it to.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") first, in("rsi") second,
            in("rdx") third, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer
}

/// What a function that answers 0 or 1 for "all of them" gave.
fn whole(good: bool, len: usize) -> isize {
    if good { len.cast_signed() } else { -1 }
}

pub(super) fn kernel_getrandom(caller: &Caller, len: usize) -> isize {
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { raw(libc::SYS_getrandom, caller.dest.addr(), len, 0) }
}

pub(super) fn kernel_read(caller: &Caller, len: usize) -> isize {
    let fd = caller.urandom.as_raw_fd().cast_unsigned() as usize;
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { raw(libc::SYS_read, fd, caller.dest.addr(), len) }
}

pub(super) fn vdso(caller: &Caller, len: usize) -> isize {
    let Some(state) = &caller.vdso else { return -1 };
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { state.fill(caller.dest, len) }
}

pub(super) fn getrandom(caller: &Caller, len: usize) -> isize {
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { (caller.functions.getrandom)(caller.dest.cast(), len, 0) }
}

pub(super) fn read(caller: &Caller, len: usize) -> isize {
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { (caller.functions.read)(caller.urandom.as_raw_fd(), caller.dest.cast(), len) }
}

pub(super) fn getentropy(caller: &Caller, len: usize) -> isize {
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    let answer = unsafe { (caller.functions.getentropy)(caller.dest.cast(), len) };
    whole(answer == 0, len)
}

pub(super) fn arc4random_buf(caller: &Caller, len: usize) -> isize {
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { (caller.functions.arc4random_buf)(caller.dest.cast(), len) };
    len.cast_signed()
}

pub(super) fn fill(caller: &Caller, len: usize) -> isize {
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    let answer = unsafe { (caller.functions.fill)(caller.dest.cast(), len) };
    whole(answer == 0, len)
}

pub(super) fn libbsd(caller: &Caller, len: usize) -> isize {
    let Some(call) = caller.functions.libbsd else {
        return -1;
    };
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { call(caller.dest.cast(), len) };
    len.cast_signed()
}

pub(super) fn openssl(caller: &Caller, len: usize) -> isize {
    let (Some(call), Ok(signed)) = (caller.functions.openssl, c_int::try_from(len)) else {
        return -1;
    };
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    let answer = unsafe { call(caller.dest, signed) };
    whole(answer == 1, len)
}

pub(super) fn glibc(caller: &Caller, len: usize) -> isize {
    let Some(call) = caller.functions.glibc else {
        return -1;
    };
    // SAFETY: the caller's buffer holds LARGEST bytes, and no caller asks for more.
    unsafe { call(caller.dest.cast(), len) };
    len.cast_signed()
}

/// Sixteen dependent multiplications: time in one core's arithmetic and nothing
/// shared, the yardstick for scaling.
pub(super) fn arithmetic(_caller: &Caller, len: usize) -> isize {
    let mut word = black_box(len as u64 | 1);
    for _ in 0..16 {
        word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (word >> 29);
    }
    black_box(word);
    len.cast_signed()
}
