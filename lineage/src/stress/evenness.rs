//! Is every word of the pool mixed alike? Writes are counted in windows of eight mix-backs, in which each of
//! the 32 words is due five.

use super::{Rounds, in_step};
use crate::contenders::Pool;
use crate::contenders::c1_spinlock::OnePool;
use crate::contenders::c3_salted::{Counted, Salt, SaltedPool};
use crate::contenders::register::{HASH_LEN, OUTPUT_LEN, WORDS};
use crate::seats::Seats;

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

/// Compares each window's writes with what was due.
struct Judge {
    last: [u64; WORDS],
    windows: usize,
    evenness: Evenness,
}

impl Judge {
    fn new(start: [u64; WORDS]) -> Self {
        let evenness = Evenness {
            fewest: u64::MAX,
            most: 0,
            off: 0.0,
            lost: 0.0,
        };
        Self {
            last: start,
            windows: 0,
            evenness,
        }
    }

    fn window(&mut self, now: [u64; WORDS]) {
        for (now, last) in now.iter().zip(self.last) {
            let writes = now - last;
            self.evenness.fewest = self.evenness.fewest.min(writes);
            self.evenness.most = self.evenness.most.max(writes);
            self.evenness.off += f64::from(u8::from(writes != DUE));
            self.evenness.lost += DUE as f64 - writes as f64;
        }
        self.last = now;
        self.windows += 1;
    }

    fn verdict(self) -> Evenness {
        let words = (self.windows * WORDS) as f64;
        let Evenness { off, lost, .. } = self.evenness;
        Evenness {
            off: off / words,
            lost: lost / (words * DUE as f64),
            ..self.evenness
        }
    }
}

/// C3 under two CPUs: windows of eight mix-backs, four each at the same time.
pub(crate) fn salted_evenness(seats: &Seats, rounds: Rounds) -> Evenness {
    let pool = SaltedPool::<Counted>::new(&[7; 32]);
    let mut judge = Judge::new(pool.landed());
    in_step(
        seats,
        rounds,
        |seat| pool.reader(seat),
        |salt: &mut Salt| pool.read(salt, &mut [0; OUTPUT_LEN * WINDOW / 2]),
        || judge.window(pool.landed()),
    );
    judge.verdict()
}

/// C1 for comparison: the lock makes two CPUs' mix-backs the same as one's.
pub(crate) fn locked_evenness(seats: &Seats, rounds: Rounds) -> Evenness {
    let pool = OnePool::<true>::new(&[7; 32]);
    let mut judge = Judge::new(pool.writes());
    in_step(
        seats,
        rounds,
        |_| (),
        |()| pool.read(&mut (), &mut [0; OUTPUT_LEN * WINDOW / 2]),
        || judge.window(pool.writes()),
    );
    judge.verdict()
}
