//! API keys.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::access::{ApiKey, KeyHash};
use lessor_domain::ids::{ApiKeyPubId, OrganizationId, OrganizationPubId, UserPubId};
use lessor_domain::organization::lets_sandbox_write_catalog;
use lessor_domain::ports::{KeyHolder, KeyStore, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::{text, text_if};
use super::error::store_error;
use super::schema::{api_keys, organizations, users};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = api_keys, check_for_backend(diesel::pg::Pg))]
struct Row {
    id: Uuid,
    organization_id: i64,
    user_id: i64,
    kind: String,
    mode: String,
    permissions: Vec<String>,
    name: Option<String>,
    hash: Vec<u8>,
    hint: String,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
    last_used_at: Option<DateTime<Utc>>,
}

impl From<&ApiKey> for Row {
    fn from(key: &ApiKey) -> Self {
        Self {
            id: key.id.as_uuid(),
            organization_id: key.organization_id.get(),
            user_id: key.user_id.get(),
            kind: text(&key.kind),
            mode: text(&key.mode),
            permissions: key.permissions.iter().map(|held| text(&held)).collect(),
            name: text_if(key.name.as_ref()),
            hash: key.hash.0.to_vec(),
            hint: key.hint.clone(),
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            last_used_at: key.last_used_at,
        }
    }
}

/// What is read of a key's organization: its public id, what was said of its catalog, and when its first
/// live key was made.
type Holding = (Uuid, Option<bool>, Option<DateTime<Utc>>);
/// The key, what is read of its organization, and the public id of its user.
type Joined = (Row, Holding, Uuid);

fn holder((row, holding, user): Joined) -> Result<KeyHolder, StoreError> {
    let (organization, said, first_live_key_at) = holding;
    let place = Place::new("api_keys", &row.id);
    let permissions = place.parse_all("permissions", &row.permissions)?;
    Ok(KeyHolder {
        organization_pub_id: OrganizationPubId::from_uuid(organization),
        user_pub_id: UserPubId::from_uuid(user),
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
            last_used_at: row.last_used_at,
        },
    })
}

/// Keys with what is read of their organizations and users.
#[diesel::dsl::auto_type]
fn joined() -> _ {
    let columns: (
        diesel::dsl::AsSelect<Row, diesel::pg::Pg>,
        (
            organizations::pub_id,
            organizations::sandbox_writes_catalog,
            organizations::first_live_key_at,
        ),
        users::pub_id,
    ) = (
        Row::as_select(),
        (
            organizations::pub_id,
            organizations::sandbox_writes_catalog,
            organizations::first_live_key_at,
        ),
        users::pub_id,
    );
    api_keys::table
        .inner_join(organizations::table.on(organizations::id.eq(api_keys::organization_id)))
        .inner_join(users::table.on(users::id.eq(api_keys::user_id)))
        .select(columns)
}

#[async_trait]
impl KeyStore for PgUnitOfWork {
    async fn insert(&mut self, key: &ApiKey) -> Result<(), StoreError> {
        diesel::insert_into(api_keys::table)
            .values(Row::from(key))
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
        joined()
            .filter(api_keys::id.eq(id.as_uuid()))
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(holder)
            .transpose()
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
        rows.into_iter().map(holder).collect()
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
        // Several processes note uses, and the last of them stays.
        let before = api_keys::last_used_at
            .is_null()
            .or(api_keys::last_used_at.lt(at));
        diesel::update(api_keys::table.find(id.as_uuid()).filter(before))
            .set(api_keys::last_used_at.eq(at))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }
}
