//! Every column in which a contender does better than ours: computed, so that none is passed over.

use crate::measured::{Figures, Measured};
use crate::rows::UNLABELLED;

/// Where a contender or the kernel does better than ours, column by column.
pub(crate) fn better_than_ours(measured: &Measured) -> Vec<String> {
    let mut lines = Vec::new();
    let name = |row: &Figures| match row.label {
        UNLABELLED => row.name.to_owned(),
        label => format!("{label} ({})", row.name),
    };
    let pools = measured.pools.iter().filter(|row| row.label != "P1");
    for row in pools.filter(|row| !row.name.starts_with("control")) {
        let (Some(ours), Ok(cells)) = (measured.pool("P1", ""), &row.cells) else {
            continue;
        };
        let (name, first) = (name(row), measured.threads.len());
        for (i, threads) in measured.threads.iter().enumerate() {
            if cells[i] > ours[i] {
                let factor = cells[i] / ours[i];
                lines.push(format!(
                    "{name}: x{factor:.2} our calls with {threads} thread(s)"
                ));
            }
        }
        let (theirs, ours) = (cells[first] / 1e3, ours[first] / 1e3);
        if theirs < ours {
            lines.push(format!(
                "{name}: a new thread's first 64 bytes after {theirs:.1} us, ours after {ours:.1} us"
            ));
        }
    }
    for row in measured
        .ints
        .iter()
        .filter(|row| !row.name.starts_with("ownpool"))
    {
        let (Some(ours), Ok(cells)) = (measured.small("P9", "ownpool"), &row.cells) else {
            continue;
        };
        for (i, size) in ["4 bytes", "8 bytes"].into_iter().enumerate() {
            if cells[i] < ours[i] {
                let share = cells[i] / ours[i] * 100.0;
                lines.push(format!("{}: {size} in {share:.0} % of our time", name(row)));
            }
        }
    }
    lines
}
