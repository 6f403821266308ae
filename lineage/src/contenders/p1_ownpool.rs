//! P1 and P9, ours: the real library, built for release and called through its C interface like any C
//! program would, `ownpool_fill` for reads and `ownpool_u32`, `ownpool_u64` for small integers.
//!
//! Promises: nothing of the library is compiled into the benchmark. Where the library or a symbol of it
//! is missing, one line says so.

use super::{Ints, Pool, Seat};
use core::ffi::{c_int, c_void};
use libloading::Library;
use object::{Object, ObjectSection};
use ownpool_measure::artifacts;

type Fill = unsafe extern "C" fn(*mut c_void, usize) -> c_int;

/// The library's functions.
#[derive(Clone, Copy)]
pub(crate) struct Ownpool {
    fill: Fill,
    u32: unsafe extern "C" fn() -> u32,
    u64: unsafe extern "C" fn() -> u64,
    /// Bytes of its code, and of thread-local storage that each thread has, moved or not.
    pub(crate) code: u64,
    pub(crate) tls: u64,
}

impl Ownpool {
    /// Builds, loads and looks up.
    pub(crate) fn load() -> Result<Self, String> {
        let path = artifacts::library()?;
        // SAFETY: the library's constructor only reads settings and looks up symbols.
        let library = unsafe { Library::new(&path) }
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let image = std::fs::read(&path).map_err(|error| error.to_string())?;
        let elf = object::File::parse(image.as_slice()).map_err(|error| error.to_string())?;
        let section = |name| {
            elf.section_by_name(name)
                .map_or(0, |section| section.size())
        };
        // The functions are used until the process ends.
        let library = Box::leak(Box::new(library));
        // SAFETY: these are the types that the library's header gives.
        unsafe {
            Ok(Self {
                fill: symbol(library, "ownpool_fill")?,
                u32: symbol(library, "ownpool_u32")?,
                u64: symbol(library, "ownpool_u64")?,
                code: section(".text"),
                tls: section(".tbss") + section(".tdata"),
            })
        }
    }
}

/// The function of this name.
///
/// # Safety
/// It must be of type `T`.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: the caller's word on the type.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found
        .map(|symbol| *symbol)
        .map_err(|_| format!("the library has no symbol {name}"))
}

impl Pool for Ownpool {
    type Reader = ();

    fn reader(&self, _seat: Seat) {}

    #[inline(always)]
    fn read(&self, _reader: &mut (), dest: &mut [u8]) {
        // SAFETY: `dest` is writable for its length.
        let result = unsafe { (self.fill)(dest.as_mut_ptr().cast(), dest.len()) };
        assert_eq!(result, 0, "ownpool_fill failed");
    }
}

impl Ints for Ownpool {
    #[inline(always)]
    fn u32(&mut self) -> u32 {
        // SAFETY: takes nothing, may be called from any thread.
        unsafe { (self.u32)() }
    }

    #[inline(always)]
    fn u64(&mut self) -> u64 {
        // SAFETY: as above.
        unsafe { (self.u64)() }
    }
}
