//! What was said of small integers.

use super::{Claim, verdict};
use crate::measured::Measured;

pub(super) fn about(measured: &Measured, claims: &mut Vec<Claim>) {
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
    for (label, said, slower, faster, sizes) in said {
        let small = |(label, name)| measured.small(label, name);
        let (here, verdict) = match (small(slower), small(faster)) {
            (Some(slower), Some(faster)) => {
                let ratios = sizes.map(|i| (SIZES[i], slower[i] / faster[i]));
                let ratios: Vec<_> = ratios.collect();
                let text = ratios
                    .iter()
                    .map(|(size, ratio)| format!("{size} x{ratio:.1}"));
                // "About the same" is within a factor of two either way.
                let holds = |ratio: f64| {
                    if said.contains("about") {
                        (0.5..2.0).contains(&ratio)
                    } else {
                        ratio > 1.0
                    }
                };
                let holds = ratios.iter().all(|&(_, ratio)| holds(ratio));
                (text.collect::<Vec<_>>().join(", "), verdict(holds))
            }
            _ => ("did not run".into(), "not shown"),
        };
        claims.push(Claim {
            label,
            said,
            here,
            verdict,
        });
    }
}
