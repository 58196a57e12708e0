//! What is held of the deposit, or taken.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{Deposit, Hold, Snapshot};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use crate::postgres::decode::Place;
use crate::postgres::schema::checkout_deposits;

#[derive(Debug, PartialEq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkout_deposits, primary_key(organization_id, checkout_id))]
#[diesel(
    check_for_backend(Pg),
    treat_none_as_null = true,
    treat_none_as_default_value = false
)]
pub(in crate::postgres::checkouts) struct DepositRow {
    organization_id: i64,
    checkout_id: Uuid,
    mode: String,
    state: String,
    method_id: Option<String>,
    payment_intent_id: Option<String>,
    hold_expires_at: Option<Timestamp>,
    capture_requested_at: Option<Timestamp>,
    invoice_id: Option<String>,
    captured_at: Option<Timestamp>,
    lapses: bool,
}

/// What the row stands for.
#[derive(Default)]
pub(super) struct DepositPart {
    pub(super) method_id: Option<String>,
    pub(super) deposit: Deposit,
    pub(super) capture_requested_at: Option<Timestamp>,
}

impl DepositRow {
    pub(super) fn of(checkout: &Snapshot) -> Option<Self> {
        let state = match &checkout.deposit {
            Deposit::Open
                if checkout.deposit_method_id.is_none()
                    && checkout.capture_requested_at.is_none() =>
            {
                return None;
            }
            Deposit::Open => "open",
            Deposit::Waived => "waived",
            Deposit::Authorized { .. } => "authorized",
            Deposit::Captured { .. } => "captured",
        };
        let hold = checkout.deposit.hold();
        Some(Self {
            organization_id: checkout.organization_id.get(),
            checkout_id: checkout.id.as_uuid(),
            mode: checkout.mode.as_str().to_owned(),
            state: state.to_owned(),
            method_id: checkout.deposit_method_id.clone(),
            payment_intent_id: hold.map(|hold| hold.payment_intent_id.clone()),
            hold_expires_at: hold.map(|hold| hold.expires_at),
            capture_requested_at: checkout.capture_requested_at,
            invoice_id: checkout.deposit.invoice_id().map(str::to_owned),
            captured_at: checkout.deposit.captured_at(),
            lapses: checkout.deposit.open_hold().is_some() && !checkout.lifecycle().is_ended(),
        })
    }

    pub(super) fn read(row: Option<Self>, id: &CheckoutPubId) -> Result<DepositPart, StoreError> {
        let Some(row) = row else {
            return Ok(DepositPart::default());
        };
        let at = Place::new("checkout_deposits", id);
        let hold = match (row.payment_intent_id, row.hold_expires_at) {
            (None, None) => None,
            (Some(payment_intent_id), Some(expires_at)) => Some(Hold {
                payment_intent_id,
                expires_at,
            }),
            _ => return Err(at.corrupt("hold_expires_at", "comes with an intent, or not at all")),
        };
        let deposit = match (row.state.as_str(), hold, row.invoice_id, row.captured_at) {
            ("open", None, None, None) => Deposit::Open,
            ("waived", None, None, None) => Deposit::Waived,
            ("authorized", Some(hold), None, None) => Deposit::Authorized { hold },
            ("captured", Some(hold), Some(invoice_id), Some(at)) => Deposit::Captured {
                hold,
                invoice_id,
                at,
            },
            _ => return Err(at.corrupt("state", "is none of a deposit with these columns")),
        };
        Ok(DepositPart {
            method_id: row.method_id,
            deposit,
            capture_requested_at: row.capture_requested_at,
        })
    }
}
