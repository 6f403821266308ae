//! What was said of the pools' speed and size.

use super::Claim;
use crate::measured::Measured;
use crate::rows::UNLABELLED;
use ownpool_measure::image::Sizes;

/// Cores that the thread's machine had when its curves fell.
const MANY: usize = 20;
/// Two factors within a fifth of each other count as the same, the noise of a shared machine.
const SAME: f64 = 0.8;

pub(super) fn about(measured: &Measured) -> Vec<Claim> {
    let full = measured.full();
    let threads = measured.threads[full];
    let judged = |label, said, here: Option<(String, bool)>| match here {
        Some((here, holds)) => Claim::judged(label, said, here, holds),
        None => Claim::not_shown(label, said, "did not run"),
    };
    let pool = |label: &str| measured.pool(label, "");
    let factor = |cells: &[f64]| cells[full] / cells[0];
    let control = measured.pool(UNLABELLED, "control").map_or(1.0, factor);
    let alone = pool("C1").map(factor);
    let scales = |label| {
        let factor = pool(label).map(factor)?;
        let here = format!("x{factor:.2} with {threads} threads; sharing nothing x{control:.2}");
        Some((here, factor >= SAME * control))
    };
    let against = |one: &str, other: &str| {
        let (one, other) = (pool(one)?[full], pool(other)?[full]);
        let here = format!("x{:.2} its calls with {threads} threads", one / other);
        Some((here, one > other))
    };
    let mut claims = vec![
        judged(
            "C1",
            "one lock: more CPUs do less in all",
            alone.map(|factor| (format!("x{factor:.2} with {threads} threads"), factor < 1.0)),
        ),
        judged("C2", "a pool a node scales with the nodes", scales("C2")),
        judged(
            "C3",
            "few CPUs: faster than C1's lock (350 K against 200 K)",
            against("C3", "C1"),
        ),
        judged(
            "C3",
            "few CPUs: faster than C4's atomic additions (350 K against 140 K)",
            against("C3", "C4"),
        ),
        judged(
            "C5",
            "readers that never wait get more than C1's",
            against("C5", "C1"),
        ),
        judged(
            "P1",
            "a generator a thread scales as threads that share nothing",
            scales("P1"),
        ),
        judged("P1", "and beats C2, the patch that was proposed", against("P1", "C2")),
        judged(
            "P6",
            "72 bytes of state a task and under 974 bytes of code",
            measured.size.map(|Sizes { code, tls }| {
                let here = format!("4,096 bytes a moved thread, {tls} a light one; {code} bytes of code, cipher and hooks");
                (here, tls <= 72 && code < 974)
            }),
        ),
    ];
    if measured.cores < MANY {
        let said = "above 20 CPUs they fall to half of C1's calls";
        let cores = format!("{} cores", measured.cores);
        claims.push(Claim::not_shown("C3, C4", said, cores));
    }
    if measured.real_nodes == 1 {
        let said = "what a second, third and fourth socket does";
        let nodes = "one memory node; two are pretended";
        claims.push(Claim::not_shown("C1, C2", said, nodes));
    }
    claims
}
