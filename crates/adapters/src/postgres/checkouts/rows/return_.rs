//! The way of the goods back.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{Return, Snapshot};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::text;
use crate::postgres::decode::Place;
use crate::postgres::schema::checkout_returns;

#[derive(Debug, PartialEq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkout_returns, primary_key(organization_id, checkout_id))]
#[diesel(
    check_for_backend(Pg),
    treat_none_as_null = true,
    treat_none_as_default_value = false
)]
pub(in crate::postgres::checkouts) struct ReturnRow {
    organization_id: i64,
    checkout_id: Uuid,
    initiated_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    cancelled_at: Option<Timestamp>,
    reason: Option<String>,
    notes: Option<String>,
}

impl ReturnRow {
    pub(super) fn of(checkout: &Snapshot) -> Option<Self> {
        let return_ = &checkout.return_;
        if *return_ == Return::default() {
            return None;
        }
        Some(Self {
            organization_id: checkout.organization_id.get(),
            checkout_id: checkout.id.as_uuid(),
            initiated_at: return_.initiated_at,
            completed_at: return_.completed_at,
            cancelled_at: return_.cancelled_at,
            reason: text(return_.reason.as_ref()),
            notes: text(return_.notes.as_ref()),
        })
    }

    pub(super) fn read(row: Option<Self>, id: &CheckoutPubId) -> Result<Return, StoreError> {
        let Some(row) = row else {
            return Ok(Return::default());
        };
        let at = Place::new("checkout_returns", id);
        Ok(Return {
            initiated_at: row.initiated_at,
            completed_at: row.completed_at,
            cancelled_at: row.cancelled_at,
            reason: at.parse_if("reason", row.reason)?,
            notes: at.parse_if("notes", row.notes)?,
        })
    }
}
