//! Deposits: payments that are authorized first and captured later.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ledger::{Authorization, HoldState};
use lessor_domain::ports::{
    Attempt, Capture, DepositRequest, Doubt, ProcessorCustomer, Verdict, VoidResult,
};
use lessor_domain::time::Timestamp;
use serde::Serialize;

use super::client::Client;
use super::error::{CallError, done, precise_refusal, refusal, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::payment_methods::{self, AutomaticMethods, TEST_METHOD};
use super::wire::{Expandable, IntentStatus, Metadata};
use super::wire_payments::{Charge, PaymentIntent};
use super::{amount, catalog, customers, lists};

/// How long an authorization lasts when the processor does not say.
const USUAL_AUTHORIZATION: TimeDelta = TimeDelta::days(7);

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
    expand: [&'static str; 2],
}

/// What is read of a payment along with it.
const WITH_CHARGE: [&str; 2] = ["latest_charge", "payment_method"];
const WITH_CAPTURE: Expand = Expand {
    expand: ["latest_charge.balance_transaction", "payment_method"],
};
/// The same of each payment of a list.
pub(super) const EACH_WITH_CHARGE: [&str; 2] = ["data.latest_charge", "data.payment_method"];

#[derive(Serialize)]
struct IntentsOf<'a> {
    customer: &'a str,
    expand: [&'static str; 2],
}

impl<'a> IntentsOf<'a> {
    fn new(customer: &'a str) -> Self {
        Self {
            customer,
            expand: EACH_WITH_CHARGE,
        }
    }
}

/// Authorizes a deposit, in one request that makes the payment and confirms it.
///
/// Why a bank declines while the customer is away, it is asked for precisely: whether it may be
/// asked again hangs on it. To customers who are there the processor's general code is enough.
pub(super) async fn authorize(
    client: &Client,
    attempt: &Attempt,
    request: &DepositRequest,
) -> Result<Verdict<Authorization>, Doubt> {
    let Some(units) = amount::to_processor(request.amount) else {
        return Ok(Verdict::Refused(catalog::unchargeable(request.amount)));
    };
    let Some(method) = method_of(attempt.mode, request) else {
        return Ok(Verdict::Refused(payment_methods::none_named()));
    };
    let customer = done!(customers::id_of(client, attempt, &request.customer).await?);
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
            .work(&attempt.idempotency_key)
            .checkout(request.checkout)
            .organization(request.organization)
            .customer(request.customer.id)
            .metadata(),
    };
    let work = Work {
        attempt,
        key: &attempt.idempotency_key,
        path: &["payment_intents"],
        params: &params,
    };
    let query = IntentsOf::new(&customer);
    let find = || {
        let is_ours =
            |intent: &PaymentIntent| ids::is_of_work(&intent.metadata, &attempt.idempotency_key);
        lists::first(client, attempt.mode, &["payment_intents"], &query, is_ours)
    };
    match once::make(client, work, find).await {
        Ok(intent) => authorization(&intent, request.off_session),
        Err(CallError::Api(error)) if request.off_session && error.refusal().is_some() => {
            Ok(Verdict::Refused(error.as_precise_refusal()))
        }
        Err(error) => settle(Err(error)),
    }
}

/// What became of the deposit; none when there is no such payment.
pub(super) async fn deposit(
    client: &Client,
    mode: Mode,
    id: &str,
) -> Result<Option<Authorization>, Doubt> {
    match read(client, mode, id).await {
        Ok(intent) => {
            let state = state_of(&intent)?.unwrap_or(HoldState::Released);
            Ok(Some(known(&intent, state).map_err(Doubt::failed)?))
        }
        Err(CallError::Api(error)) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Every authorization that was made for the checkout.
pub(super) async fn of_checkout(
    client: &Client,
    mode: Mode,
    customer: &ProcessorCustomer,
    checkout: CheckoutPubId,
) -> Result<Vec<Authorization>, Doubt> {
    // Of whom the processor does not know it holds nothing.
    let Some(customer) = &customer.processor_id else {
        return Ok(Vec::new());
    };
    let query = IntentsOf::new(customer);
    let intents: Vec<PaymentIntent> =
        lists::all(client, mode, &["payment_intents"], &query).await?;
    intents
        .iter()
        .filter(|intent| ids::is_of_checkout(&intent.metadata, checkout))
        .filter_map(|intent| listed(intent).map_err(Doubt::failed).transpose())
        .collect()
}

/// Captures the deposit in full.
pub(super) async fn capture(
    client: &Client,
    attempt: &Attempt,
    id: &str,
) -> Result<Verdict<Capture>, Doubt> {
    let intent = done!(finish(client, attempt, id, "capture").await?);
    match &intent.status {
        IntentStatus::Succeeded => Ok(Verdict::Done(captured(attempt, &intent))),
        IntentStatus::Canceled => Ok(Verdict::Refused(gone(&intent))),
        other => Err(unexpected(&intent.id, other)),
    }
}

/// Lets the deposit go.
pub(super) async fn void(
    client: &Client,
    attempt: &Attempt,
    id: &str,
) -> Result<Verdict<VoidResult>, Doubt> {
    let intent = done!(finish(client, attempt, id, "cancel").await?);
    match &intent.status {
        IntentStatus::Canceled => Ok(Verdict::Done(VoidResult::Voided)),
        IntentStatus::Succeeded => Ok(Verdict::Done(VoidResult::AlreadyCaptured(captured(
            attempt, &intent,
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
    attempt: &Attempt,
    id: &str,
    action: &str,
) -> Result<Verdict<PaymentIntent>, Doubt> {
    let find = || async {
        let intent = read(client, attempt.mode, id).await?;
        Ok(is_over(&intent).then_some(intent))
    };
    let work = Work {
        attempt,
        key: &attempt.idempotency_key,
        path: &["payment_intents", id, action],
        params: &WITH_CAPTURE,
    };
    match once::make(client, work, find).await {
        Err(CallError::Api(error)) if error.is_missing() => {
            Ok(Verdict::Refused(error.as_refusal()))
        }
        // The state does not allow it: something else may have been first.
        Err(CallError::Api(error)) if error.status == 400 => {
            let intent = read(client, attempt.mode, id).await?;
            match &intent.status {
                IntentStatus::Succeeded | IntentStatus::Canceled => Ok(Verdict::Done(intent)),
                // It is becoming something else.
                IntentStatus::Processing => Err(unexpected(&intent.id, &intent.status)),
                _ => settle(Err(CallError::Api(error))),
            }
        }
        other => settle(other),
    }
}

fn method_of(mode: Mode, request: &DepositRequest) -> Option<&str> {
    match (&request.payment_method, mode) {
        (Some(method), _) => Some(method),
        (None, Mode::Sandbox) => Some(TEST_METHOD),
        (None, Mode::Live) => None,
    }
}

fn authorization(
    intent: &PaymentIntent,
    off_session: bool,
) -> Result<Verdict<Authorization>, Doubt> {
    match &intent.status {
        IntentStatus::RequiresPaymentMethod => {
            let error = intent.last_payment_error.as_ref();
            Ok(Verdict::Refused(if off_session {
                precise_refusal(error)
            } else {
                refusal(error)
            }))
        }
        IntentStatus::RequiresAction => Ok(Verdict::Refused(Refusal {
            code: "authentication_required".to_owned(),
            message: "The bank asks the customer to authenticate, which this payment cannot do."
                .to_owned(),
        })),
        other => match state_of(intent)? {
            Some(state) => Ok(Verdict::Done(known(intent, state).map_err(Doubt::failed)?)),
            None => Err(unexpected(&intent.id, other)),
        },
    }
}

/// How far the hold is; none when nothing was ever held.
pub(super) fn state_of(intent: &PaymentIntent) -> Result<Option<HoldState>, Doubt> {
    match &intent.status {
        IntentStatus::RequiresCapture => Ok(Some(HoldState::Held)),
        IntentStatus::Succeeded => Ok(Some(HoldState::Captured)),
        IntentStatus::Canceled => Ok(Some(HoldState::Released)),
        IntentStatus::RequiresPaymentMethod
        | IntentStatus::RequiresConfirmation
        | IntentStatus::RequiresAction => Ok(None),
        other @ (IntentStatus::Processing | IntentStatus::Unknown(_)) => {
            Err(unexpected(&intent.id, other))
        }
    }
}

/// The hold of a payment; none when nothing was ever held. Else what it holds that is not known
/// here.
pub(super) fn listed(intent: &PaymentIntent) -> Result<Option<Authorization>, String> {
    // The payment of a page on which every card was declined is cancelled with it.
    let is_canceled = intent.status == IntentStatus::Canceled;
    let charge = intent.latest_charge.as_ref();
    if is_canceled && charge.is_none_or(|charge| charge.object().is_some_and(Charge::has_failed)) {
        return Ok(None);
    }
    match state_of(intent).map_err(|doubt| doubt.to_string())? {
        Some(state) => known(intent, state).map(Some),
        None => Ok(None),
    }
}

/// The authorization as the domain knows it; else what it holds that is not known here.
pub(super) fn known(intent: &PaymentIntent, state: HoldState) -> Result<Authorization, String> {
    // What was taken may be less than what was held.
    let units = match state {
        HoldState::Captured if intent.amount_received > 0 => intent.amount_received,
        HoldState::Captured | HoldState::Held | HoldState::Released => intent.amount,
    };
    let amount = amount::from_processor(units, &intent.currency)
        .ok_or_else(|| format!("{} is of {units} {}", intent.id, intent.currency))?;
    let charge = intent.latest_charge.as_ref();
    Ok(Authorization {
        payment_intent_id: intent.id.clone(),
        checkout: ids::ours(&intent.metadata).checkout,
        amount,
        state,
        expires_at: expiry(intent).map_err(|doubt| doubt.to_string())?,
        charge_id: charge
            .filter(|_| state == HoldState::Captured)
            .map(|charge| charge.id().to_owned()),
        method: intent
            .payment_method
            .as_ref()
            .map(payment_methods::from_expandable),
    })
}

/// What the card's network allows, else seven days.
fn expiry(intent: &PaymentIntent) -> Result<Timestamp, Doubt> {
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

fn captured(attempt: &Attempt, intent: &PaymentIntent) -> Capture {
    let charge = intent.latest_charge.as_ref();
    // The movement of money has the time; without one it was just now.
    let at = charge
        .and_then(Expandable::object)
        .and_then(|charge| charge.balance_transaction.as_ref())
        .and_then(Expandable::object)
        .and_then(|transaction| Timestamp::from_timestamp(transaction.created, 0))
        .unwrap_or(attempt.now);
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
