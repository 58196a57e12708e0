//! Messages that the processor sends by itself.

use lessor_domain::access::Mode;
use lessor_domain::checkout::InvoiceOutcome;
use lessor_domain::ledger::{Authorization, HoldState};
use lessor_domain::money::Money;
use lessor_domain::ports::{InboxMessage, MessageReader, ProcessorEvent, ProcessorFact};
use lessor_domain::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::error::refusal;
use super::identity::result_of;
use super::ids::ours;
use super::wire::{Expandable, Metadata, Reference, VerificationSession};
use super::wire_billing::{Invoice, Subscription};
use super::wire_payments::{Dispute, PaymentIntent, Refund};
use super::wire_sessions::Session;
use super::{amount, deposits, invoices, refunds, subscriptions};

/// The message is not one that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// It is no message of the processor's.
    #[error("the message cannot be read at {path}: {message}")]
    Malformed {
        /// Where, such as `data.object.amount`.
        path: String,
        /// What is wrong there.
        message: String,
    },
    /// It holds a value that has no meaning here.
    #[error("the message {id} holds {what}")]
    Senseless {
        /// The processor's id of it.
        id: String,
        /// What it holds.
        what: String,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    created: i64,
    livemode: bool,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    object: &'a RawValue,
}

/// A charge, as messages carry it.
#[derive(Deserialize)]
struct Charge {
    amount: i64,
    currency: String,
    // What was never captured is let go of, which shows as a refund too.
    #[serde(default = "yes")]
    captured: bool,
    payment_intent: Option<Expandable<Reference>>,
    #[serde(default)]
    metadata: Metadata,
}

const fn yes() -> bool {
    true
}

/// Reads a message whose signature was found good.
///
/// A type that Lessor has no use for is [`ProcessorFact::Unknown`], whatever it
/// carries.
///
/// # Errors
/// [`EventError`] when the message, or the object that it carries, is not of the form
/// that its type has.
pub fn parse_event(body: &[u8]) -> Result<ProcessorEvent, EventError> {
    let envelope: Envelope<'_> = read("", body)?;
    let at = time(&envelope, envelope.created)?;
    let (fact, metadata) = fact(&envelope, at)?;
    Ok(ProcessorEvent {
        at,
        mode: mode(envelope.livemode),
        about: ours(&metadata),
        fact,
        id: envelope.id,
    })
}

/// What says which message it is, whatever it tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventHead {
    /// The processor's id of the message, 1 to 255 visible ASCII characters.
    pub id: String,
    /// Live or sandbox.
    pub mode: Mode,
}

/// Reads which message it is, so that it can be kept before anybody looks into it.
///
/// # Errors
/// [`EventError`] when it is no message of the processor's.
pub fn parse_event_head(body: &[u8]) -> Result<EventHead, EventError> {
    #[derive(Deserialize)]
    struct Head {
        id: String,
        livemode: bool,
    }
    let head: Head = read("", body)?;
    let visible = head.id.bytes().all(|byte| byte.is_ascii_graphic());
    if !visible || !(1..=255).contains(&head.id.len()) {
        return Err(EventError::Malformed {
            path: "id".to_owned(),
            message: "is not 1 to 255 visible characters".to_owned(),
        });
    }
    Ok(EventHead {
        id: head.id,
        mode: mode(head.livemode),
    })
}

/// Understands kept messages of the processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventReader;

impl MessageReader for EventReader {
    fn read(&self, message: &InboxMessage) -> Result<ProcessorEvent, String> {
        parse_event(&message.body).map_err(|error| error.to_string())
    }
}

const fn mode(livemode: bool) -> Mode {
    if livemode { Mode::Live } else { Mode::Sandbox }
}

fn fact(envelope: &Envelope<'_>, at: Timestamp) -> Result<(ProcessorFact, Metadata), EventError> {
    let kind = envelope.kind.as_str();
    Ok(match kind {
        _ if kind.starts_with("identity.verification_session.") => identity(envelope)?,
        "payment_intent.amount_capturable_updated"
        | "payment_intent.canceled"
        | "payment_intent.payment_failed"
        | "payment_intent.succeeded" => payment(envelope)?,
        "charge.expired" => released(envelope, at)?,
        "charge.refunded" => {
            let charge: Charge = object(envelope)?;
            // Of money that was taken the refund itself tells.
            if charge.captured {
                unknown(kind)
            } else {
                released(envelope, at)?
            }
        }
        "charge.refund.updated" | "refund.created" | "refund.failed" | "refund.updated" => {
            refund(envelope, at)?
        }
        "checkout.session.completed" | "checkout.session.expired" => {
            let session: Session = object(envelope)?;
            let fact = ProcessorFact::SessionOver {
                session_id: session.id,
            };
            (fact, session.metadata)
        }
        _ if kind.starts_with("charge.dispute.") => {
            let dispute: Dispute = object(envelope)?;
            let fact = ProcessorFact::Disputed {
                payment_intent_id: dispute.payment_intent.as_ref().map(|id| id.id().to_owned()),
                amount: money(envelope, dispute.amount, &dispute.currency)?,
                closed: dispute.is_settled(),
                dispute_id: dispute.id,
                status: dispute.status,
            };
            (fact, dispute.metadata)
        }
        "invoice.marked_uncollectible"
        | "invoice.paid"
        | "invoice.payment_failed"
        | "invoice.voided" => invoice(envelope, at)?,
        "customer.subscription.created"
        | "customer.subscription.updated"
        | "customer.subscription.deleted"
        | "customer.subscription.paused"
        | "customer.subscription.resumed" => subscription(envelope)?,
        _ => unknown(kind),
    })
}

fn identity(envelope: &Envelope<'_>) -> Result<(ProcessorFact, Metadata), EventError> {
    let session: VerificationSession = object(envelope)?;
    Ok(match result_of(&session) {
        Some(result) => {
            let fact = ProcessorFact::Identity {
                session_id: session.id,
                result,
            };
            (fact, session.metadata)
        }
        None => unknown(&envelope.kind),
    })
}

/// A deposit moved, or a payment was refused. The payments of invoices are no deposits: they carry
/// no ids of ours, and their invoices tell of them.
fn payment(envelope: &Envelope<'_>) -> Result<(ProcessorFact, Metadata), EventError> {
    let intent: PaymentIntent = object(envelope)?;
    let state = match envelope.kind.as_str() {
        "payment_intent.amount_capturable_updated" => HoldState::Held,
        "payment_intent.canceled" => HoldState::Released,
        "payment_intent.succeeded" => HoldState::Captured,
        _ => {
            let fact = ProcessorFact::PaymentRefused {
                refusal: refusal(intent.last_payment_error.as_ref()),
                payment_intent_id: intent.id,
            };
            return Ok((fact, intent.metadata));
        }
    };
    if ours(&intent.metadata).checkout.is_none() {
        return Ok(unknown(&envelope.kind));
    }
    let known = deposits::known(&intent, state).map_err(|what| senseless(envelope, what))?;
    // Messages carry the method's id alone, which says nothing to people.
    let method = known.method.filter(|_| {
        let method = intent.payment_method.as_ref();
        method.and_then(Expandable::object).is_some()
    });
    let known = Authorization { method, ..known };
    Ok((ProcessorFact::Deposit(known), intent.metadata))
}

/// What was held of a deposit is held no more, as its charge tells.
fn released(
    envelope: &Envelope<'_>,
    at: Timestamp,
) -> Result<(ProcessorFact, Metadata), EventError> {
    let charge: Charge = object(envelope)?;
    let checkout = ours(&charge.metadata).checkout;
    let (Some(intent), true) = (charge.payment_intent, checkout.is_some()) else {
        return Ok(unknown(&envelope.kind));
    };
    let known = Authorization {
        payment_intent_id: intent.id().to_owned(),
        checkout,
        amount: money(envelope, charge.amount, &charge.currency)?,
        state: HoldState::Released,
        expires_at: at,
        charge_id: None,
        method: None,
    };
    Ok((ProcessorFact::Deposit(known), charge.metadata))
}

fn refund(envelope: &Envelope<'_>, at: Timestamp) -> Result<(ProcessorFact, Metadata), EventError> {
    let refund: Refund = object(envelope)?;
    if refund.payment_intent.is_none() {
        // Nothing of ours is paid without one.
        return Ok(unknown(&envelope.kind));
    }
    let known = refunds::known(&refund, at).map_err(|what| senseless(envelope, what))?;
    let metadata = refund.metadata.unwrap_or_default();
    Ok((ProcessorFact::Refund(known), metadata))
}

fn invoice(
    envelope: &Envelope<'_>,
    at: Timestamp,
) -> Result<(ProcessorFact, Metadata), EventError> {
    let mut invoice: Invoice = object(envelope)?;
    if envelope.kind == "invoice.payment_failed" {
        // What failed was tried, whether it was counted yet or not.
        invoice.attempt_count = invoice.attempt_count.max(1);
    }
    let known = invoices::known(&invoice, Some(at)).map_err(|what| senseless(envelope, what))?;
    Ok(match known {
        Some(known) if known.outcome == InvoiceOutcome::Open => unknown(&envelope.kind),
        Some(known) => (ProcessorFact::Invoice(known), invoice.metadata()),
        // An invoice that no subscription made is none of ours.
        None => unknown(&envelope.kind),
    })
}

fn subscription(envelope: &Envelope<'_>) -> Result<(ProcessorFact, Metadata), EventError> {
    let subscription: Subscription = object(envelope)?;
    let state = subscriptions::state_of(&subscription).ok_or_else(|| {
        let status = subscription.status.as_str();
        senseless(envelope, format!("the status {status}"))
    })?;
    let ends_at = subscription.cancel_at;
    let fact = ProcessorFact::Subscription {
        subscription_id: subscription.id,
        state,
        ends_at: ends_at.map(|end| time(envelope, end)).transpose()?,
    };
    Ok((fact, subscription.metadata))
}

fn unknown(kind: &str) -> (ProcessorFact, Metadata) {
    let kind = kind.to_owned();
    (ProcessorFact::Unknown { kind }, Metadata::new())
}

fn object<T: DeserializeOwned>(envelope: &Envelope<'_>) -> Result<T, EventError> {
    read("data.object.", envelope.data.object.get().as_bytes())
}

fn read<'de, T: Deserialize<'de>>(prefix: &str, json: &'de [u8]) -> Result<T, EventError> {
    let mut json = serde_json::Deserializer::from_slice(json);
    serde_path_to_error::deserialize(&mut json).map_err(|error| EventError::Malformed {
        path: format!("{prefix}{}", error.path()),
        message: error.inner().to_string(),
    })
}

fn time(envelope: &Envelope<'_>, seconds: i64) -> Result<Timestamp, EventError> {
    Timestamp::from_timestamp(seconds, 0)
        .ok_or_else(|| senseless(envelope, format!("the time {seconds}")))
}

fn money(envelope: &Envelope<'_>, units: i64, currency: &str) -> Result<Money, EventError> {
    amount::from_processor(units, currency)
        .ok_or_else(|| senseless(envelope, format!("{units} {currency}")))
}

fn senseless(envelope: &Envelope<'_>, what: String) -> EventError {
    EventError::Senseless {
        id: envelope.id.clone(),
        what,
    }
}
