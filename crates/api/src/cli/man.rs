//! `lessor man`: the command line as manual pages.

use std::path::PathBuf;
use std::{fs, io};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde_json::json;

use super::output::Reply;

/// Print the manual page of all commands.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor man | man -l -\n  lessor man --out ~/.local/share/man/man1     \
    (lessor.1, lessor-serve.1 …)"
)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &ManArgs) -> anyhow::Result<Reply> {
    let root = whole();
    let Some(folder) = &args.out else {
        let text = book(&root)?;
        return Ok(Reply::text(json!({ "page": text }), text));
    };
    let told = |path: &PathBuf| format!("cannot write {}", path.display());
    fs::create_dir_all(folder).with_context(|| told(folder))?;
    let mut files = Vec::new();
    for command in with_inner(&root) {
        let path = folder.join(format!("{}.1", name(command)));
        fs::write(&path, page(command)?).with_context(|| told(&path))?;
        files.push(path.display().to_string());
    }
    Reply::list(&files, ["file"], files.iter().map(|file| [file.clone()]))
}

/// The command line with whatever is added when it is read.
fn whole() -> Command {
    let mut root = super::command().disable_help_subcommand(true);
    root.build();
    root
}

/// The command and those below it, each before its own.
fn with_inner(command: &Command) -> Vec<&Command> {
    let inner = command.get_subcommands().flat_map(with_inner);
    std::iter::once(command).chain(inner).collect()
}

/// What the page of a command is called.
fn name(command: &Command) -> &str {
    let shown = command.get_display_name();
    shown.unwrap_or_else(|| command.get_name())
}

fn man(command: &Command) -> Man {
    let source = concat!("lessor ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(source)
}

/// The page of a command.
fn page(command: &Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    let man = man(command);
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    sections(&man, command, &mut page)?;
    Ok(String::from_utf8(page)?)
}

/// One page with all commands, each a section, and what all of them take said once.
fn book(root: &Command) -> anyhow::Result<String> {
    let mut book = page(root)?;
    for command in with_inner(root).into_iter().skip(1) {
        let own = command.clone().mut_args(|arg| {
            let is_said = arg.is_hide_set() || arg.is_global_set();
            arg.hide(is_said)
        });
        let mut heading = Roff::new();
        let title = command.get_bin_name();
        heading.control("SH", [title.unwrap_or_else(|| command.get_name())]);
        let mut chapter = Vec::new();
        heading.to_writer(&mut chapter)?;
        let mut parts = Vec::new();
        sections(&man(&own), &own, &mut parts)?;
        book.push_str(&String::from_utf8(chapter)?);
        // They are sections within a section here.
        book.push_str(&String::from_utf8(parts)?.replace("\n.SH ", "\n.SS "));
    }
    Ok(book)
}

/// What there is of a command behind its name.
fn sections(man: &Man, command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        man.render_options_section(page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(page)?;
    }
    if let Some(notes) = command.get_after_help() {
        let mut section = Roff::new();
        // Examples stand in columns, which a section of its library would fill up.
        section.control("SH", ["NOTES"]).control("nf", []);
        for line in notes.to_string().lines() {
            section.text([roman(line)]);
        }
        section.control("fi", []);
        section.to_writer(page)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_page() {
        let root = whole();
        let commands = with_inner(&root);
        let mut names: Vec<&str> = commands.iter().map(|command| name(command)).collect();
        for wanted in ["lessor", "lessor-serve", "lessor-pickup-location-create"] {
            assert!(names.contains(&wanted), "{wanted} in {names:?}");
        }
        for command in &commands {
            let page = page(command).unwrap();
            assert!(page.contains("\n.TH "), "{page}");
            assert!(page.contains("data\\-dir"), "{page}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), commands.len());
    }

    #[test]
    fn one_page_has_a_section_for_each_command() {
        let root = whole();
        let book = book(&root).unwrap();
        assert_eq!(book.matches("\n.TH ").count(), 1);
        let chapters = book.matches("\n.SH \"lessor ").count();
        assert_eq!(chapters, with_inner(&root).len() - 1);
        // What every command takes is said at the beginning.
        let (_, behind) = book.split_once("\n.SH \"lessor ").unwrap();
        assert!(!behind.contains("Folder of the embedded database and"));
    }
}
