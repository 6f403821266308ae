//! What a process has done: the names and the numbers that every report has.
//!
//! Promises: one table of counts ([`TOTALS`]), in the order of the C API's struct and of
//! the report's line; a name is spelled here and nowhere else. Must never count: that is
//! the library's, and reading what was written the command's.

use crate::line_buffer::LineBuffer;
use crate::named::named;

named! {
    /// The name by which a request came in.
    Entry [6] {
        /// getrandom(2)
        Getrandom = 0, "getrandom";
        /// getentropy(3)
        Getentropy = 1, "getentropy";
        /// arc4random(3) and its relatives
        Arc4random = 2, "arc4random";
        /// syscall(SYS_getrandom)
        Syscall = 3, "syscall";
        /// read(2) and its relatives, of urandom
        Read = 4, "read";
        /// The C API's own functions: counted, but not interposed.
        Api = 5, "api";
    }
}

/// How many entries there are.
pub const ENTRIES: usize = Entry::ALL.len();

named! {
    /// Why a request fell through to the kernel.
    Reason [9] {
        /// A call of this thread is in flight: a signal handler draws, or a handler once left
        /// by a jump; or the thread stays on the kernel for good.
        Busy = 0, "busy";
        /// Flags that only the kernel can answer for.
        Flags = 1, "flags";
        /// The descriptor is something else.
        NotUrandom = 2, "not_urandom";
        /// No seed, no page, or a page that was wiped or dropped in the middle of the call.
        Unseeded = 3, "unseeded";
        /// The program has confined itself.
        Confined = 4, "confined";
        /// A pointer or length that only the kernel can judge.
        Pointer = 5, "pointer";
        /// Within the allowance: the usual case, not counted among the causes.
        Light = 6, "light";
        /// No request is served in this mode.
        Mode = 7, "mode";
        /// Mode observe: a private generator would have served it.
        Observed = 8, "observed";
    }
}

/// How many reasons are reported: those before the three usual ones.
pub const REASONS: usize = Reason::Light as usize;

/// A total of the process: its place in [`Counts::totals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Total {
    /// Threads that were given a private generator.
    ThreadsMoved = 0,
    /// Requests that the kernel answered.
    KernelCalls = 1,
    /// Bytes of those requests.
    KernelBytes = 2,
    /// Requests that private generators served.
    PrivateCalls = 3,
    /// Bytes of those requests.
    PrivateBytes = 4,
    /// Mode observe: threads that would have been moved.
    WouldMoveThreads = 5,
    /// Mode observe: requests that would have been served.
    WouldMoveCalls = 6,
    /// Bytes of those requests.
    WouldMoveBytes = 7,
    /// Refills of private generators' buffers.
    Refills = 8,
    /// Seeds that the kernel gave to private generators.
    Reseeds = 9,
}

/// Each total's place in the report's line: the object that it stands in, if there is
/// one, and its name there. In the order of [`Total`].
pub const TOTALS: [(&str, &str); 10] = [
    ("", "threads_moved"),
    ("kernel", "calls"),
    ("kernel", "bytes"),
    ("private", "calls"),
    ("private", "bytes"),
    ("would_move", "threads"),
    ("would_move", "calls"),
    ("would_move", "bytes"),
    ("", "refills"),
    ("", "reseeds"),
];

/// What one process has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By [`Total`].
    pub totals: [u64; TOTALS.len()],
    /// Requests by [`Entry`].
    pub entries: [u64; ENTRIES],
    /// Requests that fell through, by [`Reason`].
    pub fell_through: [u64; REASONS],
}

impl Counts {
    /// Adds to one total.
    pub fn add(&mut self, total: Total, amount: u64) {
        if let Some(sum) = self.totals.get_mut(total as usize) {
            *sum = sum.wrapping_add(amount);
        }
    }

    /// Whether anything was asked for.
    pub fn drew(&self) -> bool {
        self.entries.iter().any(|&calls| calls != 0)
    }

    /// Appends the members of the report's object that are counts.
    pub fn push_json<const N: usize>(&self, text: &mut LineBuffer<N>) {
        let mut object = "";
        for ((group, name), total) in TOTALS.iter().zip(self.totals) {
            if *group != object && !object.is_empty() {
                text.push(b"}");
            }
            text.push(b",");
            if *group != object && !group.is_empty() {
                // The comma belongs before the group, not into it.
                text.push(b"\"").push(group.as_bytes()).push(b"\":{");
            }
            object = group;
            push_member(text, name, total);
        }
        let entries = Entry::ALL.iter().map(|entry| entry.name());
        push_object(text, "entries", entries.zip(self.entries));
        let reasons = Reason::ALL.iter().map(|reason| reason.name());
        push_object(text, "fell_through", reasons.zip(self.fell_through));
    }
}

/// `"name":value`
fn push_member<const N: usize>(text: &mut LineBuffer<N>, name: &str, value: u64) {
    text.push(b"\"")
        .push(name.as_bytes())
        .push(b"\":")
        .push_number(value);
}

/// `,"name":{...}`
fn push_object<const N: usize>(
    text: &mut LineBuffer<N>,
    name: &str,
    members: impl Iterator<Item = (&'static str, u64)>,
) {
    text.push(b",\"").push(name.as_bytes());
    let mut before: &[u8] = b"\":{";
    for (name, value) in members {
        text.push(before);
        push_member(text, name, value);
        before = b",";
    }
    text.push(b"}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_the_members_of_one_object() {
        let mut counts = Counts::default();
        for (number, total) in (1..).zip(&mut counts.totals) {
            *total = number;
        }
        counts.entries = [11, 12, 13, 14, 15, 16];
        counts.fell_through = [21, 22, 23, 24, 25, 26];
        let mut text = LineBuffer::<512>::new();
        counts.push_json(&mut text);
        assert_eq!(
            core::str::from_utf8(text.bytes()),
            Ok(concat!(
                r#","threads_moved":1,"kernel":{"calls":2,"bytes":3},"private":{"calls":4,"bytes":5}"#,
                r#","would_move":{"threads":6,"calls":7,"bytes":8},"refills":9,"reseeds":10"#,
                r#","entries":{"getrandom":11,"getentropy":12,"arc4random":13,"syscall":14,"read":15,"api":16}"#,
                r#","fell_through":{"busy":21,"flags":22,"not_urandom":23,"unseeded":24,"confined":25,"pointer":26}"#,
            ))
        );
    }

    #[test]
    fn names_stand_at_their_numbers() {
        for (number, entry) in Entry::ALL.iter().enumerate() {
            assert_eq!(*entry as usize, number);
        }
        for (number, reason) in (0..).zip(Reason::ALL) {
            assert_eq!(Reason::from_number(number), Some(reason));
            assert_eq!(reason.c_name().to_str(), Ok(reason.name()));
        }
        assert_eq!(Reason::from_number(9), None);
        assert_eq!(
            TOTALS[Total::WouldMoveThreads as usize],
            ("would_move", "threads")
        );
        assert_eq!(TOTALS[Total::Reseeds as usize], ("", "reseeds"));
    }

    #[test]
    fn a_process_that_was_asked_for_nothing_drew_nothing() {
        let mut counts = Counts::default();
        counts.add(Total::ThreadsMoved, 1);
        assert!(!counts.drew());
        counts.entries[Entry::Api as usize] = 1;
        assert!(counts.drew());
    }
}
