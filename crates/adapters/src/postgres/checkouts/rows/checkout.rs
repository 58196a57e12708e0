//! The checkout's own row: who leases what, and where it stands.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::access::Mode;
use lessor_domain::checkout::{
    Attention, ChosenTerm, InsuranceStatus, LeaseDates, Lifecycle, MilestoneTimes, Snapshot, State,
    WaitlistReason,
};
use lessor_domain::ids::{
    CheckoutPubId, CustomerPubId, LeaseTermId, LeaseTermPubId, OrganizationId, ProductPubId,
    ProductVariantPubId, UserId,
};
use lessor_domain::percentage::TermMonths;
use lessor_domain::ports::StoreError;
use lessor_domain::text::{ExternalId, Line};
use lessor_domain::time::{Day, Timestamp};
use uuid::Uuid;

use super::text;
use crate::postgres::decode::Place;
use crate::postgres::json::{Json, json};
use crate::postgres::schema::checkouts;

/// The row, without the place in a queue, which only the store knows.
#[derive(Debug, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkouts, primary_key(organization_id, id), check_for_backend(Pg))]
#[diesel(treat_none_as_null = true, treat_none_as_default_value = false)]
pub(in crate::postgres::checkouts) struct CheckoutRow {
    organization_id: i64,
    id: Uuid,
    mode: String,
    customer_id: Uuid,
    user_id: i64,
    product_id: Uuid,
    variant_id: Uuid,
    term_id: Option<Uuid>,
    lease_term_id: Option<i64>,
    term_in_months: Option<i32>,
    lifecycle: String,
    previous_lifecycle: Option<String>,
    is_ended: bool,
    expires: bool,
    waits_for: String,
    may_hold_stock: bool,
    is_leased: bool,
    external_order_id: Option<String>,
    insurance_status: String,
    holds_stock: bool,
    lease_start: Option<Day>,
    lease_end: Option<Day>,
    confirmed_at: Option<Timestamp>,
    active_at: Option<Timestamp>,
    cancel_reason: Option<String>,
    attention: Json,
    acted_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
    version: i64,
}

/// What the row stands for.
pub(super) struct Core {
    pub(super) organization_id: OrganizationId,
    pub(super) mode: Mode,
    pub(super) customer_id: CustomerPubId,
    pub(super) user_id: UserId,
    pub(super) product_id: ProductPubId,
    pub(super) variant_id: ProductVariantPubId,
    pub(super) term: Option<ChosenTerm>,
    pub(super) external_order_id: Option<ExternalId>,
    pub(super) state: State,
    pub(super) insurance: InsuranceStatus,
    pub(super) holds_stock: bool,
    pub(super) lease: LeaseDates,
    pub(super) milestones: MilestoneTimes,
    pub(super) cancel_reason: Option<Line>,
    pub(super) attention: Vec<Attention>,
    pub(super) acted_at: Timestamp,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) version: i64,
}

/// What a checkout in the state waits for, as `lifecycle_states` says it.
fn waits_for(state: Lifecycle) -> &'static str {
    state.waits_for().map_or("none", WaitlistReason::as_str)
}

impl CheckoutRow {
    pub(super) fn of(checkout: &Snapshot) -> Result<Self, StoreError> {
        let state = checkout.lifecycle();
        Ok(Self {
            organization_id: checkout.organization_id.get(),
            id: checkout.id.as_uuid(),
            mode: checkout.mode.as_str().to_owned(),
            customer_id: checkout.customer_id.as_uuid(),
            user_id: checkout.user_id.get(),
            product_id: checkout.product_id.as_uuid(),
            variant_id: checkout.variant_id.as_uuid(),
            term_id: checkout.term.map(|term| term.id.as_uuid()),
            lease_term_id: checkout.term.map(|term| term.lease_term_id.get()),
            term_in_months: checkout.term.map(|term| i32::from(term.months.get())),
            lifecycle: state.as_str().to_owned(),
            previous_lifecycle: text(checkout.previous_lifecycle().as_ref()),
            is_ended: state.is_ended(),
            expires: state.expires(),
            waits_for: waits_for(state).to_owned(),
            may_hold_stock: state.may_hold_stock(),
            is_leased: state.is_leased(),
            external_order_id: text(checkout.external_order_id.as_ref()),
            insurance_status: checkout.insurance.as_str().to_owned(),
            holds_stock: checkout.holds_stock,
            lease_start: checkout.lease.start,
            lease_end: checkout.lease.end,
            confirmed_at: checkout.milestones.confirmed_at,
            active_at: checkout.milestones.active_at,
            cancel_reason: text(checkout.cancel_reason.as_ref()),
            attention: json(&checkout.attention)?,
            acted_at: checkout.acted_at,
            created_at: checkout.created_at,
            updated_at: checkout.updated_at,
            version: checkout.version,
        })
    }

    /// What every row of the checkout is found by.
    pub(in crate::postgres::checkouts) const fn key(&self) -> (i64, Uuid) {
        (self.organization_id, self.id)
    }

    /// The same row as another write of the checkout.
    pub(in crate::postgres::checkouts) const fn of_version(&mut self, version: i64) {
        self.version = version;
    }

    pub(super) fn read(self, id: &CheckoutPubId) -> Result<Core, StoreError> {
        let at = Place::new("checkouts", id);
        Ok(Core {
            organization_id: at.number("organization_id", self.organization_id)?,
            mode: at.parse("mode", &self.mode)?,
            customer_id: CustomerPubId::from_uuid(self.customer_id),
            user_id: at.number("user_id", self.user_id)?,
            product_id: ProductPubId::from_uuid(self.product_id),
            variant_id: ProductVariantPubId::from_uuid(self.variant_id),
            term: match (self.term_id, self.lease_term_id, self.term_in_months) {
                (None, None, None) => None,
                (Some(id), Some(number), Some(months)) => Some(ChosenTerm {
                    id: LeaseTermPubId::from_uuid(id),
                    lease_term_id: at.number::<LeaseTermId>("lease_term_id", number)?,
                    months: u16::try_from(months)
                        .ok()
                        .and_then(|months| TermMonths::new(months).ok())
                        .ok_or_else(|| at.corrupt("term_in_months", "is no length of a lease"))?,
                }),
                _ => {
                    return Err(
                        at.corrupt("term_id", "comes with its number and months, or not at all")
                    );
                }
            },
            external_order_id: at.parse_if("external_order_id", self.external_order_id)?,
            state: State::restore(
                at.parse("lifecycle", &self.lifecycle)?,
                at.parse_if("previous_lifecycle", self.previous_lifecycle)?,
            ),
            insurance: at.parse("insurance_status", &self.insurance_status)?,
            holds_stock: self.holds_stock,
            lease: LeaseDates {
                start: self.lease_start,
                end: self.lease_end,
            },
            milestones: MilestoneTimes {
                confirmed_at: self.confirmed_at,
                active_at: self.active_at,
            },
            cancel_reason: at.parse_if("cancel_reason", self.cancel_reason)?,
            attention: at.json("attention", self.attention)?,
            acted_at: self.acted_at,
            created_at: self.created_at,
            updated_at: self.updated_at,
            version: self.version,
        })
    }
}
