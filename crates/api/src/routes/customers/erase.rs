//! `POST /v1/customers/{id}/erase`.

use actix_web::{HttpResponse, post};
use lessor_domain::ids::CustomerPubId;
use lessor_domain::ports::ReplacementAnswer;
use lessor_domain::services::erasure::{EraseCustomer, ErasureReport, Kept};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::CUSTOMER;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{OptionalBody, PathId};
use crate::wire::{DateText, UserId};

/// There is nothing to say beside who.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EraseCustomer)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EraseCustomerBody {}

/// What became of the erasure of a customer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Erasure)]
#[serde(rename_all = "camelCase")]
struct ErasureRecord {
    /// The tables that something was taken out of by this request.
    erased: Vec<String>,
    /// What stays.
    kept: Vec<KeptRecord>,
}

/// Something that an erasure leaves.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeptData)]
#[serde(rename_all = "camelCase")]
struct KeptRecord {
    /// The table.
    what: &'static str,
    /// What of it stays and why, for people.
    why: String,
    /// The last day on which it is needed, where that is known: erase the customer again after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<DateText>,
}

impl From<&ErasureReport> for ErasureRecord {
    fn from(report: &ErasureReport) -> Self {
        Self {
            erased: report.erased.iter().map(ToString::to_string).collect(),
            kept: report.kept.iter().map(Into::into).collect(),
        }
    }
}

impl From<&Kept> for KeptRecord {
    fn from(kept: &Kept) -> Self {
        Self {
            what: kept.what.as_str(),
            why: kept.why.clone(),
            until: kept.until.map(Into::into),
        }
    }
}

/// Erase a customer.
///
/// Takes name, addresses, phone number, metadata and whatever else tells of the person out of every
/// record, for good. Checkouts on their way are cancelled first. What a running lease needs stays, and so
/// does what the books need: `kept` says what, why and until when. Erase the customer again once the lease has
/// ended, and the rest goes; to erase one who is erased changes nothing. The customer's record stays,
/// without the person. Requires `CustomerErase`.
#[utoipa::path(
    tag = "Customers",
    params(
        ("id" = inline(UserId), Path, description = "The customer, `usr_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<EraseCustomerBody>),
    responses((status = 200, body = ErasureRecord, description = "What was taken out, and what stays."))
)]
#[post("/customers/{id}/erase")]
pub(super) async fn erase_customer(
    call: Call,
    id: PathId<CustomerPubId>,
    body: OptionalBody<EraseCustomerBody>,
) -> Result<HttpResponse, ApiError> {
    let id = id.of(CUSTOMER)?;
    let replacement = answer_of_none(&call);
    let erase = EraseCustomer { id, replacement };
    call.post(erase, &body.raw, |report, _| ErasureRecord::from(&report))
        .await
}

/// What a repeated request is answered whose kept answer told of the customer: that there is none.
fn answer_of_none(call: &Call) -> ReplacementAnswer {
    let error = ApiError::not_found(CUSTOMER);
    let public_url = &call.state().settings.public_url;
    ReplacementAnswer {
        status: error.status().as_u16(),
        body: error.body(public_url.as_str(), None),
    }
}
