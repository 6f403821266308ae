//! Which processor is this? Asked once, early, and remembered.
//!
//! Promises: the `cpuid` instruction runs while the library starts and never
//! again: in virtual machines each one traps for microseconds, and record and
//! replay tools make it fault. Must never choose a backend: the `chacha20` crate
//! does, by the same features. `init` asks; `report` and `api` name the backend.

use crate::crng::Crng;
use crate::crng::keystream::backend;
use core::arch::x86_64::{__cpuid_count, __get_cpuid_max, _xgetbv};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

static FEATURES: AtomicU8 = AtomicU8::new(0);
const AVX2: u8 = 1;
const AVX512: u8 = 2;

/// Asks the processor, and has the cipher's crate ask it. Once, from `init`.
pub(crate) fn start() {
    Crng::detect();
    FEATURES.store(features(), Relaxed);
}

/// The backend in use: `avx512`, `avx2` or `sse2`.
pub(crate) fn backend_in_use() -> &'static str {
    let features = FEATURES.load(Relaxed);
    backend(features & AVX512 != 0, features & AVX2 != 0)
}

/// AVX2, and AVX-512 F and VL, where the system saves the registers
/// (Intel SDM volume 1, sections 14.3 and 15.2).
fn features() -> u8 {
    let (highest, _) = __get_cpuid_max(0);
    if highest < 7 {
        return 0;
    }
    let one = __cpuid_count(1, 0);
    let seven = __cpuid_count(7, 0);
    if one.ecx & (1 << 27) == 0 {
        return 0; // no OSXSAVE
    }
    // SAFETY: OSXSAVE says that xgetbv is there.
    let saved = unsafe { saved_registers() };
    let mut found = 0;
    if saved & 0x06 == 0x06 && seven.ebx & (1 << 5) != 0 {
        found |= AVX2;
    }
    if saved & 0xe6 == 0xe6 && seven.ebx & (1 << 16) != 0 && seven.ebx & (1 << 31) != 0 {
        found |= AVX512;
    }
    found
}

/// # Safety
/// The processor has xgetbv.
#[target_feature(enable = "xsave")]
unsafe fn saved_registers() -> u64 {
    // SAFETY: the caller's contract.
    unsafe { _xgetbv(0) }
}
