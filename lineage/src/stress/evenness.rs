//! Is every word of the pool mixed alike? Writes are counted in windows of eight mix-backs, in which each of
//! the 32 words is due five.

use super::threads::{Rounds, in_step};
use crate::contenders::Pool;
use crate::contenders::c1_spinlock::OnePool;
use crate::contenders::c3_salted::{Counted, SaltedPool};
use crate::contenders::register::{HASH_LEN, OUTPUT_LEN, WORDS};
use crate::placement::Placement;

/// How evenly a pool's words are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evenness {
    /// Fewest and most writes of one word in any window of eight mix-backs; five if all is even.
    pub(crate) fewest: u64,
    pub(crate) most: u64,
    /// Of all words in all windows, the share that did not get five.
    pub(crate) off: f64,
    /// Of all writes, the share that a neighbour's write took away.
    pub(crate) lost: f64,
}

/// Mix-backs in a window: 8 times 20 bytes are 5 for each of 32 words.
const WINDOW: usize = 8;
/// Writes that each word is due in a window.
const DUE: u64 = (WINDOW * HASH_LEN / WORDS) as u64;

/// Two CPUs in step: windows of eight mix-backs, four each at the same time. `writes` tells how often
/// each word was written so far.
fn evenness<P: Pool>(
    placement: &Placement,
    rounds: Rounds,
    pool: &P,
    writes: impl Fn(&P) -> [u64; WORDS],
) -> Evenness {
    let (mut fewest, mut most) = (u64::MAX, 0);
    let (mut windows, mut off, mut lost) = (0, 0, 0);
    let mut last = writes(pool);
    in_step(
        placement,
        rounds,
        |cpu| pool.reader(cpu),
        |reader| pool.read(reader, &mut [0; OUTPUT_LEN * WINDOW / 2]),
        || {
            let now = writes(pool);
            for (now, last) in now.iter().zip(last) {
                let writes = now - last;
                (fewest, most) = (writes.min(fewest), writes.max(most));
                off += usize::from(writes != DUE);
                lost += DUE.cast_signed() - writes.cast_signed();
            }
            last = now;
            windows += 1;
        },
    );
    let words = (windows * WORDS) as f64;
    Evenness {
        fewest,
        most,
        off: off as f64 / words,
        lost: lost as f64 / (words * DUE as f64),
    }
}

/// C3, in which two CPUs race.
pub(crate) fn salted(placement: &Placement, rounds: Rounds) -> Evenness {
    let pool = SaltedPool::<Counted>::new(&[7; 32]);
    evenness(placement, rounds, &pool, SaltedPool::landed)
}

/// C1 for comparison: the lock makes two CPUs' mix-backs the same as one's.
pub(crate) fn locked(placement: &Placement, rounds: Rounds) -> Evenness {
    let pool = OnePool::<true>::new(&[7; 32]);
    evenness(placement, rounds, &pool, OnePool::writes)
}
