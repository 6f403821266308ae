//! C9: one RDRAND instruction for every word.
//!
//! Promises: exists only where the processor says it has the instruction. Tries ten times, as Intel's
//! guide for software advises, and gives up loudly: a word that could not be had must not look random.
//! (Some AMD parts returned all ones after a suspend and said that all was well.)

use super::Ints;
use core::arch::x86_64::{_rdrand32_step, _rdrand64_step};

const TRIES: usize = 10;

/// The processor's own generator.
pub(crate) struct Rdrand(());

impl Rdrand {
    /// None where the processor has none.
    pub(crate) fn new() -> Option<Self> {
        std::is_x86_feature_detected!("rdrand").then_some(Self(()))
    }
}

#[target_feature(enable = "rdrand")]
fn word32() -> Option<u32> {
    let mut word = 0;
    (0..TRIES)
        .any(|_| _rdrand32_step(&mut word) == 1)
        .then_some(word)
}

#[target_feature(enable = "rdrand")]
fn word64() -> Option<u64> {
    let mut word = 0;
    (0..TRIES)
        .any(|_| _rdrand64_step(&mut word) == 1)
        .then_some(word)
}

impl Ints for Rdrand {
    fn u32(&mut self) -> u32 {
        // SAFETY: `new` saw the feature.
        let word = unsafe { word32() };
        assert!(word.is_some(), "RDRAND gave nothing {TRIES} times");
        word.unwrap_or_default()
    }

    fn u64(&mut self) -> u64 {
        // SAFETY: `new` saw the feature.
        let word = unsafe { word64() };
        assert!(word.is_some(), "RDRAND gave nothing {TRIES} times");
        word.unwrap_or_default()
    }
}
