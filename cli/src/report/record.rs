//! One line of a report: what one process did.
//!
//! Promises: a line that carries the key `ownpool` is read whatever version wrote it:
//! unknown fields are passed over, missing ones count as nothing. Anything else is refused
//! with the reason in a few words. Bytes that are no UTF-8 (a program may be named so) are
//! shown as replacements instead of spoiling the line.

use core::cmp::Reverse;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use std::collections::BTreeMap;

/// Calls and the bytes they asked for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Volume {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

/// What would have been served in mode `auto`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct WouldMove {
    pub(crate) threads: u64,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

/// One place in the program that asks.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Caller {
    pub(crate) module: String,
    /// Hexadecimal; empty where the module has none.
    pub(crate) build_id: String,
    /// Hexadecimal: the return address less the module's load bias.
    pub(crate) offset: String,
    /// Added by us: the function that the call lies in.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) function: Option<String>,
    /// Added by us: how far into that function the call returns.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) function_offset: Option<u64>,
    /// The name it called.
    pub(crate) entry: String,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) largest: u64,
    pub(crate) threads: u64,
    pub(crate) moved: bool,
}

impl Caller {
    /// The return address as a number, if it is one.
    pub(crate) fn address(&self) -> Option<u64> {
        u64::from_str_radix(self.offset.strip_prefix("0x")?, 16).ok()
    }
}

/// What one process did. The names are those of the line.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Process {
    pub(crate) ownpool: String,
    pub(crate) backend: String,
    pub(crate) pid: u64,
    pub(crate) program: String,
    pub(crate) mode: String,
    pub(crate) threads_moved: u64,
    pub(crate) kernel: Volume,
    pub(crate) private: Volume,
    pub(crate) would_move: WouldMove,
    pub(crate) refills: u64,
    pub(crate) reseeds: u64,
    pub(crate) entries: BTreeMap<String, u64>,
    pub(crate) fell_through: BTreeMap<String, u64>,
    pub(crate) callers: Vec<Caller>,
}

/// The one field that a line of ours cannot lack.
#[derive(Deserialize)]
struct Mark {
    #[allow(dead_code, reason = "its presence is what is asked for")]
    ownpool: String,
}

impl Process {
    /// Reads one line; its callers come heaviest first.
    ///
    /// # Errors
    /// Why it is no report, in words.
    pub(crate) fn parse(line: &[u8]) -> Result<Process, String> {
        let text = String::from_utf8_lossy(line);
        // The first pass tells a foreign line from a torn one of ours.
        serde_json::from_str::<Mark>(&text).map_err(|error| match error.classify() {
            Category::Eof => "torn: it ends too early".to_owned(),
            Category::Data => "not a report of ownpool".to_owned(),
            _ => format!("not JSON at column {}", error.column()),
        })?;
        let mut process: Process = serde_json::from_str(&text)
            .map_err(|error| format!("not a report of ownpool: {error}"))?;
        let weight = |caller: &Caller| Reverse((caller.bytes, caller.calls));
        process.callers.sort_by_key(weight);
        Ok(process)
    }

    /// The line with what we added.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mark_is_needed() {
        let process = Process::parse(br#"{"ownpool":"9.9","new":{"a":[1]},"pid":7}"#).unwrap();
        assert_eq!(
            (process.pid, process.kernel, process.callers.len()),
            (7, Volume::default(), 0)
        );
        let odd = Process::parse(b"{\"ownpool\":\"1\",\"program\":\"\xff\"}").unwrap();
        assert_eq!(odd.program, "\u{fffd}");
    }
}
