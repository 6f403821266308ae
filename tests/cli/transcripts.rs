//! What the command prints, whole, where no machine makes a difference: help, misuse, reports.
//! `TRYCMD=overwrite cargo test -p ownpool-tests --test cli transcripts` rewrites them.

use ownpool_tests::support::command;

#[test]
fn transcripts() {
    let cases = trycmd::TestCases::new();
    for (name, _) in std::env::vars() {
        if name.starts_with("OWNPOOL_") {
            cases.env(name, "");
        }
    }
    cases
        .register_bin("ownpool", command())
        .env("COLUMNS", "100")
        .env("LD_PRELOAD", "")
        .case("cli/transcripts/*.trycmd")
        .run();
}
