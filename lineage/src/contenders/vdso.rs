//! The kernel's getrandom without a system call, in the vDSO since Linux 6.11: the yardstick that the
//! threads did not have.
//!
//! Promises: one state a reader, in memory mapped as the vDSO asks for, given back at the end.

use super::{Cpu, Ints, Pool};
use ownpool_measure::vdso::{State, Vdso};

fn fill(state: &State, dest: &mut [u8]) {
    // SAFETY: `dest` is writable for its length.
    let filled = unsafe { state.fill(dest.as_mut_ptr(), dest.len()) };
    assert_eq!(filled, dest.len() as isize, "short answer from the vDSO");
}

impl Pool for Vdso {
    type Reader = State;

    fn reader(&self, _cpu: Cpu) -> State {
        let state = self.state();
        assert!(state.is_some(), "no memory for a vDSO state");
        state.unwrap_or_else(|| unreachable!())
    }

    #[inline(always)]
    fn read(&self, reader: &mut State, dest: &mut [u8]) {
        fill(reader, dest);
    }
}

/// The vDSO asked for every word.
pub(crate) struct VdsoInts(State);

impl VdsoInts {
    /// None where the kernel has no such function.
    pub(crate) fn new() -> Option<Self> {
        Vdso::find().ok()?.state().map(VdsoInts)
    }
}

impl Ints for VdsoInts {
    fn u32(&mut self) -> u32 {
        let mut word = [0; 4];
        fill(&self.0, &mut word);
        u32::from_ne_bytes(word)
    }

    fn u64(&mut self) -> u64 {
        let mut word = [0; 8];
        fill(&self.0, &mut word);
        u64::from_ne_bytes(word)
    }
}
