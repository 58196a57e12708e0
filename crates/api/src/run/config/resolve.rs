//! Where the value of a setting comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use toml::{Table, Value};
use url::Url;

use super::Secret;
use super::settings::{SETTINGS, Setting};

/// The variable that names the file.
const FILE_VARIABLE: &str = "LESSOR_CONFIG";
/// What begins so is meant for us.
const OURS: &str = "LESSOR_";
const MASK: &str = "***";

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("the configuration file {} is not valid TOML: {problem}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        problem: String,
    },
    /// The file has a key that means nothing.
    #[error("the configuration file {}: there is no setting {key:?}{}", path.display(), nearest.map(|near| format!(", did you mean {near:?}?")).unwrap_or_default())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The setting with the most similar name.
        nearest: Option<&'static str>,
    },
    /// A value cannot be used.
    #[error("{origin}: {problem}")]
    Invalid {
        /// The setting's key.
        key: &'static str,
        /// Where the value came from.
        origin: Origin,
        /// What is allowed.
        problem: String,
    },
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// This flag.
    Flag(&'static str),
    /// This environment variable.
    Environment(&'static str),
    /// This key of the file.
    File(PathBuf, &'static str),
    /// Nobody gave one.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Environment(variable) => f.write_str(variable),
            Self::File(path, key) => write!(f, "{} ({key})", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A setting as it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its key.
    pub key: &'static str,
    /// Its value, masked when it is a secret; none when it is unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value came from.
    pub origin: Origin,
}

/// What was given, before anybody looked at the values.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    flags: BTreeMap<&'static str, String>,
    environment: BTreeMap<String, String>,
    file: Option<(PathBuf, Table)>,
}

impl Sources {
    /// `flags` by the settings' keys. An empty variable counts as unset, and so does one that is no
    /// UTF-8 text. The file is the one given, else the one that `LESSOR_CONFIG` names.
    ///
    /// # Errors
    /// A file that cannot be read, or has a key that means nothing.
    pub fn load(
        flags: BTreeMap<&'static str, String>,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let environment: BTreeMap<String, String> = environment
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let path = file
            .map(Path::to_owned)
            .or_else(|| environment.get(FILE_VARIABLE).map(PathBuf::from));
        let file = match path {
            Some(path) => {
                let table = read_file(&path)?;
                Some((path, table))
            }
            None => None,
        };
        Ok(Self {
            flags,
            environment,
            file,
        })
    }

    pub(super) fn unknown_environment(&self) -> Vec<String> {
        self.environment
            .keys()
            .filter(|name| {
                name.starts_with(OURS)
                    && *name != FILE_VARIABLE
                    && SETTINGS.iter().all(|setting| setting.variable != *name)
            })
            .cloned()
            .collect()
    }

    fn find(&self, setting: &Setting) -> Result<Option<(String, Origin)>, ConfigError> {
        if let (Some(value), Some(flag)) = (self.flags.get(setting.key), setting.flag) {
            return Ok(Some((value.clone(), Origin::Flag(flag))));
        }
        if let Some(value) = self.environment.get(setting.variable) {
            let origin = Origin::Environment(setting.variable);
            return Ok(Some((value.clone(), origin)));
        }
        let Some((path, table)) = &self.file else {
            return Ok(None);
        };
        let Some(value) = table.get(setting.key) else {
            return Ok(None);
        };
        let origin = Origin::File(path.clone(), setting.key);
        match plain_text(value) {
            Some(text) => Ok(Some((text, origin))),
            None => Err(ConfigError::Invalid {
                key: setting.key,
                origin,
                problem: "must be a text, a number, true or false, or a list of texts".to_owned(),
            }),
        }
    }
}

fn read_file(path: &Path) -> Result<Table, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        // The library's own text quotes the line, which may hold a secret.
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or_default();
            before.matches('\n').count().saturating_add(1)
        });
        ConfigError::Syntax {
            path: path.to_owned(),
            problem: match line {
                Some(line) => format!("line {line}: {}", error.message()),
                None => error.message().to_owned(),
            },
        }
    })?;
    for key in table.keys() {
        if SETTINGS.iter().all(|setting| setting.key != key) {
            return Err(ConfigError::UnknownKey {
                path: path.to_owned(),
                key: key.clone(),
                nearest: nearest(key),
            });
        }
    }
    Ok(table)
}

/// The setting whose key needs the fewest edits, if they are few.
fn nearest(key: &str) -> Option<&'static str> {
    SETTINGS
        .iter()
        .map(|setting| (edits(key, setting.key), setting.key))
        .min()
        .filter(|(edits, _)| *edits <= 3)
        .map(|(_, key)| key)
}

/// How many characters have to be inserted, deleted or replaced to make one text of the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, left) in from.chars().enumerate() {
        let mut diagonal = index;
        let mut before = index.saturating_add(1);
        let mut next = vec![before];
        for (right, above) in to.iter().zip(row.iter().skip(1)) {
            let replaced = diagonal.saturating_add(usize::from(left != *right));
            let shifted = before.min(*above).saturating_add(1);
            diagonal = *above;
            before = replaced.min(shifted);
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// The one text form of a value; lists are separated by commas, as in the environment.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Array(values) => values
            .iter()
            .map(Value::as_str)
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.join(",")),
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// Reads settings one by one, and notes what is in force.
pub(super) struct Resolver<'a> {
    sources: &'a Sources,
    entries: Vec<Entry>,
}

impl<'a> Resolver<'a> {
    pub(super) const fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            entries: Vec::new(),
        }
    }

    pub(super) fn optional<T>(
        &mut self,
        setting: &Setting,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let found = match self.sources.find(setting)? {
            Some(found) => Some(found),
            None => setting
                .default
                .map(|default| (default.to_owned(), Origin::Default)),
        };
        let Some((text, origin)) = found else {
            self.note(setting, None, Origin::Default);
            return Ok(None);
        };
        match parse(&text) {
            Ok(value) => {
                self.note(setting, Some(&text), origin);
                Ok(Some(value))
            }
            Err(problem) => Err(ConfigError::Invalid {
                key: setting.key,
                origin,
                problem,
            }),
        }
    }

    /// A setting that has a default.
    pub(super) fn needed<T>(
        &mut self,
        setting: &Setting,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        self.optional(setting, parse)?
            .ok_or_else(|| ConfigError::Invalid {
                key: setting.key,
                origin: Origin::Default,
                problem: format!("{} has to be set", setting.variable),
            })
    }

    /// A list of secrets, separated by commas.
    pub(super) fn list(&mut self, setting: &Setting) -> Result<Vec<Secret>, ConfigError> {
        let secrets = self.optional(setting, |text| {
            let secrets: Vec<Secret> = text
                .split(',')
                .map(str::trim)
                .filter(|secret| !secret.is_empty())
                .map(|secret| Secret(secret.to_owned()))
                .collect();
            if secrets.is_empty() {
                return Err("must name at least one secret".to_owned());
            }
            Ok(secrets)
        })?;
        Ok(secrets.unwrap_or_default())
    }

    fn note(&mut self, setting: &Setting, text: Option<&str>, origin: Origin) {
        let value = text.map(|text| {
            if setting.secret {
                masked(text)
            } else {
                text.to_owned()
            }
        });
        self.entries.push(Entry {
            key: setting.key,
            value,
            origin,
        });
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

/// A secret as it may be shown: of an address with a password, all but that.
fn masked(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        return MASK.to_owned();
    };
    // Only an address has a host; a parameter may hold a password as well.
    if !url.has_host() || url.query().is_some_and(|query| query.contains("password")) {
        return MASK.to_owned();
    }
    if url.password().is_some() && url.set_password(Some(MASK)).is_err() {
        return MASK.to_owned();
    }
    url.to_string()
}
