//! The way of the goods to the customer.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{Shipment, Snapshot, Tracking};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::text;
use crate::postgres::decode::Place;
use crate::postgres::schema::checkout_shipments;

/// The row, without the turn in which a carrier is asked, which only the store knows.
#[derive(Debug, PartialEq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkout_shipments, primary_key(organization_id, checkout_id))]
#[diesel(
    check_for_backend(Pg),
    treat_none_as_null = true,
    treat_none_as_default_value = false
)]
pub(in crate::postgres::checkouts) struct ShipmentRow {
    organization_id: i64,
    checkout_id: Uuid,
    tracking_number: Option<String>,
    tracking_carrier: Option<String>,
    tracking_status: Option<String>,
    heard_at: Option<Timestamp>,
    shipped_at: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    signed_by: Option<String>,
    is_under_way: bool,
}

impl ShipmentRow {
    pub(super) fn of(checkout: &Snapshot) -> Option<Self> {
        let shipment = &checkout.shipment;
        if *shipment == Shipment::default() {
            return None;
        }
        let tracking = shipment.tracking.as_ref();
        Some(Self {
            organization_id: checkout.organization_id.get(),
            checkout_id: checkout.id.as_uuid(),
            tracking_number: text(tracking.map(|tracking| &tracking.number)),
            tracking_carrier: text(tracking.map(|tracking| &tracking.carrier)),
            tracking_status: text(shipment.status.as_ref()),
            heard_at: shipment.heard_at,
            shipped_at: shipment.shipped_at,
            delivered_at: shipment.delivered_at,
            signed_by: text(shipment.signed_by.as_ref()),
            is_under_way: checkout.lifecycle().is_under_way(),
        })
    }

    pub(super) fn read(row: Option<Self>, id: &CheckoutPubId) -> Result<Shipment, StoreError> {
        let Some(row) = row else {
            return Ok(Shipment::default());
        };
        let at = Place::new("checkout_shipments", id);
        let number = at.parse_if("tracking_number", row.tracking_number)?;
        let carrier = at.parse_if("tracking_carrier", row.tracking_carrier)?;
        Ok(Shipment {
            tracking: match (number, carrier) {
                (None, None) => None,
                (Some(number), Some(carrier)) => Some(Tracking { number, carrier }),
                _ => {
                    return Err(
                        at.corrupt("tracking_carrier", "comes with a number, or not at all")
                    );
                }
            },
            status: at.parse_if("tracking_status", row.tracking_status)?,
            heard_at: row.heard_at,
            shipped_at: row.shipped_at,
            delivered_at: row.delivered_at,
            signed_by: at.parse_if("signed_by", row.signed_by)?,
        })
    }
}
