//! What was said of small integers.

use super::Claim;
use crate::measured::Measured;

pub(super) fn about(measured: &Measured) -> Vec<Claim> {
    const SIZES: [&str; 2] = ["4 bytes", "8 bytes"];
    // (who, said, slower contender, faster contender, sizes the claim is about)
    let said = [
        (
            "C8",
            "SipHash takes less than C7's MD5 (x3.5)",
            ("C7", ""),
            ("C8", ""),
            0..2,
        ),
        (
            "P9",
            "an int from a batch takes about what SipHash does",
            ("C8", ""),
            ("P9", "ChaCha20"),
            0..1,
        ),
        (
            "P9",
            "a long from a batch takes more than SipHash (x2.6)",
            ("P9", "ChaCha20"),
            ("C8", ""),
            1..2,
        ),
        (
            "C9",
            "a long by RDRAND takes more than a batched one (x3.3)",
            ("C9", ""),
            ("P9", "ChaCha20"),
            1..2,
        ),
        (
            "C10",
            "get_random_bytes for a word is the dearest (x15 C8's)",
            ("C10", ""),
            ("C8", ""),
            0..2,
        ),
        (
            "P9",
            "ours takes less than the batches of 2016",
            ("P9", "ChaCha20"),
            ("P9", "ownpool"),
            0..2,
        ),
        (
            "C11",
            "unpredictability alone is cheaper than a cipher",
            ("P9", "ownpool"),
            ("C11", "SipRound, no"),
            0..1,
        ),
    ];
    let judged = said.map(|(label, said, slower, faster, sizes)| {
        let small = |(label, name)| measured.small(label, name);
        let (Some(slower), Some(faster)) = (small(slower), small(faster)) else {
            return Claim::not_shown(label, said, "did not run");
        };
        let ratio = |i: usize| slower[i] / faster[i];
        // "About the same" is within a factor of two either way.
        let holds = |ratio: f64| match said.contains("about") {
            true => (0.5..2.0).contains(&ratio),
            false => ratio > 1.0,
        };
        let all_hold = sizes.clone().all(|i| holds(ratio(i)));
        let here: Vec<_> = sizes
            .map(|i| format!("{} x{:.1}", SIZES[i], ratio(i)))
            .collect();
        Claim::judged(label, said, here.join(", "), all_hold)
    });
    judged.into()
}
