//! `/v1/lease-terms`.

mod body;
mod record;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::ids::LeaseTermRef;
use lessor_domain::services::lease_terms::{DeleteLeaseTerm, ListLeaseTerms, UpdateLeaseTerm};
use serde::Deserialize;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, PathId, QueryParams};
use crate::wire::{Limit, Offset, TermId, listed, page};

pub use body::{CreateLeaseTermBody, UpdateLeaseTermBody};
pub use record::LeaseTermRecord;

/// What is not found here.
const TERM: &str = "lease term";

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(create_lease_term)
        .service(list_lease_terms)
        .service(update_lease_term)
        .service(delete_lease_term);
}

/// Create a lease term.
///
/// With a `productId` it is the product's own: a product that has terms of its own is offered for
/// these instead of the organization's. Requires `LeaseTermWrite`.
#[utoipa::path(
    tag = "Lease terms",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateLeaseTermBody,
    responses((status = 200, body = LeaseTermRecord, description = "The lease term."))
)]
#[post("/lease-terms")]
async fn create_lease_term(
    call: Call,
    body: Body<CreateLeaseTermBody>,
) -> Result<HttpResponse, ApiError> {
    let create = body.value.command()?;
    call.post(create, &body.raw, |term, _| LeaseTermRecord::from(&term))
        .await
}

/// Which lease terms to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListLeaseTermsQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the lease term that the page comes after.
    #[param(inline)]
    starting_after: Option<TermId>,
}

/// List lease terms.
///
/// Newest first, those of products and inactive ones included. Requires `LeaseTermRead`.
#[utoipa::path(
    tag = "Lease terms",
    params(
        ListLeaseTermsQuery,
        ("Lessor-Position" = Option<String>, Header, pattern = "^[0-9a-f]{16}$", description = "How much the list has to show: what the answer to your last change said. A read replica may answer then.")
    ),
    responses((
        status = 200,
        body = [LeaseTermRecord],
        description = "A page of lease terms.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all.")
        )
    ))
)]
#[get("/lease-terms")]
async fn list_lease_terms(
    call: Call,
    QueryParams(query): QueryParams<ListLeaseTermsQuery>,
) -> Result<HttpResponse, ApiError> {
    let page = page(query.limit, query.offset, query.starting_after)?;
    let slice = call.list(ListLeaseTerms { page }).await?;
    let mut response = listed(&call, &slice, |term| term.id);
    let records = slice.items.iter().map(LeaseTermRecord::from);
    Ok(response.json(records.collect::<Vec<_>>()))
}

/// Update a lease term.
///
/// Members that are left out stay as they are. Quotes that are frozen keep their price. Requires
/// `LeaseTermWrite`.
#[utoipa::path(
    tag = "Lease terms",
    params(("id" = String, Path, description = "`term_…`, or its number.")),
    request_body = UpdateLeaseTermBody,
    responses((status = 200, body = LeaseTermRecord, description = "The lease term."))
)]
#[put("/lease-terms/{id}")]
async fn update_lease_term(
    call: Call,
    id: PathId<LeaseTermRef>,
    body: Body<UpdateLeaseTermBody>,
) -> Result<Json<LeaseTermRecord>, ApiError> {
    let changes = body.value.into();
    let id = id.of(TERM)?;
    let term = call.mutate(UpdateLeaseTerm { id, changes }).await?;
    Ok(Json(LeaseTermRecord::from(&term)))
}

/// Delete a lease term.
///
/// One that checkouts have becomes inactive instead. Requires `LeaseTermWrite`.
#[utoipa::path(
    tag = "Lease terms",
    params(("id" = String, Path, description = "`term_…`, or its number.")),
    responses((status = 200, body = LeaseTermRecord, description = "The lease term as it was."))
)]
#[delete("/lease-terms/{id}")]
async fn delete_lease_term(
    call: Call,
    id: PathId<LeaseTermRef>,
) -> Result<Json<LeaseTermRecord>, ApiError> {
    let id = id.of(TERM)?;
    let term = call.mutate(DeleteLeaseTerm { id }).await?;
    Ok(Json(LeaseTermRecord::from(&term)))
}
