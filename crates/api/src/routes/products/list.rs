//! `GET /v1/products`.

use actix_web::{HttpResponse, get};
use lessor_domain::ids::{IdRef, OrganizationRef, ProductCategoryRef, ProductPubId};
use lessor_domain::ports::{self, ProductFilter, UnitOfWork};
use lessor_domain::services::{self, Context, catalog};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ProductRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::fields::{Limit, List, Moment, Offset, Reference, Text};
use crate::request::query::QueryParams;
use crate::wire::{
    self, MetadataInput, Paging, ProductStatus, ProductType, SortOrder, listed, parse, parse_some,
    reference, unknown_start, wire_enum,
};

wire_enum! {
    /// What products are sorted by.
    ProductSort = ports::ProductSort {
        CreatedAt = "createdAt",
        UpdatedAt = "updatedAt",
        Name = "name",
    }
}

/// Which products to list. Filters with several values take any of them.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListProducts {
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
    starting_after: Option<Text<64>>,
    /// An organization, by public id or number.
    #[param(inline)]
    organization_id: Option<List<Reference, 100, 1>>,
    /// Several organizations, by public ids or numbers.
    #[param(inline)]
    organization_ids: Option<List<Reference, 100, 1>>,
    /// Of these types.
    #[param(inline)]
    product_type: Option<List<ProductType, 100, 1>>,
    /// Of these states. Archived products are left out unless they are asked for here.
    #[param(inline)]
    status: Option<List<ProductStatus, 100, 1>>,
    /// Waitlisted or not.
    is_waitlisted: Option<bool>,
    /// Of these external ids.
    #[param(inline)]
    external_id: Option<List<Text<255>, 100, 1>>,
    /// Of these categories, by public ids or numbers.
    #[param(inline)]
    product_category_id: Option<List<Reference, 100, 1>>,
    /// Of these stock keeping units.
    #[param(inline)]
    sku: Option<List<Text<255>, 100, 1>>,
    /// Found by this in their names, skus and external ids and in the skus of their variants, in any
    /// case. Each character means itself.
    #[param(inline)]
    q: Option<Text<100>>,
    /// Made after this time, which does not belong to it.
    #[param(inline)]
    created_after: Option<Moment>,
    /// Made before this time, which does not belong to it.
    #[param(inline)]
    created_before: Option<Moment>,
    /// Last changed after this time, which does not belong to it.
    #[param(inline)]
    updated_after: Option<Moment>,
    /// Last changed before this time, which does not belong to it.
    #[param(inline)]
    updated_before: Option<Moment>,
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
    /// How many there are in all.
    total: u64,
}

/// The filter of a request before its categories are looked up.
struct Wanted {
    filter: ProductFilter,
    organizations: Vec<OrganizationRef>,
    categories: Option<Vec<ProductCategoryRef>>,
}

fn texts<T>(param: &str, given: Option<List<Text<255>, 100, 1>>) -> Result<Vec<T>, ApiError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let given = given.map(List::into_vec).unwrap_or_default();
    given
        .iter()
        .map(|text| parse(param, text.as_str()))
        .collect()
}

impl ListProducts {
    fn wanted(&mut self) -> Result<Wanted, ApiError> {
        let mut organizations = Vec::new();
        for (param, given) in [
            ("organizationId", self.organization_id.take()),
            ("organizationIds", self.organization_ids.take()),
        ] {
            for organization in given.into_iter().flatten() {
                organizations.push(wire::organization(param, &organization)?);
            }
        }
        let categories = self.product_category_id.take().map(|given| {
            given
                .into_iter()
                .map(|category| reference("productCategoryId", &category))
                .collect::<Result<_, _>>()
        });
        let types = self.product_type.take().map(List::into_vec);
        let statuses = self.status.take().map(List::into_vec);
        Ok(Wanted {
            organizations,
            categories: categories.transpose()?,
            filter: ProductFilter {
                types: types.into_iter().flatten().map(Into::into).collect(),
                statuses: statuses.into_iter().flatten().map(Into::into).collect(),
                is_waitlisted: self.is_waitlisted,
                external_ids: texts("externalId", self.external_id.take())?,
                categories: Vec::new(),
                skus: texts("sku", self.sku.take())?,
                created: wire::span(self.created_after, self.created_before),
                updated: wire::span(self.updated_after, self.updated_before),
                search: parse_some("q", self.q.take())?,
                metadata: wire::metadata(self.metadata.take())?,
            },
        })
    }
}

/// The filter of the wanted categories; `None` when the organization has none of them, so that no
/// product can be of one.
async fn within_categories(
    work: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    mut filter: ProductFilter,
    wanted: Option<Vec<ProductCategoryRef>>,
) -> Result<Option<ProductFilter>, services::Error> {
    let Some(wanted) = wanted else {
        return Ok(Some(filter));
    };
    for category in wanted {
        let number = match category {
            IdRef::Number(number) => Some(number),
            IdRef::Public(_) => work
                .categories()
                .find(ctx.access.organization_id, category)
                .await?
                .map(|category| category.category_id),
        };
        filter.categories.extend(number);
    }
    Ok((!filter.categories.is_empty()).then_some(filter))
}

/// List products.
///
/// Newest first, without archived ones, unless something else is asked for. Requires `ProductRead`.
#[utoipa::path(
    operation_id = "list_products",
    tag = "Products",
    params(ListProducts),
    responses((
        status = 200,
        body = ProductList,
        description = "A page of products.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all.")
        )
    ))
)]
#[get("/products")]
pub(super) async fn list(
    call: Call,
    QueryParams(mut query): QueryParams<ListProducts>,
) -> Result<HttpResponse, ApiError> {
    let paging: Paging<ProductPubId> =
        Paging::read(query.limit, query.offset, query.starting_after.as_ref())?;
    let wanted = query.wanted()?;
    let ctx = call.context();
    for organization in wanted.organizations {
        catalog::own_organization(&ctx, organization)?;
    }
    call.require(lessor_domain::access::Permission::ProductRead)?;
    let mut work = call.read().await?;
    if let Some(after) = paging.after {
        let start = work
            .products()
            .get(ctx.access.organization_id, after)
            .await?;
        start.ok_or_else(unknown_start)?;
    }
    let filter = within_categories(&mut *work, &ctx, wanted.filter, wanted.categories).await?;
    let (mut products, total) = match filter {
        Some(filter) => {
            let sort = query.sort_by.map(Into::into).unwrap_or_default();
            let order = query.sort_order.map(Into::into).unwrap_or_default();
            catalog::list_products(&mut *work, &ctx, &filter, sort, order, paging.page()).await?
        }
        None => (Vec::new(), 0),
    };
    let mut response = listed(
        &call,
        &paging,
        &mut products,
        |product| product.id,
        Some(total),
    );
    Ok(response.json(ProductList {
        results: products.iter().map(Into::into).collect(),
        total,
    }))
}
