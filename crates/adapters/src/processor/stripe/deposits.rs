//! Deposits: payments that are authorized first and captured later.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::Refusal;
use lessor_domain::ports::{Answer, Authorization, Call, Capture, DepositRequest, Doubt, Voided};
use lessor_domain::time::Timestamp;
use serde::Serialize;

use super::client::Client;
use super::error::{CallError, done, refusal, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::payment_methods::{self, AutomaticMethods, TEST_METHOD};
use super::wire::{Expandable, IntentStatus, Metadata, Page, PaymentIntent};
use super::{amount, catalog, customers};

/// How long an authorization lasts when the processor does not say.
const USUAL_AUTHORIZATION: TimeDelta = TimeDelta::days(7);
/// A customer's payments that are looked through, newest first.
const MOST_INTENTS: usize = 1_000;

#[derive(Serialize)]
struct IntentParams<'a> {
    amount: i64,
    currency: String,
    customer: &'a str,
    payment_method: &'a str,
    capture_method: &'static str,
    confirm: bool,
    // Neither a page to redirect to nor one to authenticate on is shown, so methods
    // that need the one are left out and cards that need the other are declined.
    automatic_payment_methods: AutomaticMethods,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_on_requires_action: Option<bool>,
    // Either the method is set up with this payment, or it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    setup_future_usage: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    off_session: Option<bool>,
    expand: [&'static str; 2],
    metadata: Metadata,
}

#[derive(Serialize)]
struct Expand {
    expand: [&'static str; 1],
}

/// What is read of a payment along with it.
const WITH_CHARGE: [&str; 2] = ["latest_charge", "payment_method"];
const WITH_CAPTURE: Expand = Expand {
    expand: ["latest_charge.balance_transaction"],
};

#[derive(Serialize)]
struct IntentsOf<'a> {
    customer: &'a str,
    limit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    starting_after: Option<String>,
    expand: [&'static str; 2],
}

/// Authorizes a deposit, in one request that makes the payment and confirms it.
pub(super) async fn authorize(
    client: &Client,
    call: &Call,
    request: &DepositRequest,
) -> Result<Answer<Authorization>, Doubt> {
    let Some(units) = amount::to_processor(request.amount) else {
        return Ok(Answer::Refused(catalog::unchargeable(request.amount)));
    };
    let Some(method) = method_of(call.mode, request) else {
        return Ok(Answer::Refused(payment_methods::none_named()));
    };
    let customer = done!(customers::id_of(client, call, &request.customer).await?);
    let params = IntentParams {
        amount: units,
        currency: amount::code(request.amount.currency()),
        customer: &customer,
        payment_method: method,
        capture_method: "manual",
        confirm: true,
        automatic_payment_methods: AutomaticMethods::WITHOUT_REDIRECT,
        error_on_requires_action: (!request.off_session).then_some(true),
        setup_future_usage: (!request.off_session).then_some("off_session"),
        off_session: request.off_session.then_some(true),
        expand: WITH_CHARGE,
        metadata: Ids::default()
            .work(&call.idempotency_key)
            .checkout(request.checkout)
            .organization(request.organization)
            .customer(request.customer.id)
            .metadata(),
    };
    let work = Work {
        call,
        key: &call.idempotency_key,
        path: &["payment_intents"],
        params: &params,
    };
    let made = once::make(client, work, || find(client, call, &customer)).await;
    let intent = done!(settle(made)?);
    authorization(&intent)
}

/// Captures the deposit in full.
pub(super) async fn capture(
    client: &Client,
    call: &Call,
    id: &str,
) -> Result<Answer<Capture>, Doubt> {
    let intent = done!(finish(client, call, id, "capture").await?);
    match &intent.status {
        IntentStatus::Succeeded => Ok(Answer::Done(captured(call, &intent))),
        IntentStatus::Canceled => Ok(Answer::Refused(gone(&intent))),
        other => Err(unexpected(&intent.id, other)),
    }
}

/// Lets the deposit go.
pub(super) async fn void(client: &Client, call: &Call, id: &str) -> Result<Answer<Voided>, Doubt> {
    let intent = done!(finish(client, call, id, "cancel").await?);
    match &intent.status {
        IntentStatus::Canceled => Ok(Answer::Done(Voided::Voided)),
        IntentStatus::Succeeded => Ok(Answer::Done(Voided::AlreadyCaptured(captured(
            call, &intent,
        )))),
        other => Err(unexpected(&intent.id, other)),
    }
}

/// The payment as it stands.
pub(super) async fn read(
    client: &Client,
    mode: Mode,
    id: &str,
) -> Result<PaymentIntent, CallError> {
    client
        .get(mode, &["payment_intents", id], &WITH_CAPTURE)
        .await
}

/// Captures or cancels. Either happens once by itself, for the payment is over
/// then; whatever goes wrong, its state tells whether it happened.
async fn finish(
    client: &Client,
    call: &Call,
    id: &str,
    action: &str,
) -> Result<Answer<PaymentIntent>, Doubt> {
    let find = || async {
        let intent = read(client, call.mode, id).await?;
        Ok(is_over(&intent).then_some(intent))
    };
    let work = Work {
        call,
        key: &call.idempotency_key,
        path: &["payment_intents", id, action],
        params: &WITH_CAPTURE,
    };
    let made = match once::make(client, work, find).await {
        // The state does not allow it: something else may have been first.
        Err(CallError::Api(error)) if error.is_missing() => {
            return Ok(Answer::Refused(error.as_refusal()));
        }
        Err(CallError::Api(error)) if error.status == 400 => match find().await? {
            Some(over) => Ok(over),
            None => Err(CallError::Api(error)),
        },
        other => other,
    };
    settle(made)
}

/// The payment that this work made, among the customer's.
async fn find(
    client: &Client,
    call: &Call,
    customer: &str,
) -> Result<Option<PaymentIntent>, CallError> {
    let mut seen = 0;
    let mut starting_after = None;
    loop {
        let query = IntentsOf {
            customer,
            limit: 100,
            starting_after,
            expand: ["data.latest_charge", "data.payment_method"],
        };
        let page: Page<PaymentIntent> = client.get(call.mode, &["payment_intents"], &query).await?;
        seen += page.data.len();
        starting_after = page.data.last().map(|intent| intent.id.clone());
        let found = page
            .data
            .into_iter()
            .find(|intent| ids::is_of_work(&intent.metadata, &call.idempotency_key));
        if found.is_some() || !page.has_more || starting_after.is_none() || seen >= MOST_INTENTS {
            return Ok(found);
        }
    }
}

fn method_of(mode: Mode, request: &DepositRequest) -> Option<&str> {
    match (&request.payment_method, mode) {
        (Some(method), _) => Some(method),
        (None, Mode::Sandbox) => Some(TEST_METHOD),
        (None, Mode::Live) => None,
    }
}

fn authorization(intent: &PaymentIntent) -> Result<Answer<Authorization>, Doubt> {
    match &intent.status {
        IntentStatus::RequiresCapture | IntentStatus::Succeeded => {
            Ok(Answer::Done(Authorization {
                payment_intent_id: intent.id.clone(),
                expires_at: expiry(intent)?,
                method: intent
                    .payment_method
                    .as_ref()
                    .map(payment_methods::from_expandable),
            }))
        }
        IntentStatus::RequiresPaymentMethod => {
            Ok(Answer::Refused(refusal(intent.last_payment_error.as_ref())))
        }
        IntentStatus::RequiresAction => Ok(Answer::Refused(Refusal {
            code: "authentication_required".to_owned(),
            message: "The bank asks the customer to authenticate, which this payment cannot do."
                .to_owned(),
        })),
        IntentStatus::Canceled => Ok(Answer::Refused(gone(intent))),
        other => Err(unexpected(&intent.id, other)),
    }
}

/// What the card's network allows, else seven days.
pub(super) fn expiry(intent: &PaymentIntent) -> Result<Timestamp, Doubt> {
    let details = intent
        .latest_charge
        .as_ref()
        .and_then(Expandable::object)
        .and_then(|charge| charge.payment_method_details.as_ref());
    let told = details
        .and_then(|details| details.card.as_ref().or(details.card_present.as_ref()))
        .and_then(|card| card.capture_before);
    match told {
        Some(seconds) => instant(seconds),
        None => Ok(instant(intent.created)? + USUAL_AUTHORIZATION),
    }
}

fn captured(call: &Call, intent: &PaymentIntent) -> Capture {
    let charge = intent.latest_charge.as_ref();
    // The movement of money has the time; without one it was just now.
    let at = charge
        .and_then(Expandable::object)
        .and_then(|charge| charge.balance_transaction.as_ref())
        .and_then(Expandable::object)
        .and_then(|transaction| Timestamp::from_timestamp(transaction.created, 0))
        .unwrap_or(call.now);
    Capture {
        invoice_id: charge.map_or_else(|| intent.id.clone(), |charge| charge.id().to_owned()),
        at,
    }
}

/// The authorization is no more.
fn gone(intent: &PaymentIntent) -> Refusal {
    let reason = intent.cancellation_reason.as_deref();
    Refusal {
        code: "authorization_ended".to_owned(),
        message: format!(
            "The authorization has ended ({}).",
            reason.unwrap_or("cancelled")
        ),
    }
}

fn is_over(intent: &PaymentIntent) -> bool {
    matches!(
        intent.status,
        IntentStatus::Succeeded | IntentStatus::Canceled
    )
}

fn unexpected(id: &str, status: &IntentStatus) -> Doubt {
    Doubt::failed(format!("{id} is {}", status.as_str()))
}

pub(super) fn instant(seconds: i64) -> Result<Timestamp, Doubt> {
    Timestamp::from_timestamp(seconds, 0)
        .ok_or_else(|| Doubt::failed(format!("{seconds} is no time")))
}
