//! The lines of a file, one by one, so that the file's size is no matter.

use std::io::{BufRead, Read, Result};

/// The longest line that is read: 257 callers with module paths of PATH_MAX, every byte
/// escaped to six, are 6.3 MB.
const LONGEST: u64 = 16 << 20;

/// Calls `take` with the number and text of every line that is not blank, until it says
/// that it has enough. A line that is too long is one word of complaint in its place.
pub(crate) fn each_line(
    mut source: impl BufRead,
    mut take: impl FnMut(u64, core::result::Result<&[u8], String>) -> bool,
) -> Result<()> {
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let len = source.by_ref().take(LONGEST).read_until(b'\n', &mut text)?;
        let is_cut = len as u64 == LONGEST && !text.ends_with(b"\n");
        let line = text.trim_ascii();
        let goes_on = if is_cut {
            source.skip_until(b'\n')?;
            take(number, Err(format!("longer than {} MiB", LONGEST >> 20)))
        } else {
            len > 0 && (line.is_empty() || take(number, Ok(line)))
        };
        if !goes_on {
            break;
        }
    }
    Ok(())
}
