//! Rows of checkouts and their items, how they are read, and how they become entities.

use std::collections::HashMap;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::address::Address;
use lessor_domain::checkout::{
    Checkout, CheckoutAddress, CheckoutItem, ChosenTerm, Deposit, LeaseDates, MilestoneTimes,
    Recurring, Redirects, Return, Shipment, State, Tracking, Waitlist, WaitlistReason,
};
use lessor_domain::fulfillment::{Carrier, TrackingNumber};
use lessor_domain::ids::{
    CheckoutItemPubId, CheckoutPubId, CustomerPubId, LeaseTermId, LeaseTermPubId, PickupLocationId,
    ProductPubId, ProductVariantPubId, UserId,
};
use lessor_domain::percentage::TermMonths;
use lessor_domain::ports::StoreError;
use lessor_domain::text::{Name, Sku, Url};
use lessor_domain::time::{Day, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::postgres::decode::{Place, counted, json};
use crate::postgres::error::store_error;
use crate::postgres::schema::{checkout_items, checkouts};

/// A checkout without its items, and without what only the store knows: the page
/// token's hash, the place in a queue, the turn of its shipment.
#[derive(Debug, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkouts, check_for_backend(Pg))]
#[diesel(treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct CheckoutRow {
    pub(super) id: Uuid,
    organization_id: i64,
    mode: String,
    customer_id: Uuid,
    user_id: i64,
    product_id: Uuid,
    variant_id: Uuid,
    term_id: Option<Uuid>,
    lease_term_id: Option<i64>,
    term_in_months: Option<i32>,
    pub(super) lifecycle: String,
    previous_lifecycle: Option<String>,
    external_order_id: Option<String>,
    insurance_status: String,
    quote: Option<Value>,
    purchase_items: Value,
    redirects: Value,
    billing: Value,
    shipping: Value,
    pickup_location_id: Option<i64>,
    deposit_method_id: Option<String>,
    payment_intent_id: Option<String>,
    preauth_expires_at: Option<Timestamp>,
    deposit_invoice_id: Option<String>,
    deposit_captured_at: Option<Timestamp>,
    holds_stock: bool,
    lease_document_id: Option<String>,
    signed_at: Option<Timestamp>,
    recurring_status: String,
    subscription_requested_at: Option<Timestamp>,
    subscription_id: Option<String>,
    recurring_method: Option<Value>,
    paid_cycles: i32,
    payment_failure_count: i32,
    dispute_id: Option<String>,
    settled_dispute_id: Option<String>,
    last_payment_failure: Option<Value>,
    tracking_number: Option<String>,
    tracking_carrier: Option<String>,
    tracking_status: Option<String>,
    shipped_at: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    signed_by: Option<String>,
    return_initiated_at: Option<Timestamp>,
    return_completed_at: Option<Timestamp>,
    return_cancelled_at: Option<Timestamp>,
    return_reason: Option<String>,
    return_notes: Option<String>,
    waitlist_reason: Option<String>,
    waitlist_address: Option<Value>,
    waitlist_reason_code: Option<String>,
    lease_start: Option<Day>,
    lease_end: Option<Day>,
    confirmed_at: Option<Timestamp>,
    active_at: Option<Timestamp>,
    cancel_reason: Option<String>,
    page_nonce: Vec<u8>,
    created_at: Timestamp,
    updated_at: Timestamp,
    pub(super) version: i64,
}

/// Checkouts to be read. Every read of whole checkouts is of this one type: to the
/// compiler each new type of statement over this many columns costs many seconds.
pub(super) type Query<'a> = checkouts::BoxedQuery<'a, Pg>;

/// The rows that the query finds, in its order.
pub(super) async fn load_rows(
    connection: &mut AsyncPgConnection,
    query: Query<'_>,
) -> Result<Vec<CheckoutRow>, StoreError> {
    query
        .select(CheckoutRow::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

/// The checkouts that the query finds, in its order, with their items: two statements,
/// however many they are.
pub(super) async fn load(
    connection: &mut AsyncPgConnection,
    query: Query<'_>,
) -> Result<Vec<Checkout>, StoreError> {
    let rows = load_rows(connection, query).await?;
    with_items(connection, rows).await
}

/// The one checkout that the query finds.
pub(super) async fn load_one(
    connection: &mut AsyncPgConnection,
    query: Query<'_>,
) -> Result<Option<Checkout>, StoreError> {
    let found = load(connection, query.limit(1)).await?;
    Ok(found.into_iter().next())
}

/// The checkouts of these rows, in their order.
pub(super) async fn with_items(
    connection: &mut AsyncPgConnection,
    rows: Vec<CheckoutRow>,
) -> Result<Vec<Checkout>, StoreError> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let mut items: HashMap<Uuid, Vec<ItemRow>> = HashMap::new();
    if !ids.is_empty() {
        let found: Vec<ItemRow> = checkout_items::table
            .filter(checkout_items::checkout_id.eq_any(&ids))
            .order(checkout_items::position)
            .select(ItemRow::as_select())
            .load(connection)
            .await
            .map_err(store_error)?;
        for item in found {
            items.entry(item.checkout_id).or_default().push(item);
        }
    }
    rows.into_iter()
        .map(|row| {
            let own = items.remove(&row.id).unwrap_or_default();
            row.into_checkout(own)
        })
        .collect()
}

/// A leased thing.
#[derive(Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = checkout_items, check_for_backend(Pg))]
#[diesel(treat_none_as_default_value = false)]
pub(super) struct ItemRow {
    id: Uuid,
    pub(super) checkout_id: Uuid,
    position: i32,
    variant_id: Uuid,
    sku: String,
    name: String,
    serial_number: Option<String>,
}

/// [`Redirects`] as they are kept.
#[derive(Serialize, Deserialize)]
struct KeptRedirects {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    success: Option<Url>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cancel: Option<Url>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Url>,
}

/// A [`CheckoutAddress`] as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptAddress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<Address>,
    locked: bool,
}

impl From<&CheckoutAddress> for KeptAddress {
    fn from(of: &CheckoutAddress) -> Self {
        Self {
            address: of.address.clone(),
            locked: of.locked,
        }
    }
}

impl From<KeptAddress> for CheckoutAddress {
    fn from(kept: KeptAddress) -> Self {
        Self {
            address: kept.address,
            locked: kept.locked,
        }
    }
}

impl CheckoutRow {
    /// The row of the checkout.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when a count is beyond what the table can hold.
    pub(super) fn of(checkout: &Checkout) -> Result<Self, StoreError> {
        let tracking = checkout.shipment.tracking.as_ref();
        let waitlist = checkout.waitlist.as_ref();
        Ok(Self {
            id: checkout.id.as_uuid(),
            organization_id: checkout.organization_id.get(),
            mode: checkout.mode.as_str().to_owned(),
            customer_id: checkout.customer_id.as_uuid(),
            user_id: checkout.user_id.get(),
            product_id: checkout.product_id.as_uuid(),
            variant_id: checkout.variant_id.as_uuid(),
            term_id: checkout.term.map(|term| term.id.as_uuid()),
            lease_term_id: checkout.term.map(|term| term.lease_term_id.get()),
            term_in_months: checkout.term.map(|term| i32::from(term.months.get())),
            lifecycle: checkout.lifecycle().as_str().to_owned(),
            previous_lifecycle: checkout
                .previous_lifecycle()
                .map(|state| state.as_str().to_owned()),
            external_order_id: text(checkout.external_order_id.as_ref()),
            insurance_status: checkout.insurance.as_str().to_owned(),
            quote: checkout.quote.as_ref().map(json).transpose()?,
            purchase_items: json(&checkout.purchase_items)?,
            redirects: json(&KeptRedirects {
                success: checkout.redirects.success.clone(),
                cancel: checkout.redirects.cancel.clone(),
                failure: checkout.redirects.failure.clone(),
            })?,
            billing: json(&KeptAddress::from(&checkout.billing))?,
            shipping: json(&KeptAddress::from(&checkout.shipping))?,
            pickup_location_id: checkout.pickup_location_id.map(PickupLocationId::get),
            deposit_method_id: checkout.deposit.method_id.clone(),
            payment_intent_id: checkout.deposit.payment_intent_id.clone(),
            preauth_expires_at: checkout.deposit.preauth_expires_at,
            deposit_invoice_id: checkout.deposit.invoice_id.clone(),
            deposit_captured_at: checkout.deposit.captured_at,
            holds_stock: checkout.holds_stock,
            lease_document_id: checkout.lease_document_id.clone(),
            signed_at: checkout.signed_at,
            recurring_status: checkout.recurring.status.as_str().to_owned(),
            subscription_requested_at: checkout.recurring.requested_at,
            subscription_id: checkout.recurring.subscription_id.clone(),
            recurring_method: checkout.recurring.method.as_ref().map(json).transpose()?,
            paid_cycles: counted(checkout.recurring.paid_cycles)?,
            payment_failure_count: counted(checkout.recurring.failure_count)?,
            dispute_id: checkout.recurring.dispute_id.clone(),
            settled_dispute_id: checkout.recurring.settled_dispute_id.clone(),
            last_payment_failure: checkout
                .recurring
                .last_failure
                .as_ref()
                .map(json)
                .transpose()?,
            tracking_number: text(tracking.map(|tracking| &tracking.number)),
            tracking_carrier: tracking.map(|tracking| tracking.carrier.as_str().to_owned()),
            tracking_status: checkout
                .shipment
                .status
                .map(|status| status.as_str().to_owned()),
            shipped_at: checkout.shipment.shipped_at,
            delivered_at: checkout.shipment.delivered_at,
            signed_by: text(checkout.shipment.signed_by.as_ref()),
            return_initiated_at: checkout.return_.initiated_at,
            return_completed_at: checkout.return_.completed_at,
            return_cancelled_at: checkout.return_.cancelled_at,
            return_reason: text(checkout.return_.reason.as_ref()),
            return_notes: text(checkout.return_.notes.as_ref()),
            waitlist_reason: waitlist.map(|waitlist| waitlist.reason.as_str().to_owned()),
            waitlist_address: waitlist
                .and_then(|waitlist| waitlist.address.as_ref())
                .map(json)
                .transpose()?,
            waitlist_reason_code: waitlist
                .and_then(|waitlist| waitlist.reason_code)
                .map(|code| code.as_str().to_owned()),
            lease_start: checkout.lease.start,
            lease_end: checkout.lease.end,
            confirmed_at: checkout.milestones.confirmed_at,
            active_at: checkout.milestones.active_at,
            cancel_reason: text(checkout.cancel_reason.as_ref()),
            page_nonce: checkout.page_nonce.to_vec(),
            created_at: checkout.created_at,
            updated_at: checkout.updated_at,
            version: checkout.version,
        })
    }

    /// The checkout of the row and its items.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] naming the column whose value no checkout can have.
    pub(super) fn into_checkout(self, items: Vec<ItemRow>) -> Result<Checkout, StoreError> {
        let id = CheckoutPubId::from_uuid(self.id);
        let at = Place::new("checkouts", &id);
        let redirects: KeptRedirects = at.json("redirects", self.redirects)?;
        Ok(Checkout {
            id,
            organization_id: at.number("organization_id", self.organization_id)?,
            mode: at.parse("mode", &self.mode)?,
            customer_id: CustomerPubId::from_uuid(self.customer_id),
            user_id: at.number::<UserId>("user_id", self.user_id)?,
            product_id: ProductPubId::from_uuid(self.product_id),
            variant_id: ProductVariantPubId::from_uuid(self.variant_id),
            items: items
                .into_iter()
                .map(ItemRow::into_item)
                .collect::<Result<_, _>>()?,
            term: term(&at, self.term_id, self.lease_term_id, self.term_in_months)?,
            quote: at.json_if("quote", self.quote)?,
            purchase_items: at.json("purchase_items", self.purchase_items)?,
            external_order_id: at.parse_if("external_order_id", self.external_order_id)?,
            redirects: Redirects {
                success: redirects.success,
                cancel: redirects.cancel,
                failure: redirects.failure,
            },
            billing: at.json::<KeptAddress>("billing", self.billing)?.into(),
            shipping: at.json::<KeptAddress>("shipping", self.shipping)?.into(),
            pickup_location_id: self
                .pickup_location_id
                .map(|number| at.number("pickup_location_id", number))
                .transpose()?,
            state: State::restore(
                at.parse("lifecycle", &self.lifecycle)?,
                at.parse_if("previous_lifecycle", self.previous_lifecycle)?,
            ),
            insurance: at.parse("insurance_status", &self.insurance_status)?,
            deposit: Deposit {
                method_id: self.deposit_method_id,
                payment_intent_id: self.payment_intent_id,
                preauth_expires_at: self.preauth_expires_at,
                invoice_id: self.deposit_invoice_id,
                captured_at: self.deposit_captured_at,
            },
            holds_stock: self.holds_stock,
            lease_document_id: self.lease_document_id,
            signed_at: self.signed_at,
            recurring: Recurring {
                status: at.parse("recurring_status", &self.recurring_status)?,
                requested_at: self.subscription_requested_at,
                subscription_id: self.subscription_id,
                method: at.json_if("recurring_method", self.recurring_method)?,
                paid_cycles: at.count("paid_cycles", self.paid_cycles)?,
                failure_count: at.count("payment_failure_count", self.payment_failure_count)?,
                dispute_id: self.dispute_id,
                settled_dispute_id: self.settled_dispute_id,
                last_failure: at.json_if("last_payment_failure", self.last_payment_failure)?,
            },
            shipment: Shipment {
                tracking: tracking(&at, self.tracking_number, self.tracking_carrier)?,
                status: at.parse_if("tracking_status", self.tracking_status)?,
                shipped_at: self.shipped_at,
                delivered_at: self.delivered_at,
                signed_by: at.parse_if("signed_by", self.signed_by)?,
            },
            return_: Return {
                initiated_at: self.return_initiated_at,
                completed_at: self.return_completed_at,
                cancelled_at: self.return_cancelled_at,
                reason: at.parse_if("return_reason", self.return_reason)?,
                notes: at.parse_if("return_notes", self.return_notes)?,
            },
            waitlist: match at
                .parse_if::<WaitlistReason>("waitlist_reason", self.waitlist_reason)?
            {
                Some(reason) => Some(Waitlist {
                    reason,
                    address: at.json_if("waitlist_address", self.waitlist_address)?,
                    reason_code: at.parse_if("waitlist_reason_code", self.waitlist_reason_code)?,
                }),
                None => None,
            },
            lease: LeaseDates {
                start: self.lease_start,
                end: self.lease_end,
            },
            milestones: MilestoneTimes {
                confirmed_at: self.confirmed_at,
                active_at: self.active_at,
            },
            cancel_reason: at.parse_if("cancel_reason", self.cancel_reason)?,
            page_nonce: at.bytes("page_nonce", self.page_nonce)?,
            created_at: self.created_at,
            updated_at: self.updated_at,
            version: self.version,
        })
    }
}

impl ItemRow {
    /// The rows of the checkout's items.
    pub(super) fn of(checkout: &Checkout) -> Vec<Self> {
        checkout
            .items
            .iter()
            .zip(0..)
            .map(|(item, position)| Self {
                id: item.id.as_uuid(),
                checkout_id: checkout.id.as_uuid(),
                position,
                variant_id: item.variant_id.as_uuid(),
                sku: item.sku.as_str().to_owned(),
                name: item.name.as_str().to_owned(),
                serial_number: text(item.serial_number.as_ref()),
            })
            .collect()
    }

    fn into_item(self) -> Result<CheckoutItem, StoreError> {
        let id = CheckoutItemPubId::from_uuid(self.id);
        let at = Place::new("checkout_items", &id);
        Ok(CheckoutItem {
            id,
            variant_id: ProductVariantPubId::from_uuid(self.variant_id),
            sku: at.parse::<Sku>("sku", &self.sku)?,
            name: at.parse::<Name>("name", &self.name)?,
            serial_number: at.parse_if("serial_number", self.serial_number)?,
        })
    }
}

fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

fn term(
    at: &Place<'_>,
    id: Option<Uuid>,
    number: Option<i64>,
    months: Option<i32>,
) -> Result<Option<ChosenTerm>, StoreError> {
    match (id, number, months) {
        (None, None, None) => Ok(None),
        (Some(id), Some(number), Some(months)) => Ok(Some(ChosenTerm {
            id: LeaseTermPubId::from_uuid(id),
            lease_term_id: at.number::<LeaseTermId>("lease_term_id", number)?,
            months: u16::try_from(months)
                .ok()
                .and_then(|months| TermMonths::new(months).ok())
                .ok_or_else(|| at.corrupt("term_in_months", "is no length of a lease"))?,
        })),
        _ => Err(at.corrupt(
            "term_id",
            "is there without number and months, or not with them",
        )),
    }
}

fn tracking(
    at: &Place<'_>,
    number: Option<String>,
    carrier: Option<String>,
) -> Result<Option<Tracking>, StoreError> {
    let number = number
        .map(|number| {
            TrackingNumber::parse(&number)
                .map_err(|error| at.corrupt("tracking_number", &error.to_string()))
        })
        .transpose()?;
    match (number, at.parse_if::<Carrier>("tracking_carrier", carrier)?) {
        (None, None) => Ok(None),
        (Some(number), Some(carrier)) => Ok(Some(Tracking { number, carrier })),
        _ => Err(at.corrupt(
            "tracking_carrier",
            "is there without a number, or not with one",
        )),
    }
}
