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
mod part;
mod return_;
mod shipment;
mod wait;

use std::collections::HashMap;

use diesel::dsl::{AsSelect, IntoBoxed};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::{Checkout, Snapshot};
use lessor_domain::credit::Qualification;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use uuid::Uuid;

pub(super) use self::application::ApplicationRow;
pub(super) use self::billing::BillingRow;
pub(super) use self::checkout::CheckoutRow;
pub(super) use self::deposit::DepositRow;
pub(super) use self::item::ItemRow;
pub(in crate::postgres) use self::part::{Column, sent};
use self::part::{Part, parts};
pub(super) use self::return_::ReturnRow;
pub(super) use self::shipment::ShipmentRow;
pub(super) use self::wait::WaitRow;
use crate::postgres::credit::{QualificationRow, latest_of_checkout};
use crate::postgres::decode::Place;
use crate::postgres::error::store_error;
use crate::postgres::kept::{Keep as _, Text};
use crate::postgres::schema::{
    checkout_applications, checkout_billing, checkout_deposits, checkout_items, checkout_returns,
    checkout_shipments, checkout_waits, checkouts,
};
use crate::postgres::written::{Pieces, Written};

/// Checkouts to be read. Every read of whole checkouts is of this one type: to the
/// compiler each new type of statement over this many columns costs many seconds.
pub(super) type Query<'a> = IntoBoxed<'a, checkouts::table, Pg>;

parts! {
    application: ApplicationRow of checkout_applications;
    wait: WaitRow of checkout_waits;
    deposit: DepositRow of checkout_deposits;
    billing: BillingRow of checkout_billing;
    shipment: ShipmentRow of checkout_shipments;
    return_: ReturnRow of checkout_returns;
    items: ItemRow of checkout_items by position;
}

/// A checkout as it is read.
type Found = (
    CheckoutRow,
    Part<ApplicationRow>,
    Part<WaitRow>,
    Part<DepositRow>,
    Part<BillingRow>,
    Part<ShipmentRow>,
    Part<ReturnRow>,
    Part<ItemRow>,
);

/// What the database gives of it.
type Columns = (
    AsSelect<CheckoutRow, Pg>,
    Column<ApplicationRow>,
    Column<WaitRow>,
    Column<DepositRow>,
    Column<BillingRow>,
    Column<ShipmentRow>,
    Column<ReturnRow>,
    Column<ItemRow>,
);

/// Each checkout with its parts, of this owner's.
fn whole(owner: i64) -> Written<Columns> {
    static PIECES: Pieces = Pieces::new();
    Written::new(&PIECES, owner, || {
        (
            CheckoutRow::as_select(),
            application(owner),
            wait(owner),
            deposit(owner),
            billing(owner),
            shipment(owner),
            return_(owner),
            items(owner),
        )
    })
}

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

/// The owner's checkouts that the query finds, in its order: one statement, however many they are.
pub(super) async fn load(
    connection: &AsyncPgConnection,
    owner: i64,
    query: Query<'_>,
) -> Result<Vec<Checkout>, StoreError> {
    load_as(None, connection, owner, query).await
}

/// The owner's checkouts that the query finds, in its order; its text, where it has a single one.
async fn load_as(
    text: Option<&'static Text>,
    mut connection: &AsyncPgConnection,
    owner: i64,
    query: Query<'_>,
) -> Result<Vec<Checkout>, StoreError> {
    let query = query.select(whole(owner));
    let found: Vec<Found> = query
        .kept_as(text)
        .load(&mut connection)
        .await
        .map_err(store_error)?;
    found.into_iter().map(restore).collect()
}

/// The owner's one checkout that the query finds.
pub(super) async fn load_one(
    connection: &AsyncPgConnection,
    owner: i64,
    query: Query<'_>,
) -> Result<Option<Checkout>, StoreError> {
    let found = load(connection, owner, query.limit(1)).await?;
    Ok(found.into_iter().next())
}

/// The checkout of this key.
pub(super) async fn get(
    connection: &AsyncPgConnection,
    (owner, id): (i64, Uuid),
) -> Result<Option<Checkout>, StoreError> {
    static TEXT: Text = Text::new();
    let one = checkouts::table.find((owner, id)).into_boxed();
    let found = load_as(Some(&TEXT), connection, owner, one).await?;
    Ok(found.into_iter().next())
}

/// The checkout of this key, and what was decided last of its customer's credit.
pub(super) async fn get_with_decision(
    mut connection: &AsyncPgConnection,
    key: (i64, Uuid),
) -> Result<Option<(Checkout, Option<Qualification>)>, StoreError> {
    static TEXT: Text = Text::new();
    let (owner, _) = key;
    let found: Option<(Part<QualificationRow>, Found)> = checkouts::table
        .find(key)
        .select((latest_of_checkout(owner), whole(owner)))
        .kept_as(&TEXT)
        .get_result(&mut connection)
        .await
        .optional()
        .map_err(store_error)?;
    let Some((decided, found)) = found else {
        return Ok(None);
    };
    let decided = decided.single().map(TryInto::try_into).transpose()?;
    Ok(Some((restore(found)?, decided)))
}

/// The ids of the checkouts that the query finds, in its order. A page is found by them: the parts of what an offset skips
/// would be read as well.
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

/// The owner's checkouts of these ids, in their order.
pub(super) async fn load_all(
    connection: &AsyncPgConnection,
    owner: i64,
    ids: Vec<Uuid>,
) -> Result<Vec<Checkout>, StoreError> {
    static TEXT: Text = Text::new();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let those = checkouts::table
        .filter(checkouts::organization_id.eq(owner))
        .filter(checkouts::id.eq_any(ids.clone()))
        .into_boxed();
    let mut found = load_as(Some(&TEXT), connection, owner, those).await?;
    let places: HashMap<Uuid, usize> = ids.into_iter().zip(0..).collect();
    found.sort_by_key(|checkout| places.get(&checkout.id.as_uuid()).copied());
    Ok(found)
}

/// The checkout of the rows.
///
/// # Errors
/// [`StoreError::Corrupt`] naming what no checkout can have.
fn restore(found: Found) -> Result<Checkout, StoreError> {
    let (checkout, application, wait, deposit, billing, shipment, return_, items) = found;
    let (_, id) = checkout.key();
    let id = CheckoutPubId::from_uuid(id);
    let core = checkout.read(&id)?;
    let application = ApplicationRow::read(application.single(), &id)?;
    let deposit = DepositRow::read(deposit.single(), &id)?;
    Checkout::restore(Snapshot {
        id,
        organization_id: core.organization_id,
        mode: core.mode,
        customer_id: core.customer_id,
        user_id: core.user_id,
        product_id: core.product_id,
        variant_id: core.variant_id,
        items: items.all().map(ItemRow::read).collect::<Result<_, _>>()?,
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
        recurring: BillingRow::read(billing.single(), &id)?,
        shipment: ShipmentRow::read(shipment.single(), &id)?,
        return_: ReturnRow::read(return_.single(), &id)?,
        waitlist: WaitRow::read(wait.single(), &id)?,
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
