//! `farspan completions` and `farspan man`: what a shell and its reader know of the command.

use crate::Failure;
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;
use farspan_scenario::unknown_name;
use farspan_terminal::output;
use farspan_world::{SaveError, write};
use std::path::PathBuf;

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_parser = shell)]
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Folder for the pages, one per command. It is created if it does not exist
    #[arg(value_name = "DIR", required_unless_present = "out")]
    pub folder: Option<PathBuf>,
    /// The folder, given as an option
    #[arg(short, long, alias = "output", value_name = "DIR", conflicts_with = "folder")]
    pub out: Option<PathBuf>,
}

fn shell(text: &str) -> Result<Shell, String> {
    let names = ["bash", "zsh", "fish", "elvish", "powershell"];
    Shell::from_str(text, false).map_err(|_| unknown_name("shell", text, &names, &[]))
}

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs, command: &mut Command) {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "farspan", &mut script);
    output::text(&String::from_utf8_lossy(&script));
}

/// Writes a page for the command and for each of its own.
pub fn man(args: &ManArgs, mut command: Command) -> Result<(), Failure> {
    let folder = args.folder.as_ref().or(args.out.as_ref()).expect("clap demands one of them");
    std::fs::create_dir_all(folder).map_err(|source| SaveError::Io { path: folder.clone(), source })?;
    command.build();
    let mut pages = 0;
    page(&command, folder, &mut pages)?;
    output::text(&format!(
        "wrote {pages} pages to {}; next: man {}/farspan.1\n",
        folder.display(),
        folder.display()
    ));
    Ok(())
}

fn page(command: &Command, folder: &std::path::Path, pages: &mut usize) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut text = Vec::new();
    let page_of = clap_mangen::Man::new(command.clone());
    page_of.render(&mut text).map_err(|error| Failure::Failed(error.to_string()))?;
    write(&folder.join(format!("{name}.1")), &String::from_utf8_lossy(&text))?;
    *pages += 1;
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    commands.filter(|command| !command.is_hide_set()).try_for_each(|command| page(command, folder, pages))
}
