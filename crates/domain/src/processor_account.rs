//! An organization's own account at the payment processor.

use crate::access::Mode;
use crate::ids::OrganizationId;
use crate::secret::Secret;
use crate::time::Timestamp;

/// The most characters of a key or of a webhook secret.
pub const LONGEST_SECRET: usize = 512;
/// The most webhook secrets of an account: more than any roll needs.
pub const MOST_WEBHOOK_SECRETS: usize = 8;
/// How many characters of a key are shown.
const HINT: usize = 4;
/// A key that shows more of itself than that shows too much: shorter ones are not taken.
const SHORTEST_KEY: usize = 16;

/// An organization's own account of a mode: what is made for its checkouts of the mode is made there, and
/// nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorAccount {
    pub organization_id: OrganizationId,
    /// Live or sandbox.
    pub mode: Mode,
    /// What the processor is called with.
    pub key: Secret,
    /// What the processor signs its messages with; several while one is being replaced.
    pub webhook_secrets: Vec<Secret>,
    /// When the organization was first given an account of the mode.
    pub created_at: Timestamp,
    /// When the key or the secrets were last set.
    pub updated_at: Timestamp,
    /// Counts the writes; a write of another version is refused.
    pub version: i64,
}

/// What people see of an account: none of its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRecord {
    /// Live or sandbox.
    pub mode: Mode,
    /// The last four characters of the key.
    pub key_hint: String,
    /// When the organization was first given an account of the mode.
    pub created_at: Timestamp,
    /// When the key or the secrets were last set.
    pub updated_at: Timestamp,
    /// Of the account, for whoever writes it.
    pub version: i64,
}

impl ProcessorAccount {
    /// The last four characters of the key.
    #[must_use]
    pub fn key_hint(&self) -> String {
        let letters: Vec<char> = self.key.expose().chars().collect();
        let rest = letters.len().saturating_sub(HINT);
        letters.into_iter().skip(rest).collect()
    }

    /// What people see of it.
    #[must_use]
    pub fn record(&self) -> AccountRecord {
        AccountRecord {
            mode: self.mode,
            key_hint: self.key_hint(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            version: self.version,
        }
    }
}

/// Why a text is no key of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The other mode's key: `sk_test_…` and `rk_test_…` are of the sandbox, `sk_live_…` and `rk_live_…` of
    /// live mode.
    #[error("the key is one of {theirs} mode ({prefix}…), and is to be one of {wanted} mode")]
    OtherMode {
        /// How the key begins.
        prefix: &'static str,
        /// Whose it is.
        theirs: Mode,
        /// Whose it was to be.
        wanted: Mode,
    },
    /// A key that everybody may read can do nothing here.
    #[error(
        "a publishable key ({0}…) cannot be worked with: a secret or a restricted one is wanted"
    )]
    Publishable(&'static str),
    /// A webhook secret in the key's place.
    #[error("a webhook secret (whsec_…) is no key")]
    WebhookSecret,
    /// It is no text of the processor's.
    #[error("a key has {SHORTEST_KEY} to {LONGEST_SECRET} visible ASCII characters, and no spaces")]
    Form,
}

/// How keys begin whose mode they say.
const PREFIXES: [(&str, Mode); 4] = [
    ("sk_live_", Mode::Live),
    ("rk_live_", Mode::Live),
    ("sk_test_", Mode::Sandbox),
    ("rk_test_", Mode::Sandbox),
];

fn is_secret(text: &str, shortest: usize) -> bool {
    (shortest..=LONGEST_SECRET).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Reads a key of the mode. Keys that do not say their mode are taken at the operator's word.
///
/// # Errors
/// [`KeyError`], which shows nothing of the key but how it begins.
pub fn read_key(mode: Mode, text: &str) -> Result<Secret, KeyError> {
    let text = text.trim();
    if !is_secret(text, SHORTEST_KEY) {
        return Err(KeyError::Form);
    }
    for prefix in ["pk_live_", "pk_test_"] {
        if text.starts_with(prefix) {
            return Err(KeyError::Publishable(prefix));
        }
    }
    if text.starts_with("whsec_") {
        return Err(KeyError::WebhookSecret);
    }
    for (prefix, theirs) in PREFIXES {
        if text.starts_with(prefix) && theirs != mode {
            return Err(KeyError::OtherMode {
                prefix,
                theirs,
                wanted: mode,
            });
        }
    }
    Ok(Secret::new(text.to_owned()))
}

/// Why texts are no webhook secrets of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookSecretError {
    /// One is none.
    #[error("a webhook secret has 8 to {LONGEST_SECRET} visible ASCII characters, and no spaces")]
    Form,
    /// A key in a secret's place: it signs nothing.
    #[error("a key of the processor (sk_…, rk_… or pk_…) is no webhook secret")]
    Key,
    /// None, or too many.
    #[error("there are 1 to {MOST_WEBHOOK_SECRETS} webhook secrets, with commas between them")]
    Count,
}

/// Reads webhook secrets, with commas or line ends between them: several while one is being replaced.
///
/// # Errors
/// [`WebhookSecretError`].
pub fn read_webhook_secrets(text: &str) -> Result<Vec<Secret>, WebhookSecretError> {
    let mut secrets: Vec<Secret> = Vec::new();
    for part in text.split([',', '\n']) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        if !is_secret(part, 8) {
            return Err(WebhookSecretError::Form);
        }
        if ["sk_", "rk_", "pk_"]
            .iter()
            .any(|key| part.starts_with(key))
        {
            return Err(WebhookSecretError::Key);
        }
        if secrets.iter().all(|known| known.expose() != part) {
            secrets.push(Secret::new(part.to_owned()));
        }
    }
    if (1..=MOST_WEBHOOK_SECRETS).contains(&secrets.len()) {
        Ok(secrets)
    } else {
        Err(WebhookSecretError::Count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_its_mode() {
        let rest = "51abcdefghijkl";
        for (prefix, of) in PREFIXES {
            for mode in Mode::ALL {
                let read = read_key(mode, &format!(" {prefix}{rest}\n"));
                if mode == of {
                    assert_eq!(read.unwrap().expose(), format!("{prefix}{rest}"));
                } else {
                    let refused = read.unwrap_err().to_string();
                    assert!(refused.contains(prefix), "{refused}");
                    assert!(refused.contains(of.as_str()), "{refused}");
                    assert!(!refused.contains(rest), "{refused}");
                }
            }
        }
        // Whoever stands in for the processor has keys of other forms.
        assert!(read_key(Mode::Live, "a-key-of-a-double").is_ok());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for (text, wanted) in [
            ("", KeyError::Form),
            ("sk_test_short", KeyError::Form),
            ("sk_test_with a space in it", KeyError::Form),
            ("sk_test_not_äscii_at_all", KeyError::Form),
            ("pk_test_51abcdefghijkl", KeyError::Publishable("pk_test_")),
            ("pk_live_51abcdefghijkl", KeyError::Publishable("pk_live_")),
            ("whsec_51abcdefghijkl", KeyError::WebhookSecret),
        ] {
            assert_eq!(read_key(Mode::Sandbox, text), Err(wanted), "{text}");
        }
        let long = "x".repeat(LONGEST_SECRET.saturating_add(1));
        assert_eq!(read_key(Mode::Live, &long), Err(KeyError::Form));
    }

    #[test]
    fn webhook_secrets_are_one_or_several() {
        let read = |text: &str| {
            read_webhook_secrets(text).map(|secrets| {
                let texts = secrets.iter().map(|secret| secret.expose().to_owned());
                texts.collect::<Vec<_>>()
            })
        };
        assert_eq!(read("whsec_one\n"), Ok(vec!["whsec_one".to_owned()]));
        let both = vec!["whsec_one".to_owned(), "whsec_two".to_owned()];
        assert_eq!(read("whsec_one, whsec_two,whsec_one\n"), Ok(both.clone()));
        assert_eq!(read("whsec_one\nwhsec_two"), Ok(both));
        assert_eq!(read(" , \n"), Err(WebhookSecretError::Count));
        assert_eq!(read("whsec_one,short"), Err(WebhookSecretError::Form));
        assert_eq!(read("sk_live_51abcdef"), Err(WebhookSecretError::Key));
        let many: Vec<String> = (0..9).map(|n| format!("whsec_number_{n}")).collect();
        assert_eq!(read(&many.join(",")), Err(WebhookSecretError::Count));
    }

    #[test]
    fn four_characters_of_a_key_are_shown() {
        let account = ProcessorAccount {
            organization_id: OrganizationId::new(1).unwrap(),
            mode: Mode::Live,
            key: Secret::new("sk_live_51abcdefghijkl".to_owned()),
            webhook_secrets: vec![Secret::new("whsec_hunter2".to_owned())],
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            version: 1,
        };
        assert_eq!(account.record().key_hint, "ijkl");
        let shown = format!("{account:?}");
        assert!(!shown.contains("sk_live"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
