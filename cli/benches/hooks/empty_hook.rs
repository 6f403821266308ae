//! The least that a hook can be: as one written in C, with nothing in it.
//!
//! The next definition is looked up once and called; what `benches/hooks`
//! measures of it is the price of standing in front of a function at all.

use core::ffi::{c_uint, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;

static REAL: AtomicUsize = AtomicUsize::new(0);

#[cold]
fn look_up() -> usize {
    // SAFETY: the name is a C string; dlsym only looks it up.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, c"getrandom".as_ptr()) } as usize;
    // Relaxed: another thread that looks it up finds the same number.
    REAL.store(address, Ordering::Relaxed);
    address
}

/// getrandom(2), by the next definition.
///
/// # Safety
/// As for getrandom(2): `dest` is writable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(dest: *mut c_void, len: usize, flags: c_uint) -> isize {
    let mut address = REAL.load(Ordering::Relaxed);
    if address == 0 {
        address = look_up();
    }
    if address == 0 {
        return -1;
    }
    // SAFETY: the address is that of the next getrandom, which has this type.
    let real = unsafe { core::mem::transmute::<usize, Getrandom>(address) };
    // SAFETY: the caller's contract with getrandom(2) is passed on.
    unsafe { real(dest, len, flags) }
}
