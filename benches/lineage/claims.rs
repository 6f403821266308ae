//! What the threads said, held against what was measured in this run.
//!
//! Promises: each verdict is computed from the figures, none is written down beforehand. "Not shown" is
//! for claims about more cores than there are.

use crate::measured::Measured;
use crate::rows::UNLABELLED;

/// Cores that the thread's machine had when its curves fell.
const MANY: usize = 20;
/// Two factors within a fifth of each other count as the same, the noise of a shared machine.
const SAME: f64 = 0.8;

/// A claim and what became of it.
pub(crate) struct Claim {
    pub(crate) label: &'static str,
    pub(crate) said: &'static str,
    pub(crate) here: String,
    pub(crate) verdict: &'static str,
}

fn verdict(holds: bool) -> &'static str {
    if holds { "confirmed" } else { "not confirmed" }
}

/// All claims that this run can say something about.
pub(crate) fn claims(measured: &Measured) -> Vec<Claim> {
    let mut claims = Vec::new();
    about_pools(measured, &mut claims);
    about_races(measured, &mut claims);
    about_integers(measured, &mut claims);
    claims
}

fn about_pools(measured: &Measured, claims: &mut Vec<Claim>) {
    let full = measured.full();
    let threads = measured.threads[full];
    let mut claim = |label, said, here: Option<(String, bool)>| {
        let (here, verdict) = match here {
            Some((here, holds)) => (here, verdict(holds)),
            None => ("did not run".into(), "not shown"),
        };
        claims.push(Claim {
            label,
            said,
            here,
            verdict,
        });
    };
    let pool = |label: &str| measured.pool(label, "");
    let factor = |cells: &[f64]| cells[full] / cells[0];
    let control = measured.pool(UNLABELLED, "control").map_or(1.0, factor);
    claim(
        "C1",
        "one lock: more CPUs do less in all",
        pool("C1")
            .map(factor)
            .map(|f| (format!("x{f:.2} with {threads} threads"), f < 1.0)),
    );
    claim(
        "C2",
        "a pool a node scales with the nodes",
        pool("C2").map(factor).map(|f| {
            (
                format!("x{f:.2} with {threads} threads; sharing nothing x{control:.2}"),
                f >= SAME * control,
            )
        }),
    );
    let against = |one: &str, other: &str| {
        let (one, other) = (pool(one)?[full], pool(other)?[full]);
        Some((
            format!("x{:.2} its calls with {threads} threads", one / other),
            one > other,
        ))
    };
    claim(
        "C3",
        "few CPUs: faster than C1's lock (350 K against 200 K)",
        against("C3", "C1"),
    );
    claim(
        "C3",
        "few CPUs: faster than C4's atomic additions (350 K against 140 K)",
        against("C3", "C4"),
    );
    claim(
        "C5",
        "readers that never wait get more than C1's",
        against("C5", "C1"),
    );
    claim(
        "P1",
        "a generator a thread scales as threads that share nothing",
        pool("P1").map(factor).map(|f| {
            (
                format!("x{f:.2} with {threads} threads; sharing nothing x{control:.2}"),
                f >= SAME * control,
            )
        }),
    );
    claim(
        "P1",
        "and beats C2, the patch that was proposed",
        against("P1", "C2"),
    );
    if measured.cores < MANY {
        claims.push(Claim {
            label: "C3, C4",
            said: "above 20 CPUs they fall to half of C1's calls",
            here: format!("{} cores", measured.cores),
            verdict: "not shown",
        });
    }
    if measured.real_nodes == 1 {
        claims.push(Claim {
            label: "C1, C2",
            said: "what a second, third and fourth socket does",
            here: "one memory node; two are pretended".into(),
            verdict: "not shown",
        });
    }
}

fn about_races(measured: &Measured, claims: &mut Vec<Claim>) {
    let observed = &measured.observed;
    for (label, found) in &observed.collisions {
        let here = format!(
            "{} of {} outputs were a neighbour's, {} one's own again",
            found.between, found.outputs, found.within
        );
        let said = match *label {
            "C4" => "two readers can get the same output",
            _ => "no two readers get the same output",
        };
        let equal = found.between + found.within;
        let holds = if *label == "C4" {
            equal > 0
        } else {
            equal == 0
        };
        claims.push(Claim {
            label,
            said,
            here,
            verdict: verdict(holds),
        });
    }
    let (salted, locked) = (observed.salted, observed.locked);
    claims.push(Claim {
        label: "C3",
        said: "its words are mixed unevenly",
        here: format!(
            "{} to {} writes of a word where C1 has {} to {}; {:.2} % of words off",
            salted.fewest,
            salted.most,
            locked.fewest,
            locked.most,
            salted.off * 100.0
        ),
        verdict: verdict(salted.off > 0.0),
    });
    claims.push(Claim {
        label: "C3",
        said: "writers lose entropy",
        here: format!(
            "{:.3} % of all writes lost to a neighbour",
            salted.lost * 100.0
        ),
        verdict: verdict(salted.lost > 0.0),
    });
    let crowded = observed.crowded;
    claims.push(Claim {
        label: "C5",
        said: "the last one out may never get out",
        here: format!(
            "{} threads, {} reads: longest stay {} mix-backs (alone {}), {:.2} mix-backs a hash, slowest read {:.1} ms",
            observed.crowd,
            crowded.reads,
            crowded.longest,
            observed.alone.longest,
            crowded.mixes_per_hash,
            crowded.slowest.as_secs_f64() * 1e3
        ),
        verdict: verdict(crowded.fewest == 0),
    });
    claims.push(Claim {
        label: "C5",
        said: "a mix-back that was asked for is done by somebody",
        here: format!(
            "after {} reads none is left to do: {}",
            crowded.reads, !crowded.forgotten
        ),
        verdict: verdict(!crowded.forgotten),
    });
    let (due, mixed) = observed.reserved;
    claims.push(Claim {
        label: "C4",
        said: "no mix-back is lost",
        here: format!("{mixed} of {due} bytes got a place of their own"),
        verdict: verdict(due == mixed),
    });
    let hunger = observed.hunger;
    claims.push(Claim {
        label: "C6",
        said: "readers wait for the helper once they outrun it",
        here: format!(
            "{:.0} % of {} reads waited",
            100.0 * hunger.waited as f64 / hunger.reads as f64,
            hunger.reads
        ),
        verdict: verdict(hunger.waited > 0),
    });
    claims.push(Claim {
        label: "C6",
        said: "a full buffer is a trouble: stale bytes, or a CPU at work for nobody",
        here: format!(
            "resting: {} stale blocks after a seed, {:.1} % of a CPU; replacing: {} stale, {:.0} % of a CPU and {} blocks for nobody",
            observed.rest.stale,
            observed.rest.busy * 100.0,
            observed.replace.stale,
            observed.replace.busy * 100.0,
            observed.replace.made
        ),
        verdict: verdict(observed.rest.stale > 0 && observed.replace.busy > 0.5),
    });
}

fn about_integers(measured: &Measured, claims: &mut Vec<Claim>) {
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

/// Where a contender or the kernel does better than ours, column by column.
pub(crate) fn better_than_ours(measured: &Measured) -> Vec<String> {
    let mut lines = Vec::new();
    let name = |label: &str, name: &str| {
        if label == UNLABELLED {
            name.to_owned()
        } else {
            format!("{label} ({name})")
        }
    };
    if let Some(ours) = measured.pool("P1", "") {
        let contenders = measured
            .pools
            .iter()
            .filter(|row| row.label != "P1" && !row.name.starts_with("control"));
        for row in contenders {
            let Ok(cells) = &row.cells else { continue };
            for (i, threads) in measured.threads.iter().enumerate() {
                if cells[i] > ours[i] {
                    lines.push(format!(
                        "{}: x{:.2} our calls with {threads} thread(s)",
                        name(row.label, row.name),
                        cells[i] / ours[i]
                    ));
                }
            }
            let first = measured.threads.len();
            if cells[first] < ours[first] {
                lines.push(format!(
                    "{}: a new thread's first 64 bytes after {:.1} us, ours after {:.1} us",
                    name(row.label, row.name),
                    cells[first] / 1e3,
                    ours[first] / 1e3
                ));
            }
        }
    }
    if let Some(ours) = measured.small("P9", "ownpool") {
        for row in measured
            .ints
            .iter()
            .filter(|row| !row.name.starts_with("ownpool"))
        {
            let Ok(cells) = &row.cells else { continue };
            for (i, size) in ["4 bytes", "8 bytes"].into_iter().enumerate() {
                if cells[i] < ours[i] {
                    lines.push(format!(
                        "{}: {size} in {:.0} % of our time",
                        name(row.label, row.name),
                        cells[i] / ours[i] * 100.0
                    ));
                }
            }
        }
    }
    lines
}
