//! What was said of the pools' speed and size.

use super::{Claim, verdict};
use crate::measured::Measured;
use crate::rows::UNLABELLED;

/// Cores that the thread's machine had when its curves fell.
const MANY: usize = 20;
/// Two factors within a fifth of each other count as the same, the noise of a shared machine.
const SAME: f64 = 0.8;

pub(super) fn about(measured: &Measured, claims: &mut Vec<Claim>) {
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
    claim(
        "P6",
        "72 bytes of state a task and under 974 bytes of code",
        measured.size.map(|(code, tls)| {
            let text = format!("4,096 bytes a moved thread, {tls} a light one; {code} bytes of code, cipher and hooks");
            (text, tls <= 72 && code < 974)
        }),
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
