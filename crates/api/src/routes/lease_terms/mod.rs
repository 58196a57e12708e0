//! `/v1/lease-terms`.

mod dto;

use std::cmp::Reverse;

use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::access::Permission;
use lessor_domain::ids::{LeaseTermPubId, LeaseTermRef};
use lessor_domain::services::lease_terms;
use serde::Deserialize;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::body::Body;
use crate::request::fields::{Limit, Offset, Text};
use crate::request::query::QueryParams;
use crate::wire::records::TermId;
use crate::wire::{Paging, PathId, listed};

pub use dto::{CreateLeaseTerm, LeaseTermRecord, UpdateLeaseTerm};

/// What is not found here.
const TERM: &str = "lease term";

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(create)
        .service(list)
        .service(update)
        .service(remove);
}

/// Create a lease term.
///
/// With a `productId` it is the product's own: a product that has terms of its own is offered for
/// these instead of the organization's. Requires `LeaseTermWrite`.
#[utoipa::path(
    operation_id = "create_lease_term",
    tag = "Lease terms",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateLeaseTerm,
    responses((status = 200, body = LeaseTermRecord, description = "The lease term."))
)]
#[post("/lease-terms")]
async fn create(call: Call, body: Body<CreateLeaseTerm>) -> Result<HttpResponse, ApiError> {
    let input = body.value.into_input()?;
    call.post(
        Permission::LeaseTermWrite,
        &body.raw,
        input,
        |work, ctx, input| {
            Box::pin(async move {
                let term = lease_terms::create_lease_term(work, &ctx, input).await?;
                Ok(LeaseTermRecord::from(&term))
            })
        },
    )
    .await
}

/// Which lease terms to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListLeaseTerms {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the lease term that the page comes after.
    #[param(inline, value_type = Option<TermId>)]
    starting_after: Option<Text<64>>,
}

/// List lease terms.
///
/// Newest first, those of products and inactive ones included. Requires `LeaseTermRead`.
#[utoipa::path(
    operation_id = "list_lease_terms",
    tag = "Lease terms",
    params(ListLeaseTerms),
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
async fn list(
    call: Call,
    QueryParams(query): QueryParams<ListLeaseTerms>,
) -> Result<HttpResponse, ApiError> {
    let paging: Paging<LeaseTermPubId> =
        Paging::read(query.limit, query.offset, query.starting_after.as_ref())?;
    let mut work = call.read().await?;
    let mut terms = lease_terms::list_lease_terms(&mut *work, &call.context()).await?;
    terms.sort_by_key(|term| Reverse((term.created_at, term.id)));
    let total = terms.len() as u64;
    let mut page = paging.cut(terms, |term| term.id)?;
    let mut response = listed(&call, &paging, &mut page, |term| term.id, Some(total));
    let records: Vec<LeaseTermRecord> = page.iter().map(Into::into).collect();
    Ok(response.json(records))
}

/// Update a lease term.
///
/// Members that are left out stay as they are. Quotes that are frozen keep their price. Requires
/// `LeaseTermWrite`.
#[utoipa::path(
    operation_id = "update_lease_term",
    tag = "Lease terms",
    params(("id" = String, Path, description = "`term_…`, or its number.")),
    request_body = UpdateLeaseTerm,
    responses((status = 200, body = LeaseTermRecord, description = "The lease term."))
)]
#[put("/lease-terms/{id}")]
async fn update(
    call: Call,
    id: PathId<LeaseTermRef>,
    body: Body<UpdateLeaseTerm>,
) -> Result<HttpResponse, ApiError> {
    let changes = body.value.into_update()?;
    let id = id.of(TERM)?;
    call.mutate((id, changes), |work, ctx, (id, changes)| {
        Box::pin(async move {
            let term = lease_terms::update_lease_term(work, &ctx, id, changes).await?;
            Ok(LeaseTermRecord::from(&term))
        })
    })
    .await
}

/// Delete a lease term.
///
/// One that checkouts have becomes inactive instead. Requires `LeaseTermWrite`.
#[utoipa::path(
    operation_id = "delete_lease_term",
    tag = "Lease terms",
    params(("id" = String, Path, description = "`term_…`, or its number.")),
    responses((status = 200, body = LeaseTermRecord, description = "The lease term as it was."))
)]
#[delete("/lease-terms/{id}")]
async fn remove(call: Call, id: PathId<LeaseTermRef>) -> Result<HttpResponse, ApiError> {
    call.mutate(id.of(TERM)?, |work, ctx, id| {
        Box::pin(async move {
            let term = lease_terms::delete_lease_term(work, &ctx, id).await?;
            Ok(LeaseTermRecord::from(&term))
        })
    })
    .await
}
