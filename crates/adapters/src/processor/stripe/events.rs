//! Messages that the processor sends by itself.

use lessor_domain::access::Mode;
use lessor_domain::money::Money;
use lessor_domain::ports::{InboxMessage, MessageReader, ProcessorEvent, ProcessorFact};
use lessor_domain::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::amount;
use super::deposits::expiry;
use super::error::refusal;
use super::identity::result_of;
use super::ids::ours;
use super::wire::{
    Expandable, Metadata, PaymentIntent, Reference, Subscription, VerificationSession,
};

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
    amount_refunded: i64,
    currency: String,
    refunded: bool,
    // What was never captured is let go of, which shows as a refund too.
    #[serde(default = "yes")]
    captured: bool,
    payment_intent: Option<Expandable<Reference>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Dispute {
    id: String,
    amount: i64,
    currency: String,
    status: String,
    payment_intent: Option<Expandable<Reference>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Invoice {
    id: String,
    amount_paid: i64,
    currency: String,
    #[serde(default)]
    attempt_count: u32,
    #[serde(default)]
    billing_reason: Option<String>,
    #[serde(default)]
    parent: Option<InvoiceParent>,
    // Where older versions of the API keep what `parent` has.
    #[serde(default)]
    subscription: Option<Expandable<Reference>>,
    #[serde(default)]
    subscription_details: Option<SubscriptionDetails>,
}

#[derive(Deserialize)]
struct InvoiceParent {
    #[serde(default)]
    subscription_details: Option<SubscriptionDetails>,
}

#[derive(Deserialize)]
struct SubscriptionDetails {
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default)]
    subscription: Option<Expandable<Reference>>,
}

#[derive(Deserialize)]
struct EndedSubscription {
    #[serde(default)]
    ended_at: Option<i64>,
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
        "charge.expired" => {
            let charge: Charge = object(envelope)?;
            match charge.payment_intent {
                Some(intent) => {
                    let fact = ProcessorFact::AuthorizationEnded {
                        payment_intent_id: intent.id().to_owned(),
                        lapsed: true,
                    };
                    (fact, charge.metadata)
                }
                None => unknown(kind),
            }
        }
        "charge.refunded" => {
            let charge: Charge = object(envelope)?;
            let payment_intent_id = charge.payment_intent.as_ref().map(|id| id.id().to_owned());
            let fact = match payment_intent_id {
                Some(payment_intent_id) if !charge.captured => ProcessorFact::AuthorizationEnded {
                    payment_intent_id,
                    lapsed: false,
                },
                payment_intent_id => ProcessorFact::Refunded {
                    payment_intent_id,
                    amount: money(envelope, charge.amount_refunded, &charge.currency)?,
                    full: charge.refunded || charge.amount_refunded >= charge.amount,
                },
            };
            (fact, charge.metadata)
        }
        _ if kind.starts_with("charge.dispute.") => {
            let dispute: Dispute = object(envelope)?;
            let fact = ProcessorFact::Disputed {
                payment_intent_id: dispute.payment_intent.as_ref().map(|id| id.id().to_owned()),
                amount: money(envelope, dispute.amount, &dispute.currency)?,
                closed: kind == "charge.dispute.closed",
                dispute_id: dispute.id,
                status: dispute.status,
            };
            (fact, dispute.metadata)
        }
        "invoice.paid" | "invoice.payment_failed" => invoice(envelope)?,
        "customer.subscription.created"
        | "customer.subscription.updated"
        | "customer.subscription.deleted"
        | "customer.subscription.paused"
        | "customer.subscription.resumed" => subscription(envelope, at)?,
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

fn payment(envelope: &Envelope<'_>) -> Result<(ProcessorFact, Metadata), EventError> {
    let intent: PaymentIntent = object(envelope)?;
    let payment_intent_id = intent.id.clone();
    let fact = match envelope.kind.as_str() {
        "payment_intent.amount_capturable_updated" => ProcessorFact::Authorized {
            payment_intent_id,
            // Messages carry the charge's id alone; a time without it would be a guess.
            expires_at: match intent.latest_charge.as_ref().and_then(Expandable::object) {
                Some(_) => expiry(&intent).ok(),
                None => None,
            },
        },
        "payment_intent.canceled" => ProcessorFact::AuthorizationEnded {
            payment_intent_id,
            lapsed: matches!(
                intent.cancellation_reason.as_deref(),
                Some("automatic" | "expired")
            ),
        },
        "payment_intent.succeeded" => ProcessorFact::Captured {
            payment_intent_id,
            invoice_id: intent
                .latest_charge
                .as_ref()
                .map(|charge| charge.id().to_owned()),
        },
        _ => ProcessorFact::PaymentRefused {
            payment_intent_id,
            refusal: refusal(intent.last_payment_error.as_ref()),
        },
    };
    Ok((fact, intent.metadata))
}

fn invoice(envelope: &Envelope<'_>) -> Result<(ProcessorFact, Metadata), EventError> {
    let invoice: Invoice = object(envelope)?;
    let details = invoice
        .parent
        .and_then(|parent| parent.subscription_details)
        .or(invoice.subscription_details);
    let (metadata, subscription) = match details {
        Some(details) => (details.metadata, details.subscription),
        None => (None, None),
    };
    let Some(subscription) = subscription.or(invoice.subscription) else {
        // An invoice that no subscription made is none of ours.
        return Ok(unknown(&envelope.kind));
    };
    let subscription_id = subscription.id().to_owned();
    let first = invoice.billing_reason.as_deref() == Some("subscription_create");
    let fact = if envelope.kind == "invoice.paid" {
        ProcessorFact::InvoicePaid {
            subscription_id,
            amount: money(envelope, invoice.amount_paid, &invoice.currency)?,
            invoice_id: invoice.id,
            first,
        }
    } else {
        ProcessorFact::InvoiceFailed {
            subscription_id,
            invoice_id: invoice.id,
            attempts: invoice.attempt_count,
            first,
        }
    };
    Ok((fact, metadata.unwrap_or_default()))
}

fn subscription(
    envelope: &Envelope<'_>,
    at: Timestamp,
) -> Result<(ProcessorFact, Metadata), EventError> {
    use super::wire::SubscriptionStatus::{Canceled, IncompleteExpired};

    let subscription: Subscription = object(envelope)?;
    let over = matches!(subscription.status, Canceled | IncompleteExpired);
    let fact = if over || envelope.kind == "customer.subscription.deleted" {
        let EndedSubscription { ended_at } = object(envelope)?;
        ProcessorFact::SubscriptionEnded {
            subscription_id: subscription.id,
            at: ended_at.map_or(Ok(at), |seconds| time(envelope, seconds))?,
        }
    } else {
        ProcessorFact::SubscriptionChanged {
            subscription_id: subscription.id,
            status: subscription.status.as_str().to_owned(),
            ends_at: subscription
                .cancel_at
                .map(|seconds| time(envelope, seconds))
                .transpose()?,
        }
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
    Timestamp::from_timestamp(seconds, 0).ok_or_else(|| EventError::Senseless {
        id: envelope.id.clone(),
        what: format!("the time {seconds}"),
    })
}

fn money(envelope: &Envelope<'_>, units: i64, currency: &str) -> Result<Money, EventError> {
    amount::from_processor(units, currency).ok_or_else(|| EventError::Senseless {
        id: envelope.id.clone(),
        what: format!("{units} {currency}"),
    })
}
