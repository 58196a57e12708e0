//! Customers and their payment methods.

use chrono::Datelike;
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use lessor_domain::cause::tried;
use lessor_domain::checkout::{PaymentMethod, Refusal};
use lessor_domain::ids::CustomerPubId;
use lessor_domain::ports::{Doubt, ProcessorCustomer};
use lessor_domain::time::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::desk::{Desk, connection, query_doubt};
use super::email_tags::unknown;
use crate::postgres::PgUnitOfWork;
use crate::postgres::kept::Keep as _;
use crate::postgres::schema::{simulated_customers, simulated_payment_methods};

/// The test cards: the name by which each is asked for, its brand, its last digits.
const CARDS: &[(&str, &str, &str)] = &[
    ("pm_card_visa", "visa", "4242"),
    ("pm_card_mastercard", "mastercard", "4444"),
    ("pm_card_amex", "amex", "0005"),
    ("pm_card_discover", "discover", "1117"),
    (DECLINED_CARD, "visa", "0341"),
];
/// The card that can be set up, and that no bank lets pay.
const DECLINED_CARD: &str = "pm_card_chargeCustomerFail";
/// The card of a customer who named none.
const DEFAULT_CARD: &str = "pm_card_visa";
/// How many years test cards are valid.
const VALID_FOR: i32 = 5;

/// Makes the customer known, or brings what is known up to date; answers the id.
pub(super) async fn push_customer(
    work: &mut PgUnitOfWork,
    desk: &Desk,
    customer: &ProcessorCustomer,
    now: Timestamp,
) -> Result<String, Doubt> {
    use simulated_customers as c;
    diesel::insert_into(c::table)
        .values((
            c::id.eq(desk.id("cus")),
            c::customer_id.eq(customer.id.as_uuid()),
            c::email.eq(&customer.email),
            c::name.eq(&customer.name),
            c::phone.eq(&customer.phone),
            c::updated_at.eq(now),
        ))
        .on_conflict((c::organization_id, c::customer_id))
        .do_update()
        .set((
            c::email.eq(excluded(c::email)),
            c::name.eq(excluded(c::name)),
            c::phone.eq(excluded(c::phone)),
            c::updated_at.eq(excluded(c::updated_at)),
        ))
        .returning(c::id)
        .kept()
        .get_result(connection(work)?)
        .await
        .map_err(query_doubt)
}

/// The payment method of this id.
pub(super) async fn find(
    work: &mut PgUnitOfWork,
    id: &str,
) -> Result<Option<PaymentMethod>, Doubt> {
    let details: Option<Value> = simulated_payment_methods::table
        .find((work.owner(), id))
        .select(simulated_payment_methods::details)
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    details.map(read).transpose()
}

/// Whether the bank lets nothing be paid with the method.
pub(super) async fn is_declined(work: &mut PgUnitOfWork, id: &str) -> Result<bool, Doubt> {
    let card: Option<String> = simulated_payment_methods::table
        .find((work.owner(), id))
        .select(simulated_payment_methods::test_card)
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)?;
    Ok(card.as_deref() == Some(DECLINED_CARD))
}

/// Whether both methods are the same customer's.
pub(super) async fn are_of_one(
    work: &mut PgUnitOfWork,
    one: &str,
    other: &str,
) -> Result<bool, Doubt> {
    use simulated_payment_methods as m;
    let holders: Vec<Uuid> = m::table
        .filter(m::organization_id.eq(work.owner()))
        .filter(m::id.eq_any([one, other]))
        .select(m::customer_id)
        .load(connection(work)?)
        .await
        .map_err(query_doubt)?;
    let known = if one == other { 1 } else { 2 };
    Ok(holders.len() == known && holders.windows(2).all(|pair| pair[0] == pair[1]))
}

fn read(details: Value) -> Result<PaymentMethod, Doubt> {
    serde_json::from_value(details)
        .map_err(|error| Doubt::failed(tried("a payment method cannot be read", error)))
}

/// The customer's payment method that `wanted` names: one of theirs by its id, a
/// test card by its name; without a name the one that they used last, else a test
/// card. Asking again gives the same one.
pub(super) async fn of_customer(
    work: &mut PgUnitOfWork,
    desk: &Desk,
    customer: CustomerPubId,
    wanted: Option<&str>,
    now: Timestamp,
) -> Result<Result<PaymentMethod, Refusal>, Doubt> {
    use simulated_payment_methods as m;
    let own = m::table
        .filter(m::organization_id.eq(work.owner()))
        .filter(m::customer_id.eq(customer.as_uuid()));
    let card = CARDS
        .iter()
        .find(|(name, ..)| *name == wanted.unwrap_or(DEFAULT_CARD));
    let known: Option<Value> = match (wanted, card) {
        (Some(_), Some(_)) => None,
        (Some(id), None) => own
            .filter(m::id.eq(id))
            .select(m::details)
            .first(connection(work)?)
            .await
            .optional()
            .map_err(query_doubt)?,
        (None, _) => own
            .order((m::created_at.desc(), m::id.desc()))
            .select(m::details)
            .first(connection(work)?)
            .await
            .optional()
            .map_err(query_doubt)?,
    };
    match (known, card) {
        (Some(details), _) => read(details).map(Ok),
        (None, Some(card)) => add(work, desk, customer.as_uuid(), *card, now)
            .await
            .map(Ok),
        (None, None) => Ok(Err(unknown("PaymentMethod", wanted.unwrap_or_default()))),
    }
}

/// The customer's copy of the test card.
async fn add(
    work: &mut PgUnitOfWork,
    desk: &Desk,
    customer: Uuid,
    (name, brand, last4): (&str, &str, &str),
    now: Timestamp,
) -> Result<PaymentMethod, Doubt> {
    use simulated_payment_methods as m;
    let method = PaymentMethod {
        id: desk.id("pm"),
        kind: "card".to_owned(),
        brand: Some(brand.to_owned()),
        last4: Some(last4.to_owned()),
        exp_month: Some(12),
        exp_year: u16::try_from(now.year().saturating_add(VALID_FOR)).ok(),
    };
    let details = serde_json::to_value(&method).map_err(Doubt::failed)?;
    diesel::insert_into(m::table)
        .values((
            m::id.eq(&method.id),
            m::customer_id.eq(customer),
            m::test_card.eq(name),
            m::details.eq(details),
            m::created_at.eq(now),
        ))
        .on_conflict((m::organization_id, m::customer_id, m::test_card))
        .do_nothing()
        .kept()
        .execute(connection(work)?)
        .await
        .map_err(query_doubt)?;
    // Whoever was first with the card decided its id.
    let details: Value = m::table
        .filter(m::organization_id.eq(work.owner()))
        .filter(m::customer_id.eq(customer))
        .filter(m::test_card.eq(name))
        .select(m::details)
        .first(connection(work)?)
        .await
        .map_err(query_doubt)?;
    read(details)
}
