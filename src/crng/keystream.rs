//! ChaCha20 keystream into a slice: a thin face on the `chacha20` crate.
//!
//! Promises: [`Keystream::fill`] writes the keystream of RFC 8439 section 2.3
//! with an all-zero nonce and a 64-bit block counter that starts at 0, straight
//! into the slice it is given; [`Keystream::erase`] leaves nothing of the key.
//! Must never: implement the cipher, choose a backend, or copy the key anywhere
//! but into its own 64 bytes. Only `crng` calls it.
//!
//! A key is used for one run of blocks and then replaced, so the nonce need not
//! vary. The counter has 64 bits (the original layout of the cipher) because one
//! request may be longer than the 256 GiB of the RFC's 32 bits could be trusted
//! to outlast for every future caller.

use chacha20::ChaCha20LegacyCore;
use chacha20::cipher::array::Array;
use chacha20::cipher::{KeyIvInit, StreamCipherCore};
use core::mem;

/// Bytes of a ChaCha20 key (RFC 8439 section 2.3).
pub const KEY: usize = 32;

/// Bytes of a ChaCha20 block (RFC 8439 section 2.3).
pub const BLOCK: usize = 64;

/// What the AVX-512 backend makes in one go: 16 blocks. Slices of whole strides
/// cost the least a byte; a lone block costs as much as four strides' worth of one.
pub const STRIDE: usize = 16 * BLOCK;

/// The cipher's state: constants, key, counter, nonce. All-zero memory is a
/// valid value (it means: erased).
#[repr(transparent)]
pub struct Keystream(ChaCha20LegacyCore);

// All-zero memory must stay a valid value: sixteen words and nothing else.
const _: () = assert!(size_of::<Keystream>() == 64);

impl Keystream {
    /// Writes the state for `key`, at block 0, over whatever was here.
    #[inline(always)]
    pub fn key(&mut self, key: &[u8; KEY]) {
        // Every word is overwritten, so the old value need not be zeroized first.
        mem::forget(mem::replace(&mut self.0, ChaCha20LegacyCore::new(key.into(), &[0; 8].into())));
    }

    /// Fills `dest` with whole blocks of keystream. Bytes of `dest` after the
    /// last whole block are left alone.
    #[inline(always)]
    pub fn fill(&mut self, dest: &mut [u8]) {
        let (blocks, _rest) = Array::slice_as_chunks_mut(dest);
        self.0.write_keystream_blocks(blocks);
    }

    /// Leaves nothing of the key behind.
    #[inline(always)]
    pub fn erase(&mut self) {
        // The old value is zeroized when it is dropped here.
        self.0 = ChaCha20LegacyCore::new(&[0; KEY].into(), &[0; 8].into());
    }

    /// An erased state, for values that are not made of zeroed memory.
    pub fn erased() -> Keystream {
        Keystream(ChaCha20LegacyCore::new(&[0; KEY].into(), &[0; 8].into()))
    }
}

impl core::fmt::Debug for Keystream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Keystream { .. }")
    }
}

/// The backend that the `chacha20` crate chooses on a machine with these
/// features, in the crate's own order of preference.
pub fn backend(has_avx512: bool, has_avx2: bool) -> &'static str {
    match (cfg!(chacha20_avx512) && has_avx512, has_avx2) {
        (true, _) => "avx512",
        (false, true) => "avx2",
        (false, false) => "sse2",
    }
}
