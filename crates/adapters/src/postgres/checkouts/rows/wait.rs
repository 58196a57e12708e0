//! What a checkout waits for, or waited for last.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{Snapshot, Waitlist};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use uuid::Uuid;

use super::text;
use crate::postgres::decode::Place;
use crate::postgres::json::{Json, json};
use crate::postgres::schema::checkout_waits;

#[derive(Debug, PartialEq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkout_waits, primary_key(organization_id, checkout_id))]
#[diesel(
    check_for_backend(Pg),
    treat_none_as_null = true,
    treat_none_as_default_value = false
)]
pub(in crate::postgres::checkouts) struct WaitRow {
    organization_id: i64,
    checkout_id: Uuid,
    reason: String,
    address: Option<Json>,
    reason_code: Option<String>,
}

impl WaitRow {
    pub(super) fn of(checkout: &Snapshot) -> Result<Option<Self>, StoreError> {
        let Some(waitlist) = &checkout.waitlist else {
            return Ok(None);
        };
        Ok(Some(Self {
            organization_id: checkout.organization_id.get(),
            checkout_id: checkout.id.as_uuid(),
            reason: waitlist.reason.as_str().to_owned(),
            address: waitlist.address.as_ref().map(json).transpose()?,
            reason_code: text(waitlist.reason_code.as_ref()),
        }))
    }

    pub(super) fn read(
        row: Option<Self>,
        id: &CheckoutPubId,
    ) -> Result<Option<Waitlist>, StoreError> {
        let at = Place::new("checkout_waits", id);
        let Some(row) = row else {
            return Ok(None);
        };
        Ok(Some(Waitlist {
            reason: at.parse("reason", &row.reason)?,
            address: at.json_if("address", row.address)?,
            reason_code: at.parse_if("reason_code", row.reason_code)?,
        }))
    }
}
