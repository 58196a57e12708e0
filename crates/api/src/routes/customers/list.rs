//! `GET /v1/customers`.

use actix_web::{HttpResponse, get};
use lessor_domain::access::Permission;
use lessor_domain::ids::CustomerPubId;
use lessor_domain::ports::CustomerFilter;
use lessor_domain::services::{Error, customers};
use serde::Deserialize;

use super::record::CustomerRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::fields::{Limit, Offset, Text};
use crate::request::query::QueryParams;
use crate::wire::{self, MetadataInput, Paging, listed, parse_some, unknown_start};

/// Which customers to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListCustomers {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the customer that the page comes after; at constant cost, however deep.
    #[param(inline)]
    starting_after: Option<Text<64>>,
    /// Of this e-mail address, in any case.
    #[param(inline)]
    email: Option<Text<254>>,
    /// With this value of a key of metadata, `metadata[key]=value`; with all of several.
    #[param(inline, style = DeepObject, explode)]
    metadata: Option<MetadataInput>,
}

/// List customers.
///
/// Newest first: those who have a checkout with the key's organization, and the users of its keys.
/// Requires `CustomerRead`.
#[utoipa::path(
    operation_id = "list_customers",
    tag = "Customers",
    params(ListCustomers),
    responses((
        status = 200,
        body = [CustomerRecord],
        description = "A page of customers.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all.")
        )
    ))
)]
#[get("/customers")]
pub(super) async fn list(
    call: Call,
    QueryParams(query): QueryParams<ListCustomers>,
) -> Result<HttpResponse, ApiError> {
    let paging: Paging<CustomerPubId> =
        Paging::read(query.limit, query.offset, query.starting_after.as_ref())?;
    let filter = CustomerFilter {
        email: parse_some("email", query.email)?,
        metadata: wire::metadata(query.metadata)?,
    };
    call.require(Permission::CustomerRead)?;
    let ctx = call.context();
    let mut work = call.read().await?;
    if let Some(after) = paging.after {
        match customers::get_customer(&mut *work, &ctx, after).await {
            Err(Error::NotFound { .. }) => return Err(unknown_start()),
            start => start?,
        };
    }
    let (mut found, total) =
        customers::list_customers(&mut *work, &ctx, &filter, paging.page()).await?;
    let mut response = listed(&call, &paging, &mut found, |it| it.id, Some(total));
    let records: Vec<CustomerRecord> = found
        .iter()
        .map(|customer| CustomerRecord::new(customer, ctx.access))
        .collect();
    Ok(response.json(records))
}
