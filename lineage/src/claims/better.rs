//! Every column in which a contender does better than ours: computed, so that none is passed over.

use crate::measured::Measured;
use crate::rows::UNLABELLED;

/// Where a contender or the kernel does better than ours, column by column.
pub(crate) fn better_than_ours(measured: &Measured) -> Vec<String> {
    let mut lines = Vec::new();
    let name = |label: &str, name: &str| {
        if label == UNLABELLED {
            name.to_owned()
        } else {
            format!("{label} ({name})")
        }
    };
    if let Some(ours) = measured.pool("P1", "") {
        let contenders = measured
            .pools
            .iter()
            .filter(|row| row.label != "P1" && !row.name.starts_with("control"));
        for row in contenders {
            let Ok(cells) = &row.cells else { continue };
            for (i, threads) in measured.threads.iter().enumerate() {
                if cells[i] > ours[i] {
                    lines.push(format!(
                        "{}: x{:.2} our calls with {threads} thread(s)",
                        name(row.label, row.name),
                        cells[i] / ours[i]
                    ));
                }
            }
            let first = measured.threads.len();
            if cells[first] < ours[first] {
                lines.push(format!(
                    "{}: a new thread's first 64 bytes after {:.1} us, ours after {:.1} us",
                    name(row.label, row.name),
                    cells[first] / 1e3,
                    ours[first] / 1e3
                ));
            }
        }
    }
    if let Some(ours) = measured.small("P9", "ownpool") {
        for row in measured
            .ints
            .iter()
            .filter(|row| !row.name.starts_with("ownpool"))
        {
            let Ok(cells) = &row.cells else { continue };
            for (i, size) in ["4 bytes", "8 bytes"].into_iter().enumerate() {
                if cells[i] < ours[i] {
                    lines.push(format!(
                        "{}: {size} in {:.0} % of our time",
                        name(row.label, row.name),
                        cells[i] / ours[i] * 100.0
                    ));
                }
            }
        }
    }
    lines
}
