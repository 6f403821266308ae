//! A process's report as text: totals, what was saved, who asked.
//!
//! Promises: columns are wide enough for what stands in them, numbers are grouped and to the
//! right, zero rows are left out where their absence says as much. Pure.

use super::record::{Caller, Process};
use crate::output::{counted, grouped, printable};
use core::fmt::Write as _;
use core::ops::Range;
use std::collections::BTreeMap;

/// The whole block for one process.
pub(crate) fn table(process: &Process) -> String {
    let (program, mode) = (printable(&process.program), printable(&process.mode));
    let moved = counted(process.threads_moved, "thread");
    let pid = process.pid;
    let mut text = format!("{program} (pid {pid}): mode {mode}, {moved} moved\n");
    text += &totals(process);
    for (name, value) in remarks(process) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {name:<13}{value}");
    }
    if !process.callers.is_empty() {
        // In observe every call is seen; elsewhere only those that leave the fast path.
        let how = match process.mode.as_str() {
            "observe" => "",
            _ => " (sampled, weighted)",
        };
        let _ = writeln!(text, "  callers, heaviest first{how}:");
        text += &callers(&process.callers);
    }
    text
}

fn all_calls(process: &Process) -> u64 {
    process.kernel.calls.saturating_add(process.private.calls)
}

fn totals(process: &Process) -> String {
    let would = process.would_move;
    let row = |name: &str, calls, bytes| {
        let share = share(calls, all_calls(process));
        [name.into(), grouped(calls), grouped(bytes), share]
    };
    let mut rows = vec![
        ["", "calls", "bytes", "share of calls"].map(String::from),
        row("kernel", process.kernel.calls, process.kernel.bytes),
        row("private", process.private.calls, process.private.bytes),
    ];
    if would.threads > 0 || would.calls > 0 || process.mode == "observe" {
        rows.push(row("would move", would.calls, would.bytes));
    }
    columns(&rows, 1..4)
}

/// What there is to say below the totals, by name.
fn remarks(process: &Process) -> Vec<(&'static str, String)> {
    let mut remarks = Vec::new();
    if process.private.calls > 0 {
        let saved = share(process.private.calls, all_calls(process));
        let still = match process.entries.get("read") {
            Some(1..) => "; each read still asked what its descriptor is",
            _ => "",
        };
        let saved = format!("{saved} of the calls were served inside the process{still}");
        remarks.push(("saved", saved));
    }
    if process.would_move.threads > 0 {
        let threads = counted(process.would_move.threads, "thread");
        remarks.push(("in auto", format!("{threads} would have been moved")));
    }
    if process.refills > 0 || process.reseeds > 0 {
        let (refills, reseeds) = (grouped(process.refills), grouped(process.reseeds));
        remarks.push(("refills", format!("{refills}, reseeds {reseeds}")));
    }
    remarks.push(("entered by", nonzero(&process.entries)));
    remarks.push(("fell through", nonzero(&process.fell_through)));
    remarks.retain(|(_, value)| !value.is_empty());
    remarks
}

fn nonzero(counts: &BTreeMap<String, u64>) -> String {
    let nonzero = counts.iter().filter(|(_, count)| **count > 0);
    let words = nonzero.map(|(name, count)| format!("{} {}", printable(name), grouped(*count)));
    words.collect::<Vec<_>>().join(", ")
}

fn callers(callers: &[Caller]) -> String {
    let head = [
        "calls", "bytes", "largest", "threads", "moved", "called", "from", "in",
    ];
    let mut rows = vec![head.map(String::from)];
    rows.extend(callers.iter().map(|caller| {
        let place = match (&caller.function, caller.function_offset) {
            (Some(name), Some(offset)) => format!("{}+{offset:#x}", printable(name)),
            _ => printable(&caller.offset),
        };
        [
            grouped(caller.calls),
            grouped(caller.bytes),
            grouped(caller.largest),
            grouped(caller.threads),
            if caller.moved { "yes" } else { "no" }.into(),
            printable(&caller.entry),
            place,
            printable(&caller.module),
        ]
    }));
    columns(&rows, 0..4)
}

/// `part` of `all` in percent. Never 100 or 0 unless it is exactly so.
fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return "-".into();
    }
    let tenths = u128::from(part) * 1000 / u128::from(all);
    let tenths = if tenths == 0 && part > 0 { 1 } else { tenths };
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Rows of cells, each column as wide as its widest; those of `numbers` to the right.
fn columns<const N: usize>(rows: &[[String; N]], numbers: Range<usize>) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let padded = cells.map(|(column, (cell, &width))| match numbers.contains(&column) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_cut_not_rounded_up() {
        for (part, all, text) in [
            (0, 0, "-"),
            (0, 9, "0.0 %"),
            (1, 3, "33.3 %"),
            (99_999, 100_000, "99.9 %"),
            (7, 7, "100.0 %"),
            (1, u64::MAX, "0.1 %"),
            (u64::MAX, u64::MAX, "100.0 %"),
        ] {
            assert_eq!(share(part, all), text);
        }
    }
}
