//! What is made from the command's own arguments and from the table of settings: the
//! completions, and the regions of the manual pages between `begin` and `end` marks.
//!
//! Tests only: `UPDATE_GOLDEN=1 cargo test -p ownpool-cli generated_docs` rewrites the files,
//! and without it they must be as they would be made. So no page can miss an option or a
//! setting, and no build makes files.

use crate::command_line::CommandLine;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use core::fmt::Write as _;
use ownpool_core::settings::{Mode, TABLE};
use std::path::PathBuf;

/// The command as users see it: without what is hidden, and with the names of the modes.
fn visible(command: &Command) -> Command {
    let modes = |argument: &Arg| match argument.get_id().as_str() {
        "mode" => {
            let named = argument.clone().value_parser(Mode::ALL.map(Mode::name));
            named.hide_possible_values(true)
        }
        _ => argument.clone(),
    };
    let arguments = command.get_arguments();
    let name: &'static str = command.get_name().to_owned().leak();
    Command::new(name)
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(command.get_name() != "ownpool")
        .args(
            arguments
                .filter(|argument| !argument.is_hide_set())
                .map(modes),
        )
        .subcommands(command.get_subcommands().map(visible))
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
         UPDATE_GOLDEN=1 cargo test -p ownpool-cli rewrites it"
    );
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name)
}

/// The page with what lies between the marks of `region` replaced.
fn with_region(name: &str, region: &str, made: &str) -> String {
    let page = std::fs::read_to_string(path(name)).unwrap();
    let begin = format!(".\\\" begin {region}, made by a test\n");
    let end = format!(".\\\" end {region}\n");
    let (before, rest) = page.split_once(&begin).expect("the region begins");
    let (_, after) = rest.split_once(&end).expect("and ends");
    format!("{before}{begin}{made}{end}{after}")
}

/// The options of every subcommand, each under a heading of its own.
fn options() -> String {
    let command = visible(&CommandLine::command());
    let mut text = String::new();
    for subcommand in command.get_subcommands() {
        let about = subcommand
            .get_about()
            .expect("every subcommand says what it does");
        let _ = writeln!(text, ".SS ownpool {}\n{about}.", subcommand.get_name());
        for argument in subcommand.get_arguments() {
            assert!(argument.get_help().is_some(), "{argument}");
        }
        let mut made = Vec::new();
        let page = Man::new(subcommand.clone().disable_help_flag(true));
        page.render_options_section(&mut made).unwrap();
        let made = String::from_utf8(made).unwrap();
        // In front of the heading it defines the apostrophe, as the page does itself.
        text += made
            .split_once(".SH OPTIONS\n")
            .expect("the section's own heading")
            .1;
    }
    text
}

fn settings() -> String {
    let mut page = Roff::new();
    for row in TABLE {
        page.control("TP", []);
        page.control("B", [row.name]);
        let (first, rest) = row.help.split_at(1);
        page.text([roman(format!("{}{rest}.", first.to_uppercase()))]);
        page.text([roman(format!("Unit: {}.", row.unit))]);
        page.text(match row.default {
            "" => vec![roman("Default: unset.")],
            default => vec![roman("Default: "), bold(default), roman(".")],
        });
    }
    page.to_roff()
}

#[test]
fn the_page_of_the_command_names_every_option() {
    let page = with_region("man/ownpool.1", "options", &options());
    settle("man/ownpool.1", &page);
}

#[test]
fn the_page_of_settings_is_the_table() {
    let page = with_region("man/ownpool.7", "settings", &settings());
    settle("man/ownpool.7", &page);
    for mode in Mode::ALL {
        let name = mode.name();
        assert!(page.contains(&format!(".B {name}\n")), "{name}");
    }
}

#[test]
fn completions_are_those_of_the_arguments() {
    for (shell, file) in [
        (Shell::Bash, "completions/ownpool.bash"),
        (Shell::Zsh, "completions/_ownpool"),
        (Shell::Fish, "completions/ownpool.fish"),
    ] {
        let mut made = Vec::new();
        let mut command = visible(&CommandLine::command());
        clap_complete::generate(shell, &mut command, "ownpool", &mut made);
        settle(file, &String::from_utf8(made).unwrap());
    }
}
