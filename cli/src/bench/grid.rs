//! A table of words: aligned for the terminal, or as Markdown.

use core::fmt::Write as _;

/// A table: a title, a head, and lines of as many cells.
pub(super) struct Grid {
    title: String,
    head: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl Grid {
    pub(super) fn new(title: &str, head: Vec<String>) -> Grid {
        Grid {
            title: title.into(),
            head,
            lines: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, line: Vec<String>) {
        self.lines.push(line);
    }

    /// The widest cell of each column.
    fn widths(&self) -> Vec<usize> {
        let wide = |column: usize| {
            let cells = self
                .lines
                .iter()
                .chain([&self.head])
                .filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.head.len()).map(wide).collect()
    }

    /// Aligned columns, two spaces apart.
    pub(super) fn text(&self) -> String {
        let widths = self.widths();
        let mut out = format!("{}\n", self.title);
        for line in [&self.head].into_iter().chain(&self.lines) {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .map(|(cell, &width)| format!("{cell:>width$}"))
                .collect();
            let _ = writeln!(out, "{}", cells.join("  ").trim_end());
        }
        out
    }

    pub(super) fn markdown(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = self.head.iter().map(|_| String::from("---:")).collect();
        let mut out = format!("{}\n\n{}{}", self.title, row(&self.head), row(&rule));
        out.extend(self.lines.iter().map(|line| row(line)));
        out
    }
}
