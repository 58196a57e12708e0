//! The store of organizations' own accounts at the payment processor.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::ids::{CheckoutPubId, OrganizationId};
use lessor_domain::ports::{ProcessorAccountStore, StoreError};
use lessor_domain::processor_account::{AccountRecord, ProcessorAccount};
use lessor_domain::secret::Secret;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::error::store_error;
use super::kept::Keep as _;
use super::schema::{customers, processor_accounts};
use super::version::next;

const NAME: &str = "processor account";

/// What the account's key is sealed about; `secrets::SEALED` says the same in SQL.
fn about_key(organization: i64, mode: &str) -> Vec<u8> {
    format!("processor_accounts.sealed_key {organization} {mode}").into_bytes()
}

fn about_webhook_secrets(organization: i64, mode: &str) -> Vec<u8> {
    format!("processor_accounts.sealed_webhook_secrets {organization} {mode}").into_bytes()
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = processor_accounts, check_for_backend(diesel::pg::Pg))]
struct Row {
    sealed_key: Vec<u8>,
    sealed_webhook_secrets: Vec<u8>,
    created_at: Timestamp,
    updated_at: Timestamp,
    version: i64,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = processor_accounts, check_for_backend(diesel::pg::Pg))]
struct RecordRow {
    mode: String,
    key_hint: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    version: i64,
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// What the row keeps of an account's secrets.
struct Sealed {
    key: Vec<u8>,
    webhook_secrets: Vec<u8>,
}

impl PgUnitOfWork {
    fn seal_account(&self, account: &ProcessorAccount) -> Result<Sealed, StoreError> {
        let (owner, mode) = (account.organization_id.get(), account.mode.as_str());
        // None of them holds a line end.
        let secrets: Vec<&str> = account.webhook_secrets.iter().map(Secret::expose).collect();
        let key = account.key.expose().as_bytes();
        Ok(Sealed {
            key: self.secrets.seal(&about_key(owner, mode), key)?,
            webhook_secrets: self.secrets.seal(
                &about_webhook_secrets(owner, mode),
                secrets.join("\n").as_bytes(),
            )?,
        })
    }

    fn open_secret(
        &self,
        column: &'static str,
        about: &[u8],
        sealed: &[u8],
    ) -> Result<String, StoreError> {
        let opened = self.secrets.open(about, sealed)?;
        String::from_utf8(opened).map_err(|_| {
            Place::new("processor_accounts", &self.owner()).corrupt(column, "is no text")
        })
    }
}

/// What rests on what is at the processor, with the condition's index on each side: the ledger's by
/// checkout, the customers' by key.
const RESTING: &str = "\
SELECT checkouts.id FROM checkouts \
WHERE checkouts.organization_id = $1 AND checkouts.mode = $2 AND ( \
    NOT checkouts.is_ended AND ( \
        EXISTS (SELECT FROM ledger_entries AS made \
            WHERE made.organization_id = $1 AND made.checkout_id = checkouts.id) \
        OR EXISTS (SELECT FROM customers AS lessee \
            WHERE lessee.organization_id = $1 AND lessee.id = checkouts.customer_id \
            AND lessee.verification_session_id IS NOT NULL \
            AND lessee.identity IN ('pending', 'processing'))) \
    OR EXISTS (SELECT FROM ledger_entries AS held \
        WHERE held.organization_id = $1 AND held.checkout_id = checkouts.id \
        AND held.kind = 'hold' AND held.state = 'held')) \
ORDER BY checkouts.created_at, checkouts.id LIMIT $3";

#[async_trait]
impl ProcessorAccountStore for PgUnitOfWork {
    async fn get(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<Option<ProcessorAccount>, StoreError> {
        let (owner, name) = (organization.get(), mode.as_str());
        let row: Option<Row> = processor_accounts::table
            .find((owner, name))
            .select(Row::as_select())
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let Some(row) = row else { return Ok(None) };
        let about = about_key(owner, name);
        let key = self.open_secret("sealed_key", &about, &row.sealed_key)?;
        let (column, about) = ("sealed_webhook_secrets", about_webhook_secrets(owner, name));
        let secrets = self.open_secret(column, &about, &row.sealed_webhook_secrets)?;
        let secrets = secrets.lines().map(str::to_owned);
        Ok(Some(ProcessorAccount {
            organization_id: organization,
            mode,
            key: Secret::new(key),
            webhook_secrets: secrets.map(Secret::new).collect(),
            created_at: row.created_at,
            updated_at: row.updated_at,
            version: row.version,
        }))
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
    ) -> Result<Vec<AccountRecord>, StoreError> {
        let rows: Vec<RecordRow> = processor_accounts::table
            .filter(processor_accounts::organization_id.eq(organization.get()))
            .order(processor_accounts::mode)
            .select(RecordRow::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        rows.into_iter()
            .map(|row| {
                let at = Place::new("processor_accounts", &organization);
                Ok(AccountRecord {
                    mode: at.parse("mode", &row.mode)?,
                    key_hint: row.key_hint,
                    created_at: row.created_at,
                    updated_at: row.updated_at,
                    version: row.version,
                })
            })
            .collect()
    }

    async fn insert(&mut self, account: &mut ProcessorAccount) -> Result<(), StoreError> {
        let sealed = self.seal_account(account)?;
        let written = diesel::insert_into(processor_accounts::table)
            .values((
                processor_accounts::organization_id.eq(account.organization_id.get()),
                processor_accounts::mode.eq(account.mode.as_str()),
                processor_accounts::sealed_key.eq(sealed.key),
                processor_accounts::sealed_webhook_secrets.eq(sealed.webhook_secrets),
                processor_accounts::key_hint.eq(account.key_hint()),
                processor_accounts::created_at.eq(account.created_at),
                processor_accounts::updated_at.eq(account.updated_at),
                processor_accounts::version.eq(1),
            ))
            .on_conflict((
                processor_accounts::organization_id,
                processor_accounts::mode,
            ))
            .do_nothing()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 {
            return Err(StoreError::Stale(NAME));
        }
        account.version = 1;
        Ok(())
    }

    async fn update(&mut self, account: &mut ProcessorAccount) -> Result<(), StoreError> {
        let sealed = self.seal_account(account)?;
        let version = next(account.version);
        let key = (account.organization_id.get(), account.mode.as_str());
        let written = diesel::update(
            processor_accounts::table
                .find(key)
                .filter(processor_accounts::version.eq(account.version)),
        )
        .set((
            processor_accounts::sealed_key.eq(sealed.key),
            processor_accounts::sealed_webhook_secrets.eq(sealed.webhook_secrets),
            processor_accounts::key_hint.eq(account.key_hint()),
            processor_accounts::updated_at.eq(account.updated_at),
            processor_accounts::version.eq(version),
        ))
        .kept()
        .execute(self.connection()?)
        .await
        .map_err(store_error)?;
        if written == 0 {
            // Somebody else wrote it, or it is gone.
            let is_there: bool = diesel::select(exists(processor_accounts::table.find(key)))
                .get_result(self.connection()?)
                .await
                .map_err(store_error)?;
            return Err(if is_there {
                StoreError::Stale(NAME)
            } else {
                StoreError::Missing(NAME)
            });
        }
        account.version = version;
        Ok(())
    }

    async fn remove(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<bool, StoreError> {
        diesel::delete(processor_accounts::table.find((organization.get(), mode.as_str())))
            .execute(self.connection()?)
            .await
            .map(|removed| removed > 0)
            .map_err(store_error)
    }

    async fn resting(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
        limit: u32,
    ) -> Result<Vec<CheckoutPubId>, StoreError> {
        let found: Vec<Found> = diesel::sql_query(RESTING)
            .bind::<BigInt, _>(organization.get())
            .bind::<Text, _>(mode.as_str())
            .bind::<BigInt, _>(i64::from(limit))
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        Ok(found
            .into_iter()
            .map(|row| CheckoutPubId::from_uuid(row.id))
            .collect())
    }

    async fn forget_customers(
        &mut self,
        organization: OrganizationId,
        mode: Mode,
    ) -> Result<u64, StoreError> {
        diesel::update(customers::table)
            .filter(customers::organization_id.eq(organization.get()))
            .filter(customers::mode.eq(mode.as_str()))
            .filter(customers::processor_id.is_not_null())
            .set((
                customers::processor_id.eq(None::<String>),
                customers::version.eq(customers::version + 1),
            ))
            .kept()
            .execute(self.connection()?)
            .await
            .map(|written| u64::try_from(written).unwrap_or(u64::MAX))
            .map_err(store_error)
    }
}

/// Whose accounts of the mode are to be walked, by the door.
pub(super) async fn owners(
    connection: &mut AsyncPgConnection,
    mode: Mode,
) -> Result<Vec<i64>, StoreError> {
    processor_accounts::table
        .filter(processor_accounts::mode.eq(mode.as_str()))
        .order(processor_accounts::organization_id)
        .select(processor_accounts::organization_id)
        .load(connection)
        .await
        .map_err(store_error)
}
