//! What is held of the deposit, or taken.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{Deposit, Hold, Renewals, Snapshot};
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
    submitted_at: Option<Timestamp>,
    payment_intent_id: Option<String>,
    hold_expires_at: Option<Timestamp>,
    renewals_made: Option<i32>,
    renewals_refused: Option<i32>,
    renewal_refused_at: Option<Timestamp>,
    renewal_is_barred: Option<bool>,
    capture_requested_at: Option<Timestamp>,
    invoice_id: Option<String>,
    captured_at: Option<Timestamp>,
    lapses: bool,
}

/// What the row stands for.
#[derive(Default)]
pub(super) struct DepositPart {
    pub(super) method_id: Option<String>,
    pub(super) submitted_at: Option<Timestamp>,
    pub(super) deposit: Deposit,
    pub(super) capture_requested_at: Option<Timestamp>,
}

/// A number of renewals.
fn few(at: &Place<'_>, column: &'static str, number: i32) -> Result<u8, StoreError> {
    u8::try_from(number).map_err(|_| at.corrupt(column, "is no number of renewals"))
}

impl DepositRow {
    pub(super) fn of(checkout: &Snapshot) -> Option<Self> {
        let state = match &checkout.deposit {
            Deposit::Open
                if checkout.deposit_method_id.is_none()
                    && checkout.deposit_submitted_at.is_none()
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
        let renewals = hold.map(|hold| hold.renewals);
        Some(Self {
            organization_id: checkout.organization_id.get(),
            checkout_id: checkout.id.as_uuid(),
            mode: checkout.mode.as_str().to_owned(),
            state: state.to_owned(),
            method_id: checkout.deposit_method_id.clone(),
            submitted_at: checkout.deposit_submitted_at,
            payment_intent_id: hold.map(|hold| hold.payment_intent_id.clone()),
            hold_expires_at: hold.map(|hold| hold.expires_at),
            renewals_made: renewals.map(|renewals| renewals.made.into()),
            renewals_refused: renewals.map(|renewals| renewals.refused.into()),
            renewal_refused_at: renewals.and_then(|renewals| renewals.refused_at),
            renewal_is_barred: renewals.map(|renewals| renewals.is_barred),
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
        let renewals = match (
            row.renewals_made,
            row.renewals_refused,
            row.renewal_refused_at,
            row.renewal_is_barred,
        ) {
            (None, None, None, None) => None,
            (Some(made), Some(refused), refused_at, Some(is_barred)) => Some(Renewals {
                made: few(&at, "renewals_made", made)?,
                refused: few(&at, "renewals_refused", refused)?,
                refused_at,
                is_barred,
            }),
            _ => return Err(at.corrupt("renewals_made", "comes with the others, or not at all")),
        };
        let hold = match (row.payment_intent_id, row.hold_expires_at, renewals) {
            (None, None, None) => None,
            (Some(payment_intent_id), Some(expires_at), Some(renewals)) => Some(Hold {
                payment_intent_id,
                expires_at,
                renewals,
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
            submitted_at: row.submitted_at,
            deposit,
            capture_requested_at: row.capture_requested_at,
        })
    }
}
