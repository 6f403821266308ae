//! Tables: the same rows for the terminal and for the page.
//!
//! Promises: every row has its label, and a row without figures says why.

use crate::claims::Claim;
use crate::measured::{Figures, Measured};
use crate::published;
use ownpool_measure::table::{Align, Table, thousands};

/// A table of these rows.
fn filled(title: String, head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new(title, head, Align::Left);
    rows.for_each(|row| table.push(row));
    table
}

fn strings<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// A row: its label and name, so many cells of its figures, or the reason for none, and what was published.
fn row<const N: usize>(
    row: &Figures,
    columns: usize,
    cells: impl FnOnce(&[f64]) -> Vec<String>,
    published: [&str; N],
) -> Vec<String> {
    let mut line = strings([row.label, row.name]);
    match &row.cells {
        Ok(figures) => line.extend(cells(figures)),
        Err(why) => line.push(why.clone()),
    }
    line.resize(2 + columns, String::new());
    line.extend(strings(published));
    line
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Pools: thousands of 64-byte reads a second.
pub(crate) fn pools(measured: &Measured) -> Table {
    let counts = &measured.threads;
    let mut head = strings(["", "design", "1 thread"]);
    head.extend(counts.iter().skip(1).map(|&threads| {
        let shared = threads > measured.cores;
        let shared = if shared { ", cores shared" } else { "" };
        format!("{threads} threads{shared}")
    }));
    let last = "the thread's figures, 144 CPUs";
    head.extend(strings(["first read, us", "memory", "spread", last]));
    let line = |figures: &Figures| {
        let cells = |cells: &[f64]| {
            let (rates, first) = (&cells[..counts.len()], cells[counts.len()]);
            let rate = |rate: &f64| format!("{} K", thousands(rate / 1e3));
            let more = rates.iter().skip(1);
            let mut cells = vec![rate(&rates[0])];
            cells.extend(more.map(|more| format!("{} x{:.2}", rate(more), more / rates[0])));
            cells.push(format!("{:.1}", first / 1e3));
            cells.extend([figures.memory.into(), percent(figures.spread)]);
            cells
        };
        let published = [published::pool(figures.label)];
        row(figures, counts.len() + 3, cells, published)
    };
    filled(
        "Pools: thousands of reads of 64 bytes a second, all threads together".into(),
        head,
        measured.pools.iter().map(line),
    )
}

/// Small integers: a thousand calls.
pub(crate) fn small(measured: &Measured) -> Table {
    let head = strings([
        "",
        "design",
        "4 bytes, ns",
        "4 bytes, cycles",
        "8 bytes, ns",
        "8 bytes, cycles",
        "spread",
        "published, 4 bytes",
        "published, 8 bytes",
    ]);
    let line = |figures: &Figures| {
        let cells = |cells: &[f64]| {
            let both = |cycles: &f64| [cycles / measured.ticks_per_ns, *cycles].map(thousands);
            let mut cells: Vec<String> = cells.iter().flat_map(both).collect();
            cells.push(percent(figures.spread));
            cells
        };
        row(figures, 5, cells, published::ints(figures.label))
    };
    filled(
        format!(
            "Small integers: a thousand calls (a cycle is a tick of the time-stamp counter, {:.3} in a ns)",
            measured.ticks_per_ns
        ),
        head,
        measured.ints.iter().map(line),
    )
}

/// Claims and what became of them.
pub(crate) fn claims(claims: &[Claim]) -> Table {
    let row = |claim: &Claim| strings([claim.label, claim.said, &claim.here, claim.verdict]);
    filled(
        String::new(),
        strings(["", "said", "here", ""]),
        claims.iter().map(row),
    )
}

/// The same for a terminal, where four wide columns would not fit: verdict first.
pub(crate) fn verdicts(claims: &[Claim]) -> String {
    let line = |claim: &Claim| {
        format!(
            "{:<14} {}: {}\n               here: {}\n",
            claim.verdict, claim.label, claim.said, claim.here
        )
    };
    claims.iter().map(line).collect()
}
