//! The figures as tables: for the terminal, and as Markdown.
//!
//! Promises: every row that was measured is shown, the fastest of each request is
//! marked whoever it is, and who was not measured is named with the reason.

use super::contenders::OWNPOOL;
use super::report::{Report, Row};
use super::{memory, scaling};
use core::fmt::Write as _;
use ownpool_measure::table::{Align, Table};

/// `4 B`, `16 KiB`, `1 MiB`.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

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

/// Who ran where: name and words.
fn heading(report: &Report) -> Vec<(String, String)> {
    let setup = &report.setup;
    let mut lines: Vec<(String, String)> = setup
        .machine
        .lines()
        .into_iter()
        .map(|(name, words)| (name.into(), words))
        .collect();
    lines.push((
        "library".into(),
        format!(
            "{}, backend {}, mode {}",
            setup.version, setup.backend, setup.mode
        ),
    ));
    lines.extend(
        setup
            .peers
            .iter()
            .map(|peer| (peer.who.clone(), peer.what.clone())),
    );
    lines.extend(
        setup
            .absent
            .iter()
            .map(|absent| (absent.who.clone(), format!("not measured: {}", absent.why))),
    );
    if !report.pinned {
        lines.push((
            "threads".into(),
            "could not all be bound to cores of their own".into(),
        ));
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
    let mut grid = Table::new(
        title(entry, threads),
        head.map(String::from).to_vec(),
        Align::Right,
    );
    for row in report.of(entry, threads) {
        let spread = (row.ns_q3 - row.ns_q1) / row.ns * 100.0;
        grid.push(vec![
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
    grid
}

/// Sizes down, contenders across; the fastest marked.
fn wide(
    report: &Report,
    entry: &str,
    threads: usize,
    unit: &str,
    figure: fn(&Row) -> f64,
    mark: &str,
) -> Table {
    let names = Report::distinct(report.of(entry, threads).map(|row| row.who.as_str()));
    let sizes = Report::distinct(report.of(entry, threads).map(|row| row.bytes));
    let mut head = vec![String::from("bytes")];
    head.extend(names.iter().map(|name| (*name).to_owned()));
    head.extend(["ownpool x syscall".into(), "ownpool x vDSO".into()]);
    let mut grid = Table::new(
        format!("{}, {unit}", title(entry, threads)),
        head,
        Align::Right,
    );
    for &bytes in &sizes {
        let at = |who: &str| {
            report
                .of(entry, threads)
                .find(|row| row.bytes == bytes && row.who == who)
        };
        let mut line = vec![size(bytes)];
        for name in &names {
            line.push(at(name).map_or_else(String::new, |row| {
                let mark = if report.fastest(row) { mark } else { "" };
                format!("{mark}{}{mark}", number(figure(row)))
            }));
        }
        let ours = at(OWNPOOL);
        line.push(times(ours.and_then(|row| report.times_syscall(row))));
        line.push(times(ours.and_then(|row| report.times_vdso(row))));
        grid.push(line);
    }
    grid
}

fn title(entry: &str, threads: usize) -> String {
    format!(
        "{entry}, {threads} {}",
        if threads == 1 {
            "thread"
        } else {
            "threads together"
        }
    )
}

/// Functions and thread counts of the main table.
fn parts(report: &Report) -> Vec<(String, usize)> {
    let main = report.rows.iter().filter(|row| row.entry != scaling::ENTRY);
    let mut parts = Report::distinct(main.map(|row| (row.entry.clone(), row.threads)));
    parts.sort_by_key(|(_, threads)| *threads);
    parts
}

/// Everything, for the terminal.
pub(super) fn text(report: &Report) -> String {
    let mut out = String::new();
    for (name, words) in heading(report) {
        let _ = writeln!(out, "{name:<13}{words}");
    }
    for (entry, threads) in parts(report) {
        let grid = match threads {
            1 => long(report, &entry, 1),
            _ => wide(
                report,
                &entry,
                threads,
                "GB/s of all, * the fastest",
                |row| row.gb_per_s,
                "*",
            ),
        };
        let _ = write!(out, "\n{}", grid.text());
    }
    if let Some(grid) = scaling::grid(report) {
        let _ = write!(out, "\n{}", grid.text());
    }
    if let Some(report) = &report.memory {
        let _ = writeln!(out, "\n{}", memory::lines(report).join("\n"));
    }
    out
}

/// The parts that were run, as Markdown: region name and text.
pub(super) fn markdown(report: &Report) -> Vec<(&'static str, String)> {
    let mut head = String::new();
    for (name, words) in heading(report) {
        let _ = writeln!(head, "- {name}: {words}");
    }
    let mut regions = Vec::new();
    let mut speed = head.clone();
    for (entry, threads) in parts(report) {
        if threads == 1 {
            let _ = write!(
                speed,
                "\n{}",
                wide(report, &entry, 1, "ns per call", |row| row.ns, "**").markdown()
            );
        }
        let _ = write!(
            speed,
            "\n{}",
            wide(report, &entry, threads, "GB/s", |row| row.gb_per_s, "**").markdown()
        );
    }
    if !parts(report).is_empty() {
        regions.push(("speed", speed));
    }
    if let Some(grid) = scaling::grid(report) {
        regions.push(("scaling", format!("{head}\n{}", grid.markdown())));
    }
    if let Some(report) = &report.memory {
        regions.push((
            "memory",
            format!("{head}\n```\n{}\n```\n", memory::lines(report).join("\n")),
        ));
    }
    regions
}
