//! Tables: the same rows for the terminal and for the page.
//!
//! Promises: every row has its label, and a row without figures says why.

use crate::claims::Claim;
use crate::measured::Measured;
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

/// Pools: thousands of 64-byte reads a second.
pub(crate) fn pools(measured: &Measured) -> Table {
    let mut header = strings(["", "design"]);
    for (i, threads) in measured.threads.iter().enumerate() {
        let shared = if *threads > measured.cores {
            ", cores shared"
        } else {
            ""
        };
        header.push(if i == 0 {
            "1 thread".into()
        } else {
            format!("{threads} threads{shared}")
        });
    }
    header.extend(strings([
        "first read, us",
        "memory",
        "spread",
        "the thread's figures, 144 CPUs",
    ]));
    let row = |row: &crate::measured::Figures| {
        let mut cells = strings([row.label, row.name]);
        match &row.cells {
            Ok(figures) => {
                let rates = &figures[..measured.threads.len()];
                for (i, rate) in rates.iter().enumerate() {
                    let factor = if i == 0 {
                        String::new()
                    } else {
                        format!(" x{:.2}", rate / rates[0])
                    };
                    cells.push(format!("{} K{factor}", thousands(rate / 1e3)));
                }
                cells.push(format!("{:.1}", figures[measured.threads.len()] / 1e3));
                cells.extend([row.memory.into(), format!("{:.0} %", row.spread * 100.0)]);
            }
            Err(why) => {
                cells.push(why.clone());
                cells.extend(vec![String::new(); measured.threads.len() + 2]);
            }
        }
        cells.push(published::pool(row.label).into());
        cells
    };
    filled(
        "Pools: thousands of reads of 64 bytes a second, all threads together".into(),
        header,
        measured.pools.iter().map(row),
    )
}

/// Small integers: a thousand calls.
pub(crate) fn small(measured: &Measured) -> Table {
    let header = strings([
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
    let row = |row: &crate::measured::Figures| {
        let mut cells = strings([row.label, row.name]);
        match &row.cells {
            Ok(figures) => {
                for cycles in figures {
                    cells.extend([
                        thousands(cycles / measured.ticks_per_ns),
                        thousands(*cycles),
                    ]);
                }
                cells.push(format!("{:.0} %", row.spread * 100.0));
            }
            Err(why) => {
                cells.push(why.clone());
                cells.extend(vec![String::new(); 4]);
            }
        }
        cells.extend(strings(published::ints(row.label)));
        cells
    };
    filled(
        format!(
            "Small integers: a thousand calls (a cycle is a tick of the time-stamp counter, {:.3} in a ns)",
            measured.ticks_per_ns
        ),
        header,
        measured.ints.iter().map(row),
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
