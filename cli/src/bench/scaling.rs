//! Scaling: what more threads give, beside what they give to pure arithmetic.
//!
//! The test of the 2015 discussion on the kernel's pool lock: 64 bytes a call,
//! on more and more pinned threads. Efficiency is the calls per second of all
//! threads over those of one thread times the threads; 100 % is perfect. A
//! machine that shares cores with strangers, or lowers its clock when more cores
//! work, gives arithmetic less than that too, so only the difference from the
//! arithmetic beside it may be held against anybody.

use super::contenders::ARITHMETIC;
use super::report::{Report, Row};
use ownpool_measure::table::{Align, Table};

/// The `entry` of these rows.
pub(super) const ENTRY: &str = "scaling";

/// Calls per second over what so many threads would ideally do.
pub(super) fn efficiency(report: &Report, row: &Row) -> Option<f64> {
    let alone = report.of(ENTRY, 1).find(|one| one.who == row.who)?;
    Some(row.calls_per_s / (alone.calls_per_s * row.threads as f64))
}

/// Threads down, contenders across.
pub(super) fn grid(report: &Report) -> Option<Table> {
    let rows = || report.rows.iter().filter(|row| row.entry == ENTRY);
    let counts = Report::distinct(rows().map(|row| row.threads));
    let names = Report::distinct(rows().map(|row| row.who.as_str()));
    if counts.is_empty() {
        return None;
    }
    let mut head = vec![String::from("threads")];
    head.extend(names.iter().map(|name| (*name).to_owned()));
    let mut grid = Table::new(
        "64 bytes a call, pinned threads: million calls a second of all threads, and efficiency",
        head,
        Align::Right,
    );
    for &threads in &counts {
        let mut line = vec![threads.to_string()];
        for name in &names {
            let row = report.of(ENTRY, threads).find(|row| row.who == *name);
            line.push(row.map_or_else(String::new, |row| cell(report, row)));
        }
        grid.push(line);
    }
    Some(grid)
}

/// What arithmetic does in a second means nothing; how it scales does.
fn cell(report: &Report, row: &Row) -> String {
    let share = efficiency(report, row).unwrap_or(f64::NAN) * 100.0;
    match row.who == ARITHMETIC {
        true => format!("{share:.0} %"),
        false => format!("{:.1}, {share:.0} %", row.calls_per_s / 1e6),
    }
}
