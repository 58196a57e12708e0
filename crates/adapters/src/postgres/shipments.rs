//! The store of tracking events.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::Tracking;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{ShipmentStore, StoreError};
use lessor_domain::shipments::{CarrierReport, TrackingEvent};
use lessor_domain::time::Timestamp;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::text_if;
use super::error::store_error;
use super::hash;
use super::schema::{tracking_events, unclaimed_tracking_events};

#[derive(Queryable, Selectable)]
#[diesel(table_name = tracking_events, check_for_backend(diesel::pg::Pg))]
struct EventRow {
    id: i64,
    at: Timestamp,
    status: String,
    description: Option<String>,
    location: Option<String>,
    signed_by: Option<String>,
    estimated_delivery: Option<Timestamp>,
    origin: String,
    received_at: Timestamp,
}

impl EventRow {
    fn into_event(self) -> Result<TrackingEvent, StoreError> {
        let at = Place::new("tracking_events", &self.id);
        Ok(TrackingEvent {
            reported: CarrierReport {
                at: self.at,
                status: at.parse("status", &self.status)?,
                description: at.parse_if("description", self.description)?,
                location: at.parse_if("location", self.location)?,
                signed_by: at.parse_if("signed_by", self.signed_by)?,
                estimated_delivery: self.estimated_delivery,
            },
            origin: at.parse("origin", &self.origin)?,
            received_at: self.received_at,
        })
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = unclaimed_tracking_events, check_for_backend(diesel::pg::Pg))]
struct UnclaimedRow {
    at: Timestamp,
    status: String,
    description: Option<String>,
    location: Option<String>,
    signed_by: Option<String>,
    estimated_delivery: Option<Timestamp>,
    origin: String,
    received_at: Timestamp,
}

impl UnclaimedRow {
    fn into_event(self, tracking: &Tracking) -> Result<TrackingEvent, StoreError> {
        let at = Place::new("unclaimed_tracking_events", &tracking.number);
        Ok(TrackingEvent {
            reported: CarrierReport {
                at: self.at,
                status: at.parse("status", &self.status)?,
                description: at.parse_if("description", self.description)?,
                location: at.parse_if("location", self.location)?,
                signed_by: at.parse_if("signed_by", self.signed_by)?,
                estimated_delivery: self.estimated_delivery,
            },
            origin: at.parse("origin", &self.origin)?,
            received_at: self.received_at,
        })
    }
}

/// What two reports of the same thing have in common; those of no checkout have no id.
fn dedupe_key(
    id: Option<CheckoutPubId>,
    tracking: &Tracking,
    reported: &CarrierReport,
) -> [u8; 32] {
    // No text that is there is empty.
    let description = reported
        .description
        .as_ref()
        .map_or("", |text| text.as_str());
    let location = reported.location.as_ref().map_or("", |text| text.as_str());
    let id = id.map(|id| id.as_uuid());
    hash::of_parts(
        "tracking event",
        &[
            id.as_ref().map_or(&[], |id| id.as_bytes().as_slice()),
            tracking.carrier.as_str().as_bytes(),
            tracking.number.as_str().as_bytes(),
            &reported.at.timestamp_micros().to_be_bytes(),
            reported.status.as_str().as_bytes(),
            description.as_bytes(),
            location.as_bytes(),
        ],
    )
}

/// The events of the shipment in the order in which they happened.
async fn events_of(
    connection: &mut AsyncPgConnection,
    owner: i64,
    id: CheckoutPubId,
    tracking: &Tracking,
) -> Result<Vec<EventRow>, StoreError> {
    tracking_events::table
        .filter(tracking_events::organization_id.eq(owner))
        .filter(tracking_events::checkout_id.eq(id.as_uuid()))
        .filter(tracking_events::tracking_number.eq(tracking.number.as_str()))
        .filter(tracking_events::carrier.eq(tracking.carrier.as_str()))
        .order((tracking_events::at, tracking_events::id))
        .select(EventRow::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

#[async_trait]
impl ShipmentStore for PgUnitOfWork {
    async fn insert(
        &mut self,
        id: CheckoutPubId,
        tracking: &Tracking,
        event: &TrackingEvent,
    ) -> Result<bool, StoreError> {
        let (organization, checkout) = self.key_of(id).await?;
        let reported = &event.reported;
        diesel::insert_into(tracking_events::table)
            .values((
                tracking_events::organization_id.eq(organization),
                tracking_events::checkout_id.eq(checkout),
                tracking_events::tracking_number.eq(tracking.number.as_str()),
                tracking_events::carrier.eq(tracking.carrier.as_str()),
                tracking_events::at.eq(reported.at),
                tracking_events::status.eq(reported.status.as_str()),
                tracking_events::description.eq(reported
                    .description
                    .as_ref()
                    .map(lessor_domain::text::EventText::as_str)),
                tracking_events::location.eq(reported
                    .location
                    .as_ref()
                    .map(lessor_domain::text::Line::as_str)),
                tracking_events::signed_by.eq(reported
                    .signed_by
                    .as_ref()
                    .map(lessor_domain::text::Line::as_str)),
                tracking_events::estimated_delivery.eq(reported.estimated_delivery),
                tracking_events::origin.eq(event.origin.as_str()),
                tracking_events::received_at.eq(event.received_at),
                tracking_events::dedupe_key.eq(dedupe_key(Some(id), tracking, reported).to_vec()),
            ))
            .on_conflict((
                tracking_events::organization_id,
                tracking_events::dedupe_key,
            ))
            .do_nothing()
            .execute(self.connection()?)
            .await
            .map(|written| written == 1)
            .map_err(store_error)
    }

    async fn list(
        &mut self,
        id: CheckoutPubId,
        tracking: &Tracking,
    ) -> Result<Vec<TrackingEvent>, StoreError> {
        let owner = self.owner();
        events_of(self.connection()?, owner, id, tracking)
            .await?
            .into_iter()
            .map(EventRow::into_event)
            .collect()
    }

    async fn keep_unclaimed(
        &mut self,
        tracking: &Tracking,
        event: &TrackingEvent,
    ) -> Result<(), StoreError> {
        use unclaimed_tracking_events as u;
        let reported = &event.reported;
        diesel::insert_into(u::table)
            .values((
                u::dedupe_key.eq(dedupe_key(None, tracking, reported).to_vec()),
                u::tracking_number.eq(tracking.number.as_str()),
                u::carrier.eq(tracking.carrier.as_str()),
                u::at.eq(reported.at),
                u::status.eq(reported.status.as_str()),
                u::description.eq(text_if(reported.description.as_ref())),
                u::location.eq(text_if(reported.location.as_ref())),
                u::signed_by.eq(text_if(reported.signed_by.as_ref())),
                u::estimated_delivery.eq(reported.estimated_delivery),
                u::origin.eq(event.origin.as_str()),
                u::received_at.eq(event.received_at),
            ))
            .on_conflict_do_nothing()
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn unclaimed(&mut self, tracking: &Tracking) -> Result<Vec<TrackingEvent>, StoreError> {
        use unclaimed_tracking_events as u;
        let rows: Vec<UnclaimedRow> = u::table
            .filter(u::tracking_number.eq(tracking.number.as_str()))
            .filter(u::carrier.eq(tracking.carrier.as_str()))
            .order((u::at, u::received_at))
            .select(UnclaimedRow::as_select())
            .load(self.connection()?)
            .await
            .map_err(store_error)?;
        rows.into_iter()
            .map(|row| row.into_event(tracking))
            .collect()
    }

    async fn purge_unclaimed(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        use unclaimed_tracking_events as u;
        diesel::delete(u::table.filter(u::received_at.lt(before)))
            .execute(self.connection()?)
            .await
            .map(|deleted| u64::try_from(deleted).unwrap_or(u64::MAX))
            .map_err(store_error)
    }
}
