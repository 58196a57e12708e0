//! `GET /v1/products/{id}/variants`.

use actix_web::{HttpResponse, get};
use lessor_domain::ids::ProductPubId;
use lessor_domain::ports::{Page, Start, VariantFilter};
use lessor_domain::services::variants::ListVariants;
use serde::Deserialize;

use super::ProductVariantRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Parsed, PathId, Plain as _, QueryParams, Whole};
use crate::wire::size::fitting;
use crate::wire::{self, JSON, MetadataInput, ProductId, Time, VariantId, listed};

/// What is not found where a product is named.
const PRODUCT: &str = "product";

/// How many variants a page has.
type VariantLimit = Parsed<Whole<u32, 1, 250>>;

/// Which variants of a product to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListVariantsOfProductQuery {
    /// How many to answer; 250 when nothing is said.
    #[param(inline)]
    limit: Option<VariantLimit>,
    /// The id of the variant that the page comes after.
    #[param(inline)]
    starting_after: Option<VariantId>,
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
}

impl ListVariantsOfProductQuery {
    /// The list that the query asks for of the product.
    ///
    /// # Errors
    /// 400 for metadata that cannot be, 404 for a product that cannot exist.
    fn command(self, product: PathId<ProductPubId>) -> Result<ListVariants, ApiError> {
        const MOST: u32 = 250;
        let after = self.starting_after.plain();
        Ok(ListVariants {
            filter: VariantFilter {
                created: wire::span(self.created_after, self.created_before),
                updated: wire::span(self.updated_after, self.updated_before),
                metadata: wire::metadata(self.metadata)?,
            },
            page: Page {
                start: after.map_or(Start::Offset(0), |id| Start::After(id.as_uuid())),
                limit: self.limit.plain().map_or(MOST, Whole::get),
            },
            product: product.of(PRODUCT)?,
        })
    }
}

/// List the variants of a product with their prices.
///
/// Newest first, without archived ones. Requires `ProductVariantRead`.
#[utoipa::path(
    tag = "Products",
    params(("id" = inline(ProductId), Path, description = "The product, `prod_…`."), ListVariantsOfProductQuery),
    responses((
        status = 200,
        body = [ProductVariantRecord],
        description = "The variants, each with `pricing`. A page that would be larger than 8 MiB has fewer.",
        headers(("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."))
    ))
)]
#[get("/products/{id}/variants")]
pub(super) async fn list_variants_of_product(
    call: Call,
    id: PathId<ProductPubId>,
    QueryParams(query): QueryParams<ListVariantsOfProductQuery>,
) -> Result<HttpResponse, ApiError> {
    let mut slice = call.read(query.command(id)?).await?;
    let fitting = fitting(slice.items.iter().map(ProductVariantRecord::priced))?;
    // Where there is room for fewer, the next page begins earlier.
    slice.shorten(fitting.count);
    let mut response = listed(&call, &slice, |priced| priced.variant.id);
    Ok(response.content_type(JSON).body(fitting.body))
}
