//! The kernel's getrandom without a system call, in the vDSO since Linux 6.11: the yardstick that the
//! threads did not have. Found by reading the vDSO's ELF image, so that an old libc does not matter.
//!
//! Promises: one state a reader, in memory mapped as the vDSO asks for, given back at the end.

use super::{Ints, Pool, Seat};
use core::ffi::{c_uint, c_void};
use object::{Object, ObjectSymbol};

type Function = unsafe extern "C" fn(*mut c_void, usize, c_uint, *mut c_void, usize) -> isize;

/// What the vDSO says about the states that it wants.
#[repr(C)]
#[derive(Default)]
struct Params {
    size: u32,
    protection: i32,
    flags: i32,
    reserved: [u32; 13],
}

/// The function, and how its states are to be mapped.
pub(crate) struct Vdso {
    function: Function,
    params: Params,
}

/// The vDSO's image, as /proc/self/maps shows it.
fn image() -> Option<&'static [u8]> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    // SAFETY: the kernel maps these pages readable for the life of the process and never writes them.
    Some(unsafe {
        core::slice::from_raw_parts(core::ptr::with_exposed_provenance(start), end - start)
    })
}

impl Vdso {
    /// None where the kernel has no such function.
    pub(crate) fn new() -> Option<Self> {
        let image = image()?;
        let elf = object::File::parse(image).ok()?;
        let symbol = elf
            .dynamic_symbols()
            .find(|symbol| symbol.name() == Ok("__vdso_getrandom"))?;
        let code = image.get(symbol.address() as usize..)?.as_ptr();
        // SAFETY: the symbol of this name has this type (linux/random.h, vgetrandom(7)).
        let function = unsafe { core::mem::transmute::<*const u8, Function>(code) };
        let mut params = Params::default();
        // SAFETY: the question about parameters: no buffer, a state length of all ones, and a place for
        // the answer that is as large as the kernel's struct.
        let result = unsafe {
            function(
                core::ptr::null_mut(),
                0,
                0,
                (&raw mut params).cast(),
                usize::MAX,
            )
        };
        (result == 0 && params.size > 0).then_some(Self { function, params })
    }

    /// A state of one's own.
    fn state(&self) -> State {
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let page = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                PAGE_LEN,
                self.params.protection,
                self.params.flags,
                -1,
                0,
            )
        };
        assert_ne!(page, libc::MAP_FAILED, "no memory for a vDSO state");
        State { page }
    }

    #[inline(always)]
    fn fill(&self, state: &mut State, dest: &mut [u8]) {
        let size = self.params.size as usize;
        // SAFETY: `dest` is writable for its length; the state is ours alone, mapped as asked, and zero
        // or as the last call left it.
        let result =
            unsafe { (self.function)(dest.as_mut_ptr().cast(), dest.len(), 0, state.page, size) };
        assert_eq!(result, dest.len() as isize, "short answer from the vDSO");
    }
}

const PAGE_LEN: usize = 4096;

/// A page with one state in it.
pub(crate) struct State {
    page: *mut c_void,
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the page was mapped by `Vdso::state` and nobody else knows it.
        unsafe { libc::munmap(self.page, PAGE_LEN) };
    }
}

impl Pool for Vdso {
    type Reader = State;

    fn reader(&self, _seat: Seat) -> State {
        self.state()
    }

    fn read(&self, reader: &mut State, dest: &mut [u8]) {
        self.fill(reader, dest);
    }
}

/// The vDSO asked for every word.
pub(crate) struct VdsoInts {
    vdso: Vdso,
    state: State,
}

impl VdsoInts {
    /// None where the kernel has no such function.
    pub(crate) fn new() -> Option<Self> {
        let vdso = Vdso::new()?;
        let state = vdso.state();
        Some(Self { vdso, state })
    }
}

impl Ints for VdsoInts {
    fn u32(&mut self) -> u32 {
        let mut word = [0; 4];
        self.vdso.fill(&mut self.state, &mut word);
        u32::from_ne_bytes(word)
    }

    fn u64(&mut self) -> u64 {
        let mut word = [0; 8];
        self.vdso.fill(&mut self.state, &mut word);
        u64::from_ne_bytes(word)
    }
}
