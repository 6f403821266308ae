//! The contenders of the old threads, one file each, and the two shapes they take.
//!
//! Promises: a [`Pool`] answers reads of any length from many threads at once, an [`Ints`] gives
//! words to one thread. Each file opens with what the design is, and says where user space had to
//! stand in for the kernel. Threads stand in for CPUs: a [`Cpu`] is the CPU a thread plays.
//! Must never: share code with the library. Ours is called through its C interface, like any
//! program would, and is held to the same yardstick.

pub(crate) mod c10_kernel;
pub(crate) mod c11_siprng;
pub(crate) mod c1_spinlock;
pub(crate) mod c2_nodes;
pub(crate) mod c3_salted;
pub(crate) mod c4_atomic;
pub(crate) mod c5_deferred;
pub(crate) mod c6_ring;
pub(crate) mod c7_md5;
pub(crate) mod c8_siphash;
pub(crate) mod c9_rdrand;
pub(crate) mod control;
pub(crate) mod p1_ownpool;
pub(crate) mod p9_batch;
pub(crate) mod register;
pub(crate) mod vdso;

/// The CPU that a thread plays, and the memory node that this CPU belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cpu {
    pub(crate) number: usize,
    pub(crate) node: usize,
}

/// A generator that many threads read from at once.
pub(crate) trait Pool: Sync {
    /// What one CPU owns of it: a salt, a counter, a state of its own, or nothing.
    type Reader;

    /// The reader for the thread that plays this CPU; made on that thread.
    fn reader(&self, cpu: Cpu) -> Self::Reader;

    /// Fills `dest`.
    fn read(&self, reader: &mut Self::Reader, dest: &mut [u8]);

    /// Takes in fresh entropy, by the route that this design has for it. Designs that reseed
    /// themselves have none.
    fn seed(&self, _reader: &mut Self::Reader, _fresh: &[u8; 32]) {}
}

/// A generator of small integers for one thread.
pub(crate) trait Ints {
    fn u32(&mut self) -> u32;
    fn u64(&mut self) -> u64;
}

/// The cycle counter, as `random_get_entropy` reads it on this architecture.
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and touches no memory. A process that
    // forbade it to itself (PR_SET_TSC) would be killed by a signal; this one did not.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Stands in for the kernel's jiffies, which cost one load: the cycle counter without its low 23
/// bits, which moves on every few milliseconds and is in a register anyway.
#[inline(always)]
pub(crate) fn jiffies(cycles: u64) -> u64 {
    cycles >> 23
}
