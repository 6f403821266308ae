//! One call, made each way.
//!
//! A contender is a name and a function that makes one call with what a thread has
//! for it. All of these have one shape and are reached through a pointer, so that
//! what the harness costs is the same for each (about 1 ns, and within that of a
//! C program calling through its PLT). Must never: check more than that all the
//! bytes came; whatever else happened here would be timed too.

use core::ffi::{c_int, c_uint, c_void};
use core::hint::black_box;
use ownpool_measure::syscall::raw;
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
const LARGEST: usize = 4 << 20;

/// What one thread calls with: where bytes go, a vDSO state, a descriptor.
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
    /// Which of them there is none of.
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

    /// Takes a fresh vDSO state, with a whole batch ahead of it: where a batch stands when
    /// a size begins decides how later copies are aligned, by a tenth of their cost.
    pub(super) fn renew_vdso_state(&mut self) {
        self.vdso = self.functions.vdso.and_then(Vdso::state);
    }

    /// Makes this thread a heavy caller, as a program under load would be.
    pub(super) fn become_heavy(&self, calls: u32) -> bool {
        (0..calls).all(|_| getrandom(self, 64) == 64)
            && (0..calls / 256).all(|_| read(self, 1 << 16) == 1 << 16)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this length; its address was never given away.
        unsafe { libc::munmap(self.dest.cast(), LARGEST) };
    }
}

/// The answer of a function that says only whether all bytes came.
fn all(good: bool, len: usize) -> isize {
    if good { len.cast_signed() } else { -1 }
}

/// Defines [`Call`]s by what each does with the thread's own things and the length.
macro_rules! calls {
    ($($name:ident($caller:ident, $len:ident) $call:expr;)*) => {$(
        pub(super) fn $name($caller: &Caller, $len: usize) -> isize {
            // SAFETY: the buffer holds LARGEST bytes, no request is larger, and each
            // function has the type of its name.
            unsafe { $call }
        }
    )*};
}

calls! {
    kernel_getrandom(caller, len) raw(libc::SYS_getrandom, caller.dest.expose_provenance(), len, 0);
    kernel_read(caller, len) {
        let fd = caller.urandom.as_raw_fd().cast_unsigned() as usize;
        raw(libc::SYS_read, fd, caller.dest.expose_provenance(), len)
    };
    vdso(caller, len) caller.vdso.as_ref().map_or(-1, |state| state.fill(caller.dest, len));
    getrandom(caller, len) (caller.functions.getrandom)(caller.dest.cast(), len, 0);
    read(caller, len) (caller.functions.read)(caller.urandom.as_raw_fd(), caller.dest.cast(), len);
    getentropy(caller, len) all((caller.functions.getentropy)(caller.dest.cast(), len) == 0, len);
    fill(caller, len) all((caller.functions.fill)(caller.dest.cast(), len) == 0, len);
    arc4random_buf(caller, len) {
        (caller.functions.arc4random_buf)(caller.dest.cast(), len);
        len.cast_signed()
    };
    libbsd(caller, len) {
        let Some(arc4random_buf) = caller.functions.libbsd else { return -1 };
        arc4random_buf(caller.dest.cast(), len);
        len.cast_signed()
    };
    glibc(caller, len) {
        let Some(arc4random_buf) = caller.functions.glibc else { return -1 };
        arc4random_buf(caller.dest.cast(), len);
        len.cast_signed()
    };
    openssl(caller, len) match (caller.functions.openssl, c_int::try_from(len)) {
        (Some(rand_bytes), Ok(count)) => all(rand_bytes(caller.dest, count) == 1, len),
        _ => -1,
    };
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
