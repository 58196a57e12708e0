//! Endpoints of organizations, as the rows of what they are asked for hold them: a URL, and a secret that
//! is sealed and opens in its own row alone.

use lessor_domain::endpoint::Endpoint;
use lessor_domain::ports::StoreError;
use lessor_domain::secret::Secret;

use super::decode::Place;
use super::encode::text;
use super::secrets::SecretKeys;

/// A row of a table that has one for each organization and mode.
pub(super) struct EndpointRow<'a> {
    pub(super) table: &'static str,
    pub(super) organization: i64,
    pub(super) mode: &'a str,
}

impl EndpointRow<'_> {
    /// What is sealed with the secret.
    fn about(&self) -> Vec<u8> {
        let Self {
            table,
            organization,
            mode,
        } = self;
        format!("{table}.sealed_secret:{organization}:{mode}").into_bytes()
    }

    /// The endpoint of the row's columns.
    pub(super) fn open(
        &self,
        secrets: &SecretKeys,
        url: Option<&str>,
        sealed: Option<&[u8]>,
    ) -> Result<Endpoint, StoreError> {
        let key = format!("{}/{}", self.organization, self.mode);
        let place = Place::new(self.table, &key);
        let missing = |column| place.corrupt(column, "is missing");
        let url = url.ok_or_else(|| missing("url"))?;
        let sealed = sealed.ok_or_else(|| missing("sealed_secret"))?;
        let secret = String::from_utf8(secrets.open(&self.about(), sealed)?)
            .map_err(|_| place.corrupt("sealed_secret", "is no text"))?;
        Ok(Endpoint {
            url: place.parse("url", url)?,
            secret: Secret::new(secret),
        })
    }

    /// The columns of the endpoint.
    pub(super) fn seal(
        &self,
        secrets: &SecretKeys,
        endpoint: &Endpoint,
    ) -> Result<(String, Vec<u8>), StoreError> {
        let secret = endpoint.secret.expose().as_bytes();
        Ok((text(&endpoint.url), secrets.seal(&self.about(), secret)?))
    }
}
