//! Where organizations are asked: what is the same of every setting that has a URL and a secret.

use super::Error;
use crate::endpoint::Endpoint;
use crate::secret::Secret;
use crate::text::Url;

/// What is to become of an endpoint's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretChange {
    /// The one that is known stays; where none is, this one was made for it.
    Keep {
        /// Nobody has seen it.
        fresh: Secret,
    },
    /// Another takes its place, which was made for it.
    Make(Secret),
    /// The organization's own.
    Give(Secret),
}

/// What is to become of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointChange {
    /// None: the one that is known stays.
    pub url: Option<Url>,
    pub secret: SecretChange,
}

/// How settings call an endpoint's members.
pub(super) struct Members {
    pub(super) url: &'static str,
    pub(super) secret: &'static str,
}

impl EndpointChange {
    /// The endpoint from now on, and the secret that was made for it, which is shown this once.
    ///
    /// # Errors
    /// [`Error::Invalid`] while no URL is known.
    pub(super) fn over(
        self,
        known: Option<&Endpoint>,
        members: &Members,
    ) -> Result<(Endpoint, Option<Secret>), Error> {
        let url = self
            .url
            .or_else(|| known.map(|known| known.url.clone()))
            .ok_or_else(|| Error::invalid(members.url, "is needed: no URL is known yet"))?;
        let (secret, made) = match (self.secret, known) {
            (SecretChange::Keep { .. }, Some(known)) => (known.secret.clone(), None),
            (SecretChange::Keep { fresh: made }, None) | (SecretChange::Make(made), _) => {
                (made.clone(), Some(made))
            }
            (SecretChange::Give(given), _) => (given, None),
        };
        Ok((Endpoint { url, secret }, made))
    }

    /// Whether the secret is to be another, which is made.
    pub(super) const fn renews(&self) -> bool {
        matches!(self.secret, SecretChange::Make(_))
    }

    /// Refuses what is said of an endpoint where there is none.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the member.
    pub(super) fn none_said(&self, members: &Members) -> Result<(), Error> {
        let member = match (&self.url, &self.secret) {
            (Some(_), _) => members.url,
            (None, SecretChange::Give(_)) => members.secret,
            (None, SecretChange::Keep { .. } | SecretChange::Make(_)) => return Ok(()),
        };
        Err(Error::invalid(member, "is for http"))
    }
}
