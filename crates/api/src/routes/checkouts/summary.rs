//! How many checkouts there are.

use std::collections::BTreeMap;

use actix_web::get;
use actix_web::web::Json;
use lessor_domain::services::checkouts::{CheckoutSummary, SummarizeCheckouts};
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
/// Those of the key's organization and mode, in all and by their states. Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    responses((status = 200, body = CheckoutSummaryRecord, description = "How many there are."))
)]
#[get("/checkouts/summary")]
pub(super) async fn summarize_checkouts(
    call: Call,
) -> Result<Json<CheckoutSummaryRecord>, ApiError> {
    let summary = call.read(SummarizeCheckouts).await?;
    Ok(Json(CheckoutSummaryRecord::from(&summary)))
}
