//! A process's report as text: totals, what was saved, who asked.
//!
//! Promises: columns are wide enough for what stands in them, numbers are grouped and to the
//! right, zero rows are left out where their absence says as much. Pure.

use super::record::{Caller, Process};
use crate::output::{counted, grouped, printable};
use core::fmt::Write as _;

/// The whole block for one process.
pub(crate) fn table(process: &Process) -> String {
    let mut text = format!(
        "{} (pid {}): mode {}, {} moved\n",
        printable(&process.program),
        process.pid,
        printable(&process.mode),
        counted(process.threads_moved, "thread")
    );
    totals(&mut text, process);
    let named = |map: &std::collections::BTreeMap<String, u64>| {
        let some: Vec<String> = map
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(name, n)| format!("{} {}", printable(name), grouped(*n)))
            .collect();
        some.join(", ")
    };
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {name:<13}{value}");
        }
    };
    if process.refills > 0 || process.reseeds > 0 {
        row(
            "refills",
            format!(
                "{}, reseeds {}",
                grouped(process.refills),
                grouped(process.reseeds)
            ),
        );
    }
    row("entered by", named(&process.entries));
    row("fell through", named(&process.fell_through));
    if !process.callers.is_empty() {
        // In observe every call is seen; elsewhere only those that leave the fast path.
        let how = if process.mode == "observe" {
            ""
        } else {
            " (sampled, weighted)"
        };
        let _ = writeln!(text, "  callers, heaviest first{how}:");
        callers(&mut text, &process.callers);
    }
    text
}

fn totals(text: &mut String, process: &Process) {
    let would = process.would_move;
    let mut rows = vec![[
        "".into(),
        "calls".into(),
        "bytes".into(),
        "share of calls".into(),
    ]];
    let all = process.kernel.calls.saturating_add(process.private.calls);
    for (name, calls, bytes) in [
        ("kernel", process.kernel.calls, process.kernel.bytes),
        ("private", process.private.calls, process.private.bytes),
    ] {
        rows.push([
            name.into(),
            grouped(calls),
            grouped(bytes),
            share(calls, all),
        ]);
    }
    if would.threads > 0 || would.calls > 0 || process.mode == "observe" {
        rows.push([
            "would move".into(),
            grouped(would.calls),
            grouped(would.bytes),
            share(would.calls, all),
        ]);
    }
    columns(text, &rows, [false, true, true, true]);
    if process.private.calls > 0 {
        let saved = share(process.private.calls, all);
        let reads = process.entries.get("read").is_some_and(|&calls| calls > 0);
        let still = match reads {
            true => "; each read still asked what its descriptor is",
            false => "",
        };
        let _ = writeln!(
            text,
            "  {:<13}{saved} of the calls drew nothing from the kernel{still}",
            "saved"
        );
    }
    if would.threads > 0 {
        let _ = writeln!(
            text,
            "  {:<13}{} would have been moved",
            "in auto",
            counted(would.threads, "thread")
        );
    }
}

fn callers(text: &mut String, callers: &[Caller]) {
    let head = [
        "calls", "bytes", "largest", "threads", "moved", "called", "from", "in",
    ];
    let mut rows = vec![head.map(String::from)];
    for caller in callers {
        let place = match (&caller.function, caller.function_offset) {
            (Some(name), Some(offset)) => format!("{}+{offset:#x}", printable(name)),
            _ => printable(&caller.offset),
        };
        rows.push([
            grouped(caller.calls),
            grouped(caller.bytes),
            grouped(caller.largest),
            grouped(caller.threads),
            if caller.moved { "yes" } else { "no" }.into(),
            printable(&caller.entry),
            place,
            printable(&caller.module),
        ]);
    }
    columns(
        text,
        &rows,
        [true, true, true, true, false, false, false, false],
    );
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

/// Rows of cells, each column as wide as its widest; `right` says which are numbers.
fn columns<const N: usize>(text: &mut String, rows: &[[String; N]], right: [bool; N]) {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in rows {
        let mut line = String::from(" ");
        for ((cell, &width), right) in row.iter().zip(&widths).zip(right) {
            let _ = if right {
                write!(line, " {cell:>width$} ")
            } else {
                write!(line, " {cell:<width$} ")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
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
        ] {
            assert_eq!(share(part, all), text);
        }
        assert_eq!(share(1, u64::MAX), "0.1 %");
        assert_eq!(share(u64::MAX, u64::MAX), "100.0 %");
    }
}
