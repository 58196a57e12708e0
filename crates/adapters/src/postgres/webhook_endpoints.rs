//! Who is told of events.

use async_trait::async_trait;
use diesel::dsl::exists;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::ids::WebhookEndpointPubId;
use lessor_domain::ports::{Scope, StoreError, WebhookEndpointStore};
use lessor_domain::secret::Secret;
use lessor_domain::time::Timestamp;
use lessor_domain::webhooks::{FormerSecret, Listener, MAX_ENDPOINTS, WebhookEndpoint};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::deliveries;
use super::encode::{text, text_if, texts};
use super::error::store_error;
use super::schema::{webhook_endpoint_health, webhook_endpoints};
use super::version::{compare_and_set, next};

const NAME: &str = "webhook endpoint";

/// What is sealed of an endpoint: each secret opens in its own row and column alone. `secrets::SEALED`
/// says the same in SQL.
fn about(column: &str, organization: i64, id: Uuid) -> Vec<u8> {
    format!("webhook_endpoints.{column}:{organization}:{id}").into_bytes()
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = webhook_endpoints, check_for_backend(Pg))]
struct Row {
    organization_id: i64,
    id: Uuid,
    mode: String,
    url: String,
    types: Vec<String>,
    description: Option<String>,
    status: String,
    disabled_reason: Option<String>,
    sealed_secret: Vec<u8>,
    sealed_old_secret: Option<Vec<u8>>,
    old_secret_until: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    version: i64,
}

/// What of an endpoint changes.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = webhook_endpoints, treat_none_as_null = true)]
struct Changes {
    url: String,
    types: Vec<String>,
    description: Option<String>,
    status: String,
    disabled_reason: Option<String>,
    sealed_secret: Vec<u8>,
    sealed_old_secret: Option<Vec<u8>>,
    old_secret_until: Option<Timestamp>,
    updated_at: Timestamp,
    version: i64,
}

fn of(scope: Scope) -> webhook_endpoints::BoxedQuery<'static, Pg> {
    webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(scope.organization_id.get()))
        .filter(webhook_endpoints::mode.eq(scope.mode.as_str()))
        .into_boxed()
}

async fn load(
    connection: &mut AsyncPgConnection,
    query: webhook_endpoints::BoxedQuery<'static, Pg>,
) -> Result<Vec<Row>, StoreError> {
    query
        .select(Row::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

async fn lock(
    connection: &mut AsyncPgConnection,
    scope: Scope,
    id: WebhookEndpointPubId,
) -> Result<Option<Row>, StoreError> {
    webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(scope.organization_id.get()))
        .filter(webhook_endpoints::mode.eq(scope.mode.as_str()))
        .filter(webhook_endpoints::id.eq(id.as_uuid()))
        .select(Row::as_select())
        .for_update()
        .first(connection)
        .await
        .optional()
        .map_err(store_error)
}

async fn listeners(
    connection: &mut AsyncPgConnection,
    scope: Scope,
) -> Result<Vec<(Uuid, Vec<String>)>, StoreError> {
    webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(scope.organization_id.get()))
        .filter(webhook_endpoints::mode.eq(scope.mode.as_str()))
        .filter(webhook_endpoints::status.eq("enabled"))
        .order((webhook_endpoints::created_at, webhook_endpoints::id))
        .select((webhook_endpoints::id, webhook_endpoints::types))
        .for_share()
        .load(connection)
        .await
        .map_err(store_error)
}

/// The first place that none has; none where all are taken.
async fn free_slot(
    connection: &mut AsyncPgConnection,
    scope: Scope,
) -> Result<Option<i16>, StoreError> {
    let taken: Vec<i16> = of(scope)
        .select(webhook_endpoints::slot)
        .load(connection)
        .await
        .map_err(store_error)?;
    let last = i16::try_from(MAX_ENDPOINTS).unwrap_or(i16::MAX);
    Ok((1..=last).find(|slot| !taken.contains(slot)))
}

impl PgUnitOfWork {
    fn endpoint_secret(
        &self,
        place: &Place<'_>,
        column: &'static str,
        (organization, id): (i64, Uuid),
        sealed: &[u8],
    ) -> Result<Secret, StoreError> {
        let opened = self
            .secrets
            .open(&about(column, organization, id), sealed)?;
        String::from_utf8(opened)
            .map(Secret::new)
            .map_err(|_| place.corrupt(column, "is no text"))
    }

    fn endpoint(&self, row: Row) -> Result<WebhookEndpoint, StoreError> {
        let place = Place::new("webhook_endpoints", &row.id);
        let key = (row.organization_id, row.id);
        let former_secret = match (row.sealed_old_secret, row.old_secret_until) {
            (Some(sealed), Some(until)) => Some(FormerSecret {
                secret: self.endpoint_secret(&place, "sealed_old_secret", key, &sealed)?,
                until,
            }),
            (None, _) | (_, None) => None,
        };
        Ok(WebhookEndpoint {
            id: WebhookEndpointPubId::from_uuid(row.id),
            organization_id: place.number("organization_id", row.organization_id)?,
            mode: place.parse("mode", &row.mode)?,
            url: place.parse("url", &row.url)?,
            types: place.parse_all("types", &row.types)?,
            description: place.parse_if("description", row.description)?,
            status: place.parse("status", &row.status)?,
            disabled_reason: place.parse_if("disabled_reason", row.disabled_reason)?,
            secret: self.endpoint_secret(&place, "sealed_secret", key, &row.sealed_secret)?,
            former_secret,
            created_at: row.created_at,
            updated_at: row.updated_at,
            version: row.version,
        })
    }

    fn endpoint_changes(
        &self,
        endpoint: &WebhookEndpoint,
        version: i64,
    ) -> Result<Changes, StoreError> {
        let (organization, id) = (endpoint.organization_id.get(), endpoint.id.as_uuid());
        let seal = |column, secret: &Secret| {
            let about = about(column, organization, id);
            self.secrets.seal(&about, secret.expose().as_bytes())
        };
        let former = endpoint.former_secret.as_ref();
        Ok(Changes {
            url: text(&endpoint.url),
            types: texts(&endpoint.types),
            description: text_if(endpoint.description.as_ref()),
            status: text(&endpoint.status),
            disabled_reason: text_if(endpoint.disabled_reason.as_ref()),
            sealed_secret: seal("sealed_secret", &endpoint.secret)?,
            sealed_old_secret: former
                .map(|former| seal("sealed_old_secret", &former.secret))
                .transpose()?,
            old_secret_until: former.map(|former| former.until),
            updated_at: endpoint.updated_at,
            version,
        })
    }
}

#[async_trait]
impl WebhookEndpointStore for PgUnitOfWork {
    async fn insert(&mut self, endpoint: &WebhookEndpoint) -> Result<bool, StoreError> {
        let changes = self.endpoint_changes(endpoint, endpoint.version)?;
        let (organization, id) = (endpoint.organization_id.get(), endpoint.id.as_uuid());
        let connection = self.connection()?;
        let Some(slot) = free_slot(connection, endpoint.scope()).await? else {
            return Ok(false);
        };
        let inserted = diesel::insert_into(webhook_endpoints::table)
            .values((
                webhook_endpoints::organization_id.eq(organization),
                webhook_endpoints::id.eq(id),
                webhook_endpoints::mode.eq(endpoint.mode.as_str()),
                webhook_endpoints::slot.eq(slot),
                webhook_endpoints::created_at.eq(endpoint.created_at),
                changes,
            ))
            .on_conflict((
                webhook_endpoints::organization_id,
                webhook_endpoints::mode,
                webhook_endpoints::slot,
            ))
            .do_nothing()
            .execute(connection)
            .await
            .map_err(store_error)?;
        if inserted == 0 {
            // Somebody else has the place since.
            return Err(StoreError::Contended);
        }
        diesel::insert_into(webhook_endpoint_health::table)
            .values((
                webhook_endpoint_health::organization_id.eq(organization),
                webhook_endpoint_health::endpoint_id.eq(id),
            ))
            .execute(connection)
            .await
            .map_err(store_error)?;
        Ok(true)
    }

    async fn get(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let query = of(scope).filter(webhook_endpoints::id.eq(id.as_uuid()));
        let row = load(self.connection()?, query).await?.pop();
        row.map(|row| self.endpoint(row)).transpose()
    }

    async fn list(&mut self, scope: Scope) -> Result<Vec<WebhookEndpoint>, StoreError> {
        let query = of(scope).order((
            webhook_endpoints::created_at.desc(),
            webhook_endpoints::id.desc(),
        ));
        let rows = load(self.connection()?, query).await?;
        rows.into_iter().map(|row| self.endpoint(row)).collect()
    }

    async fn hold_listeners(&mut self, scope: Scope) -> Result<Vec<Listener>, StoreError> {
        let rows = listeners(self.connection()?, scope).await?;
        rows.into_iter()
            .map(|(id, types)| {
                let place = Place::new("webhook_endpoints", &id);
                Ok(Listener {
                    endpoint_id: WebhookEndpointPubId::from_uuid(id),
                    types: place.parse_all("types", &types)?,
                })
            })
            .collect()
    }

    async fn lock(
        &mut self,
        scope: Scope,
        id: WebhookEndpointPubId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let row = lock(self.connection()?, scope, id).await?;
        row.map(|row| self.endpoint(row)).transpose()
    }

    async fn update(&mut self, endpoint: &mut WebhookEndpoint) -> Result<(), StoreError> {
        let version = next(endpoint.version);
        let changes = self.endpoint_changes(endpoint, version)?;
        let key = (endpoint.organization_id.get(), endpoint.id.as_uuid());
        let row = webhook_endpoints::table
            .find(key)
            .filter(webhook_endpoints::version.eq(endpoint.version));
        let write = diesel::update(row).set(changes);
        let is_there = diesel::select(exists(webhook_endpoints::table.find(key)));
        compare_and_set(self.connection()?, NAME, write, is_there).await?;
        endpoint.version = version;
        Ok(())
    }

    async fn delete(&mut self, scope: Scope, id: WebhookEndpointPubId) -> Result<bool, StoreError> {
        let (owner, mode, id) = (
            scope.organization_id.get(),
            scope.mode.as_str(),
            id.as_uuid(),
        );
        let connection = self.connection()?;
        let own = webhook_endpoints::table
            .find((owner, id))
            .filter(webhook_endpoints::mode.eq(mode));
        let is_there: bool = diesel::select(exists(own))
            .get_result(connection)
            .await
            .map_err(store_error)?;
        if !is_there {
            return Ok(false);
        }
        deliveries::forget_all(connection, owner, id).await?;
        diesel::delete(webhook_endpoint_health::table.find((owner, id)))
            .execute(connection)
            .await
            .map_err(store_error)?;
        diesel::delete(own)
            .execute(connection)
            .await
            .map(|deleted| deleted > 0)
            .map_err(store_error)
    }
}
