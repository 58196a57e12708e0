//! `lessor completions`: what a shell completes command lines by.

use clap::Args;
use clap_complete::Shell;
use serde_json::json;

use super::output::Reply;

/// Print what a shell completes command lines of `lessor` by.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  lessor completions bash > ~/.local/share/bash-completion/completions/lessor\n  \
    lessor completions zsh > \"${fpath[1]}/_lessor\"\n  \
    lessor completions fish > ~/.config/fish/completions/lessor.fish"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Reply> {
    let script = script(args.shell)?;
    let value = json!({ "shell": args.shell.to_string(), "script": script });
    Ok(Reply::text(value, script))
}

fn script(shell: Shell) -> anyhow::Result<String> {
    let mut command = super::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "lessor", &mut script);
    Ok(String::from_utf8(script)?)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_knows_every_command() {
        for shell in Shell::value_variants() {
            let script = script(*shell).unwrap();
            for word in ["serve", "pickup-location", "data-dir"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
