//! What `lessor org update` sets of URLs that the organization is asked at.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use lessor_adapters::ambient::SystemEntropy;
use lessor_adapters::outbound::{Targets, new_secret};
use lessor_adapters::processor::standard_webhooks::SharedSecret;
use lessor_domain::secret::Secret;
use lessor_domain::services::Error;
use lessor_domain::services::endpoints::{EndpointChange, SecretChange};
use lessor_domain::text::Url;
use serde_json::{Value, json};

/// The longest file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// The text of a file of a few kilobytes.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    File::open(file)
        .and_then(|opened| opened.take(LONGEST_FILE).read_to_string(&mut text))
        .with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text)
}

/// How a setting's members are called.
pub(super) struct Named {
    pub(super) kind: &'static str,
    pub(super) url: &'static str,
    pub(super) secret: &'static str,
}

impl Named {
    /// What flags say of an endpoint; its secret is made anew unless a file has one.
    ///
    /// # Errors
    /// [`Error::Invalid`] of a URL that is not asked, and of a file that holds no secret.
    pub(super) fn change(
        &self,
        url: Option<Url>,
        secret_file: Option<&Path>,
        targets: Targets,
    ) -> anyhow::Result<EndpointChange> {
        if let Some(url) = &url {
            targets
                .check(url.as_str())
                .map_err(|refused| Error::invalid(self.url, refused))?;
        }
        let secret = match secret_file {
            None => SecretChange::Make(new_secret(&SystemEntropy)),
            Some(file) => {
                let text = read(file)?;
                let text = text.trim();
                text.parse::<SharedSecret>()
                    .map_err(|refused| Error::invalid(self.secret, refused))?;
                SecretChange::Give(Secret::new(text.to_owned()))
            }
        };
        Ok(EndpointChange { url, secret })
    }

    /// What the reply shows of the setting.
    pub(super) fn shown(
        &self,
        kind: &str,
        url: Option<&Url>,
        made: Option<&Secret>,
    ) -> Vec<(&'static str, Value)> {
        let mut members = vec![(self.kind, json!(kind))];
        if let Some(url) = url {
            members.push((self.url, json!(url.as_str())));
        }
        if let Some(secret) = made {
            members.push((self.secret, json!(secret.expose())));
        }
        members
    }
}
