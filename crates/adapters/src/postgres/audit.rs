//! Who did what.
//!
//! What is personal in an event is sealed with a key of the customer's own, which their erasure takes
//! away: the rows stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::net::IpAddr;

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Integer};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::audit::{
    AuditActor, AuditActorKind, AuditChange, AuditEvent, AuditMembers, AuditViewer, Origin,
};
use lessor_domain::ids::{AuditEventPubId, CustomerPubId, OrganizationId};
use lessor_domain::ports::{AuditFilter, AuditStore, Page, Start, StoreError};
use lessor_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::{text, text_if};
use super::error::store_error;
use super::json::{Json, json};
use super::kept::Keep as _;
use super::paging;
use super::schema::{audit_events, customer_keys, customers};
use super::seal::SealingKey;

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_events, check_for_backend(Pg), treat_none_as_default_value = false)]
pub(super) struct Row {
    organization_id: i64,
    id: Uuid,
    at: Timestamp,
    area: String,
    actor_kind: String,
    actor_id: String,
    actor_name: Option<String>,
    request_id: Option<String>,
    address: Option<String>,
    action: String,
    subject: String,
    customer_id: Option<Uuid>,
    before: Option<Json>,
    after: Option<Json>,
    sealed: Option<Vec<u8>>,
}

/// The key that a customer's events are sealed with.
#[derive(Insertable)]
#[diesel(table_name = customer_keys)]
pub(super) struct KeyRow {
    organization_id: i64,
    customer_id: Uuid,
    key: Vec<u8>,
    created_at: Timestamp,
}

/// What is sealed of an event.
#[derive(Serialize, Deserialize)]
struct Personal {
    before: AuditMembers,
    after: AuditMembers,
    /// Only where the customer did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
}

impl Personal {
    /// What is personal in the event; none where nothing is.
    fn of(event: &AuditEvent) -> Option<Self> {
        event.customer?;
        let address = event
            .origin
            .address
            .filter(|_| event.has_personal_address());
        if event.change.is_empty() && address.is_none() {
            return None;
        }
        Some(Self {
            before: event.change.before.clone(),
            after: event.change.after.clone(),
            address,
        })
    }

    fn seal(&self, id: AuditEventPubId, key: &SealingKey) -> Result<Vec<u8>, StoreError> {
        let text = serde_json::to_vec(self).map_err(StoreError::internal)?;
        key.seal(id.as_uuid().as_bytes(), &text)
    }

    /// What was sealed of the row. What it says is told to nobody, also where it cannot be read.
    fn open(
        place: &Place<'_>,
        id: Uuid,
        sealed: &[u8],
        key: &SealingKey,
    ) -> Result<Self, StoreError> {
        let text = key
            .open(id.as_bytes(), sealed)
            .ok_or_else(|| place.corrupt("sealed", "was not sealed with the customer's key"))?;
        serde_json::from_slice(&text)
            .map_err(|_| place.corrupt("sealed", "is not what is sealed of an event"))
    }
}

/// The row of the event, with what is personal sealed with the customer's key. Without a key it is not
/// kept.
fn row(event: &AuditEvent, key: Option<&SealingKey>) -> Result<Row, StoreError> {
    let sealed = match (Personal::of(event), key) {
        (Some(personal), Some(key)) => Some(personal.seal(event.id, key)?),
        (None, _) | (_, None) => None,
    };
    let open = event.clone().without_personal_data();
    let (before, after) = match open.customer {
        Some(_) => (None, None),
        None => {
            let AuditChange { before, after } = &open.change;
            (Some(json(before)?), Some(json(after)?))
        }
    };
    let Origin {
        actor,
        request_id,
        address,
    } = open.origin;
    Ok(Row {
        organization_id: open.organization_id.get(),
        id: open.id.as_uuid(),
        at: open.at,
        area: text(&open.area),
        actor_kind: text(&actor.kind()),
        actor_id: actor.id(),
        actor_name: text_if(actor.name()),
        request_id,
        address: text_if(address.as_ref()),
        action: text(&open.action),
        subject: text(&open.subject),
        customer_id: open.customer.map(|customer| customer.as_uuid()),
        before,
        after,
        sealed,
    })
}

/// The event of the row. Of a customer whose key is gone nothing personal is left.
fn event(row: Row, keys: &BTreeMap<Uuid, SealingKey>) -> Result<AuditEvent, StoreError> {
    let place = Place::new("audit_events", &row.id);
    let kind: AuditActorKind = place.parse("actor_kind", &row.actor_kind)?;
    let name = place.parse_if("actor_name", row.actor_name)?;
    let actor = AuditActor::from_parts(kind, &row.actor_id, name)
        .map_err(|error| place.corrupt("actor_id", &error.to_string()))?;
    let key = row.customer_id.and_then(|customer| keys.get(&customer));
    let personal = match (row.sealed, key) {
        (Some(sealed), Some(key)) => Some(Personal::open(&place, row.id, &sealed, key)?),
        (None, _) | (_, None) => None,
    };
    let mut change = AuditChange {
        before: place.json_if("before", row.before)?.unwrap_or_default(),
        after: place.json_if("after", row.after)?.unwrap_or_default(),
    };
    let mut address = place.parse_if("address", row.address)?;
    if let Some(personal) = personal {
        change = AuditChange {
            before: personal.before,
            after: personal.after,
        };
        address = address.or(personal.address);
    }
    Ok(AuditEvent {
        id: AuditEventPubId::from_uuid(row.id),
        organization_id: place.number("organization_id", row.organization_id)?,
        area: place.parse("area", &row.area)?,
        at: row.at,
        origin: Origin {
            actor,
            request_id: row.request_id,
            address,
        },
        action: place.parse("action", &row.action)?,
        subject: place.parse("subject", &row.subject)?,
        change,
        customer: row.customer_id.map(CustomerPubId::from_uuid),
    })
}

/// Names of the domain as a list in SQL.
fn listed(names: &[impl Display]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    names.join(", ")
}

/// The organization's events that the viewer sees and the filter shows.
fn shown(
    organization: OrganizationId,
    viewer: AuditViewer,
    filter: &AuditFilter,
) -> audit_events::BoxedQuery<'static, Pg> {
    let mut query = audit_events::table
        .filter(audit_events::organization_id.eq(organization.get()))
        .into_boxed();
    match viewer {
        AuditViewer::Live => {}
        // As the partial index says it.
        AuditViewer::Sandbox => {
            let (areas, actors) = (listed(viewer.areas()), listed(viewer.actors()));
            query = query.filter(sql::<Bool>(&format!(
                "(audit_events.area IN ({areas}) AND audit_events.actor_kind IN ({actors}))"
            )));
        }
    }
    if let Some(subject) = &filter.subject {
        query = query.filter(audit_events::subject.eq(text(subject)));
    }
    if let Some(actor) = &filter.actor {
        query = query.filter(audit_events::actor_id.eq(actor.clone()));
    }
    query
}

async fn find(
    connection: &mut AsyncPgConnection,
    organization: OrganizationId,
    id: AuditEventPubId,
) -> Result<Option<Row>, StoreError> {
    audit_events::table
        .find((organization.get(), id.as_uuid()))
        .select(Row::as_select())
        .first(connection)
        .await
        .optional()
        .map_err(store_error)
}

async fn newest_first(
    connection: &mut AsyncPgConnection,
    shown: audit_events::BoxedQuery<'static, Pg>,
    page: Page,
) -> Result<Vec<Row>, StoreError> {
    let newest_first = shown
        .order(audit_events::id.desc())
        .limit(page.limit.into());
    let query = match page.start {
        Start::Offset(offset) => newest_first.offset(offset.into()),
        Start::After(id) => newest_first.filter(audit_events::id.lt(id)),
    };
    query
        .select(Row::as_select())
        .kept()
        .load(connection)
        .await
        .map_err(store_error)
}

impl PgUnitOfWork {
    /// The keys of those of the organization's customers who have one.
    pub(super) async fn sealing_keys(
        &mut self,
        organization: i64,
        customers: &BTreeSet<Uuid>,
    ) -> Result<BTreeMap<Uuid, SealingKey>, StoreError> {
        if customers.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.write_down().await?;
        let customers: Vec<Uuid> = customers.iter().copied().collect();
        let rows: Vec<(Uuid, Vec<u8>)> = customer_keys::table
            .filter(customer_keys::organization_id.eq(organization))
            .filter(customer_keys::customer_id.eq_any(customers))
            .select((customer_keys::customer_id, customer_keys::key))
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        rows.into_iter()
            .map(|(customer, key)| {
                let key = Place::new("customer_keys", &customer).bytes("key", key)?;
                Ok((customer, SealingKey::from_bytes(key)))
            })
            .collect()
    }

    /// A new key for a customer who has none; none once they are erased.
    async fn make_sealing_key(
        &mut self,
        organization: i64,
        customer: Uuid,
        now: Timestamp,
    ) -> Result<Option<SealingKey>, StoreError> {
        // Whoever erases the customer has the row locked until nobody may seal anything any more.
        let erased: Option<Option<Timestamp>> = customers::table
            .find((organization, customer))
            .select(customers::erased_at)
            .for_key_share()
            .first(self.connection()?)
            .await
            .optional()
            .map_err(store_error)?;
        if erased != Some(None) {
            return Ok(None);
        }
        let key = SealingKey::random();
        let made = diesel::insert_into(customer_keys::table)
            .values((
                customer_keys::organization_id.eq(organization),
                customer_keys::customer_id.eq(customer),
                customer_keys::key.eq(key.as_bytes().as_slice()),
                customer_keys::created_at.eq(now),
            ))
            .on_conflict_do_nothing()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if made > 0 {
            return Ok(Some(key));
        }
        // Somebody made one at the same moment, and is committed by now.
        let mut keys = self
            .sealing_keys(organization, &BTreeSet::from([customer]))
            .await?;
        Ok(keys.remove(&customer))
    }

    /// The key that what is personal of the customer is to be sealed with; none once they are erased.
    pub(super) async fn sealing_key(
        &mut self,
        organization: i64,
        customer: CustomerPubId,
        now: Timestamp,
    ) -> Result<Option<SealingKey>, StoreError> {
        if let Some(known) = self.sealing.get(&customer) {
            return Ok(known.clone());
        }
        let id = customer.as_uuid();
        let key = if self.born.contains(&customer) {
            // Nobody else knows of them: there is no other key, and nobody who erases them.
            let key = SealingKey::random();
            self.notes.keys.push(KeyRow {
                organization_id: organization,
                customer_id: id,
                key: key.as_bytes().to_vec(),
                created_at: now,
            });
            Some(key)
        } else {
            let mut known = self
                .sealing_keys(organization, &BTreeSet::from([id]))
                .await?;
            match known.remove(&id) {
                Some(key) => Some(key),
                None => self.make_sealing_key(organization, id, now).await?,
            }
        };
        self.sealing.insert(customer, key.clone());
        Ok(key)
    }

    /// The keys that what is personal in the events is to be sealed with.
    async fn keys_to_seal(
        &mut self,
        events: &[AuditEvent],
    ) -> Result<BTreeMap<Uuid, SealingKey>, StoreError> {
        let mut keys = BTreeMap::new();
        for event in events.iter().filter(|event| Personal::of(event).is_some()) {
            if let Some(customer) = event.customer {
                let key = self.sealing_key(event.organization_id.get(), customer, event.at);
                keys.extend(key.await?.map(|key| (customer.as_uuid(), key)));
            }
        }
        Ok(keys)
    }

    /// The events of the organization's rows.
    async fn opened(
        &mut self,
        organization: OrganizationId,
        rows: Vec<Row>,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        let sealed = rows.iter().filter(|row| row.sealed.is_some());
        let customers: BTreeSet<Uuid> = sealed.filter_map(|row| row.customer_id).collect();
        let keys = self.sealing_keys(organization.get(), &customers).await?;
        rows.into_iter().map(|row| event(row, &keys)).collect()
    }
}

#[async_trait]
impl AuditStore for PgUnitOfWork {
    async fn append(&mut self, events: &[AuditEvent]) -> Result<(), StoreError> {
        let keys = self.keys_to_seal(events).await?;
        for event in events {
            let customer = event.customer.map(|customer| customer.as_uuid());
            let key = customer.and_then(|customer| keys.get(&customer));
            self.notes.audit.push(row(event, key)?);
        }
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: AuditEventPubId,
    ) -> Result<Option<AuditEvent>, StoreError> {
        self.write_down().await?;
        let found = find(self.connection()?, organization, id).await?;
        let rows = found.into_iter().collect();
        let events = self.opened(organization, rows).await?;
        Ok(events.into_iter().next())
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        viewer: AuditViewer,
        filter: &AuditFilter,
        page: Page,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        self.write_down().await?;
        let shown = shown(organization, viewer, filter);
        let rows = newest_first(self.connection()?, shown, page).await?;
        self.opened(organization, rows).await
    }

    async fn count(
        &mut self,
        organization: OrganizationId,
        viewer: AuditViewer,
        filter: &AuditFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        self.write_down().await?;
        let rows = shown(organization, viewer, filter).select(1.into_sql::<Integer>());
        paging::count(rows, most, self.connection()?).await
    }
}
