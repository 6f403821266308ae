//! What was said of readers that race: equal output, lost writes, uneven mixing, waiting.

use super::Claim;
use crate::stress::observed::Observed;

pub(super) fn about(observed: &Observed) -> Vec<Claim> {
    let equal_outputs = observed.collisions.iter().map(|(label, found)| {
        let here = format!(
            "{} of {} outputs were a neighbour's, {} one's own again",
            found.between, found.outputs, found.within
        );
        let equal = found.between + found.within;
        match *label {
            "C4" => Claim::judged(
                label,
                "two readers can get the same output",
                here,
                equal > 0,
            ),
            _ => Claim::judged(
                label,
                "no two readers get the same output",
                here,
                equal == 0,
            ),
        }
    });
    let (salted, locked, crowded) = (observed.salted, observed.locked, observed.crowded);
    let (meetings, forgotten) = observed.forgotten;
    let (due, mixed) = observed.reserved;
    let (hunger, rest, replace) = (observed.hunger, observed.rest, observed.replace);
    let others = [
        Claim::judged(
            "C3",
            "its words are mixed unevenly",
            format!(
                "{} to {} writes of a word where C1 has {} to {}; {:.2} % of words off",
                salted.fewest,
                salted.most,
                locked.fewest,
                locked.most,
                salted.off * 100.0
            ),
            salted.off > 0.0,
        ),
        Claim::judged(
            "C3",
            "writers lose entropy",
            format!(
                "{:.3} % of all writes lost to a neighbour",
                salted.lost * 100.0
            ),
            salted.lost > 0.0,
        ),
        Claim::judged(
            "C5",
            "the last one out may never get out",
            format!(
                "{} threads, {} reads: longest stay {} mix-backs (alone {}), {:.2} mix-backs a hash, slowest read {:.1} ms",
                crowded.threads,
                crowded.reads,
                crowded.longest,
                observed.alone.longest,
                crowded.mixes_per_hash,
                crowded.slowest.as_secs_f64() * 1e3
            ),
            crowded.starved(),
        ),
        Claim::judged(
            "C5",
            "a mix-back that was asked for is done by some reader",
            format!("{forgotten} forgotten in {meetings} meetings of two readers"),
            forgotten == 0,
        ),
        Claim::judged(
            "C4",
            "no mix-back is lost",
            format!("{mixed} of {due} bytes got a place of their own"),
            due == mixed,
        ),
        Claim::judged(
            "C6",
            "readers wait for the helper once they outrun it",
            format!(
                "{:.0} % of {} reads waited",
                100.0 * hunger.waited as f64 / hunger.reads as f64,
                hunger.reads
            ),
            hunger.waited > 0,
        ),
        Claim::judged(
            "C6",
            "a full buffer costs: stale bytes, or a CPU at work for no reader",
            format!(
                "resting: {} stale blocks after a seed, {:.1} % of a CPU; replacing: {} stale, {:.0} % of a CPU and {} blocks for no reader",
                rest.stale,
                rest.busy * 100.0,
                replace.stale,
                replace.busy * 100.0,
                replace.made
            ),
            rest.stale > 0 && replace.busy > 10.0 * rest.busy,
        ),
    ];
    equal_outputs.chain(others).collect()
}
