//! Which value of a setting is in force.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{Args as _, Command, FromArgMatches as _};
use serde::Serialize;
use toml::{Table, Value};
use url::Url;

use super::settings::{Setting, settings};
use super::{Config, MailConfig};

/// The variable that names the file.
const FILE_VARIABLE: &str = "LESSOR_CONFIG";
/// The variable that names the folder of what systemd hands over by `LoadCredential=`.
const CREDENTIALS_VARIABLE: &str = "CREDENTIALS_DIRECTORY";
/// What begins so is meant for us.
const OURS: &str = "LESSOR_";
const MASK: &str = "***";
/// Where a value comes from that nobody gave.
const DEFAULT: &str = "default";

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: {problem}")]
pub struct ConfigError {
    /// The key of the setting whose value cannot be used; none when it is the file.
    pub key: Option<String>,
    /// Where the value came from, as in [`Entry`], or the file.
    pub origin: String,
    /// What is wrong, or allowed. It shows no value: that may be a secret.
    pub problem: String,
}

/// A setting as it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Its value, masked when it is a secret; none when it is unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value came from: the flag, the variable, the file and its key, or `default`.
    pub origin: String,
}

impl Config {
    /// Reads every setting. `flags` are by the settings' keys. An empty variable counts as unset. The
    /// file is the one given, else the one that `LESSOR_CONFIG` names. A secret may be in a file of its
    /// own, which its variable with `_FILE` names, or which systemd hands over under the setting's key.
    ///
    /// Clap reads the texts; which text it reads is decided here. Its own layer for the environment
    /// shows values that are wrong, secrets too, says that they came from a flag, and takes an empty
    /// variable for a value.
    ///
    /// # Errors
    /// A file that cannot be read or has a key that means nothing; else the first secret that cannot be read
    /// from its file; else the first value that cannot be used.
    pub fn load(
        mut flags: BTreeMap<String, String>,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let environment = environment.into_iter();
        let mut environment: BTreeMap<_, _> =
            environment.filter(|(_, value)| !value.is_empty()).collect();
        let named = environment.remove(FILE_VARIABLE).map(PathBuf::from);
        let path = file.map(Path::to_owned).or(named);
        let in_file = path.as_deref().map(read_file).transpose()?;
        let mut in_file = in_file.unwrap_or_default();
        let path = path.unwrap_or_default();

        let credentials = environment.get(CREDENTIALS_VARIABLE).map(PathBuf::from);

        let (mut texts, mut entries) = (Vec::new(), Vec::new());
        for it in settings() {
            let kept = in_own_file(&it, &mut environment, credentials.as_deref())?;
            let (kept, kept_in) = kept.unzip();
            let kept_in = kept_in.unwrap_or_default();
            let key = it.key;
            let long = format!("--{}", key.replace('_', "-"));
            let place = format!("{} ({key})", path.display());
            let given = [
                (flags.remove(&key), &*long),
                (environment.remove(&it.variable), &*it.variable),
                (kept, &*kept_in),
                (in_file.remove(&key), &*place),
                (it.default, DEFAULT),
            ];
            let found = given.into_iter().find_map(|(text, it)| Some((text?, it)));
            let (value, origin) = found.unzip();
            let origin = origin.unwrap_or(DEFAULT).to_owned();
            texts.extend(value.iter().map(|text| format!("{long}={text}")));
            let value = value.map(|text| if it.secret { masked(&text) } else { text });
            entries.push(Entry { key, value, origin });
        }
        let config = Self::augment_args(Command::new("lessor").no_binary_name(true))
            .mut_args(|arg| arg.env(Resettable::Reset))
            .try_get_matches_from(texts)
            .and_then(|read| Self::from_arg_matches(&read))
            .map_err(|error| refused(&error, &entries))?;
        if let Some((given, missing)) = lonely(&config.mail) {
            let entry = entries.iter().find(|entry| entry.key == given);
            return Err(ConfigError {
                key: Some(given.to_owned()),
                origin: entry.map_or(given, |entry| &entry.origin).to_owned(),
                problem: format!("must not be given without {missing}"),
            });
        }
        environment.retain(|name, _| name.starts_with(OURS));
        Ok(Self {
            entries,
            unknown_environment: environment.into_keys().collect(),
            ..config
        })
    }

    /// Whether nobody gave this setting a value.
    #[must_use]
    pub fn is_default(&self, key: &str) -> bool {
        self.origin(key) == Some(DEFAULT)
    }

    /// Where this setting's value comes from, as in [`Entry`].
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<&str> {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| entry.key == key)?;
        Some(&entry.origin)
    }
}

/// What the file holds that a secret is kept in, and who named that.
fn in_own_file(
    setting: &Setting,
    environment: &mut BTreeMap<String, String>,
    credentials: Option<&Path>,
) -> Result<Option<(String, String)>, ConfigError> {
    let Setting { key, variable, .. } = setting;
    if !setting.secret {
        return Ok(None);
    }
    let naming = format!("{variable}_FILE");
    let wrong = |origin: &str, problem: String| ConfigError {
        key: Some(key.clone()),
        origin: origin.to_owned(),
        problem,
    };
    let (path, origin) = match environment.remove(&naming) {
        Some(_) if environment.contains_key(variable) => {
            let problem = format!("must not be given beside {variable}");
            return Err(wrong(&naming, problem));
        }
        Some(path) => (PathBuf::from(path), naming),
        None => match credentials.map(|folder| folder.join(key)) {
            Some(path) if path.is_file() => (path, format!("{CREDENTIALS_VARIABLE} ({key})")),
            _ => return Ok(None),
        },
    };
    let read = std::fs::read_to_string(&path);
    let text = read.map_err(|error| {
        let problem = format!("{} cannot be read: {error}", path.display());
        wrong(&origin, problem)
    })?;
    // Whoever writes a file by hand ends its line.
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(wrong(&origin, format!("{} is empty", path.display())));
    }
    Ok(Some((text.to_owned(), origin)))
}

/// What of a mail server and a sender was given without the other, and the variable of that.
const fn lonely(mail: &MailConfig) -> Option<(&'static str, &'static str)> {
    match (&mail.smtp_url, &mail.mail_from) {
        (Some(_), None) => Some(("smtp_url", "LESSOR_MAIL_FROM")),
        (None, Some(_)) => Some(("mail_from", "LESSOR_SMTP_URL")),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// What the parser of a setting said. Clap names the argument as its help does, `--pool-size <N>`.
fn refused(error: &clap::Error, entries: &[Entry]) -> ConfigError {
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.trim_start_matches('-'),
        _ => "",
    };
    let key: String = named.split([' ', '[']).take(1).collect();
    let key = key.replace('-', "_");
    let mut entries = entries.iter();
    let entry = entries.find(|entry| entry.key == key);
    let problem = error.source().map(ToString::to_string);
    ConfigError {
        key: Some(key),
        origin: entry.map_or(named, |entry| &entry.origin).to_owned(),
        problem: problem.unwrap_or_else(|| "must not be empty".to_owned()),
    }
}

/// The texts of the file, by their keys.
fn read_file(path: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let wrong = |problem: String| ConfigError {
        key: None,
        origin: format!("the configuration file {}", path.display()),
        problem,
    };
    let text =
        std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        // The library's own text quotes the line, which may hold a secret.
        let before = text.get(..error.span().unwrap_or_default().start);
        let line = before.unwrap_or_default().split('\n').count();
        wrong(format!("line {line}: {}", error.message()))
    })?;
    let keys: Vec<String> = settings().into_iter().map(|it| it.key).collect();
    let read = |(key, value): (String, Value)| {
        if !keys.contains(&key) {
            let distances = keys.iter().map(|it| (strsim::levenshtein(&key, it), it));
            let near = distances.min().filter(|(edits, _)| *edits <= 3);
            let hint = near.map(|(_, near)| format!(", did you mean {near:?}?"));
            let hint = hint.unwrap_or_default();
            return Err(wrong(format!("there is no setting {key:?}{hint}")));
        }
        let problem = "must be a text, a number, true or false, or a list of texts, none empty";
        let text = plain_text(&value).filter(|text| !text.is_empty());
        text.map(|text| (key.clone(), text))
            .ok_or_else(|| ConfigError {
                origin: format!("{} ({key})", path.display()),
                problem: problem.to_owned(),
                key: Some(key),
            })
    };
    table.into_iter().map(read).collect()
}

/// The one text form of a value; lists are separated by commas, as in the environment.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Array(values) => {
            let texts: Option<Vec<_>> = values.iter().map(Value::as_str).collect();
            Some(texts?.join(","))
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// A secret as it may be shown: of an address with a password, all but that.
fn masked(text: &str) -> String {
    let shown = |mut url: Url| {
        // Only an address has a host; a parameter may hold a password as well.
        if !url.has_host() || url.query().is_some_and(|query| query.contains("password")) {
            return None;
        }
        if url.password().is_some() {
            url.set_password(Some(MASK)).ok()?;
        }
        Some(url.to_string())
    };
    (Url::parse(text).ok().and_then(shown)).unwrap_or_else(|| MASK.to_owned())
}
