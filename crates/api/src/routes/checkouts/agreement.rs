//! `GET /v1/checkouts/{id}/agreement`.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, get};
use lessor_domain::agreement::{AgreementEvent, AgreementRecord};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::services::agreements::{AgreementView, GetAgreement};
use serde::Serialize;
use utoipa::ToSchema;

use super::CHECKOUT;
use super::pdf::Pdf;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::PathId;
use crate::wire::{AgreementEventKind, CheckoutId, DateTimeText, SignerKind};

/// The document of a checkout, and the record of how it was signed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Agreement)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgreementDocument {
    /// The document, `doc_…`; `leaseDocumentId` of the checkout.
    document_id: String,
    /// Of the PDF, in hexadecimal.
    sha256: String,
    /// When it was made.
    created_at: DateTimeText,
    /// When the customer signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_at: Option<DateTimeText>,
    /// Where it is signed.
    signer: SignerKind,
    /// The name that they typed, or that the organization's signer told.
    #[serde(skip_serializing_if = "Option::is_none")]
    signer_name: Option<String>,
    /// To which version of the text about electronic records they agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    consent_version: Option<String>,
    /// What the organization's signer knows the signature by.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// What was done with it, oldest first.
    audit: Vec<AgreementAudit>,
}

/// What was done with a document.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AgreementEvent)]
#[serde(rename_all = "camelCase")]
struct AgreementAudit {
    /// What it was.
    event: AgreementEventKind,
    /// When.
    at: DateTimeText,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// The program that was used, as it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// Of this entry and the one before it.
    sha256: String,
}

impl AgreementDocument {
    pub(crate) fn new(record: &AgreementRecord, events: &[AgreementEvent]) -> Self {
        Self {
            document_id: record.id.to_string(),
            sha256: record.sha256.to_string(),
            created_at: record.created_at.into(),
            signed_at: record.signed_at.map(Into::into),
            signer: record.signer.into(),
            signer_name: record.signer_name.clone(),
            consent_version: record.consent_version.clone(),
            reference: record.signer_reference.as_ref().map(ToString::to_string),
            audit: events.iter().map(Into::into).collect(),
        }
    }
}

impl From<&AgreementEvent> for AgreementAudit {
    fn from(event: &AgreementEvent) -> Self {
        let happening = &event.happening;
        Self {
            event: happening.kind.into(),
            at: happening.at.into(),
            address: happening.address.clone(),
            user_agent: happening.user_agent.clone(),
            sha256: event.sha256.to_string(),
        }
    }
}

/// The PDF as an answer.
pub(crate) fn document(view: AgreementView) -> HttpResponse {
    let record = &view.record;
    HttpResponse::Ok()
        .content_type("application/pdf")
        .insert_header((header::ETAG, format!("\"{}\"", record.sha256)))
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("inline; filename=\"{}.pdf\"", record.id),
        ))
        .insert_header((header::CACHE_CONTROL, "private, no-cache"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(view.pdf)
}

/// Read the agreement.
///
/// The PDF that the customer signs, byte for byte; with `Accept: application/json` its hash and the record of
/// how it was signed. There is one from `documentsPending` on. Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    params(("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`.")),
    responses((status = 200, description = "The agreement.", content(
        (AgreementDocument = "application/json"),
        (Pdf = "application/pdf")
    )))
)]
#[get("/checkouts/{id}/agreement")]
pub(super) async fn get_agreement(
    call: Call,
    id: PathId<CheckoutPubId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let id = id.of(CHECKOUT)?;
    let view = call.read(GetAgreement { id }).await?;
    let accepted = request.headers().get(header::ACCEPT);
    let wants_json = accepted
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| accepted.contains("application/json"));
    Ok(if wants_json {
        HttpResponse::Ok().json(AgreementDocument::new(&view.record, &view.events))
    } else {
        document(view)
    })
}
