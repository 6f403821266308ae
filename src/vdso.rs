//! The kernel's vDSO: getrandom without entering the kernel, and a coarse clock.
//!
//! Promises: finds getrandom (Linux 6.11) and clock_gettime
//! once, early, through AT_SYSINFO_EHDR; the generator's state lives where the
//! caller says, in memory mapped with the protection and flags that the kernel
//! asks for. Must never use a clock that reads the time-stamp counter: some
//! programs forbid it (PR_SET_TSC). Only the coarse clock is read, which does
//! not, and libc's is not used, since another preload may fake it.

use crate::arch::{VDSO_CLOCK_GETTIME, VDSO_GETRANDOM};
use crate::config;
use crate::loaded_image::Image;
use crate::loaded_image::files::LoadedFile;
use core::ffi::{c_int, c_uint, c_void};
use core::mem;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use once_cell::race::OnceNonZeroUsize;

/// `struct vgetrandom_opaque_params` of linux/random.h.
#[repr(C)]
struct Params {
    state_size: u32,
    mmap_prot: u32,
    mmap_flags: u32,
    reserved: [u32; 13],
}

type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint, *mut c_void, usize) -> isize;
type ClockGetTime = unsafe extern "C" fn(c_int, *mut libc::timespec) -> c_int;

static GETRANDOM: OnceNonZeroUsize = OnceNonZeroUsize::new();
static CLOCK: OnceNonZeroUsize = OnceNonZeroUsize::new();
static STATE_SIZE: AtomicU32 = AtomicU32::new(0);
static PROT: AtomicU32 = AtomicU32::new(0);
static FLAGS: AtomicU32 = AtomicU32::new(0);

/// linux/mman.h, since Linux 6.11; not in every libc.
const MAP_DROPPABLE: c_int = 0x08;

/// The most that a state may take in our page. Linux 6.11 to 6.18 ask for 144.
pub(crate) const STATE_MAX: usize = 256;

/// Finds the functions. Once, from the constructor.
pub(crate) fn find() {
    // SAFETY: getauxval has no preconditions.
    let header = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    if header == 0 {
        return;
    }
    // SAFETY: the kernel maps its vDSO at this address for the life of the process.
    let image = unsafe { LoadedFile::at(header) }.and_then(|file| {
        let dynamic = file.dynamic()?;
        // SAFETY: the dynamic section of that image.
        Some(unsafe { Image::new(file.bias, dynamic) })
    });
    let Some(image) = image else {
        return;
    };
    if let Some(clock) = image.function(VDSO_CLOCK_GETTIME) {
        let _ = CLOCK.set(clock);
    }
    if let Some(getrandom) = image.function(VDSO_GETRANDOM) {
        ask_params(getrandom);
    }
}

/// Asks the function what its state needs, and keeps it if we can give it that.
fn ask_params(address: NonZeroUsize) {
    let mut params = Params {
        state_size: 0,
        mmap_prot: 0,
        mmap_flags: 0,
        reserved: [0; 13],
    };
    // SAFETY: the vDSO's function of this name has this type (vgetrandom(3) draft,
    // lib/vdso/getrandom.c); a state size of ~0 asks for the parameters.
    let answer = unsafe {
        let function: GetRandom = mem::transmute::<usize, GetRandom>(address.get());
        function(
            core::ptr::null_mut(),
            0,
            0,
            (&raw mut params).cast(),
            usize::MAX,
        )
    };
    if config::test().odd_vdso {
        params.mmap_flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u32;
    }
    // What it asks for is believed only if it is what makes our page safe too: memory that is
    // dropped or wiped whole, readable and writable. (A kernel that asked for something else
    // would have reasons of its own, and parent and child might share a page's bytes.)
    let understood = params.mmap_flags as c_int == MAP_DROPPABLE | libc::MAP_ANONYMOUS
        && params.mmap_prot as c_int == libc::PROT_READ | libc::PROT_WRITE
        && (1..=STATE_MAX).contains(&(params.state_size as usize));
    if answer != 0 || !understood || config::test().wipe {
        return;
    }
    PROT.store(params.mmap_prot, Relaxed);
    FLAGS.store(params.mmap_flags, Relaxed);
    if !config::test().no_vdso {
        STATE_SIZE.store(params.state_size, Relaxed);
        let _ = GETRANDOM.set(address);
    }
}

/// Whether getrandom is there.
pub(crate) fn has_getrandom() -> bool {
    GETRANDOM.get().is_some()
}

/// The protection and flags that memory for a state is to be mapped with.
pub(crate) fn mapping() -> Option<(c_int, c_int)> {
    let flags = FLAGS.load(Relaxed);
    (flags != 0).then(|| (PROT.load(Relaxed) as c_int, flags as c_int))
}

/// getrandom(2) by the vDSO; `None` where there is none. A negative result is
/// the kernel's error.
///
/// # Safety
/// `dest` is writable for `len`; `state` is [`STATE_MAX`] bytes within one page
/// mapped as [`mapping`] says, and nothing else uses it meanwhile.
#[inline]
pub(crate) unsafe fn getrandom(
    dest: *mut u8,
    len: usize,
    flags: c_uint,
    state: *mut c_void,
) -> Option<isize> {
    let address = GETRANDOM.get()?.get();
    // SAFETY: the type is right (see `ask_params`); the rest is the caller's contract.
    unsafe {
        let function: GetRandom = mem::transmute::<usize, GetRandom>(address);
        Some(function(
            dest.cast(),
            len,
            flags,
            state,
            STATE_SIZE.load(Relaxed) as usize,
        ))
    }
}

/// Milliseconds of CLOCK_MONOTONIC_COARSE, at least 1; `None` without a vDSO.
pub(crate) fn now_ms() -> Option<u64> {
    let address = CLOCK.get()?.get();
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the vDSO's function of this name has clock_gettime(2)'s type, and
    // writes one timespec.
    let answer = unsafe {
        let function: ClockGetTime = mem::transmute::<usize, ClockGetTime>(address);
        function(libc::CLOCK_MONOTONIC_COARSE, &raw mut time)
    };
    (answer == 0).then(|| {
        (time.tv_sec as u64)
            .wrapping_mul(1000)
            .wrapping_add(time.tv_nsec as u64 / 1_000_000)
            .max(1)
    })
}
