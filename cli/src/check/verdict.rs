//! The answer of `check`: a verdict and its reasons.

use serde::Serialize;

/// Does the library help this program? The number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Helps = 0,
    NoEffect = 1,
    CannotLoad = 2,
}

impl Verdict {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Verdict::Helps => "helps: callers that ask for much get a private generator",
            Verdict::NoEffect => "no effect",
            Verdict::CannotLoad => "cannot load: the program runs as it does without the library",
        }
    }
}

/// A verdict and what speaks for it, the weightiest first.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<String>,
}

impl Judgement {
    pub(crate) fn cannot_load(reasons: Vec<String>) -> Judgement {
        Judgement {
            verdict: Verdict::CannotLoad,
            reasons,
        }
    }
}
