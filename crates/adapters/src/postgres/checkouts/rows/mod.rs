//! The rows of a checkout: a struct for each table, how they are read together, and how they
//! become the aggregate.
//!
//! Each file knows one table. `of` takes the aggregate apart; `read` matches the columns into the
//! value that they stand for, and names table, column and row where they stand for none. What a
//! checkout has nothing to say of has no row.

mod application;
mod billing;
mod checkout;
mod deposit;
mod item;
mod return_;
mod shipment;
mod wait;

use std::collections::HashMap;

use diesel::dsl::{IntoBoxed, auto_type};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::join;
use lessor_domain::checkout::{Checkout, Snapshot};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use uuid::Uuid;

pub(super) use self::application::ApplicationRow;
pub(super) use self::billing::BillingRow;
pub(super) use self::checkout::CheckoutRow;
pub(super) use self::deposit::DepositRow;
pub(super) use self::item::ItemRow;
pub(super) use self::return_::ReturnRow;
pub(super) use self::shipment::ShipmentRow;
pub(super) use self::wait::WaitRow;
use crate::postgres::decode::Place;
use crate::postgres::error::store_error;
use crate::postgres::kept::{Keep as _, Text};
use crate::postgres::schema::{
    checkout_applications, checkout_billing, checkout_deposits, checkout_items, checkout_returns,
    checkout_shipments, checkout_waits, checkouts,
};

/// Checkouts with their parts.
#[auto_type]
pub(super) fn whole() -> _ {
    checkouts::table
        .left_join(
            checkout_applications::table.on(checkout_applications::organization_id
                .eq(checkouts::organization_id)
                .and(checkout_applications::checkout_id.eq(checkouts::id))),
        )
        .left_join(
            checkout_waits::table.on(checkout_waits::organization_id
                .eq(checkouts::organization_id)
                .and(checkout_waits::checkout_id.eq(checkouts::id))),
        )
        .left_join(
            checkout_deposits::table.on(checkout_deposits::organization_id
                .eq(checkouts::organization_id)
                .and(checkout_deposits::checkout_id.eq(checkouts::id))),
        )
        .left_join(
            checkout_billing::table.on(checkout_billing::organization_id
                .eq(checkouts::organization_id)
                .and(checkout_billing::checkout_id.eq(checkouts::id))),
        )
        .left_join(
            checkout_shipments::table.on(checkout_shipments::organization_id
                .eq(checkouts::organization_id)
                .and(checkout_shipments::checkout_id.eq(checkouts::id))),
        )
        .left_join(
            checkout_returns::table.on(checkout_returns::organization_id
                .eq(checkouts::organization_id)
                .and(checkout_returns::checkout_id.eq(checkouts::id))),
        )
}

/// Checkouts to be read. Every read of whole checkouts is of this one type: to the
/// compiler each new type of statement over this many columns costs many seconds.
pub(super) type Query<'a> = IntoBoxed<'a, whole, Pg>;

/// A checkout as it is read, without its items.
type Found = (
    CheckoutRow,
    Option<ApplicationRow>,
    Option<WaitRow>,
    Option<DepositRow>,
    Option<BillingRow>,
    Option<ShipmentRow>,
    Option<ReturnRow>,
);

/// A checkout as it is kept.
pub(super) struct Rows {
    pub(super) checkout: CheckoutRow,
    pub(super) items: Vec<ItemRow>,
    pub(super) application: ApplicationRow,
    pub(super) wait: Option<WaitRow>,
    pub(super) deposit: Option<DepositRow>,
    pub(super) billing: Option<BillingRow>,
    pub(super) shipment: Option<ShipmentRow>,
    pub(super) return_: Option<ReturnRow>,
}

impl Rows {
    /// The rows of the checkout.
    ///
    /// # Errors
    /// [`StoreError::Internal`] when a count is beyond what a table can hold.
    pub(super) fn of(checkout: &Snapshot) -> Result<Self, StoreError> {
        Ok(Self {
            checkout: CheckoutRow::of(checkout)?,
            items: ItemRow::of(checkout),
            application: ApplicationRow::of(checkout)?,
            wait: WaitRow::of(checkout)?,
            deposit: DepositRow::of(checkout),
            billing: BillingRow::of(checkout)?,
            shipment: ShipmentRow::of(checkout),
            return_: ReturnRow::of(checkout),
        })
    }
}

/// The rows that the query finds, in its order.
pub(super) async fn find(
    connection: &AsyncPgConnection,
    query: Query<'_>,
) -> Result<Vec<Found>, StoreError> {
    read(connection, query, None).await
}

/// The rows that the query finds, in its order; its text, where it has a single one.
async fn read(
    mut connection: &AsyncPgConnection,
    query: Query<'_>,
    text: Option<&'static Text>,
) -> Result<Vec<Found>, StoreError> {
    let query = query.select((
        CheckoutRow::as_select(),
        Option::<ApplicationRow>::as_select(),
        Option::<WaitRow>::as_select(),
        Option::<DepositRow>::as_select(),
        Option::<BillingRow>::as_select(),
        Option::<ShipmentRow>::as_select(),
        Option::<ReturnRow>::as_select(),
    ));
    query
        .kept_as(text)
        .load(&mut connection)
        .await
        .map_err(store_error)
}

/// The items of checkouts, in their order.
async fn items_of(
    mut connection: &AsyncPgConnection,
    organizations: Vec<i64>,
    checkouts: Vec<Uuid>,
) -> Result<Vec<ItemRow>, StoreError> {
    static TEXTS: [Text; 2] = [const { Text::new() }; 2];
    let [of_one, of_many] = &TEXTS;
    let all = checkout_items::table
        .order(checkout_items::position)
        .select(ItemRow::as_select())
        .into_boxed();
    // By equality where there is one: the plan that is kept for a list reads all of a small table.
    let (those, text) = match (organizations.as_slice(), checkouts.as_slice()) {
        (&[organization], &[checkout]) => (
            all.filter(checkout_items::organization_id.eq(organization))
                .filter(checkout_items::checkout_id.eq(checkout)),
            of_one,
        ),
        _ => (
            all.filter(checkout_items::organization_id.eq_any(organizations))
                .filter(checkout_items::checkout_id.eq_any(checkouts)),
            of_many,
        ),
    };
    those
        .kept_as(text)
        .load(&mut connection)
        .await
        .map_err(store_error)
}

/// The checkouts that the query finds, in its order, with their items: two statements,
/// however many they are.
pub(super) async fn load(
    connection: &AsyncPgConnection,
    query: Query<'_>,
) -> Result<Vec<Checkout>, StoreError> {
    let found = find(connection, query).await?;
    with_items(connection, found).await
}

/// The one checkout that the query finds.
pub(super) async fn load_one(
    connection: &AsyncPgConnection,
    query: Query<'_>,
) -> Result<Option<Checkout>, StoreError> {
    let found = load(connection, query.limit(1)).await?;
    Ok(found.into_iter().next())
}

/// The checkout of this key: it and its items in one round trip.
pub(super) async fn get(
    connection: &AsyncPgConnection,
    (organization, id): (i64, Uuid),
) -> Result<Option<Checkout>, StoreError> {
    static TEXT: Text = Text::new();
    let one = whole()
        .filter(checkouts::organization_id.eq(organization))
        .filter(checkouts::id.eq(id))
        .into_boxed()
        .limit(1);
    let items = items_of(connection, vec![organization], vec![id]);
    let (found, items) = join(read(connection, one, Some(&TEXT)), items).await;
    let items = items?;
    let found = found?.into_iter().next();
    found.map(|rows| restore(rows, items)).transpose()
}

/// The checkouts of these rows, in their order.
pub(super) async fn with_items(
    connection: &AsyncPgConnection,
    found: Vec<Found>,
) -> Result<Vec<Checkout>, StoreError> {
    let (mut organizations, ids): (Vec<i64>, Vec<Uuid>) =
        found.iter().map(|(checkout, ..)| checkout.key()).unzip();
    organizations.sort_unstable();
    organizations.dedup();
    let items = if ids.is_empty() {
        Vec::new()
    } else {
        items_of(connection, organizations, ids).await?
    };
    restored(found, items)
}

/// The checkouts of these rows, in their order, each with those of the items that are its own.
fn restored(found: Vec<Found>, items: Vec<ItemRow>) -> Result<Vec<Checkout>, StoreError> {
    let mut of_each: HashMap<Uuid, Vec<ItemRow>> = HashMap::new();
    for item in items {
        of_each.entry(item.checkout_id()).or_default().push(item);
    }
    found
        .into_iter()
        .map(|rows| {
            let (_, id) = rows.0.key();
            restore(rows, of_each.remove(&id).unwrap_or_default())
        })
        .collect()
}

/// The ids of the checkouts that the query finds, in its order. A page is found by them, since of a part of a list whose
/// length the database is told later it plans to join more than it shows.
pub(super) async fn ids(
    mut connection: &AsyncPgConnection,
    query: Query<'_>,
) -> Result<Vec<Uuid>, StoreError> {
    query
        .select(checkouts::id)
        .kept()
        .load(&mut connection)
        .await
        .map_err(store_error)
}

/// The checkouts of these ids, in their order: they and their items in one round trip.
pub(super) async fn load_all(
    connection: &AsyncPgConnection,
    organization: i64,
    ids: Vec<Uuid>,
) -> Result<Vec<Checkout>, StoreError> {
    static TEXT: Text = Text::new();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let those = whole()
        .filter(checkouts::organization_id.eq(organization))
        .filter(checkouts::id.eq_any(ids.clone()))
        .into_boxed();
    let items = items_of(connection, vec![organization], ids.clone());
    let (found, items) = join(read(connection, those, Some(&TEXT)), items).await;
    let (mut found, items) = (found?, items?);
    let places: HashMap<Uuid, usize> = ids.into_iter().zip(0..).collect();
    found.sort_by_key(|rows| {
        let (_, id) = rows.0.key();
        places.get(&id).copied()
    });
    restored(found, items)
}

/// The checkout of the rows.
///
/// # Errors
/// [`StoreError::Corrupt`] naming what no checkout can have.
fn restore(found: Found, items: Vec<ItemRow>) -> Result<Checkout, StoreError> {
    let (checkout, application, wait, deposit, billing, shipment, return_) = found;
    let (_, id) = checkout.key();
    let id = CheckoutPubId::from_uuid(id);
    let core = checkout.read(&id)?;
    let application = ApplicationRow::read(application, &id)?;
    let deposit = DepositRow::read(deposit, &id)?;
    Checkout::restore(Snapshot {
        id,
        organization_id: core.organization_id,
        mode: core.mode,
        customer_id: core.customer_id,
        user_id: core.user_id,
        product_id: core.product_id,
        variant_id: core.variant_id,
        items: items
            .into_iter()
            .map(ItemRow::read)
            .collect::<Result<_, _>>()?,
        term: core.term,
        quote: application.quote,
        accepted: application.accepted,
        purchase_items: application.purchase_items,
        external_order_id: core.external_order_id,
        redirects: application.redirects,
        given_profile: application.given_profile,
        billing: application.billing,
        shipping: application.shipping,
        pickup_location_id: application.pickup_location_id,
        state: core.state,
        insurance: core.insurance,
        identity_requested_at: application.identity_requested_at,
        deposit_method_id: deposit.method_id,
        deposit_submitted_at: deposit.submitted_at,
        deposit: deposit.deposit,
        capture_requested_at: deposit.capture_requested_at,
        holds_stock: core.holds_stock,
        lease_document_id: application.lease_document_id,
        signed_at: application.signed_at,
        recurring: BillingRow::read(billing, &id)?,
        shipment: ShipmentRow::read(shipment, &id)?,
        return_: ReturnRow::read(return_, &id)?,
        waitlist: WaitRow::read(wait, &id)?,
        lease: core.lease,
        milestones: core.milestones,
        cancel_reason: core.cancel_reason,
        metadata: application.metadata,
        page_nonce: application.page_nonce,
        attention: core.attention,
        acted_at: core.acted_at,
        created_at: core.created_at,
        updated_at: core.updated_at,
        version: core.version,
    })
    .map_err(|unfit| Place::new("checkouts", &id).corrupt(unfit.part, &unfit.to_string()))
}

fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}
