//! `docs/lineage.md` and its picture: the measured parts of the page are written by the run that measured
//! them, between marks; the rest is written by hand and left alone.
//!
//! Must never: write when a mark is missing, so that half a page is never new.

use crate::claims;
use crate::measured::Measured;
use crate::{plot, table};
use ownpool_measure::regions;
use std::path::Path;

/// Writes page and picture.
pub(crate) fn write(measured: &Measured) -> Result<(), String> {
    let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("docs");
    let path = docs.join("lineage.md");
    let failed = |error: std::io::Error| format!("docs/lineage.md: {error}");
    let page = std::fs::read_to_string(&path).map_err(failed)?;
    let better = claims::better_than_ours(measured);
    let better = match better.as_slice() {
        [] => "None in this run.".to_owned(),
        lines => lines.iter().map(|line| format!("- {line}\n")).collect(),
    };
    let regions = [
        ("machine", about(measured)),
        ("pools", table::pools(measured).markdown()),
        ("small", table::small(measured).markdown()),
        (
            "claims",
            table::claims(&claims::claims(measured)).markdown(),
        ),
        ("better", better),
    ];
    for (name, _) in &regions {
        if !page.contains(&format!("<!-- lineage: {name} -->")) {
            return Err(format!("docs/lineage.md has no marks for {name}"));
        }
    }
    let page = regions::update(&page, "lineage", &regions)?;
    let picture = plot::svg(measured).map_err(|error| format!("docs/lineage.svg: {error}"))?;
    std::fs::write(docs.join("lineage.svg"), picture).map_err(failed)?;
    std::fs::write(path, page).map_err(failed)
}

/// The machine and how long it was measured.
pub(crate) fn about(measured: &Measured) -> String {
    let plan = measured.plan;
    format!(
        "{}. {}: medians of {} interleaved rounds, {} ms a rate; {:.3} ticks of the time-stamp counter in a ns.",
        measured.machine,
        plan.name,
        plan.rounds,
        plan.rate.as_millis(),
        measured.ticks_per_ns,
    )
}
