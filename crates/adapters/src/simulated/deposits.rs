//! Deposits: authorized, captured, let go.

use chrono::TimeDelta;
use diesel::dsl::auto_type;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::{CheckoutPubId, OrganizationId};
use lessor_domain::ledger::{Authorization, HoldState};
use lessor_domain::ports::{Attempt, Capture, DepositRequest, Doubt, Verdict, VoidResult};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use super::desk::{Desk, Entry, Opening, close, connection, money, owner, query_doubt};
use super::email_tags::{EmailTags, declined, refusal, unknown};
use super::methods;
use crate::postgres::PgUnitOfWork;
use crate::postgres::kept::Keep as _;
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
    async fn into_authorization(self, work: &mut PgUnitOfWork) -> Result<Authorization, Doubt> {
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
            method: methods::find(work, &self.payment_method_id).await?,
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

async fn locked(work: &mut PgUnitOfWork, id: &str) -> Result<Option<Intent>, Doubt> {
    intents::table
        .find((work.owner(), id))
        .select(Intent::as_select())
        .for_update()
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)
}

async fn find(work: &mut PgUnitOfWork, id: &str) -> Result<Option<Intent>, Doubt> {
    intents::table
        .find((work.owner(), id))
        .select(Intent::as_select())
        .first(connection(work)?)
        .await
        .optional()
        .map_err(query_doubt)
}

async fn known(desk: &Desk, organization: OrganizationId, id: &str) -> Result<Intent, Doubt> {
    let mut work = desk.begin(organization).await?;
    let intent = find(&mut work, id).await?;
    close(work).await?;
    intent.ok_or_else(|| Doubt::failed(format!("the payment {id} is lost")))
}

/// What became of the deposit.
pub(super) async fn deposit(
    desk: &Desk,
    organization: OrganizationId,
    id: &str,
) -> Result<Option<Authorization>, Doubt> {
    let mut work = desk.begin(organization).await?;
    let known = match find(&mut work, id).await? {
        Some(intent) => Some(intent.into_authorization(&mut work).await?),
        None => None,
    };
    close(work).await?;
    Ok(known)
}

/// Every authorization that was made for the checkout, oldest first.
pub(super) async fn of_checkout(
    desk: &Desk,
    organization: OrganizationId,
    checkout: CheckoutPubId,
) -> Result<Vec<Authorization>, Doubt> {
    let mut work = desk.begin(organization).await?;
    let found: Vec<Intent> = intents::table
        .filter(intents::organization_id.eq(work.owner()))
        .filter(intents::checkout_id.eq(checkout.as_uuid()))
        .order((intents::created_at, intents::id))
        .select(Intent::as_select())
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    let mut all = Vec::with_capacity(found.len());
    for intent in found {
        all.push(intent.into_authorization(&mut work).await?);
    }
    close(work).await?;
    Ok(all)
}

/// What is held beyond its time.
#[auto_type]
fn is_over(now: Timestamp) -> _ {
    let held: &'static str = REQUIRES_CAPTURE;
    intents::status.eq(held).and(intents::expires_at.le(now))
}

/// Lets go of what is held beyond its time, whoever's it is.
pub(super) async fn lapse(desk: &Desk, now: Timestamp) -> Result<(), Doubt> {
    let mut work = desk.begin_errand().await?;
    let owners: Vec<i64> = intents::table
        .filter(is_over(now))
        .select(intents::organization_id)
        .distinct()
        .load(connection(&mut work)?)
        .await
        .map_err(query_doubt)?;
    close(work).await?;
    for number in owners {
        let mut work = desk.begin(owner(number)?).await?;
        let over = intents::table
            .filter(intents::organization_id.eq(work.owner()))
            .filter(is_over(now));
        diesel::update(over)
            .set(intents::status.eq(VOIDED))
            .execute(connection(&mut work)?)
            .await
            .map_err(query_doubt)?;
        close(work).await?;
    }
    Ok(())
}

/// Authorizes a deposit.
pub(super) async fn authorize(
    desk: &Desk,
    attempt: &Attempt,
    request: &DepositRequest,
) -> Result<Verdict<Authorization>, Doubt> {
    let method = request.payment_method.as_deref();
    let parameters = [
        request.checkout.to_string(),
        request.amount.minor().to_string(),
        request.amount.currency().to_string(),
        method.unwrap_or_default().to_owned(),
    ];
    let answer = match desk.open(attempt, "authorizeDeposit", &parameters).await? {
        Opening::Answered(answer) => answer,
        Opening::New(entry) => new_intent(desk, entry, attempt, request).await?,
    };
    let id = match answer {
        Verdict::Done(id) => id,
        Verdict::Refused(refusal) => return Ok(Verdict::Refused(refusal)),
    };
    match deposit(desk, attempt.organization_id, &id).await? {
        Some(known) => Ok(Verdict::Done(known)),
        None => Err(Doubt::failed(format!("the payment {id} is lost"))),
    }
}

async fn new_intent(
    desk: &Desk,
    mut entry: Entry,
    attempt: &Attempt,
    request: &DepositRequest,
) -> Result<Verdict<String>, Doubt> {
    let customer = &request.customer;
    let nth = entry.nth_try(request.checkout).await?;
    methods::push_customer(entry.work(), desk, customer, attempt.now).await?;
    let wanted = request.payment_method.as_deref();
    let method =
        match methods::of_customer(entry.work(), desk, customer.id, wanted, attempt.now).await? {
            Ok(method) => method,
            Err(refusal) => return entry.close(Verdict::Refused(refusal)).await,
        };
    if EmailTags::of(&customer.email).deposit_fails(nth)
        || methods::is_declined(entry.work(), &method.id).await?
    {
        return entry.close(Verdict::Refused(declined())).await;
    }
    let id = desk.id("pi");
    let expires_at = attempt.now.checked_add_signed(LASTS).unwrap_or(attempt.now);
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
            intents::created_at.eq(attempt.now),
        ))
        .kept()
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    entry.close(Verdict::Done(id)).await
}

/// Captures an authorized deposit; one that is captured stays as it is.
pub(super) async fn capture(
    desk: &Desk,
    attempt: &Attempt,
    id: &str,
) -> Result<Verdict<Capture>, Doubt> {
    let answer = match desk
        .open(attempt, "captureDeposit", &[id.to_owned()])
        .await?
    {
        Opening::Answered(answer) => answer,
        Opening::New(entry) => try_capture(desk, entry, attempt, id).await?,
    };
    match answer {
        Verdict::Refused(refusal) => Ok(Verdict::Refused(refusal)),
        Verdict::Done(_) => match known(desk, attempt.organization_id, id).await?.capture() {
            Some(capture) => Ok(Verdict::Done(capture)),
            None => Err(Doubt::failed(format!("the capture of {id} is lost"))),
        },
    }
}

async fn try_capture(
    desk: &Desk,
    mut entry: Entry,
    attempt: &Attempt,
    id: &str,
) -> Result<Verdict<String>, Doubt> {
    let Some(intent) = locked(entry.work(), id).await? else {
        return entry.close(Verdict::Refused(unknown("payment", id))).await;
    };
    if intent.captured_at.is_some() {
        return entry.close(Verdict::Done(id.to_owned())).await;
    }
    if intent.status != REQUIRES_CAPTURE {
        let refusal = unexpected_state(id, &intent.status, CAPTURED);
        return entry.close(Verdict::Refused(refusal)).await;
    }
    if intent.expires_at <= attempt.now {
        set_status(entry.work(), id, VOIDED).await?;
        let refusal = refusal(
            "charge_expired_for_capture",
            "The authorization expired before the capture.",
        );
        return entry.close(Verdict::Refused(refusal)).await;
    }
    let checkout = CheckoutPubId::from_uuid(intent.checkout_id);
    let nth = entry.nth_try(checkout).await?;
    if EmailTags::of(&intent.email).capture_fails(nth) {
        return entry.close(Verdict::Refused(declined())).await;
    }
    diesel::update(intents::table.find((entry.owner(), id)))
        .set((
            intents::status.eq(CAPTURED),
            intents::invoice_id.eq(desk.id("in")),
            intents::captured_at.eq(attempt.now),
        ))
        .kept()
        .execute(entry.connection()?)
        .await
        .map_err(query_doubt)?;
    entry.close(Verdict::Done(id.to_owned())).await
}

async fn set_status(work: &mut PgUnitOfWork, id: &str, status: &str) -> Result<(), Doubt> {
    diesel::update(intents::table.find((work.owner(), id)))
        .set(intents::status.eq(status))
        .kept()
        .execute(connection(work)?)
        .await
        .map(|_| ())
        .map_err(query_doubt)
}

/// Lets an authorized deposit go.
pub(super) async fn void(
    desk: &Desk,
    attempt: &Attempt,
    id: &str,
) -> Result<Verdict<VoidResult>, Doubt> {
    let answer = match desk.open(attempt, "voidDeposit", &[id.to_owned()]).await? {
        Opening::Answered(answer) => answer,
        Opening::New(mut entry) => match locked(entry.work(), id).await? {
            None => {
                entry
                    .close(Verdict::Refused(unknown("payment", id)))
                    .await?
            }
            Some(intent) => {
                if intent.status == REQUIRES_CAPTURE {
                    set_status(entry.work(), id, VOIDED).await?;
                }
                entry.close(Verdict::Done(id.to_owned())).await?
            }
        },
    };
    match answer {
        Verdict::Refused(refusal) => Ok(Verdict::Refused(refusal)),
        Verdict::Done(_) => {
            let capture = known(desk, attempt.organization_id, id).await?.capture();
            Ok(Verdict::Done(
                capture.map_or(VoidResult::Voided, VoidResult::AlreadyCaptured),
            ))
        }
    }
}
