//! All that `check` found out, as text or as JSON.

use super::host::Host;
use super::loaded_files::{LoadedFile, LoadedFiles};
use super::observe::Observed;
use super::verdict::Judgement;
use crate::report::table::table;
use core::fmt::Write as _;
use serde_json::json;

pub(super) struct Answer {
    pub(super) asked: String,
    pub(super) program: String,
    pub(super) judgement: Judgement,
    pub(super) steps: Vec<String>,
    pub(super) files: Option<LoadedFiles>,
    pub(super) host: Host,
    pub(super) observed: Option<Observed>,
}

impl Answer {
    pub(super) fn json(&self) -> String {
        let library = |file: &LoadedFile| {
            let imports: Vec<_> = file.binary.imports.keys().collect();
            json!({ "path": file.shown(), "imports": imports })
        };
        let files = self.files.iter().flat_map(LoadedFiles::all);
        let mut answer = json!({
            "asked": self.asked,
            "program": self.program,
            "verdict": self.judgement.verdict,
            "reasons": self.judgement.reasons,
            "steps": self.steps,
            "libraries": files.map(library).collect::<Vec<_>>(),
            "host": self.host,
        });
        if let (Some(seen), Some(answer)) = (&self.observed, answer.as_object_mut()) {
            answer.insert("ended".into(), json!(seen.ended));
            answer.insert("observed".into(), json!(seen.processes));
        }
        format!("{answer}\n")
    }

    pub(super) fn words(&self) -> String {
        let verdict = self.judgement.verdict.words();
        let mut text = match self.asked == self.program {
            true => format!("{}: {verdict}\n", self.asked),
            false => format!("{} ({}): {verdict}\n", self.asked, self.program),
        };
        for line in self.judgement.reasons.iter().chain(&self.steps) {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "  this machine: {}", self.host.line());
        if let Some(seen) = &self.observed {
            let _ = writeln!(text, "  seen in mode observe: {}", seen.ended);
            for process in &seen.processes {
                let _ = write!(text, "\n{}", table(process));
            }
        }
        text
    }
}
