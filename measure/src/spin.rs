//! Waiting without sleep, for threads that are to begin at the same instant: a thread that a barrier
//! wakes begins microseconds after the one that woke it.

/// Spins until `met`. With fewer free cores than threads, the others have to be let run.
pub fn until(met: impl Fn() -> bool) {
    let mut spins = 0_u32;
    while !met() {
        spins = spins.wrapping_add(1);
        if spins.is_multiple_of(1 << 12) {
            std::thread::yield_now();
        } else {
            core::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn it_returns_at_the_first_look_that_succeeds() {
        let looks = Cell::new(0);
        until(|| looks.replace(looks.get() + 1) == 10_000);
        assert_eq!(looks.get(), 10_001);
    }
}
