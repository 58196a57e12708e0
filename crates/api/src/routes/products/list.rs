//! `GET /v1/products`.

use actix_web::{HttpResponse, get};
use lessor_domain::ids::ProductPubId;
use lessor_domain::ports::{self, ProductFilter};
use lessor_domain::services::catalog::ListProducts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ProductRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::fields::{Limit, List, Moment, Offset, Reference, Text};
use crate::request::query::QueryParams;
use crate::wire::records::ProductId;
use crate::wire::{
    self, MetadataInput, ProductStatus, ProductType, SortOrder, listed, page, parse, parse_some,
    reference, wire_enum,
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
    #[param(inline, value_type = Option<ProductId>)]
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

impl ListProductsQuery {
    fn parse(self) -> Result<ListProducts, ApiError> {
        let page = page::<ProductPubId>(
            self.limit.get(),
            self.offset.get(),
            self.starting_after.as_ref(),
        )?;
        let mut organizations = Vec::new();
        for (param, given) in [
            ("organizationId", self.organization_id),
            ("organizationIds", self.organization_ids),
        ] {
            for organization in given.into_iter().flatten() {
                organizations.push(wire::organization(param, &organization)?);
            }
        }
        let categories = self.product_category_id.map(|given| {
            given
                .into_iter()
                .map(|category| reference("productCategoryId", &category))
                .collect::<Result<_, _>>()
        });
        let types = self.product_type.map(List::into_vec);
        let statuses = self.status.map(List::into_vec);
        Ok(ListProducts {
            organizations,
            categories: categories.transpose()?,
            filter: ProductFilter {
                types: types.into_iter().flatten().map(Into::into).collect(),
                statuses: statuses.into_iter().flatten().map(Into::into).collect(),
                is_waitlisted: self.is_waitlisted,
                external_ids: texts("externalId", self.external_id)?,
                categories: Vec::new(),
                skus: texts("sku", self.sku)?,
                created: wire::span(self.created_after, self.created_before),
                updated: wire::span(self.updated_after, self.updated_before),
                search: parse_some("q", self.q)?,
                metadata: wire::metadata(self.metadata)?,
            },
            sort: self.sort_by.map(Into::into).unwrap_or_default(),
            order: self.sort_order.map(Into::into).unwrap_or_default(),
            page,
        })
    }
}

/// List products.
///
/// Newest first, without archived ones, unless something else is asked for. Requires `ProductRead`.
#[utoipa::path(
    tag = "Products",
    params(ListProductsQuery),
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
pub(super) async fn list_products(
    call: Call,
    QueryParams(query): QueryParams<ListProductsQuery>,
) -> Result<HttpResponse, ApiError> {
    let slice = call.read(query.parse()?).await?;
    let mut response = listed(&call, &slice, |product| product.id);
    Ok(response.json(ProductList {
        results: slice.items.iter().map(Into::into).collect(),
        total: slice.total.unwrap_or_default(),
    }))
}
