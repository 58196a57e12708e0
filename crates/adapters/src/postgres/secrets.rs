//! Secrets of organizations, which the database keeps sealed under the server's key.

use std::fmt;
use std::sync::Arc;

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Binary, Text};
use diesel_async::RunQueryDsl as _;
use lessor_domain::cause::chain;
use lessor_domain::ports::{Reach, StoreError, UnitOfWork as _};

use super::error::store_error;
use super::seal::SealingKey;
use super::{PgDatabase, PgUnitOfWork};

/// What secrets are sealed with: keys that are derived from the server's, which lies beside the database.
/// Cloning it shares them.
#[derive(Clone, Default)]
pub struct SecretKeys(Arc<[SealingKey]>);

impl SecretKeys {
    /// How many bytes a key has.
    pub const LENGTH: usize = SealingKey::LENGTH;

    /// No key: nothing can be sealed, and nothing opens.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// These keys, the newest first: it seals, and all of them open.
    #[must_use]
    pub fn new(newest_first: impl IntoIterator<Item = [u8; Self::LENGTH]>) -> Self {
        Self(
            newest_first
                .into_iter()
                .map(SealingKey::from_bytes)
                .collect(),
        )
    }

    fn keys(&self) -> &[SealingKey] {
        &self.0
    }

    /// The text, sealed with the newest key. It opens for whoever says the same of what it is about: whose
    /// it is, and what for, so that no row's secret can be put into another row.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when there is no key, which says where one is to be given.
    pub fn seal(&self, about: &[u8], text: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.keys().first().ok_or_else(no_key)?.seal(about, text)
    }

    /// The text that was sealed with any of the keys.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when there is no key, or when none opens it.
    pub fn open(&self, about: &[u8], sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        if self.keys().is_empty() {
            return Err(no_key());
        }
        self.keys()
            .iter()
            .find_map(|key| key.open(about, sealed))
            .ok_or_else(|| {
                StoreError::internal(
                    "a stored secret does not open under the server's key: it was sealed under another one \
                     (LESSOR_SERVER_SECRET, `new,old` during a rotation), or was changed",
                )
            })
    }

    /// What the text is known again by, under each key, the newest first: nobody has the text of it, nor
    /// another's mark of the same text who says something else of what it is about. None without a key.
    pub(super) fn marks(&self, about: &[u8], text: &[u8]) -> Vec<Vec<u8>> {
        let keys = self.keys().iter();
        keys.map(|key| key.mark(about, text)).collect()
    }

    /// What was sealed with an older key, sealed with the newest; none where that has it already.
    ///
    /// # Errors
    /// As for [`SecretKeys::open`].
    pub(super) fn renewed(
        &self,
        about: &[u8],
        sealed: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if self
            .keys()
            .first()
            .is_some_and(|newest| newest.open(about, sealed).is_some())
        {
            return Ok(None);
        }
        let text = self.open(about, sealed)?;
        self.seal(about, &text).map(Some)
    }
}

/// A column of sealed secrets.
struct Sealed {
    table: &'static str,
    column: &'static str,
    /// What a row's secret is about, as the store says it, in SQL over the row's columns.
    about: &'static str,
}

/// Every column of sealed secrets: a rotation of the server's key seals all of them anew. The tables are
/// organizations', and their rows are told apart by what is sealed in them.
const SEALED: &[Sealed] = &[
    Sealed {
        table: "credit_policies",
        column: "sealed_secret",
        about: "format('credit_policies.sealed_secret:%s:%s', organization_id, mode)",
    },
    Sealed {
        table: "customers",
        column: "sealed_birth_date",
        about: "format('customers.sealed_birth_date:%s:%s', organization_id, id)",
    },
    Sealed {
        table: "processor_accounts",
        column: "sealed_key",
        about: "format('processor_accounts.sealed_key %s %s', organization_id, mode)",
    },
    Sealed {
        table: "processor_accounts",
        column: "sealed_webhook_secrets",
        about: "format('processor_accounts.sealed_webhook_secrets %s %s', organization_id, mode)",
    },
    Sealed {
        table: "signers",
        column: "sealed_secret",
        about: "format('signers.sealed_secret:%s:%s', organization_id, mode)",
    },
    Sealed {
        table: "webhook_endpoints",
        column: "sealed_secret",
        about: "format('webhook_endpoints.sealed_secret:%s:%s', organization_id, id)",
    },
    Sealed {
        table: "webhook_endpoints",
        column: "sealed_old_secret",
        about: "format('webhook_endpoints.sealed_old_secret:%s:%s', organization_id, id)",
    },
];

/// The columns of sealed secrets, each with its table: those that a rotation of the server's key knows.
pub fn sealed_columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    SEALED.iter().map(|sealed| (sealed.table, sealed.column))
}

#[derive(QueryableByName)]
struct SealedRow {
    #[diesel(sql_type = Text)]
    about: String,
    #[diesel(sql_type = Binary)]
    sealed: Vec<u8>,
}

/// What came of sealing anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Renewal {
    /// How many secrets are under the newest key since.
    pub renewed: u64,
    /// How many none of the keys opens: they are as they were.
    pub unopened: u64,
}

impl PgDatabase {
    /// Seals under the newest key what is sealed under an older one, so that the older one can go. What
    /// somebody else writes meanwhile stays as they write it. Without a second key there is nothing to do.
    ///
    /// # Errors
    /// [`StoreError`]; what was sealed anew before is so.
    pub async fn renew_secrets(&self) -> Result<Renewal, StoreError> {
        let mut renewal = Renewal::default();
        if self.secrets.keys().len() < 2 {
            return Ok(renewal);
        }
        let mut view = self.begin_work(Reach::Server).await?;
        let organizations = view.organizations().list().await?;
        view.finish().await?;
        for organization in organizations {
            let mut work = self.begin_work(organization.id.into()).await?;
            for column in SEALED {
                work.renew(column, &mut renewal).await?;
            }
            work.finish().await?;
        }
        Ok(renewal)
    }
}

impl PgUnitOfWork {
    /// Seals the column's secrets anew, of the organization in whose name it works.
    async fn renew(&mut self, sealed: &Sealed, renewal: &mut Renewal) -> Result<(), StoreError> {
        let Sealed {
            table,
            column,
            about,
        } = sealed;
        let rows: Vec<SealedRow> = diesel::sql_query(format!(
            "SELECT {about} AS about, {column} AS sealed FROM {table} \
             WHERE organization_id = $1 AND {column} IS NOT NULL"
        ))
        .bind::<BigInt, _>(self.owner())
        .load(self.connection()?)
        .await
        .map_err(store_error)?;
        for row in rows {
            let anew = match self.secrets.renewed(row.about.as_bytes(), &row.sealed) {
                Ok(anew) => anew,
                Err(error) => {
                    renewal.unopened = renewal.unopened.saturating_add(1);
                    tracing::error!(
                        error = %chain(&error),
                        secret = row.about,
                        "a secret cannot be sealed under the new server key"
                    );
                    continue;
                }
            };
            let Some(anew) = anew else { continue };
            // No two are sealed to the same, so that the row is found by what it held.
            let written = diesel::sql_query(format!(
                "UPDATE {table} SET {column} = $1 WHERE organization_id = $2 AND {column} = $3"
            ))
            .bind::<Binary, _>(anew)
            .bind::<BigInt, _>(self.owner())
            .bind::<Binary, _>(row.sealed)
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
            let written = u64::try_from(written).unwrap_or(u64::MAX);
            renewal.renewed = renewal.renewed.saturating_add(written);
        }
        Ok(())
    }
}

fn no_key() -> StoreError {
    StoreError::internal(
        "secrets are sealed under the server's key, which is not here: set LESSOR_SERVER_SECRET, or work where \
         the data directory has the file server.key",
    )
}

impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKeys({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [u8; 32] = [1; 32];
    const NEW: [u8; 32] = [2; 32];

    fn text(error: &StoreError) -> String {
        chain(error).to_string()
    }

    #[test]
    fn what_any_key_sealed_opens_while_it_is_there() {
        let (old, both, new) = (
            SecretKeys::new([OLD]),
            SecretKeys::new([NEW, OLD]),
            SecretKeys::new([NEW]),
        );
        let sealed = old.seal(b"it", b"hunter2").unwrap();
        assert_eq!(both.open(b"it", &sealed).unwrap(), b"hunter2");
        assert!(text(&new.open(b"it", &sealed).unwrap_err()).contains("another one"));
        assert!(both.open(b"that", &sealed).is_err());
        let renewed = both.renewed(b"it", &sealed).unwrap().unwrap();
        assert_eq!(new.open(b"it", &renewed).unwrap(), b"hunter2");
        assert_eq!(both.renewed(b"it", &renewed).unwrap(), None);
        assert!(new.renewed(b"it", &sealed).is_err());
        assert!(new.renewed(b"that", &renewed).is_err());
    }

    #[test]
    fn without_a_key_it_is_said_where_one_is_given() {
        let none = SecretKeys::none();
        for error in [
            none.seal(b"it", b"hunter2").unwrap_err(),
            none.open(b"it", b"sealed").unwrap_err(),
        ] {
            let text = text(&error);
            assert!(text.contains("LESSOR_SERVER_SECRET"), "{text}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        assert_eq!(
            format!("{:?}", SecretKeys::new([OLD, NEW])),
            "SecretKeys(2)"
        );
    }
}
