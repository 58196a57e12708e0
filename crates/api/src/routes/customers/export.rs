//! `GET /v1/customers/{id}/export`.

use actix_web::get;
use actix_web::web::Json;
use lessor_domain::checkout::InvoiceOutcome;
use lessor_domain::ids::CustomerPubId;
use lessor_domain::ledger::{Entry, Thing};
use lessor_domain::ports::HistoryEntry;
use lessor_domain::services::erasure::{CheckoutExport, CustomerExport, ExportCustomer};
use serde::Serialize;
use utoipa::ToSchema;

use super::CUSTOMER;
use super::record::CustomerRecord;
use crate::http::error::ApiError;
use crate::idempotency::{Call, Viewer};
use crate::request::PathId;
use crate::routes::audit::AuditEventRecord;
use crate::routes::checkouts::{AgreementDocument, CheckoutRecord, TrackingEventRecord};
use crate::wire::{CheckoutActor, DateTimeText, KeyId, Lifecycle, MoneyText, PaymentKind, UserId};

/// All that is known of a customer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CustomerExport)]
#[serde(rename_all = "camelCase")]
struct CustomerExportRecord {
    /// The customer.
    customer: CustomerRecord,
    /// Their checkouts, oldest first.
    checkouts: Vec<CheckoutExportRecord>,
    /// What was done to the customer and to their checkouts, as far as the key may see it, oldest first.
    audit: Vec<AuditEventRecord>,
}

/// All that is known of a checkout.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckoutExport)]
#[serde(rename_all = "camelCase")]
struct CheckoutExportRecord {
    /// The checkout.
    checkout: CheckoutRecord,
    /// What happened to it, oldest first.
    history: Vec<MoveRecord>,
    /// What the carrier reported of its goods, oldest first.
    tracking_events: Vec<TrackingEventRecord>,
    /// What was made for it at the payment processor.
    payments: Vec<PaymentRecord>,
    /// The documents that were to be signed, oldest first.
    agreements: Vec<AgreementDocument>,
}

/// Something that happened to a checkout.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckoutMove)]
#[serde(rename_all = "camelCase")]
struct MoveRecord {
    /// When.
    at: DateTimeText,
    /// What happened, such as `opened` or `cancelled`.
    event: &'static str,
    /// The state before.
    from: Lifecycle,
    /// The state after; the same as before where it was only noted.
    to: Lifecycle,
    /// Who made it happen.
    actor: CheckoutActor,
    /// The API key, `key_…`, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<KeyId>,
    /// Why, where somebody said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Something that was made at the payment processor.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payment)]
#[serde(rename_all = "camelCase")]
struct PaymentRecord {
    /// The processor's id; of a session ours.
    id: String,
    /// What it is.
    kind: PaymentKind,
    /// How far it is: `held`, `captured` or `released` of a hold; `incomplete`, `active`, `pastDue`, `unpaid`,
    /// `paused` or `ended` of a subscription; `open`, `failed`, `void` or `paid` of an invoice; `pending`,
    /// `succeeded` or `failed` of a refund; `asked`, `open`, `completed` or `expired` of a session on the
    /// processor's own pages.
    state: &'static str,
    /// Of a hold what is held, of a subscription each payment, else the whole.
    amount: MoneyText,
    /// Currency, ISO 4217.
    currency: &'static str,
    /// Since when it is so.
    at: DateTimeText,
    /// When a hold, a subscription or a session ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<DateTimeText>,
    /// The processor's id of the subscription that an invoice is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    subscription_id: Option<String>,
    /// The processor's id of the payment of an invoice, or of what a refund pays back.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_intent_id: Option<String>,
    /// Why it failed, in the processor's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl CustomerExportRecord {
    fn new(export: &CustomerExport, viewer: Viewer<'_>) -> Self {
        let checkouts = export.checkouts.iter();
        Self {
            customer: CustomerRecord::new(&export.customer),
            checkouts: checkouts
                .map(|checkout| CheckoutExportRecord::new(checkout, viewer))
                .collect(),
            audit: export.audit.iter().map(Into::into).collect(),
        }
    }
}

impl CheckoutExportRecord {
    fn new(export: &CheckoutExport, viewer: Viewer<'_>) -> Self {
        Self {
            checkout: CheckoutRecord::new(&export.view, viewer),
            history: export.history.iter().map(Into::into).collect(),
            tracking_events: export.tracking_events.iter().map(Into::into).collect(),
            payments: export.payments.iter().map(Into::into).collect(),
            agreements: export
                .agreements
                .iter()
                .map(|(record, events)| AgreementDocument::new(record, events))
                .collect(),
        }
    }
}

impl From<&HistoryEntry> for MoveRecord {
    fn from(entry: &HistoryEntry) -> Self {
        let made = &entry.transition;
        Self {
            at: made.at.into(),
            event: made.event.as_str(),
            from: made.from.into(),
            to: made.to.into(),
            actor: made.actor.into(),
            key_id: made.key.map(Into::into),
            reason: made.reason.as_ref().map(ToString::to_string),
        }
    }
}

impl From<&Entry> for PaymentRecord {
    fn from(entry: &Entry) -> Self {
        let amount = entry.amount;
        let record = Self {
            id: entry.id.clone(),
            kind: entry.kind().into(),
            state: "",
            amount: amount.into(),
            currency: amount.currency().code(),
            at: entry.at.into(),
            ends_at: None,
            subscription_id: None,
            payment_intent_id: None,
            failure: None,
        };
        match &entry.thing {
            Thing::Hold { state, ends_at } => Self {
                state: state.as_str(),
                ends_at: Some((*ends_at).into()),
                ..record
            },
            Thing::Subscription { state, ends_at, .. } => Self {
                state: state.as_str(),
                ends_at: ends_at.map(Into::into),
                ..record
            },
            Thing::Invoice {
                subscription_id,
                payment_intent_id,
                outcome,
                ..
            } => Self {
                state: state_of(outcome),
                subscription_id: Some(subscription_id.clone()),
                payment_intent_id: payment_intent_id.clone(),
                failure: match outcome {
                    InvoiceOutcome::Failed { refusal, .. } => Some(refusal.message.clone()),
                    _ => None,
                },
                ..record
            },
            Thing::Refund {
                payment_intent_id,
                state,
                failure,
            } => Self {
                state: state.as_str(),
                payment_intent_id: Some(payment_intent_id.clone()),
                failure: failure.clone(),
                ..record
            },
            Thing::Session { state, ends_at, .. } => Self {
                state: state.as_str(),
                ends_at: Some((*ends_at).into()),
                ..record
            },
        }
    }
}

const fn state_of(outcome: &InvoiceOutcome) -> &'static str {
    match outcome {
        InvoiceOutcome::Open => "open",
        InvoiceOutcome::Failed { .. } => "failed",
        InvoiceOutcome::Void => "void",
        InvoiceOutcome::Paid => "paid",
    }
}

/// Export a customer.
///
/// All that is known of the person: the customer's record, their checkouts with what happened to them, where
/// their goods were and what was paid, and what was done to any of these. In one answer, for the customer to
/// have. Requires `CustomerErase`.
#[utoipa::path(
    tag = "Customers",
    params(("id" = inline(UserId), Path, description = "The customer, `usr_…`.")),
    responses((status = 200, body = CustomerExportRecord, description = "All that is known."))
)]
#[get("/customers/{id}/export")]
pub(super) async fn export_customer(
    call: Call,
    id: PathId<CustomerPubId>,
) -> Result<Json<CustomerExportRecord>, ApiError> {
    let id = id.of(CUSTOMER)?;
    let export = call.read(ExportCustomer { id }).await?;
    Ok(Json(CustomerExportRecord::new(&export, call.viewer())))
}
