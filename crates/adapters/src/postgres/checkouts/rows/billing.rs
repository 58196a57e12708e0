//! The recurring payments: what pays, and the subscription.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{Billing, Recurring, Snapshot};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::text;
use crate::postgres::decode::{Place, counted};
use crate::postgres::json::{Json, json};
use crate::postgres::schema::checkout_billing;

#[derive(Debug, PartialEq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkout_billing, primary_key(organization_id, checkout_id))]
#[diesel(
    check_for_backend(Pg),
    treat_none_as_null = true,
    treat_none_as_default_value = false
)]
pub(in crate::postgres::checkouts) struct BillingRow {
    organization_id: i64,
    checkout_id: Uuid,
    mode: String,
    state: String,
    requested_at: Option<Timestamp>,
    subscription_id: Option<String>,
    standing: Option<String>,
    method: Option<Json>,
    paid_cycles: i32,
    failure_count: i32,
    last_failure: Option<Json>,
    dispute_id: Option<String>,
    settled_dispute_id: Option<String>,
}

impl BillingRow {
    pub(super) fn of(checkout: &Snapshot) -> Result<Option<Self>, StoreError> {
        let recurring = &checkout.recurring;
        if *recurring == Recurring::default() {
            return Ok(None);
        }
        let state = match recurring.billing {
            Billing::NotRequested => "notRequested",
            Billing::Requested { .. } => "requested",
            Billing::Incomplete { .. } => "incomplete",
            Billing::Active { .. } => "active",
            Billing::Ended { .. } => "ended",
        };
        let standing = match &recurring.billing {
            Billing::Active { standing, .. } => Some(standing),
            _ => None,
        };
        Ok(Some(Self {
            organization_id: checkout.organization_id.get(),
            checkout_id: checkout.id.as_uuid(),
            mode: checkout.mode.as_str().to_owned(),
            state: state.to_owned(),
            requested_at: recurring.billing.requested_at(),
            subscription_id: recurring.billing.subscription_id().map(str::to_owned),
            standing: text(standing),
            method: recurring.method.as_ref().map(json).transpose()?,
            paid_cycles: counted(recurring.paid_cycles)?,
            failure_count: counted(recurring.failure_count)?,
            last_failure: recurring.last_failure.as_ref().map(json).transpose()?,
            dispute_id: recurring.dispute_id.clone(),
            settled_dispute_id: recurring.settled_dispute_id.clone(),
        }))
    }

    pub(super) fn read(row: Option<Self>, id: &CheckoutPubId) -> Result<Recurring, StoreError> {
        let Some(row) = row else {
            return Ok(Recurring::default());
        };
        let at = Place::new("checkout_billing", id);
        let standing = at.parse_if("standing", row.standing)?;
        let columns = (row.requested_at, row.subscription_id, standing);
        let billing = match (row.state.as_str(), columns) {
            ("notRequested", (None, None, None)) => Billing::NotRequested,
            ("requested", (Some(at), None, None)) => Billing::Requested { at },
            ("incomplete", (Some(requested_at), Some(subscription_id), None)) => {
                Billing::Incomplete {
                    requested_at,
                    subscription_id,
                }
            }
            ("active", (Some(requested_at), Some(subscription_id), Some(standing))) => {
                Billing::Active {
                    requested_at,
                    subscription_id,
                    standing,
                }
            }
            ("ended", (Some(requested_at), Some(subscription_id), None)) => Billing::Ended {
                requested_at,
                subscription_id,
            },
            _ => return Err(at.corrupt("state", "is none of a subscription with these columns")),
        };
        Ok(Recurring {
            billing,
            method: at.json_if("method", row.method)?,
            paid_cycles: at.count("paid_cycles", row.paid_cycles)?,
            failure_count: at.count("failure_count", row.failure_count)?,
            dispute_id: row.dispute_id,
            settled_dispute_id: row.settled_dispute_id,
            last_failure: at.json_if("last_failure", row.last_failure)?,
        })
    }
}
