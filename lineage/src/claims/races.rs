//! What was said of readers that race: equal output, lost writes, uneven mixing, waiting.

use super::{Claim, verdict};
use crate::measured::Measured;

pub(super) fn about(measured: &Measured, claims: &mut Vec<Claim>) {
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
    let (meetings, forgotten) = observed.forgotten;
    claims.push(Claim {
        label: "C5",
        said: "the last one out may never get out",
        here: format!(
            "{} threads, {} reads: longest stay {} mix-backs (alone {}), {:.2} mix-backs a hash, slowest read {:.1} ms",
            crowded.threads,
            crowded.reads,
            crowded.longest,
            observed.alone.longest,
            crowded.mixes_per_hash,
            crowded.slowest.as_secs_f64() * 1e3
        ),
        verdict: verdict(crowded.starved()),
    });
    claims.push(Claim {
        label: "C5",
        said: "a mix-back that was asked for is done by somebody",
        here: format!("{forgotten} forgotten in {meetings} meetings of two readers"),
        verdict: verdict(forgotten == 0),
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
        verdict: verdict(observed.rest.stale > 0 && observed.replace.busy > 10.0 * observed.rest.busy),
    });
}
