//! What `ownpool run --help` says beyond the options.

use core::fmt::Write as _;
use ownpool_core::settings::TABLE;

/// The text, every setting with its default in it.
pub(super) fn manual() -> String {
    let mut text = String::from(
        "COMMAND is looked up in PATH and started with libownpool.so in front of what LD_PRELOAD\n\
         holds already. The library is taken from the directory of this command, or from ../lib,\n\
         ../lib/<multiarch> or ../lib64 beside it. Options override the environment. A relative\n\
         FILE is taken from the working directory; %p in it stands for the pid, %n for the program.\n\n\
         Exit status:\n  \
           125  ownpool failed: a bad option or value, or no library that LD_PRELOAD can name\n  \
           126  COMMAND was found but could not be started\n  \
           127  COMMAND was not found\n  \
           otherwise the status of COMMAND, which takes the place of this command\n\n\
         OWNPOOL_STATS to a terminal shows nothing of programs that close descriptor 2 before\n\
         they end, as dd and other coreutils do: name a FILE.\n\n\
         Sizes take K, M and G. Environment settings, with their defaults:\n",
    );
    for row in TABLE {
        let default = match row.default {
            "" => " (unset)".to_owned(),
            default => format!("={default}"),
        };
        let (name, help, unit) = (row.name, row.help, row.unit);
        let _ = writeln!(text, "  {name}{default}\n      {help} ({unit})");
    }
    text.push_str(
        "\nExamples:\n  \
           ownpool run python3 app.py\n  \
           ownpool run --mode observe --stats -- php worker.php\n  \
           ownpool run --stats=/var/log/ownpool.%p.json --burst 64K ./server --port 80\n\n\
         Static and set-user-id programs cannot be helped this way: see ownpool check.",
    );
    text
}
