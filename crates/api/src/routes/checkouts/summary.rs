//! How many checkouts there are.

use std::collections::BTreeMap;

use actix_web::get;
use actix_web::web::Json;
use lessor_domain::services::UseCase as _;
use lessor_domain::services::checkouts::{CheckoutSummary, SummarizeCheckouts};
use lessor_domain::services::products::COUNTED;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::idempotency::Call;

/// How many checkouts there are.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckoutSummary)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckoutSummaryRecord {
    /// In all.
    total: u64,
    /// At how many a person must look: `GET /v1/checkouts?needsAttention=true` lists them.
    needs_attention: u64,
    /// In each state, by its name; every state is there.
    #[schema(example = json!({ "created": 2, "leaseActive": 40 }))]
    lifecycles: BTreeMap<String, u64>,
}

impl From<&CheckoutSummary> for CheckoutSummaryRecord {
    fn from(summary: &CheckoutSummary) -> Self {
        let by_state = summary.by_state.iter();
        Self {
            total: summary.total,
            needs_attention: summary.needs_attention,
            lifecycles: by_state
                .map(|(state, count)| (state.to_string(), *count))
                .collect(),
        }
    }
}

/// Count checkouts.
///
/// Those of the key's organization and mode, in all and by their states. Of more than 10,000 it may be what was
/// counted up to 30 seconds ago. Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    responses((status = 200, body = CheckoutSummaryRecord, description = "How many there are."))
)]
#[get("/checkouts/summary")]
pub(super) async fn summarize_checkouts(
    call: Call,
) -> Result<Json<CheckoutSummaryRecord>, ApiError> {
    call.require(SummarizeCheckouts.permission())?;
    let key = (call.access().organization_id, call.access().mode);
    let is_much = |summary: &CheckoutSummary| summary.total > COUNTED;
    let totals = &call.state().checkout_totals;
    let count = call.read(SummarizeCheckouts);
    let summary = totals.total_if(&key, is_much, count).await?;
    Ok(Json(CheckoutSummaryRecord::from(&summary)))
}
