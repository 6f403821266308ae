//! P1 and P9, ours: the real library, built for release and called through its C interface like any C
//! program would, `ownpool_fill` for reads and `ownpool_u32`, `ownpool_u64` for small integers.
//!
//! Promises: nothing of the library is compiled into the benchmark. Where the library or a symbol of it
//! is missing, one line says so.

use super::{Cpu, Ints, Pool};
use core::ffi::{c_int, c_void};
use core::mem::ManuallyDrop;
use libloading::os::unix::Library;
use ownpool_measure::image::{self, Sizes};
use ownpool_measure::{artifacts, symbols};

type Fill = unsafe extern "C" fn(*mut c_void, usize) -> c_int;

/// The library's functions.
#[derive(Clone, Copy)]
pub(crate) struct Ownpool {
    fill: Fill,
    u32: unsafe extern "C" fn() -> u32,
    u64: unsafe extern "C" fn() -> u64,
    /// Of its code, and of thread-local storage that each thread has, moved or not.
    pub(crate) size: Sizes,
}

impl Ownpool {
    /// Builds, loads and looks up.
    pub(crate) fn load() -> Result<Self, String> {
        let path = artifacts::library()?;
        // SAFETY: the library's constructor only reads settings and looks up symbols.
        let library = unsafe { Library::new(&path) }
            .map_err(|error| format!("{}: {error}", path.display()))?;
        // The functions are used until the process ends.
        let library = ManuallyDrop::new(library);
        // SAFETY: these are the types that the library's header gives.
        let found = unsafe {
            (
                symbols::find(&library, c"ownpool_fill"),
                symbols::find(&library, c"ownpool_u32"),
                symbols::find(&library, c"ownpool_u64"),
            )
        };
        let missing = |name: &str| format!("the library has no symbol {name}");
        Ok(Self {
            fill: found.0.ok_or_else(|| missing("ownpool_fill"))?,
            u32: found.1.ok_or_else(|| missing("ownpool_u32"))?,
            u64: found.2.ok_or_else(|| missing("ownpool_u64"))?,
            size: image::sizes(&path)?,
        })
    }
}

impl Pool for Ownpool {
    type Reader = ();

    fn reader(&self, _cpu: Cpu) {}

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
