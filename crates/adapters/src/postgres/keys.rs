//! API keys.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use lessor_domain::access::{ApiKey, KeyHash};
use lessor_domain::ids::{ApiKeyPubId, OrganizationId, OrganizationPubId, UserPubId};
use lessor_domain::organization::lets_sandbox_write_catalog;
use lessor_domain::ports::{KeyHolder, KeyStore, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::doors::Door;
use super::encode::{text, text_if};
use super::error::store_error;
use super::schema::{api_key_uses, api_keys, customers, organizations};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = api_keys, check_for_backend(diesel::pg::Pg))]
struct Row {
    id: Uuid,
    organization_id: i64,
    user_id: i64,
    user_pub_id: Uuid,
    kind: String,
    mode: String,
    permissions: Vec<String>,
    name: Option<String>,
    hash: Vec<u8>,
    hint: String,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

impl Row {
    fn new(key: &ApiKey, user: Uuid) -> Self {
        Self {
            id: key.id.as_uuid(),
            organization_id: key.organization_id.get(),
            user_id: key.user_id.get(),
            user_pub_id: user,
            kind: text(&key.kind),
            mode: text(&key.mode),
            permissions: key.permissions.iter().map(|held| text(&held)).collect(),
            name: text_if(key.name.as_ref()),
            hash: key.hash.0.to_vec(),
            hint: key.hint.clone(),
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
        }
    }
}

/// What is read of a key's organization: its public id, what was said of its catalog, and when its first
/// live key was made.
type Holding = (Uuid, Option<bool>, Option<DateTime<Utc>>);
/// The key, and what is read of its organization.
type Joined = (Row, Holding);

fn holder((row, holding): Joined) -> Result<KeyHolder, StoreError> {
    let (organization, said, first_live_key_at) = holding;
    let place = Place::new("api_keys", &row.id);
    let permissions = place.parse_all("permissions", &row.permissions)?;
    Ok(KeyHolder {
        organization_pub_id: OrganizationPubId::from_uuid(organization),
        user_pub_id: UserPubId::from_uuid(row.user_pub_id),
        sandbox_writes_catalog: lets_sandbox_write_catalog(said, first_live_key_at),
        key: ApiKey {
            id: ApiKeyPubId::from_uuid(row.id),
            organization_id: place.number("organization_id", row.organization_id)?,
            user_id: place.number("user_id", row.user_id)?,
            kind: place.parse("kind", &row.kind)?,
            mode: place.parse("mode", &row.mode)?,
            permissions: permissions.into_iter().collect(),
            name: place.parse_if("name", row.name)?,
            hash: KeyHash(place.bytes("hash", row.hash)?),
            hint: row.hint,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            last_used_at: None,
        },
    })
}

/// Keys with what is read of their organizations.
#[diesel::dsl::auto_type]
fn joined() -> _ {
    let columns: (
        diesel::dsl::AsSelect<Row, diesel::pg::Pg>,
        (
            organizations::pub_id,
            organizations::sandbox_writes_catalog,
            organizations::first_live_key_at,
        ),
    ) = (
        Row::as_select(),
        (
            organizations::pub_id,
            organizations::sandbox_writes_catalog,
            organizations::first_live_key_at,
        ),
    );
    api_keys::table
        .inner_join(organizations::table.on(organizations::id.eq(api_keys::organization_id)))
        .select(columns)
}

impl PgUnitOfWork {
    /// Fills in when the keys were last used, which is their organizations' to know: whoever administers
    /// keys asks for those of all.
    async fn note_uses(&mut self, holders: &mut [KeyHolder]) -> Result<(), StoreError> {
        let ids: Vec<Uuid> = (holders.iter().map(|it| it.key.id.as_uuid())).collect();
        let mut owners = holders.iter().map(|it| it.key.organization_id);
        let only = owners.next().filter(|only| owners.all(|it| it == *only));
        let mut of_these = api_key_uses::table
            .filter(api_key_uses::key_id.eq_any(ids))
            .select((api_key_uses::key_id, api_key_uses::at))
            .into_boxed();
        // A cluster that has asked several nodes at once lets nobody write keys in the same transaction.
        if let Some(only) = only {
            of_these = of_these.filter(api_key_uses::organization_id.eq(only.get()));
        }
        let mut open = self.open(Door::Survey)?;
        let uses: Vec<(Uuid, DateTime<Utc>)> = of_these
            .load(open.connection())
            .await
            .map_err(store_error)?;
        let uses: HashMap<Uuid, DateTime<Utc>> = uses.into_iter().collect();
        for holder in holders {
            holder.key.last_used_at = uses.get(&holder.key.id.as_uuid()).copied();
        }
        Ok(())
    }
}

#[async_trait]
impl KeyStore for PgUnitOfWork {
    async fn insert(&mut self, key: &ApiKey) -> Result<(), StoreError> {
        let user: Option<Uuid> = customers::table
            .filter(customers::organization_id.eq(key.organization_id.get()))
            .filter(customers::user_id.eq(key.user_id.get()))
            .select(customers::id)
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let user = user.ok_or(StoreError::Missing("user"))?;
        diesel::insert_into(api_keys::table)
            .values(Row::new(key, user))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn find_by_hash(&mut self, hash: &KeyHash) -> Result<Option<KeyHolder>, StoreError> {
        joined()
            .filter(api_keys::hash.eq(hash.0.as_slice()))
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(holder)
            .transpose()
    }

    async fn get(&mut self, id: ApiKeyPubId) -> Result<Option<KeyHolder>, StoreError> {
        let found = joined()
            .filter(api_keys::id.eq(id.as_uuid()))
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        let mut found: Vec<_> = found.map(holder).transpose()?.into_iter().collect();
        self.note_uses(&mut found).await?;
        Ok(found.pop())
    }

    async fn list(
        &mut self,
        organization: Option<OrganizationId>,
    ) -> Result<Vec<KeyHolder>, StoreError> {
        let newest_first = joined().order((api_keys::created_at.desc(), api_keys::id.desc()));
        let connection = self.connection()?;
        let rows: Vec<Joined> = match organization {
            Some(id) => {
                newest_first
                    .filter(api_keys::organization_id.eq(id.get()))
                    .load(connection)
                    .await
            }
            None => newest_first.load(connection).await,
        }
        .map_err(store_error)?;
        let holders: Result<Vec<_>, _> = rows.into_iter().map(holder).collect();
        let mut holders = holders?;
        self.note_uses(&mut holders).await?;
        Ok(holders)
    }

    async fn close(
        &mut self,
        id: ApiKeyPubId,
        revoked_at: Option<Timestamp>,
        expires_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let written = diesel::update(api_keys::table.find(id.as_uuid()))
            .set((
                api_keys::revoked_at.eq(revoked_at),
                api_keys::expires_at.eq(expires_at),
            ))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 {
            return Err(StoreError::Missing("API key"));
        }
        Ok(())
    }

    async fn touch(&mut self, id: ApiKeyPubId, at: Timestamp) -> Result<(), StoreError> {
        let row = (
            api_key_uses::organization_id.eq(self.owner()),
            api_key_uses::key_id.eq(id.as_uuid()),
            api_key_uses::at.eq(at),
        );
        // Several processes note uses, and the last of them stays.
        let noted = diesel::insert_into(api_key_uses::table)
            .values(row)
            .on_conflict((api_key_uses::organization_id, api_key_uses::key_id))
            .do_update()
            .set(api_key_uses::at.eq(excluded(api_key_uses::at)));
        diesel::query_dsl::methods::FilterDsl::filter(
            noted,
            api_key_uses::at.lt(excluded(api_key_uses::at)),
        )
        .execute(self.connection()?)
        .await
        .map(|_| ())
        .map_err(store_error)
    }
}
