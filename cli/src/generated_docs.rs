//! What is made from the command's own arguments and from the table of settings: the
//! completions, and the regions of the manual pages between `begin` and `end` marks.
//!
//! Tests only: `UPDATE_GOLDEN=1 cargo test -p ownpool-cli pages` rewrites the files, and
//! without it they must be as they would be made. So no page can miss an option or a
//! setting, and no build makes files.

use super::Cli;
use crate::settings::{Mode, TABLE};
use clap::{Arg, Command, CommandFactory};
use core::fmt::Write as _;
use std::path::PathBuf;

/// The command as parsed, subcommands that users see only.
fn subcommands() -> Vec<Command> {
    let mut cli = Cli::command();
    cli.build();
    cli.get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
        .cloned()
        .collect()
}

/// The command as completions show it: without what is hidden, and with the names of
/// the modes.
fn shown(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let modes = |argument: Arg| match argument.get_id().as_str() {
        "mode" => argument.value_parser(Mode::ALL.map(Mode::name)),
        _ => argument,
    };
    let name: &'static str = command.get_name().to_owned().leak();
    Command::new(name)
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(command.get_name() != "ownpool")
        .args(arguments.cloned().map(modes))
        .subcommands(command.get_subcommands().map(shown))
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name)
}

/// The file is `made`, or becomes it.
fn settle(name: &str, made: &str) {
    let path = path(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "{name} is not what the command's arguments and the settings make; \
         UPDATE_GOLDEN=1 cargo test --bin ownpool rewrites it"
    );
}

/// The page with what lies between the marks of `region` replaced.
fn with_region(page: &str, region: &str, made: &str) -> String {
    let begin = format!(".\\\" begin {region}, made by a test\n");
    let end = format!(".\\\" end {region}\n");
    let (before, rest) = page.split_once(&begin).expect("the region begins");
    let (_, after) = rest.split_once(&end).expect("and ends");
    format!("{before}{begin}{made}{end}{after}")
}

/// Text that troff prints as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    text.lines()
        .map(|line| match line.chars().next() {
            Some('.' | '\'') => format!("\\&{line}"),
            _ => line.to_string(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// `ownpool run [--mode MODE] COMMAND`, as troff; an option that takes all that follows
/// comes last.
fn synopsis(command: &Command) -> String {
    let mut line = format!(".B ownpool {}\n", command.get_name());
    let bracketed = |argument| format!(".RB [ {} ]\n", option(argument));
    let (last, first): (Vec<&Arg>, Vec<&Arg>) = options(command).partition(|arg| takes_many(arg));
    line.extend(first.into_iter().map(bracketed));
    line.extend(
        command
            .get_positionals()
            .map(|argument| operand(argument) + "\n"),
    );
    line.extend(last.into_iter().map(bracketed));
    line
}

fn takes_many(argument: &Arg) -> bool {
    argument
        .get_num_args()
        .is_some_and(|range| range.max_values() > 1)
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|argument| !argument.is_positional() && !argument.is_hide_set())
        .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
}

/// `--stats[=FILE]`, in bold but for the value.
fn option(argument: &Arg) -> String {
    let name = argument.get_long().expect("every option has a long name");
    let mut text = format!("\\fB{}\\fR", escaped(&format!("--{name}")));
    if argument.get_action().takes_values() {
        let values: Vec<&str> = argument
            .get_value_names()
            .into_iter()
            .flatten()
            .map(|value| value.as_str())
            .collect();
        let value = format!("\\fI{}\\fR", values.join(" "));
        let range = argument.get_num_args();
        let optional = range.is_some_and(|range| range.min_values() == 0);
        let dots = if takes_many(argument) { "..." } else { "" };
        let _ = match (optional, argument.is_require_equals_set()) {
            (true, true) => write!(text, "[={value}]"),
            (true, false) => write!(text, " [{value}{dots}]"),
            (false, true) => write!(text, "={value}"),
            (false, false) => write!(text, " {value}{dots}"),
        };
    }
    // One argument of a macro.
    text.replace(' ', "\\ ")
}

fn operand(argument: &Arg) -> String {
    let value: Vec<&str> = argument
        .get_value_names()
        .into_iter()
        .flatten()
        .map(|value| value.as_str())
        .collect();
    if takes_many(argument) {
        format!("[\\-\\-] \\fI{}\\fR [\\fIARG\\fR...]", value.join(" "))
    } else {
        format!("\\fI{}\\fR", value.join(" "))
    }
}

fn sentence(text: &str) -> String {
    let end = if text.ends_with('.') { "" } else { "." };
    escaped(&format!("{text}{end}"))
}

fn all_synopses() -> String {
    subcommands()
        .iter()
        .map(synopsis)
        .collect::<Vec<_>>()
        .join(".br\n")
}

fn all_options() -> String {
    let mut text = String::new();
    for command in subcommands() {
        let about = command
            .get_about()
            .expect("every subcommand says what it does");
        let _ = writeln!(text, ".SS ownpool {}", command.get_name());
        let _ = writeln!(text, "{}", sentence(&about.to_string()));
        for argument in command.get_positionals().chain(options(&command)) {
            let name = if argument.is_positional() {
                format!(
                    ".I {}",
                    argument.get_value_names().unwrap_or_default().join(" ")
                )
            } else {
                option(argument)
            };
            let help = argument
                .get_help()
                .expect("every argument says what it does");
            let _ = writeln!(text, ".TP\n{name}\n{}", sentence(&help.to_string()));
        }
    }
    text
}

fn all_settings() -> String {
    let mut text = String::new();
    for row in TABLE.iter().filter(|row| row.name != "OWNPOOL_TEST") {
        let default = match row.default {
            "" => "unset".to_string(),
            default => format!("\\fB{}\\fR", escaped(default)),
        };
        let _ = writeln!(
            text,
            ".TP\n.B {}\n{}\nUnit: {}.\nDefault: {default}.",
            row.name,
            sentence(&capital(row.help)),
            escaped(row.unit),
        );
    }
    text
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}

#[test]
fn the_page_of_the_command_names_every_option() {
    let page = std::fs::read_to_string(path("man/ownpool.1")).unwrap();
    let page = with_region(&page, "synopsis", &all_synopses());
    settle(
        "man/ownpool.1",
        &with_region(&page, "options", &all_options()),
    );
}

#[test]
fn the_page_of_settings_is_the_table() {
    let page = std::fs::read_to_string(path("man/ownpool.7")).unwrap();
    settle(
        "man/ownpool.7",
        &with_region(&page, "settings", &all_settings()),
    );
    for mode in Mode::ALL {
        assert!(
            page.contains(&format!(".B {}\n", mode.name())),
            "{}",
            mode.name()
        );
    }
}

#[test]
fn completions_are_those_of_the_arguments() {
    for (shell, file) in [
        (clap_complete::Shell::Bash, "completions/ownpool.bash"),
        (clap_complete::Shell::Zsh, "completions/_ownpool"),
        (clap_complete::Shell::Fish, "completions/ownpool.fish"),
    ] {
        let mut made = Vec::new();
        clap_complete::generate(shell, &mut shown(&Cli::command()), "ownpool", &mut made);
        settle(file, &String::from_utf8(made).unwrap());
    }
}
