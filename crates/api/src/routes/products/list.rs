//! `GET /v1/products`.

use actix_web::{HttpResponse, get};
use lessor_domain::events::EventSubjectKind;
use lessor_domain::ports::ProductFilter;
use lessor_domain::services::products::{KnownTotal, ListProducts, ListedProducts};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ProductRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{List, Plain as _, QueryParams};
use crate::state::journal::Shows;
use crate::state::remembered::Fleeting;
use crate::state::totals::Counted;
use crate::wire::{
    self, CategoryRef, ExternalId, Limit, MetadataInput, Offset, OrganizationRef, ProductId,
    ProductSort, ProductStatus, ProductType, SearchTerm, Sku, SortOrder, Time, listed, page,
};

type Organizations = List<OrganizationRef, 100, 1>;
type Types = List<ProductType, 100, 1>;
type Statuses = List<ProductStatus, 100, 1>;
type ExternalIds = List<ExternalId, 100, 1>;
type Categories = List<CategoryRef, 100, 1>;
type Skus = List<Sku, 100, 1>;

/// Which products to list. Filters with several values take any of them.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListProductsQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the product that the page comes after; at constant cost, however deep.
    #[param(inline)]
    starting_after: Option<ProductId>,
    /// An organization, by public id or number.
    #[param(inline)]
    organization_id: Option<Organizations>,
    /// Several organizations, by public ids or numbers.
    #[param(inline)]
    organization_ids: Option<Organizations>,
    /// Of these types.
    #[param(inline)]
    product_type: Option<Types>,
    /// Of these states. Archived products are left out unless they are asked for here.
    #[param(inline)]
    status: Option<Statuses>,
    /// Waitlisted or not.
    is_waitlisted: Option<bool>,
    /// Of these external ids.
    #[param(inline)]
    external_id: Option<ExternalIds>,
    /// Of these categories, by public ids or numbers.
    #[param(inline)]
    product_category_id: Option<Categories>,
    /// Of these stock keeping units.
    #[param(inline)]
    sku: Option<Skus>,
    /// Found by this in their names, skus and external ids and in the skus of their variants, in any
    /// case. Each character means itself.
    #[param(inline)]
    q: Option<SearchTerm>,
    /// Made after this time, which does not belong to it.
    #[param(inline)]
    created_after: Option<Time>,
    /// Made before this time, which does not belong to it.
    #[param(inline)]
    created_before: Option<Time>,
    /// Last changed after this time, which does not belong to it.
    #[param(inline)]
    updated_after: Option<Time>,
    /// Last changed before this time, which does not belong to it.
    #[param(inline)]
    updated_before: Option<Time>,
    /// With this value of a key of metadata, `metadata[key]=value`; with all of several.
    #[param(inline, style = DeepObject, explode)]
    metadata: Option<MetadataInput>,
    /// What to sort by; `createdAt` when nothing is said. Ties go by id.
    #[param(inline)]
    sort_by: Option<ProductSort>,
    /// Which way; `desc` when nothing is said.
    #[param(inline)]
    sort_order: Option<SortOrder>,
}

/// A page of products.
#[derive(Debug, Serialize, ToSchema)]
struct ProductList {
    /// The products.
    results: Vec<ProductRecord>,
    /// How many there are in all. Of more than 10,000 it may be what was counted up to 30 seconds ago.
    total: u64,
}

impl ListProductsQuery {
    /// The list that the query asks for.
    ///
    /// # Errors
    /// 400 for a start that is told twice, 403 for another organization.
    fn command(self) -> Result<ListProducts, ApiError> {
        let organizations = [self.organization_id, self.organization_ids];
        let organizations = organizations.into_iter().flatten().flatten();
        Ok(ListProducts {
            page: page(self.limit, self.offset, self.starting_after)?,
            organizations: organizations
                .map(|organization| wire::organization(&organization))
                .collect::<Result<_, _>>()?,
            categories: self.product_category_id.plain(),
            filter: ProductFilter {
                types: self.product_type.plain().unwrap_or_default(),
                statuses: self.status.plain().unwrap_or_default(),
                is_waitlisted: self.is_waitlisted,
                external_ids: self.external_id.plain().unwrap_or_default(),
                categories: Vec::new(),
                skus: self.sku.plain().unwrap_or_default(),
                created: wire::span(self.created_after, self.created_before),
                updated: wire::span(self.updated_after, self.updated_before),
                search: self.q.plain(),
                metadata: wire::metadata(self.metadata)?,
            },
            sort: self.sort_by.plain().unwrap_or_default(),
            order: self.sort_order.plain().unwrap_or_default(),
            known: KnownTotal::Nothing,
        })
    }
}

/// List products.
///
/// Newest first, without archived ones, unless something else is asked for. Requires `ProductRead`.
#[utoipa::path(
    tag = "Products",
    params(
        ListProductsQuery,
        ("Lessor-Position" = Option<String>, Header, pattern = "^[0-9a-f]{16}$", description = "How much the list has to show: what the answer to your last change said. A read replica may answer then.")
    ),
    responses((
        status = 200,
        body = ProductList,
        description = "A page of products.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all, as `total` says.")
        )
    ))
)]
#[get("/products")]
pub(super) async fn list_products(
    call: Call,
    QueryParams(query): QueryParams<ListProductsQuery>,
) -> Result<HttpResponse, ApiError> {
    let list = query.command()?;
    // What variants are called counts where something is searched for in it.
    let shows = Shows::records([]).and_any(if list.filter.search.is_some() {
        &[EventSubjectKind::Product, EventSubjectKind::ProductVariant]
    } else {
        &[EventSubjectKind::Product]
    });
    call.remembered(async || Ok(shows.told_of(list_of(&call, list).await?)))
        .await
}

async fn list_of(call: &Call, mut list: ListProducts) -> Result<HttpResponse, ApiError> {
    let (totals, counts) = (&call.state().product_totals, &call.state().product_counts);
    let key = (call.access().organization_id, list.count());
    let told = totals.told(&key);
    list.known = match (told, counts.get(&key)) {
        (Some(_), _) => KnownTotal::Enough,
        (None, Some(counted)) => KnownTotal::Then(counted),
        (None, None) => KnownTotal::Nothing,
    };
    let ListedProducts { mut slice, counted } = call.list(list).await?;
    // None where the total is exact.
    let told = match (slice.total, told) {
        (Some(_), _) => None,
        (None, Some(told)) => Some(told),
        (None, None) => {
            let (asked, count) = (call.clone(), key.1.clone());
            // Aside: few lists make room for it.
            let count = Box::pin(async move { asked.list(count).await });
            let mutations = &call.state().mutations;
            Some(totals.total(key.clone(), mutations, count).await?)
        }
    };
    slice.total = slice.total.or(told.map(|told| told.total));
    if let Some(counted) = counted {
        counts.insert(key, counted);
    }
    let mut response = listed(call, &slice, |product| product.id);
    if let Some(Counted { until, .. }) = told {
        response.extensions_mut().insert(Fleeting { until });
    }
    Ok(response.json(ProductList {
        results: slice.items.iter().map(Into::into).collect(),
        total: slice.total.unwrap_or_default(),
    }))
}
