//! Who asks: a table of call sites.
//!
//! Promises: 256 sites and one row for all others, in fixed memory, lock-free
//! and async-signal-safe; nothing is noted unless a report is wanted. In
//! `observe` every call is noted, so the table is exact. In the serving modes a
//! call is noted where it leaves the fast path anyway: judged calls, reads and
//! large requests for themselves, one that met a short buffer for all that its
//! thread drew since the last such one. So sites come out in proportion, and add
//! up to all that was drawn. Must never slow the fast path.
//!
//! A site is a return address and an entry point. `serve` notes, `report` reads.

use crate::stats::{Door, counters as stats};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Whether anybody will read the table.
static WANTED: AtomicBool = AtomicBool::new(false);

/// A report is to be written: calls are worth noting.
pub(crate) fn want() {
    WANTED.store(true, Relaxed);
}

/// Whether a report is to be written.
#[inline]
pub(crate) fn wanted() -> bool {
    WANTED.load(Relaxed)
}

/// Whether a report is to be written by whoever asks now: one is told yes.
pub(crate) fn claim() -> bool {
    WANTED.swap(false, Relaxed)
}

/// How many sites have a row of their own.
const SITES: usize = 256;

struct Row {
    /// Return address, and the door above user space's 47 bits; 0: free.
    key: AtomicUsize,
    calls: AtomicU64,
    bytes: AtomicU64,
    /// The same of the first thread, which needs no locked instruction for its own.
    first_calls: AtomicU64,
    first_bytes: AtomicU64,
    largest: AtomicU64,
    /// A bit for each of 64 classes of threads: how many threads, about.
    threads: AtomicU64,
    moved: AtomicU64,
}

impl Row {
    fn calls(&self) -> u64 {
        self.calls.load(Relaxed) + self.first_calls.load(Relaxed)
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed) + self.first_bytes.load(Relaxed)
    }
}

static ROWS: [Row; SITES + 1] = [const {
    Row {
        key: AtomicUsize::new(0),
        calls: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        first_calls: AtomicU64::new(0),
        first_bytes: AtomicU64::new(0),
        largest: AtomicU64::new(0),
        threads: AtomicU64::new(0),
        moved: AtomicU64::new(0),
    }
}; SITES + 1];

const DOOR_SHIFT: u32 = 48;

/// What is noted of one call.
pub(crate) struct Note {
    /// The return address.
    pub(crate) caller: usize,
    pub(crate) door: Door,
    /// The request's own length.
    pub(crate) len: usize,
    /// How many calls and bytes it stands for.
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    /// An address that is the thread's own.
    pub(crate) thread: usize,
    /// Whether the thread is moved, or would be.
    pub(crate) moved: bool,
}

/// Notes a call; the number of its row, for [`add`].
pub(crate) fn note(note: &Note) -> usize {
    let key = note.caller | (note.door as usize + 1) << DOOR_SHIFT;
    let number = find(key);
    let Some(row) = ROWS.get(number) else {
        return number;
    };
    if stats::is_first(note.thread) {
        stats::add_alone(&row.first_calls, note.calls);
        stats::add_alone(&row.first_bytes, note.bytes);
    } else {
        row.calls.fetch_add(note.calls, Relaxed);
        row.bytes.fetch_add(note.bytes, Relaxed);
    }
    // What seldom changes is looked at before it is written.
    if row.largest.load(Relaxed) < note.len as u64 {
        row.largest.fetch_max(note.len as u64, Relaxed);
    }
    // Thread blocks are aligned to 64 and stacks lie megabytes apart.
    let class = (note.thread >> 6 ^ note.thread >> 12 ^ note.thread >> 23) % 64;
    for (bits, bit) in [
        (&row.threads, 1 << class),
        (&row.moved, u64::from(note.moved)),
    ] {
        if bits.load(Relaxed) & bit != bit {
            bits.fetch_or(bit, Relaxed);
        }
    }
    number
}

/// Adds what a thread drew after its last note, when it ends, to that note's row.
pub(crate) fn add(number: usize, calls: u64, bytes: u64) {
    if let Some(row) = ROWS.get(number) {
        row.calls.fetch_add(calls, Relaxed);
        row.bytes.fetch_add(bytes, Relaxed);
    }
}

/// The row of this site: its own, a free one, or the one for all others.
fn find(key: usize) -> usize {
    let start = (key ^ key >> 8 ^ key >> 16).wrapping_mul(0x9e37_79b1) >> 8;
    for step in 0..SITES {
        let number = (start + step) % SITES;
        let Some(row) = ROWS.get(number) else {
            return SITES;
        };
        let found = row.key.load(Relaxed);
        if found == key {
            return number;
        }
        if found == 0 {
            match row.key.compare_exchange(0, key, Relaxed, Relaxed) {
                Ok(_) => return number,
                Err(taken) if taken == key => return number,
                Err(_) => {}
            }
        }
    }
    SITES
}

/// One site, for the report.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    /// The return address; 0: all the sites that found no row.
    pub(crate) caller: usize,
    pub(crate) entry: &'static str,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) largest: u64,
    pub(crate) threads: u32,
    pub(crate) moved: bool,
}

/// Calls `each` with every site, heaviest first: by bytes, a call counting for
/// 32 of them at least, as the bucket has it.
pub(crate) fn each_heaviest_first(mut each: impl FnMut(&Site)) {
    let mut last = (u64::MAX, 0);
    while let Some((weight, number)) = next_after(last) {
        if let Some(row) = ROWS.get(number) {
            each(&site(row));
        }
        last = (weight, number);
    }
}

/// The heaviest row that comes after `last` in the order of weight, then number.
fn next_after(last: (u64, usize)) -> Option<(u64, usize)> {
    let mut best = None;
    for (number, row) in ROWS.iter().enumerate() {
        let (calls, bytes) = (row.calls(), row.bytes());
        let weight = bytes.max(calls.saturating_mul(32));
        let later = weight < last.0 || (weight == last.0 && number > last.1);
        if calls > 0 && later && best.is_none_or(|(heaviest, _)| weight > heaviest) {
            best = Some((weight, number));
        }
    }
    best
}

fn site(row: &Row) -> Site {
    let key = row.key.load(Relaxed);
    let door = (key >> DOOR_SHIFT).wrapping_sub(1);
    Site {
        caller: key & ((1 << DOOR_SHIFT) - 1),
        entry: Door::ALL.get(door).map_or("other", |door| door.name()),
        calls: row.calls(),
        bytes: row.bytes(),
        largest: row.largest.load(Relaxed),
        threads: row.threads.load(Relaxed).count_ones(),
        moved: row.moved.load(Relaxed) != 0,
    }
}

/// Every row free again: a forked child starts anew.
pub(crate) fn start_anew() {
    for row in &ROWS {
        row.key.store(0, Relaxed);
        for count in [
            &row.calls,
            &row.bytes,
            &row.first_calls,
            &row.first_bytes,
            &row.largest,
            &row.threads,
            &row.moved,
        ] {
            count.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(caller: usize, bytes: u64) {
        let _ = note(&Note {
            caller,
            door: Door::Read,
            len: bytes as usize,
            calls: 1,
            bytes,
            thread: 64,
            moved: false,
        });
    }

    // One test: the table is the process's.
    #[test]
    fn sites_are_exact_up_to_256_and_come_heaviest_first() {
        start_anew();
        for site in 0..SITES {
            for _ in 0..3 {
                call(0x1000 + site * 5, 100 + site as u64);
            }
        }
        let mut seen = Vec::new();
        each_heaviest_first(|site| seen.push(*site));
        assert_eq!(seen.len(), SITES);
        assert!(seen.windows(2).all(|pair| pair[0].bytes >= pair[1].bytes));
        assert!(
            seen.iter()
                .all(|site| site.calls == 3 && site.entry == "read" && site.threads == 1)
        );
        assert_eq!((seen[0].caller, seen[0].largest), (0x1000 + 255 * 5, 355));
        for site in 0..10 {
            call(0x9_0000 + site, 1);
        }
        let mut others = None;
        each_heaviest_first(|site| {
            if site.caller == 0 {
                others = Some(*site);
            }
        });
        assert!(others.is_some_and(|site| site.calls == 10 && site.entry == "other"));
        start_anew();
        each_heaviest_first(|_| panic!("not anew"));
    }
}
