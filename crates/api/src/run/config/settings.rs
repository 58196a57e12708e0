//! What can be set, and how, as the declarations of [`Config`] say it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;

use clap::builder::{Resettable, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command};
use serde::Serialize;

use super::Config;

/// The heading of the flags that every command has.
pub const EVERYWHERE: &str = "Everywhere";
/// The heading of the flags that only commands which serve have.
pub const SERVING: &str = "Serving";

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its key in the file.
    pub key: String,
    /// Its environment variable.
    #[serde(rename = "environment")]
    pub variable: String,
    /// Its flag, where it has one.
    pub flag: Option<String>,
    /// Its value when nobody says; none means unset.
    pub default: Option<String>,
    /// Whether its value must not be shown.
    pub secret: bool,
    /// Whether it is for tests and nothing that an operator reads about.
    #[serde(skip)]
    pub hidden: bool,
    /// What it does.
    pub about: String,
}

impl From<&Arg> for Setting {
    fn from(arg: &Arg) -> Self {
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let (secret, hidden) = (arg.is_hide_env_values_set(), arg.is_hide_set());
        let mut defaults = arg.get_default_values().iter().filter(|it| !it.is_empty());
        Self {
            key: arg.get_id().to_string(),
            variable: arg.get_env().map(text).unwrap_or_default(),
            flag: (arg.get_long().filter(|_| !secret && !hidden)).map(|long| format!("--{long}")),
            default: defaults.next().map(|it| text(it)),
            secret,
            hidden,
            about: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        }
    }
}

fn declared() -> Vec<Arg> {
    let declared = Config::augment_args(Command::new("lessor"));
    declared.get_arguments().cloned().collect()
}

/// Every setting, in the order in which they are shown.
#[must_use]
pub fn settings() -> Vec<Setting> {
    declared().iter().map(Setting::from).collect()
}

/// The settings under this heading as flags. Any text is taken: it is read where those of the
/// environment and the file are.
pub fn flags(heading: Option<&'static str>) -> impl Iterator<Item = Arg> {
    let under = move |arg: &Arg| arg.get_help_heading() == heading;
    declared().into_iter().filter(under).filter_map(|arg| {
        let setting = Setting::from(&arg);
        let help = format!("{} [env: {}]", setting.about, setting.variable);
        let flag = arg.help(help).env(Resettable::Reset);
        setting
            .flag
            .map(|_| flag.value_parser(ValueParser::string()))
    })
}

/// The flags that a command was given, by the settings' keys.
#[must_use]
pub fn given(mut command: &ArgMatches) -> BTreeMap<String, String> {
    while let Some((_, inner)) = command.subcommand() {
        command = inner;
    }
    let text = |key: &str| {
        let text = command.try_get_one::<String>(key).ok()??;
        (command.value_source(key)? == ValueSource::CommandLine).then(|| text.clone())
    };
    let keys = settings().into_iter().map(|setting| setting.key);
    keys.filter_map(|key| text(&key).map(|text| (key, text)))
        .collect()
}

/// The settings as a Markdown table, as it stands in `docs/OPERATIONS.md`.
#[must_use]
pub fn markdown() -> String {
    let mut table =
        String::from("| File | Environment | Flag | Default | Meaning |\n|---|---|---|---|---|\n");
    let code = |text: Option<String>| text.map_or_else(String::new, |text| format!("`{text}`"));
    for it in settings().into_iter().filter(|setting| !setting.hidden) {
        let (flag, default) = (code(it.flag), code(it.default));
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| `{}` | `{}` | {flag} | {default} | {} |",
            it.key, it.variable, it.about
        );
    }
    table
}
