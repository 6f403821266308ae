//! Which call sites ask: a table of return addresses.
//!
//! Promises: 256 sites and one row for all others, in fixed memory, lock-free and
//! async-signal-safe; nothing is recorded unless a report is wanted. In `observe` every
//! call is recorded, so the table is exact. In the serving modes a call is recorded where
//! it leaves the fast path anyway: judged calls, reads and large requests for themselves,
//! one that met a short buffer for all that its thread drew since the last such one
//! ([`PageShare`]). So sites come out in proportion, and add up to all that was drawn.
//! Must never slow the fast path.
//!
//! A site is a return address and an entry.

use super::{Call, add, on_first_thread, spread, zero};
use crate::arch::tls;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use ownpool_core::counts::Entry;

/// Whether a report is to be written: then calls are recorded.
static WANTED: AtomicBool = AtomicBool::new(false);

/// A report is to be written.
pub(crate) fn want() {
    WANTED.store(true, Relaxed);
}

/// Whether a report is to be written.
#[inline]
pub(crate) fn wanted() -> bool {
    WANTED.load(Relaxed)
}

/// Whether the caller is to write the report: one caller is told yes.
pub(crate) fn claim() -> bool {
    WANTED.swap(false, Relaxed)
}

/// How many sites have a row of their own.
const SITES: usize = 256;

struct Row {
    /// Return address, and the entry above user space's 47 bits; 0: free.
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

const ENTRY_SHIFT: u32 = 48;

/// Calls, and the bytes that they asked for.
#[derive(Clone, Copy)]
pub(crate) struct Volume {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

/// Records a call that was judged; `moved`: its thread is moved, or would be.
#[inline]
pub(crate) fn record_judged(call: &Call, moved: bool) {
    if wanted() {
        let volume = Volume {
            calls: 1,
            bytes: call.len as u64,
        };
        record(call, volume, moved);
    }
}

/// Records a volume for the site of `call`; the number of its row.
fn record(call: &Call, volume: Volume, moved: bool) -> usize {
    let number = find(call.caller | (call.entry as usize + 1) << ENTRY_SHIFT);
    let Some(row) = ROWS.get(number) else {
        return number;
    };
    let on_first = on_first_thread();
    let (calls, bytes) = match on_first {
        true => (&row.first_calls, &row.first_bytes),
        false => (&row.calls, &row.bytes),
    };
    add(calls, volume.calls, on_first);
    add(bytes, volume.bytes, on_first);
    // What seldom changes is looked at before it is written.
    if row.largest.load(Relaxed) < call.len as u64 {
        row.largest.fetch_max(call.len as u64, Relaxed);
    }
    let class = spread(tls::thread_pointer()) % 64;
    for (bits, bit) in [(&row.threads, 1 << class), (&row.moved, u64::from(moved))] {
        if bits.load(Relaxed) & bit != bit {
            bits.fetch_or(bit, Relaxed);
        }
    }
    number
}

/// What of a page's draws has been recorded; lies in the page.
#[repr(C)]
pub(crate) struct PageShare {
    calls: AtomicU64,
    bytes: AtomicU64,
    /// The row of the last record, plus 1; 0: there was none.
    row: AtomicU64,
}

impl PageShare {
    /// Records a call of a moved thread that leaves the fast path and is about to be
    /// served. `drawn` is all that its page has served so far. A call that always leaves
    /// it (`itself_only`: a read, a large request) stands for itself; one that met a short
    /// buffer for all that was drawn by the fast path since the last record.
    pub(crate) fn record(&self, call: &Call, itself_only: bool, drawn: Volume) {
        let served = Volume {
            calls: drawn.calls.saturating_add(1),
            bytes: drawn.bytes.saturating_add(call.len as u64),
        };
        let volume = match itself_only {
            true => {
                let (calls, bytes) = (self.calls.load(Relaxed), self.bytes.load(Relaxed));
                self.calls.store(calls.saturating_add(1), Relaxed);
                self.bytes
                    .store(bytes.saturating_add(call.len as u64), Relaxed);
                Volume {
                    calls: 1,
                    bytes: call.len as u64,
                }
            }
            false => self.take_unrecorded(served),
        };
        let row = record(call, volume, true);
        // What is drawn by the fast path later and never recorded belongs to the last call
        // that was, or, for want of one, to the first of the other kind.
        if !itself_only || self.row.load(Relaxed) == 0 {
            self.row.store(row as u64 + 1, Relaxed);
        }
    }

    /// Adds what is not recorded yet to the row of the last record. A page of which nothing
    /// was ever recorded (no report is wanted) has drawn nothing that needs it.
    pub(crate) fn record_rest(&self, drawn: Volume) {
        if self.calls.load(Relaxed) != 0 {
            let volume = self.take_unrecorded(drawn);
            let row = self.row.load(Relaxed) as usize;
            if let Some(row) = row.checked_sub(1).and_then(|number| ROWS.get(number)) {
                add(&row.calls, volume.calls, false);
                add(&row.bytes, volume.bytes, false);
            }
        }
    }

    /// What was served and not recorded, which counts as recorded from now on.
    fn take_unrecorded(&self, served: Volume) -> Volume {
        let (calls, bytes) = (self.calls.load(Relaxed), self.bytes.load(Relaxed));
        self.calls.store(served.calls, Relaxed);
        self.bytes.store(served.bytes, Relaxed);
        Volume {
            calls: served.calls.saturating_sub(calls),
            bytes: served.bytes.saturating_sub(bytes),
        }
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
    let entry = (key >> ENTRY_SHIFT).wrapping_sub(1);
    Site {
        caller: key & ((1 << ENTRY_SHIFT) - 1),
        entry: Entry::ALL.get(entry).map_or("other", |entry| entry.name()),
        calls: row.calls(),
        bytes: row.bytes(),
        largest: row.largest.load(Relaxed),
        threads: row.threads.load(Relaxed).count_ones(),
        moved: row.moved.load(Relaxed) != 0,
    }
}

/// Every row free again.
pub(super) fn start_anew() {
    for row in &ROWS {
        if row.key.load(Relaxed) != 0 {
            row.key.store(0, Relaxed);
        }
        for count in [
            &row.calls,
            &row.bytes,
            &row.first_calls,
            &row.first_bytes,
            &row.largest,
            &row.threads,
            &row.moved,
        ] {
            zero(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(caller: usize, bytes: u64) {
        let call = Call {
            entry: Entry::Read,
            caller,
            len: bytes as usize,
        };
        let _ = record(&call, Volume { calls: 1, bytes }, false);
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
