//! A table of words: aligned for the terminal, or as Markdown.

use core::fmt::Write as _;

/// How the cells of a table stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Figures.
    Right,
    /// Words. One that is longer than its column runs on into empty cells after it.
    Left,
}

/// A table: a title, a head, and lines of as many cells.
pub struct Table {
    title: String,
    head: Vec<String>,
    lines: Vec<Vec<String>>,
    align: Align,
}

impl Table {
    /// A table without lines.
    pub fn new(title: impl Into<String>, head: Vec<String>, align: Align) -> Table {
        Table {
            title: title.into(),
            head,
            lines: Vec::new(),
            align,
        }
    }

    /// Adds a line.
    pub fn push(&mut self, line: Vec<String>) {
        self.lines.push(line);
    }

    /// The width of a column: that of its widest cell which stays within it.
    fn width(&self, column: usize) -> usize {
        let runs_on = |line: &Vec<String>| {
            self.align == Align::Left && line.get(column + 1).is_some_and(String::is_empty)
        };
        let lines = self.lines.iter().chain([&self.head]);
        lines
            .filter(|line| !runs_on(line))
            .filter_map(|line| line.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    }

    /// Aligned columns, two spaces apart.
    pub fn text(&self) -> String {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| self.width(column))
            .collect();
        let mut out = format!("{}\n", self.title);
        for line in [&self.head].into_iter().chain(&self.lines) {
            let cells = line
                .iter()
                .zip(&widths)
                .map(|(cell, &width)| match self.align {
                    Align::Right => format!("{cell:>width$}"),
                    Align::Left => format!("{cell:<width$}"),
                });
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(out, "{}", cells.join("  ").trim_end());
        }
        out
    }

    /// The same in Markdown, without the title.
    pub fn markdown(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = match self.align {
            Align::Right => "---:",
            Align::Left => "---",
        };
        let rule: Vec<String> = self.head.iter().map(|_| rule.into()).collect();
        let lines = self.lines.iter().map(|line| row(line));
        [row(&self.head), row(&rule)]
            .into_iter()
            .chain(lines)
            .collect()
    }

    /// And under its title.
    pub fn titled_markdown(&self) -> String {
        format!("{}\n\n{}", self.title, self.markdown())
    }
}

/// The number with commas between thousands.
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `4 B`, `16 KiB`, `1 MiB`.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let words = |cells: [&str; 2]| cells.map(String::from).to_vec();
        let mut figures = Table::new("T", words(["a", "ns"]), Align::Right);
        figures.push(words(["long", "1"]));
        assert_eq!(figures.text(), "T\n   a  ns\nlong   1\n");
        assert_eq!(
            figures.titled_markdown(),
            "T\n\n| a | ns |\n| ---: | ---: |\n| long | 1 |\n"
        );
        let mut reasons = Table::new("", words(["a", "b"]), Align::Left);
        reasons.push(words(["a reason that runs on", ""]));
        assert!(reasons.markdown().starts_with("| a | b |\n| --- | --- |\n"));
        assert_eq!(reasons.text(), "\na  b\na reason that runs on\n");
        assert_eq!(thousands(1_234_567.4), "1,234,567");
        let sizes = [1023, 1024, 1 << 20].map(size);
        assert_eq!(sizes, ["1023 B", "1 KiB", "1 MiB"]);
    }
}
