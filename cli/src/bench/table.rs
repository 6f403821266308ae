//! The figures as tables: for the terminal, and as Markdown.
//!
//! Promises: every row that was measured is shown, the fastest of each request is
//! marked whichever it is, and what was not measured is named with the reason.

use super::contenders::OWNPOOL;
use super::report::{Report, Row};
use super::scaling;
use core::fmt::Write as _;
use ownpool_measure::table::{Align, Table, size};

fn number(value: f64) -> String {
    match value {
        ..1.0 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn times(value: Option<f64>) -> String {
    value.map_or_else(|| String::from("-"), number)
}

/// What was measured on which machine: name and words.
fn heading(report: &Report) -> Vec<(String, String)> {
    let setup = &report.setup;
    let library = format!(
        "{}, backend {}, mode {}",
        setup.version, setup.backend, setup.mode
    );
    let machine = setup.machine.lines();
    let mut lines: Vec<(String, String)> = machine
        .into_iter()
        .chain([("library", library)])
        .map(|(name, words)| (name.into(), words))
        .collect();
    let peers = setup.peers.iter();
    lines.extend(peers.map(|peer| (peer.who.clone(), peer.what.clone())));
    let absent = setup.absent.iter();
    lines
        .extend(absent.map(|absent| (absent.who.clone(), format!("not measured: {}", absent.why))));
    if !report.pinned {
        let words = "could not all be bound to cores of their own";
        lines.push(("threads".into(), words.into()));
    }
    lines
}

/// One line a contender.
fn long(report: &Report, entry: &str, threads: usize) -> Table {
    let head = [
        "bytes",
        "who",
        "ns/call",
        "spread",
        "GB/s",
        "x syscall",
        "x vDSO",
        "",
    ];
    let head = head.map(String::from).to_vec();
    let mut table = Table::new(title(entry, threads), head, Align::Right);
    for row in report.of(entry, threads) {
        let spread = (row.ns_q3 - row.ns_q1) / row.ns * 100.0;
        table.push(vec![
            size(row.bytes),
            row.who.clone(),
            number(row.ns),
            format!("{spread:.1} %"),
            format!("{:.3}", row.gb_per_s),
            times(report.times_syscall(row)),
            times(report.times_vdso(row)),
            String::from(if report.fastest(row) { "fastest" } else { "" }),
        ]);
    }
    table
}

/// What a wide table shows of a row: the unit and the figure.
type Figure = (&'static str, fn(&Row) -> f64);

/// Sizes down, contenders across; the fastest marked.
fn wide(report: &Report, entry: &str, threads: usize, (unit, figure): Figure, mark: &str) -> Table {
    let rows = || report.of(entry, threads);
    let names = Report::distinct(rows().map(|row| row.who.as_str()));
    let mut head = vec!["bytes"];
    head.extend(&names);
    head.extend(["ownpool x syscall", "ownpool x vDSO"]);
    let head = head.into_iter().map(String::from).collect();
    let title = format!("{}, {unit}", title(entry, threads));
    let mut table = Table::new(title, head, Align::Right);
    for bytes in Report::distinct(rows().map(|row| row.bytes)) {
        let at = |who: &str| rows().find(|row| row.bytes == bytes && row.who == who);
        let cell = |row: &Row| {
            let mark = if report.fastest(row) { mark } else { "" };
            format!("{mark}{}{mark}", number(figure(row)))
        };
        let mut line = vec![size(bytes)];
        line.extend(
            names
                .iter()
                .map(|name| at(name).map_or_else(String::new, cell)),
        );
        let ours = at(OWNPOOL);
        line.push(times(ours.and_then(|row| report.times_syscall(row))));
        line.push(times(ours.and_then(|row| report.times_vdso(row))));
        table.push(line);
    }
    table
}

fn title(entry: &str, threads: usize) -> String {
    match threads {
        1 => format!("{entry}, 1 thread"),
        _ => format!("{entry}, {threads} threads together"),
    }
}

/// Entries and thread counts of the main table.
fn parts(report: &Report) -> Vec<(String, usize)> {
    let main = report.rows.iter().filter(|row| row.entry != scaling::ENTRY);
    let mut parts = Report::distinct(main.map(|row| (row.entry.clone(), row.threads)));
    parts.sort_by_key(|(_, threads)| *threads);
    parts
}

/// Everything, for the terminal.
pub(super) fn text(report: &Report) -> String {
    let heading = heading(report).into_iter();
    let mut out: String = heading
        .map(|(name, words)| format!("{name:<13}{words}\n"))
        .collect();
    let main = parts(report)
        .into_iter()
        .map(|(entry, threads)| match threads {
            1 => long(report, &entry, 1),
            _ => {
                let figure: Figure = ("GB/s of all, * the fastest", |row| row.gb_per_s);
                wide(report, &entry, threads, figure, "*")
            }
        });
    for table in main.chain(scaling::table(report)) {
        let _ = write!(out, "\n{}", table.text());
    }
    if let Some(memory) = &report.memory {
        let _ = writeln!(out, "\n{}", memory.lines().join("\n"));
    }
    out
}

/// The parts that were run, as Markdown: region name and text.
pub(super) fn markdown(report: &Report) -> Vec<(&'static str, String)> {
    let heading = heading(report).into_iter();
    let head: String = heading
        .map(|(name, words)| format!("- {name}: {words}\n"))
        .collect();
    let mut regions = Vec::new();
    let mut speed = head.clone();
    for (entry, threads) in parts(report) {
        let ns: Figure = ("ns per call", |row| row.ns);
        let rate: Figure = ("GB/s", |row| row.gb_per_s);
        for figure in [ns, rate].into_iter().skip(usize::from(threads > 1)) {
            let table = wide(report, &entry, threads, figure, "**");
            let _ = write!(speed, "\n{}", table.titled_markdown());
        }
    }
    if speed != head {
        regions.push(("speed", speed));
    }
    if let Some(table) = scaling::table(report) {
        regions.push(("scaling", format!("{head}\n{}", table.titled_markdown())));
    }
    if let Some(memory) = &report.memory {
        let lines = memory.lines().join("\n");
        regions.push(("memory", format!("{head}\n```\n{lines}\n```\n")));
    }
    regions
}
