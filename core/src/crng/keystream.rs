//! ChaCha20 keystream into a slice: a thin face on the `chacha20` crate.
//!
//! Promises: [`Keystream::fill`] writes the keystream of RFC 8439 section 2.3
//! with an all-zero nonce and a 64-bit block counter that starts at 0, straight
//! into the slice it is given; [`Keystream::erase`] leaves nothing of the key.
//! Must never: implement the cipher or choose a backend. What the compiler keeps of
//! a key in registers and on the stack is for the caller to overwrite, after
//! each run.
//!
//! A key is used for one run of blocks and then replaced, so the nonce need not
//! vary. The block counter has 64 bits (the original layout of the cipher): the 32
//! of RFC 8439 would wrap at 256 GiB, these at no request that there can be.

use crate::named::named;
use chacha20::ChaCha20LegacyCore;
use chacha20::cipher::array::Array;
use chacha20::cipher::consts::U64;
use chacha20::cipher::typenum::Unsigned;
use chacha20::cipher::{
    BlockSizeUser, KeyIvInit, StreamCipherBackend, StreamCipherClosure, StreamCipherCore,
};
use core::mem;

/// Bytes of a ChaCha20 key (RFC 8439 section 2.3).
pub const KEY: usize = 32;

/// Bytes of a ChaCha20 block (RFC 8439 section 2.3).
pub const BLOCK: usize = 64;

/// What the AVX-512 backend makes in one go: 16 blocks. Slices of whole strides
/// cost the least a byte; a block made alone takes longer than a whole stride.
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
        mem::forget(mem::replace(
            &mut self.0,
            ChaCha20LegacyCore::new(key.into(), &[0; 8].into()),
        ));
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

named! {
    /// How the `chacha20` crate makes blocks on this processor.
    Backend [4] {
        /// One block at a time.
        Soft = 0, "soft";
        /// Four blocks, 128 bits wide: what every x86-64 processor has.
        Sse2 = 1, "sse2";
        /// Four blocks, 256 bits wide.
        Avx2 = 2, "avx2";
        /// Sixteen blocks, 512 bits wide; behind `--cfg chacha20_avx512`.
        Avx512 = 3, "avx512";
    }
}

impl Backend {
    /// The backend in use, by the crate's own word. Asking has the crate look at the
    /// processor, if it has not yet.
    pub fn in_use() -> Backend {
        let mut backend = Backend::Soft;
        Keystream::erased()
            .0
            .process_with_backend(Question(&mut backend));
        backend
    }
}

/// A closure for the crate's backend, which makes no keystream but looks at the
/// backend's type.
struct Question<'a>(&'a mut Backend);

impl BlockSizeUser for Question<'_> {
    type BlockSize = U64;
}

impl StreamCipherClosure for Question<'_> {
    fn call<B: StreamCipherBackend<BlockSize = U64>>(self, _backend: &mut B) {
        // SSE2 and AVX2 both make four blocks at a time, but of different width.
        *self.0 = match (B::ParBlocksSize::USIZE, size_of::<B>()) {
            (16, _) => Backend::Avx512,
            (4, 65..) => Backend::Avx2,
            (4, _) => Backend::Sse2,
            _ => Backend::Soft,
        };
    }
}
