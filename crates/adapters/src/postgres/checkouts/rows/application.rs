//! What is ordered and agreed, and where it goes.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::checkout::{Acceptance, CheckoutAddress, PurchaseItem, Redirects, Snapshot};
use lessor_domain::customer::Profile;
use lessor_domain::ids::{CheckoutPubId, PickupLocationId};
use lessor_domain::metadata::Metadata;
use lessor_domain::ports::StoreError;
use lessor_domain::pricing::Quote;
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use crate::postgres::decode::Place;
use crate::postgres::json::{Json, json};
use crate::postgres::schema::checkout_applications;

/// The row, without what only the store knows: the hashes of the page's tokens, and where the browser
/// was sent.
#[derive(Debug, PartialEq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = checkout_applications, primary_key(organization_id, checkout_id))]
#[diesel(
    check_for_backend(Pg),
    treat_none_as_null = true,
    treat_none_as_default_value = false
)]
pub(in crate::postgres::checkouts) struct ApplicationRow {
    organization_id: i64,
    checkout_id: Uuid,
    purchase_items: Json,
    redirects: Json,
    given_profile: Option<Json>,
    billing: Json,
    shipping: Json,
    pickup_location_id: Option<i64>,
    identity_requested_at: Option<Timestamp>,
    quote: Option<Json>,
    accepted_at: Option<Timestamp>,
    accepted_version: Option<String>,
    lease_document_id: Option<String>,
    signed_at: Option<Timestamp>,
    page_nonce: Vec<u8>,
    metadata: Json,
}

/// What the row stands for.
pub(super) struct Application {
    pub(super) purchase_items: Vec<PurchaseItem>,
    pub(super) redirects: Redirects,
    pub(super) given_profile: Option<Profile>,
    pub(super) billing: CheckoutAddress,
    pub(super) shipping: CheckoutAddress,
    pub(super) pickup_location_id: Option<PickupLocationId>,
    pub(super) identity_requested_at: Option<Timestamp>,
    pub(super) quote: Option<Quote>,
    pub(super) accepted: Option<Acceptance>,
    pub(super) lease_document_id: Option<String>,
    pub(super) signed_at: Option<Timestamp>,
    pub(super) page_nonce: [u8; 16],
    pub(super) metadata: Metadata,
}

impl ApplicationRow {
    pub(super) fn of(checkout: &Snapshot) -> Result<Self, StoreError> {
        Ok(Self {
            organization_id: checkout.organization_id.get(),
            checkout_id: checkout.id.as_uuid(),
            purchase_items: json(&checkout.purchase_items)?,
            redirects: json(&checkout.redirects)?,
            given_profile: checkout.given_profile.as_ref().map(json).transpose()?,
            billing: json(&checkout.billing)?,
            shipping: json(&checkout.shipping)?,
            pickup_location_id: checkout.pickup_location_id.map(PickupLocationId::get),
            identity_requested_at: checkout.identity_requested_at,
            quote: checkout.quote.as_ref().map(json).transpose()?,
            accepted_at: checkout.accepted.as_ref().map(|accepted| accepted.at),
            accepted_version: (checkout.accepted.as_ref()).map(|accepted| accepted.version.clone()),
            lease_document_id: checkout.lease_document_id.clone(),
            signed_at: checkout.signed_at,
            page_nonce: checkout.page_nonce.to_vec(),
            metadata: json(&checkout.metadata)?,
        })
    }

    pub(super) fn read(row: Option<Self>, id: &CheckoutPubId) -> Result<Application, StoreError> {
        let at = Place::new("checkout_applications", id);
        let row = row.ok_or_else(|| at.corrupt("checkout_id", "is missing"))?;
        Ok(Application {
            purchase_items: at.json("purchase_items", row.purchase_items)?,
            redirects: at.json("redirects", row.redirects)?,
            given_profile: at.json_if("given_profile", row.given_profile)?,
            billing: at.json("billing", row.billing)?,
            shipping: at.json("shipping", row.shipping)?,
            pickup_location_id: at.number_if("pickup_location_id", row.pickup_location_id)?,
            identity_requested_at: row.identity_requested_at,
            quote: at.json_if("quote", row.quote)?,
            accepted: match (row.accepted_at, row.accepted_version) {
                (Some(at), Some(version)) => Some(Acceptance { at, version }),
                (None, None) => None,
                _ => return Err(at.corrupt("accepted_at", "is there without accepted_version")),
            },
            lease_document_id: row.lease_document_id,
            signed_at: row.signed_at,
            page_nonce: at.bytes("page_nonce", row.page_nonce)?,
            metadata: at.json("metadata", row.metadata)?,
        })
    }
}
