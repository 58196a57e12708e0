//! The store of what was made at the payment processor.

use async_trait::async_trait;
use diesel::dsl::sql;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::access::Mode;
use lessor_domain::checkout::{InvoiceOutcome, Refusal};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Entry, EntryKind, Thing};
use lessor_domain::ports::{LedgerStore, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::{Place, counted};
use super::error::store_error;
use super::kept::Keep as _;
use super::schema::ledger_entries;

/// The row, without what it has of the checkout's.
#[derive(Queryable, Selectable)]
#[diesel(table_name = ledger_entries, check_for_backend(Pg))]
struct EntryRow {
    id: String,
    checkout_id: Uuid,
    kind: String,
    amount: i64,
    currency: String,
    at: Timestamp,
    #[diesel(embed)]
    thing: ThingRow,
}

/// What the kinds of things have of their own.
#[derive(Default, Queryable, Selectable)]
#[diesel(table_name = ledger_entries, check_for_backend(Pg))]
struct ThingRow {
    state: String,
    ends_at: Option<Timestamp>,
    anchor: Option<Timestamp>,
    payments: Option<i32>,
    subscription_id: Option<String>,
    is_cycle: Option<bool>,
    payment_intent_id: Option<String>,
    failed_attempts: Option<i32>,
    failure_code: Option<String>,
    failure_message: Option<String>,
    session_id: Option<String>,
    purpose: Option<String>,
}

impl ThingRow {
    fn of(thing: &Thing) -> Result<Self, StoreError> {
        Ok(match thing.clone() {
            Thing::Hold { state, ends_at } => Self {
                state: state.to_string(),
                ends_at: Some(ends_at),
                ..Self::default()
            },
            Thing::Subscription {
                state,
                anchor,
                payments,
                ends_at,
            } => Self {
                state: state.to_string(),
                ends_at,
                anchor: Some(anchor),
                payments: Some(payments.into()),
                ..Self::default()
            },
            Thing::Invoice {
                subscription_id,
                payment_intent_id,
                is_cycle,
                outcome,
            } => Self {
                subscription_id: Some(subscription_id),
                payment_intent_id,
                is_cycle: Some(is_cycle),
                ..Self::of_outcome(outcome)?
            },
            Thing::Refund {
                payment_intent_id,
                state,
                failure,
            } => Self {
                state: state.to_string(),
                payment_intent_id: Some(payment_intent_id),
                failure_code: failure,
                ..Self::default()
            },
            Thing::Session {
                session_id,
                purpose,
                state,
                ends_at,
            } => Self {
                state: state.to_string(),
                ends_at: Some(ends_at),
                session_id,
                purpose: Some(purpose.to_string()),
                ..Self::default()
            },
        })
    }

    fn of_outcome(outcome: InvoiceOutcome) -> Result<Self, StoreError> {
        let (state, failure) = match outcome {
            InvoiceOutcome::Open => ("open", None),
            InvoiceOutcome::Failed { attempts, refusal } => ("failed", Some((attempts, refusal))),
            InvoiceOutcome::Void => ("void", None),
            InvoiceOutcome::Paid => ("paid", None),
        };
        let mut row = Self {
            state: state.to_owned(),
            ..Self::default()
        };
        if let Some((attempts, Refusal { code, message })) = failure {
            row.failed_attempts = Some(counted(attempts)?);
            row.failure_code = Some(code);
            row.failure_message = Some(message);
        }
        Ok(row)
    }

    fn outcome(self, at: &Place<'_>) -> Result<InvoiceOutcome, StoreError> {
        let failure = (
            self.failed_attempts,
            self.failure_code,
            self.failure_message,
        );
        Ok(match (self.state.as_str(), failure) {
            ("open", (None, None, None)) => InvoiceOutcome::Open,
            ("failed", (Some(attempts), Some(code), Some(message))) => InvoiceOutcome::Failed {
                attempts: at.count("failed_attempts", attempts)?,
                refusal: Refusal { code, message },
            },
            ("void", (None, None, None)) => InvoiceOutcome::Void,
            ("paid", (None, None, None)) => InvoiceOutcome::Paid,
            _ => return Err(at.corrupt("state", "is none of an invoice with these columns")),
        })
    }

    fn read(self, at: &Place<'_>, kind: EntryKind) -> Result<Thing, StoreError> {
        let missing = |column| at.corrupt(column, "is missing");
        Ok(match kind {
            EntryKind::Hold => Thing::Hold {
                state: at.parse("state", &self.state)?,
                ends_at: self.ends_at.ok_or_else(|| missing("ends_at"))?,
            },
            EntryKind::Subscription => {
                let payments = self.payments.ok_or_else(|| missing("payments"))?;
                Thing::Subscription {
                    state: at.parse("state", &self.state)?,
                    anchor: self.anchor.ok_or_else(|| missing("anchor"))?,
                    payments: u16::try_from(payments)
                        .map_err(|_| at.corrupt("payments", "is no number of payments"))?,
                    ends_at: self.ends_at,
                }
            }
            EntryKind::Invoice => Thing::Invoice {
                subscription_id: self
                    .subscription_id
                    .clone()
                    .ok_or_else(|| missing("subscription_id"))?,
                payment_intent_id: self.payment_intent_id.clone(),
                is_cycle: self.is_cycle.ok_or_else(|| missing("is_cycle"))?,
                outcome: self.outcome(at)?,
            },
            EntryKind::Refund => Thing::Refund {
                state: at.parse("state", &self.state)?,
                payment_intent_id: self
                    .payment_intent_id
                    .ok_or_else(|| missing("payment_intent_id"))?,
                failure: self.failure_code,
            },
            EntryKind::Session => {
                let purpose = self.purpose.as_ref().ok_or_else(|| missing("purpose"))?;
                Thing::Session {
                    purpose: at.parse("purpose", purpose)?,
                    state: at.parse("state", &self.state)?,
                    ends_at: self.ends_at.ok_or_else(|| missing("ends_at"))?,
                    session_id: self.session_id,
                }
            }
        })
    }
}

impl EntryRow {
    fn into_entry(self) -> Result<Entry, StoreError> {
        let at = Place::new("ledger_entries", &self.id);
        let kind = at.parse("kind", &self.kind)?;
        let thing = self.thing.read(&at, kind)?;
        let amount = at.money(self.amount, &self.currency)?;
        Ok(Entry {
            checkout: CheckoutPubId::from_uuid(self.checkout_id),
            amount,
            at: self.at,
            thing,
            id: self.id,
        })
    }
}

/// The row with the checkout's organization and mode, over what was known of the same thing, which
/// keeps its place. Writes nothing where there is no such checkout.
const PUT: &str = "\
INSERT INTO ledger_entries (organization_id, mode, checkout_id, id, kind, amount, currency, at, \
    state, ends_at, anchor, payments, subscription_id, is_cycle, payment_intent_id, \
    failed_attempts, failure_code, failure_message, session_id, purpose) \
SELECT organization_id, mode, id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
    $18, $19 \
FROM checkouts WHERE organization_id = $17 AND id = $1 \
ON CONFLICT ON CONSTRAINT ledger_entries_pkey DO UPDATE SET \
    (checkout_id, kind, amount, currency, at, state, ends_at, anchor, payments, subscription_id, \
        is_cycle, payment_intent_id, failed_attempts, failure_code, failure_message, session_id, \
        purpose) = \
    (excluded.checkout_id, excluded.kind, excluded.amount, excluded.currency, excluded.at, \
        excluded.state, excluded.ends_at, excluded.anchor, excluded.payments, \
        excluded.subscription_id, excluded.is_cycle, excluded.payment_intent_id, \
        excluded.failed_attempts, excluded.failure_code, excluded.failure_message, \
        excluded.session_id, excluded.purpose)";

async fn of(
    connection: &mut AsyncPgConnection,
    owner: i64,
    checkout: CheckoutPubId,
) -> Result<Vec<EntryRow>, StoreError> {
    ledger_entries::table
        .filter(ledger_entries::organization_id.eq(owner))
        .filter(ledger_entries::checkout_id.eq(checkout.as_uuid()))
        .order(ledger_entries::sequence)
        .select(EntryRow::as_select())
        .load(connection)
        .await
        .map_err(store_error)
}

async fn find(
    connection: &mut AsyncPgConnection,
    owner: i64,
    mode: Mode,
    id: &str,
) -> Result<Option<EntryRow>, StoreError> {
    ledger_entries::table
        .find((owner, mode.as_str(), id))
        .select(EntryRow::as_select())
        .first(connection)
        .await
        .optional()
        .map_err(store_error)
}

async fn find_payment(
    connection: &mut AsyncPgConnection,
    owner: i64,
    mode: Mode,
    payment_intent_id: &str,
) -> Result<Vec<EntryRow>, StoreError> {
    let of_mode = || {
        ledger_entries::table
            .filter(ledger_entries::organization_id.eq(owner))
            .filter(ledger_entries::mode.eq(mode.as_str()))
            .select(EntryRow::as_select())
    };
    // Each half has an index of its own; the conditions on the kind are the partial one's.
    let holds = of_mode()
        .filter(ledger_entries::id.eq(payment_intent_id))
        .filter(sql::<Bool>("kind = 'hold'"));
    let invoices = of_mode()
        .filter(ledger_entries::payment_intent_id.eq(payment_intent_id))
        .filter(sql::<Bool>("kind = 'invoice'"));
    let both = holds.union_all(invoices);
    both.load(connection).await.map_err(store_error)
}

#[async_trait]
impl LedgerStore for PgUnitOfWork {
    async fn of(&mut self, checkout: CheckoutPubId) -> Result<Vec<Entry>, StoreError> {
        let owner = self.owner();
        let rows = of(self.connection()?, owner, checkout).await?;
        rows.into_iter().map(EntryRow::into_entry).collect()
    }

    async fn find(&mut self, mode: Mode, id: &str) -> Result<Option<Entry>, StoreError> {
        let owner = self.owner();
        let found = find(self.connection()?, owner, mode, id).await?;
        found.map(EntryRow::into_entry).transpose()
    }

    async fn find_payment(
        &mut self,
        mode: Mode,
        payment_intent_id: &str,
    ) -> Result<Option<Entry>, StoreError> {
        let owner = self.owner();
        let found = find_payment(self.connection()?, owner, mode, payment_intent_id).await?;
        found
            .into_iter()
            .next()
            .map(EntryRow::into_entry)
            .transpose()
    }

    async fn put(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let thing = ThingRow::of(&entry.thing)?;
        let written = diesel::sql_query(PUT)
            .bind::<SqlUuid, _>(entry.checkout.as_uuid())
            .bind::<Text, _>(&entry.id)
            .bind::<Text, _>(entry.kind().as_str())
            .bind::<BigInt, _>(entry.amount.minor())
            .bind::<Text, _>(entry.amount.currency().to_string())
            .bind::<Timestamptz, _>(entry.at)
            .bind::<Text, _>(thing.state)
            .bind::<Nullable<Timestamptz>, _>(thing.ends_at)
            .bind::<Nullable<Timestamptz>, _>(thing.anchor)
            .bind::<Nullable<Integer>, _>(thing.payments)
            .bind::<Nullable<Text>, _>(thing.subscription_id)
            .bind::<Nullable<Bool>, _>(thing.is_cycle)
            .bind::<Nullable<Text>, _>(thing.payment_intent_id)
            .bind::<Nullable<Integer>, _>(thing.failed_attempts)
            .bind::<Nullable<Text>, _>(thing.failure_code)
            .bind::<Nullable<Text>, _>(thing.failure_message)
            .bind::<BigInt, _>(self.owner())
            .bind::<Nullable<Text>, _>(thing.session_id)
            .bind::<Nullable<Text>, _>(thing.purpose)
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if written == 0 {
            return Err(StoreError::Missing("checkout"));
        }
        Ok(())
    }
}
