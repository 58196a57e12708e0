//! `GET /v1/customers`.

use actix_web::{HttpResponse, get};
use lessor_domain::events::EventSubjectKind;
use lessor_domain::ports::CustomerFilter;
use lessor_domain::services::customers::ListCustomers;
use serde::Deserialize;

use super::record::CustomerRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Plain as _, QueryParams};
use crate::state::journal::Shows;
use crate::state::totals::LongList;
use crate::wire::{self, Email, Limit, MetadataInput, Offset, UserId, counted, listed, page};

/// Which customers to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListCustomersQuery {
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
    starting_after: Option<UserId>,
    /// Of this e-mail address, in any case.
    #[param(inline)]
    email: Option<Email>,
    /// With this value of a key of metadata, `metadata[key]=value`; with all of several.
    #[param(inline, style = DeepObject, explode)]
    metadata: Option<MetadataInput>,
}

/// List customers.
///
/// Newest first: those of the key's organization and mode, the users of its keys among them. Requires
/// `CustomerRead`.
#[utoipa::path(
    tag = "Customers",
    params(
        ListCustomersQuery,
        ("Lessor-Position" = Option<String>, Header, pattern = "^[0-9a-f]{16}$", description = "How much the list has to show: what the answer to your last change said. A read replica may answer then.")
    ),
    responses((
        status = 200,
        body = [CustomerRecord],
        description = "A page of customers.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all, up to 1,000. Left out beyond, for up to half a minute after there were more, and with `startingAfter`.")
        )
    ))
)]
#[get("/customers")]
pub(super) async fn list_customers(
    call: Call,
    QueryParams(query): QueryParams<ListCustomersQuery>,
) -> Result<HttpResponse, ApiError> {
    let page = page(query.limit, query.offset, query.starting_after)?;
    let list = ListCustomers {
        filter: CustomerFilter {
            email: query.email.plain(),
            metadata: wire::metadata(query.metadata)?,
        },
        page,
        is_long: false,
    };
    call.remembered(async || {
        let asked = LongList::Customers(list.filter.clone());
        let list_of = async |is_long| call.list(ListCustomers { is_long, ..list }).await;
        let slice = counted(&call, asked, page, list_of).await?;
        let mut response = listed(&call, &slice, |customer| customer.id);
        let records = slice.items.iter().map(CustomerRecord::new);
        let answer = response.json(records.collect::<Vec<_>>());
        let shows = Shows::records([]).and_any(&[EventSubjectKind::Customer]);
        Ok(shows.told_of(answer))
    })
    .await
}
