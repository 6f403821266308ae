//! Scaling: what more threads give, beside what they give to pure arithmetic.
//!
//! The test of the 2015 discussion on the kernel's pool lock: 64 bytes a call,
//! on more and more pinned threads. Efficiency is the calls per second of all
//! threads over those of one thread times the threads; 100 % is perfect. A
//! machine that shares cores with other guests, or lowers its clock when more cores
//! work, gives arithmetic less than that too, so only the difference from the
//! arithmetic beside it may be held against a contender.

use super::contenders::ARITHMETIC;
use super::report::{Report, Row};
use ownpool_measure::table::{Align, Table};

/// The entry that these rows are filed under.
pub(super) const ENTRY: &str = "scaling";

/// Calls per second over what so many threads would ideally do.
fn efficiency(report: &Report, row: &Row) -> Option<f64> {
    let alone = report.of(ENTRY, 1).find(|one| one.who == row.who)?;
    Some(row.calls_per_s / (alone.calls_per_s * row.threads as f64))
}

/// Threads down, contenders across.
pub(super) fn table(report: &Report) -> Option<Table> {
    let rows = || report.rows.iter().filter(|row| row.entry == ENTRY);
    let counts = Report::distinct(rows().map(|row| row.threads));
    let names = Report::distinct(rows().map(|row| row.who.as_str()));
    if counts.is_empty() {
        return None;
    }
    let head = ["threads"].into_iter().chain(names.iter().copied());
    let mut table = Table::new(
        "64 bytes a call, pinned threads: million calls a second of all threads, and efficiency",
        head.map(String::from).collect(),
        Align::Right,
    );
    for threads in counts {
        let mut line = vec![threads.to_string()];
        line.extend(names.iter().map(|name| {
            let row = report.of(ENTRY, threads).find(|row| row.who == *name);
            row.map_or_else(String::new, |row| cell(report, row))
        }));
        table.push(line);
    }
    Some(table)
}

/// What arithmetic does in a second means nothing; how it scales does.
fn cell(report: &Report, row: &Row) -> String {
    let share = efficiency(report, row).unwrap_or(f64::NAN) * 100.0;
    match row.who == ARITHMETIC {
        true => format!("{share:.0} %"),
        false => format!("{:.1}, {share:.0} %", row.calls_per_s / 1e6),
    }
}
