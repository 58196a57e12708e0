//! Deposits: authorized, captured, let go, paid back.

use chrono::TimeDelta;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::money::Money;
use lessor_domain::ports::{Answer, Authorization, Call, Capture, DepositRequest, Doubt, Voided};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::desk::{Desk, Entry, Opened, close, connection, query_doubt};
use super::methods;
use super::outcomes::{Outcomes, declined, refusal, unknown};
use crate::postgres::schema::simulated_payment_intents as intents;

/// How long an authorization lasts.
const LASTS: TimeDelta = TimeDelta::days(7);

const REQUIRES_CAPTURE: &str = "requiresCapture";
const CAPTURED: &str = "captured";
const VOIDED: &str = "voided";
const REFUNDED: &str = "refunded";

#[derive(Queryable, Selectable)]
#[diesel(table_name = intents, check_for_backend(diesel::pg::Pg))]
struct Intent {
    checkout_id: Uuid,
    email: String,
    amount_minor: i64,
    currency: String,
    payment_method_id: String,
    status: String,
    expires_at: Timestamp,
    invoice_id: Option<String>,
    captured_at: Option<Timestamp>,
    refunded_minor: i64,
}

impl Intent {
    /// The capture, when there was one.
    fn capture(&self) -> Option<Capture> {
        Some(Capture {
            invoice_id: self.invoice_id.clone()?,
            at: self.captured_at?,
        })
    }
}

fn unexpected_state(id: &str, status: &str, wanted: &str) -> Refusal {
    refusal(
        "payment_intent_unexpected_state",
        &format!("The payment '{id}' could not be {wanted}: it is {status}."),
    )
}

async fn locked(connection: &mut AsyncPgConnection, id: &str) -> Result<Option<Intent>, Doubt> {
    intents::table
        .find(id)
        .select(Intent::as_select())
        .for_update()
        .first(connection)
        .await
        .optional()
        .map_err(query_doubt)
}

async fn known(desk: &Desk, id: &str) -> Result<Intent, Doubt> {
    let mut work = desk.begin().await?;
    let intent = intents::table
        .find(id)
        .select(Intent::as_select())
        .first(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await?;
    Ok(intent)
}

/// Authorizes a deposit.
pub(super) async fn authorize(
    desk: &Desk,
    call: &Call,
    request: &DepositRequest,
) -> Result<Answer<Authorization>, Doubt> {
    let method = request.payment_method.as_deref();
    let parameters = [
        request.checkout.to_string(),
        request.amount.minor().to_string(),
        request.amount.currency().to_string(),
        method.unwrap_or_default().to_owned(),
    ];
    let answer = match desk.open(call, "authorizeDeposit", &parameters).await? {
        Opened::Answered(answer) => answer,
        Opened::New(entry) => new_intent(desk, entry, call, request).await?,
    };
    let id = match answer {
        Answer::Done(id) => id,
        Answer::Refused(refusal) => return Ok(Answer::Refused(refusal)),
    };
    let intent = known(desk, &id).await?;
    let mut work = desk.begin().await?;
    let method = methods::find(connection(&mut work)?, &intent.payment_method_id).await?;
    close(work).await?;
    Ok(Answer::Done(Authorization {
        payment_intent_id: id,
        expires_at: intent.expires_at,
        method,
    }))
}

async fn new_intent(
    desk: &Desk,
    mut entry: Entry,
    call: &Call,
    request: &DepositRequest,
) -> Result<Answer<String>, Doubt> {
    let customer = &request.customer;
    let attempt = entry.attempt(request.checkout).await?;
    methods::push_customer(entry.connection()?, desk, customer, call.now).await?;
    let wanted = request.payment_method.as_deref();
    let method =
        match methods::of_customer(entry.connection()?, desk, customer.id, wanted, call.now).await?
        {
            Ok(method) => method,
            Err(refusal) => return entry.close(Answer::Refused(refusal)).await,
        };
    if Outcomes::of(&customer.email).deposit_fails(attempt) {
        return entry.close(Answer::Refused(declined())).await;
    }
    let id = desk.id("pi");
    let expires_at = call.now.checked_add_signed(LASTS).unwrap_or(call.now);
    diesel::insert_into(intents::table)
        .values((
            intents::id.eq(&id),
            intents::checkout_id.eq(request.checkout.as_uuid()),
            intents::customer_id.eq(customer.id.as_uuid()),
            intents::email.eq(&customer.email),
            intents::amount_minor.eq(request.amount.minor()),
            intents::currency.eq(request.amount.currency().code()),
            intents::payment_method_id.eq(&method.id),
            intents::status.eq(REQUIRES_CAPTURE),
            intents::expires_at.eq(expires_at),
            intents::created_at.eq(call.now),
        ))
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    entry.close(Answer::Done(id)).await
}

/// Captures an authorized deposit; one that is captured stays as it is.
pub(super) async fn capture(desk: &Desk, call: &Call, id: &str) -> Result<Answer<Capture>, Doubt> {
    let answer = match desk.open(call, "captureDeposit", &[id.to_owned()]).await? {
        Opened::Answered(answer) => answer,
        Opened::New(entry) => try_capture(desk, entry, call, id).await?,
    };
    match answer {
        Answer::Refused(refusal) => Ok(Answer::Refused(refusal)),
        Answer::Done(_) => match known(desk, id).await?.capture() {
            Some(capture) => Ok(Answer::Done(capture)),
            None => Err(Doubt::failed(format!("the capture of {id} is lost"))),
        },
    }
}

async fn try_capture(
    desk: &Desk,
    mut entry: Entry,
    call: &Call,
    id: &str,
) -> Result<Answer<String>, Doubt> {
    let Some(intent) = locked(entry.connection()?, id).await? else {
        return entry.close(Answer::Refused(unknown("payment", id))).await;
    };
    if intent.captured_at.is_some() {
        return entry.close(Answer::Done(id.to_owned())).await;
    }
    if intent.status != REQUIRES_CAPTURE {
        let refusal = unexpected_state(id, &intent.status, CAPTURED);
        return entry.close(Answer::Refused(refusal)).await;
    }
    if intent.expires_at <= call.now {
        set_status(entry.connection()?, id, VOIDED).await?;
        let refusal = refusal(
            "charge_expired_for_capture",
            "The authorization expired before the capture.",
        );
        return entry.close(Answer::Refused(refusal)).await;
    }
    let checkout = CheckoutPubId::from_uuid(intent.checkout_id);
    let attempt = entry.attempt(checkout).await?;
    if Outcomes::of(&intent.email).capture_fails(attempt) {
        return entry.close(Answer::Refused(declined())).await;
    }
    diesel::update(intents::table.find(id))
        .set((
            intents::status.eq(CAPTURED),
            intents::invoice_id.eq(desk.id("in")),
            intents::captured_at.eq(call.now),
        ))
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    entry.close(Answer::Done(id.to_owned())).await
}

async fn set_status(
    connection: &mut AsyncPgConnection,
    id: &str,
    status: &str,
) -> Result<(), Doubt> {
    diesel::update(intents::table.find(id))
        .set(intents::status.eq(status))
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}

/// Lets an authorized deposit go.
pub(super) async fn void(desk: &Desk, call: &Call, id: &str) -> Result<Answer<Voided>, Doubt> {
    let answer = match desk.open(call, "voidDeposit", &[id.to_owned()]).await? {
        Opened::Answered(answer) => answer,
        Opened::New(mut entry) => match locked(entry.connection()?, id).await? {
            None => entry.close(Answer::Refused(unknown("payment", id))).await?,
            Some(intent) => {
                if intent.status == REQUIRES_CAPTURE {
                    set_status(entry.connection()?, id, VOIDED).await?;
                }
                entry.close(Answer::Done(id.to_owned())).await?
            }
        },
    };
    match answer {
        Answer::Refused(refusal) => Ok(Answer::Refused(refusal)),
        Answer::Done(_) => {
            let capture = known(desk, id).await?.capture();
            Ok(Answer::Done(
                capture.map_or(Voided::Voided, Voided::AlreadyCaptured),
            ))
        }
    }
}

/// Pays a captured deposit back, `amount` of it or what is left.
pub(super) async fn refund(
    desk: &Desk,
    call: &Call,
    id: &str,
    amount: Option<Money>,
) -> Result<Answer<()>, Doubt> {
    // An amount beside its currency, or nothing for all that is left.
    let wanted = amount.map_or_else(String::new, |amount| {
        format!("{} {}", amount.minor(), amount.currency())
    });
    let parameters = [id.to_owned(), wanted];
    let answer = match desk.open(call, "refundDeposit", &parameters).await? {
        Opened::Answered(answer) => answer,
        Opened::New(entry) => try_refund(entry, id, amount).await?,
    };
    Ok(match answer {
        Answer::Done(_) => Answer::Done(()),
        Answer::Refused(refusal) => Answer::Refused(refusal),
    })
}

async fn try_refund(
    mut entry: Entry,
    id: &str,
    amount: Option<Money>,
) -> Result<Answer<String>, Doubt> {
    let Some(intent) = locked(entry.connection()?, id).await? else {
        return entry.close(Answer::Refused(unknown("payment", id))).await;
    };
    if intent.captured_at.is_none() {
        let refusal = unexpected_state(id, &intent.status, REFUNDED);
        return entry.close(Answer::Refused(refusal)).await;
    }
    let left = intent.amount_minor.saturating_sub(intent.refunded_minor);
    let fits = amount.is_none_or(|amount| {
        amount.currency().code() == intent.currency && (0..=left).contains(&amount.minor())
    });
    if !fits {
        let refusal = refusal(
            "amount_too_large",
            "The refund is larger than what is left of the payment, or of another currency.",
        );
        return entry.close(Answer::Refused(refusal)).await;
    }
    let refunded = intent
        .refunded_minor
        .saturating_add(amount.map_or(left, Money::minor));
    let status = if refunded == intent.amount_minor {
        REFUNDED
    } else {
        CAPTURED
    };
    diesel::update(intents::table.find(id))
        .set((
            intents::refunded_minor.eq(refunded),
            intents::status.eq(status),
        ))
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    entry.close(Answer::Done(id.to_owned())).await
}
