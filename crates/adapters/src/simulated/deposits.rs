//! Deposits: authorized, captured, let go.

use chrono::TimeDelta;
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Authorization, HoldState};
use lessor_domain::ports::{Answer, Call, Capture, DepositRequest, Doubt, Voided};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::desk::{Desk, Entry, Opened, close, connection, money, query_doubt};
use super::methods;
use super::outcomes::{Outcomes, declined, refusal, unknown};
use crate::postgres::schema::simulated_payment_intents as intents;

/// How long an authorization lasts.
const LASTS: TimeDelta = TimeDelta::days(7);

const REQUIRES_CAPTURE: &str = "requiresCapture";
const CAPTURED: &str = "captured";
const VOIDED: &str = "voided";

#[derive(Queryable, Selectable)]
#[diesel(table_name = intents, check_for_backend(diesel::pg::Pg))]
struct Intent {
    id: String,
    checkout_id: Uuid,
    email: String,
    amount_minor: i64,
    currency: String,
    payment_method_id: String,
    status: String,
    expires_at: Timestamp,
    invoice_id: Option<String>,
    captured_at: Option<Timestamp>,
}

impl Intent {
    /// The capture, when there was one.
    fn capture(&self) -> Option<Capture> {
        Some(Capture {
            invoice_id: self.invoice_id.clone()?,
            at: self.captured_at?,
        })
    }

    /// As the domain knows it.
    async fn into_authorization(
        self,
        connection: &mut AsyncPgConnection,
    ) -> Result<Authorization, Doubt> {
        let state = match self.status.as_str() {
            REQUIRES_CAPTURE => HoldState::Held,
            CAPTURED => HoldState::Captured,
            VOIDED => HoldState::Released,
            other => return Err(Doubt::failed(format!("{} is {other}", self.id))),
        };
        Ok(Authorization {
            checkout: Some(CheckoutPubId::from_uuid(self.checkout_id)),
            amount: money(&self.id, self.amount_minor, &self.currency)?,
            state,
            expires_at: self.expires_at,
            method: methods::find(connection, &self.payment_method_id).await?,
            charge_id: self.invoice_id,
            payment_intent_id: self.id,
        })
    }
}

pub(super) fn unexpected_state(id: &str, status: &str, wanted: &str) -> Refusal {
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

async fn find(connection: &mut AsyncPgConnection, id: &str) -> Result<Option<Intent>, Doubt> {
    intents::table
        .find(id)
        .select(Intent::as_select())
        .first(connection)
        .await
        .optional()
        .map_err(query_doubt)
}

async fn known(desk: &Desk, id: &str) -> Result<Intent, Doubt> {
    let mut work = desk.begin().await?;
    let intent = find(connection(&mut work)?, id).await?;
    close(work).await?;
    intent.ok_or_else(|| Doubt::failed(format!("the payment {id} is lost")))
}

/// What became of the deposit.
pub(super) async fn deposit(desk: &Desk, id: &str) -> Result<Option<Authorization>, Doubt> {
    let mut work = desk.begin().await?;
    let known = match find(connection(&mut work)?, id).await? {
        Some(intent) => Some(intent.into_authorization(connection(&mut work)?).await?),
        None => None,
    };
    close(work).await?;
    Ok(known)
}

/// Every authorization that was made for the checkout, oldest first.
pub(super) async fn of_checkout(
    desk: &Desk,
    checkout: CheckoutPubId,
) -> Result<Vec<Authorization>, Doubt> {
    let mut work = desk.begin().await?;
    let found: Vec<Intent> = intents::table
        .filter(intents::checkout_id.eq(checkout.as_uuid()))
        .order((intents::created_at, intents::id))
        .select(Intent::as_select())
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    let mut all = Vec::with_capacity(found.len());
    for intent in found {
        all.push(intent.into_authorization(connection(&mut work)?).await?);
    }
    close(work).await?;
    Ok(all)
}

/// Lets go of what is held beyond its time.
pub(super) async fn lapse(desk: &Desk, now: Timestamp) -> Result<(), Doubt> {
    let mut work = desk.begin().await?;
    let lapsed = intents::table
        .filter(intents::status.eq(REQUIRES_CAPTURE))
        .filter(intents::expires_at.le(now));
    diesel::update(lapsed)
        .set(intents::status.eq(VOIDED))
        .execute(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await
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
    match deposit(desk, &id).await? {
        Some(known) => Ok(Answer::Done(known)),
        None => Err(Doubt::failed(format!("the payment {id} is lost"))),
    }
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
    if Outcomes::of(&customer.email).deposit_fails(attempt)
        || methods::is_declined(entry.connection()?, &method.id).await?
    {
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
