//! Sessions on the processor's own pages, where customers pay a deposit or leave a card.

use lessor_domain::access::Mode;
use lessor_domain::ledger::{Authorization, HostedSession, SessionState};
use lessor_domain::ports::{Attempt, Doubt, SessionItem, SessionRequest, SessionWanted, Verdict};
use serde::Serialize;

use super::client::Client;
use super::error::{CallError, done, settle};
use super::ids::{self, Ids};
use super::once::{self, Work};
use super::wire::{Expandable, Metadata};
use super::wire_payments::{PaymentIntent, SetupIntent};
use super::wire_sessions::{PageStatus, Session};
use super::{amount, catalog, customers, deposits, lists, payment_methods};

const PATH: [&str; 2] = ["checkout", "sessions"];

#[derive(Serialize)]
struct SessionParams<'a> {
    mode: &'static str,
    customer: &'a str,
    success_url: &'a str,
    cancel_url: &'a str,
    expires_at: i64,
    // Cards alone can be held first and charged later, and again while the customer is away.
    allowed_payment_method_types: [&'static str; 1],
    metadata: Metadata,
    #[serde(flatten)]
    wanted: Wanted,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Wanted {
    Payment {
        line_items: Vec<LineItem>,
        payment_intent_data: PaymentData,
    },
    Setup {
        currency: String,
        setup_intent_data: SetupData,
    },
}

#[derive(Serialize)]
struct LineItem {
    price_data: PriceData,
    quantity: u32,
}

#[derive(Serialize)]
struct PriceData {
    currency: String,
    unit_amount: i64,
    product_data: ProductData,
}

#[derive(Serialize)]
struct ProductData {
    name: String,
}

#[derive(Serialize)]
struct PaymentData {
    // "Place a hold on the funds when the customer authorizes the payment, but don't capture the funds
    // until later."
    capture_method: &'static str,
    // "Use `off_session` if your customer may or may not be present in your checkout flow."
    setup_future_usage: &'static str,
    metadata: Metadata,
}

#[derive(Serialize)]
struct SetupData {
    metadata: Metadata,
}

#[derive(Serialize)]
struct Expand {
    expand: [&'static str; 3],
}

/// What is read of a session along with it.
const WITH_PAYMENT: Expand = Expand {
    expand: [
        "payment_intent.latest_charge",
        "payment_intent.payment_method",
        "setup_intent.payment_method",
    ],
};

#[derive(Serialize)]
struct SessionsOf<'a> {
    customer: &'a str,
}

/// Opens a session.
pub(super) async fn open(
    client: &Client,
    attempt: &Attempt,
    request: &SessionRequest,
) -> Result<Verdict<HostedSession>, Doubt> {
    let customer = done!(customers::id_of(client, attempt, &request.customer).await?);
    let metadata = Ids::default()
        .work(&attempt.idempotency_key)
        .checkout(request.checkout)
        .organization(request.organization)
        .customer(request.customer.id)
        .metadata();
    let (mode, wanted) = match &request.wanted {
        SessionWanted::Deposit { amount, items } => {
            let lines: Option<Vec<LineItem>> = items.iter().map(line).collect();
            let Some(line_items) = lines else {
                return Ok(Verdict::Refused(catalog::unchargeable(*amount)));
            };
            let payment_intent_data = PaymentData {
                capture_method: "manual",
                setup_future_usage: "off_session",
                metadata: metadata.clone(),
            };
            let wanted = Wanted::Payment {
                line_items,
                payment_intent_data,
            };
            ("payment", wanted)
        }
        SessionWanted::Method { currency } => {
            let setup_intent_data = SetupData {
                metadata: metadata.clone(),
            };
            let wanted = Wanted::Setup {
                currency: amount::code(*currency),
                setup_intent_data,
            };
            ("setup", wanted)
        }
    };
    let params = SessionParams {
        mode,
        customer: &customer,
        success_url: &request.done_url,
        cancel_url: &request.left_url,
        expires_at: request.ends_at.timestamp(),
        allowed_payment_method_types: ["card"],
        metadata,
        wanted,
    };
    let work = Work {
        attempt,
        key: &attempt.idempotency_key,
        path: &PATH,
        params: &params,
    };
    let query = SessionsOf {
        customer: &customer,
    };
    let find = || {
        let is_ours =
            |session: &Session| ids::is_of_work(&session.metadata, &attempt.idempotency_key);
        lists::first(client, attempt.mode, &PATH, &query, is_ours)
    };
    let session = done!(settle(once::make(client, work, find).await)?);
    Ok(Verdict::Done(known(&session)?))
}

/// How the session stands; none when there is no such session.
pub(super) async fn read(
    client: &Client,
    mode: Mode,
    id: &str,
) -> Result<Option<HostedSession>, Doubt> {
    match get(client, mode, id).await {
        Ok(session) => Ok(Some(known(&session)?)),
        Err(CallError::Api(error)) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Closes the session. "A Checkout Session can be expired when it is in one of these statuses: open":
/// what is over is answered as it is.
pub(super) async fn expire(
    client: &Client,
    attempt: &Attempt,
    id: &str,
) -> Result<Verdict<HostedSession>, Doubt> {
    let find = || async {
        let session = get(client, attempt.mode, id).await?;
        Ok((session.status != PageStatus::Open).then_some(session))
    };
    let work = Work {
        attempt,
        key: &attempt.idempotency_key,
        path: &["checkout", "sessions", id, "expire"],
        params: &WITH_PAYMENT,
    };
    let session = match once::make(client, work, find).await {
        Err(CallError::Api(error)) if error.is_missing() => {
            return Ok(Verdict::Refused(error.as_refusal()));
        }
        Err(CallError::Api(error)) if error.status == 400 => {
            let session = get(client, attempt.mode, id).await?;
            if session.status == PageStatus::Open {
                return settle(Err(CallError::Api(error)));
            }
            session
        }
        other => done!(settle(other)?),
    };
    Ok(Verdict::Done(known(&session)?))
}

async fn get(client: &Client, mode: Mode, id: &str) -> Result<Session, CallError> {
    client
        .get(mode, &["checkout", "sessions", id], &WITH_PAYMENT)
        .await
}

/// None when the processor cannot count the amount.
fn line(item: &SessionItem) -> Option<LineItem> {
    Some(LineItem {
        price_data: PriceData {
            currency: amount::code(item.amount.currency()),
            unit_amount: amount::to_processor(item.amount)?,
            product_data: ProductData {
                name: item.name.clone(),
            },
        },
        quantity: item.quantity,
    })
}

fn known(session: &Session) -> Result<HostedSession, Doubt> {
    let state = match &session.status {
        PageStatus::Open => SessionState::Open,
        PageStatus::Complete => SessionState::Completed,
        PageStatus::Expired => SessionState::Expired,
        other @ PageStatus::Unknown(_) => {
            return Err(Doubt::failed(format!(
                "{} is {}",
                session.id,
                other.as_str()
            )));
        }
    };
    let is_done = state == SessionState::Completed;
    let intent = session
        .payment_intent
        .as_ref()
        .and_then(Expandable::object)
        .filter(|_| is_done);
    let setup = session.setup_intent.as_ref().and_then(Expandable::object);
    Ok(HostedSession {
        id: session.id.clone(),
        state,
        url: session.url.clone(),
        authorization: intent.map(authorization).transpose()?.flatten(),
        method: setup
            .filter(|_| is_done)
            .and_then(|setup: &SetupIntent| setup.payment_method.as_ref())
            .map(payment_methods::from_expandable),
    })
}

fn authorization(intent: &PaymentIntent) -> Result<Option<Authorization>, Doubt> {
    match deposits::state_of(intent)? {
        Some(state) => Ok(Some(deposits::known(intent, state).map_err(Doubt::failed)?)),
        None => Ok(None),
    }
}
