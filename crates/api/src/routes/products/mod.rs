//! `/v1/products`.

mod body;
mod generate;
mod list;
mod record;

use actix_web::web::Json;
use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::access::Permission;
use lessor_domain::catalog::VariantFilter;
use lessor_domain::ids::ProductPubId;
use lessor_domain::ports::{Page, Start};
use lessor_domain::services::products::{DeleteProduct, GetProduct, UpdateProduct};
use lessor_domain::services::variants::ListVariants;
use serde::Deserialize;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, Parsed, PathId, Plain as _, QueryParams, Whole};
use crate::routes::variants::ProductVariantRecord;
use crate::wire::size::fitting;
use crate::wire::{self, BulkItem, JSON, MetadataInput, ProductId, Time, VariantId, bulk, listed};

pub use body::{
    BulkUpdateProductsBody, CreateProductBody, OptionDefinitionInput, UpdateProductBody,
};
pub use record::{BulkUpdatedProducts, OptionDefinition, ProductRecord};

/// What is not found here.
const PRODUCT: &str = "product";

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(create_product)
        .service(list::list_products)
        .service(bulk_update_products)
        .service(get_product)
        .service(update_product)
        .service(delete_product)
        .service(list_variants_of_product)
        .service(generate::generate_product_variants);
}

/// Create a product.
///
/// A product is a container: it says in what its variants differ. Customers lease variants.
///
/// Requires `ProductWrite`.
#[utoipa::path(
    tag = "Products",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateProductBody,
    responses((status = 200, body = ProductRecord, description = "The product."))
)]
#[post("/products")]
async fn create_product(
    call: Call,
    body: Body<CreateProductBody>,
) -> Result<HttpResponse, ApiError> {
    let create = body.value.command()?;
    call.post(create, &body.raw, |product, _| {
        ProductRecord::from(&product)
    })
    .await
}

/// Read a product.
///
/// Archived products stay readable. Requires `ProductRead`, or a publishable key: to that the product
/// is there while it is active and approved, without `externalId`, `metadata`, `productCategoryId` and
/// what its review noted.
#[utoipa::path(
    tag = "Products",
    security(("apiKey" = []), ("publishableKey" = [])),
    params(("id" = inline(ProductId), Path, description = "The product, `prod_…`.")),
    responses((status = 200, body = ProductRecord, description = "The product."))
)]
#[get("/products/{id}")]
async fn get_product(
    call: Call,
    id: PathId<ProductPubId>,
) -> Result<Json<ProductRecord>, ApiError> {
    let id = id.of(PRODUCT)?;
    let product = call.read(GetProduct { id }).await?;
    Ok(Json(ProductRecord::from(&product)))
}

/// Update a product.
///
/// Members that are left out stay as they are; `null` clears an optional one. An archived product
/// can only have its status changed. Requires `ProductWrite`.
#[utoipa::path(
    tag = "Products",
    params(("id" = inline(ProductId), Path, description = "The product, `prod_…`.")),
    request_body = UpdateProductBody,
    responses((status = 200, body = ProductRecord, description = "The product."))
)]
#[put("/products/{id}")]
async fn update_product(
    call: Call,
    id: PathId<ProductPubId>,
    body: Body<UpdateProductBody>,
) -> Result<Json<ProductRecord>, ApiError> {
    let changes = body.value.into();
    let id = id.of(PRODUCT)?;
    let product = call.mutate(UpdateProduct { id, changes }).await?;
    Ok(Json(ProductRecord::from(&product)))
}

/// Delete a product.
///
/// Its variants are deleted with it. When any of them has checkout items, the product and its
/// variants are archived instead. Requires `ProductDelete`.
#[utoipa::path(
    tag = "Products",
    params(("id" = inline(ProductId), Path, description = "The product, `prod_…`.")),
    responses((status = 200, body = ProductRecord, description = "The product as it was."))
)]
#[delete("/products/{id}")]
async fn delete_product(
    call: Call,
    id: PathId<ProductPubId>,
) -> Result<Json<ProductRecord>, ApiError> {
    let id = id.of(PRODUCT)?;
    let product = call.mutate(DeleteProduct { id }).await?;
    Ok(Json(ProductRecord::from(&product)))
}

/// Update several products.
///
/// Each update is made on its own, in order; one that fails does not affect the others. Requires
/// `ProductWrite`.
#[utoipa::path(
    tag = "Products",
    request_body = BulkUpdateProductsBody,
    responses((status = 200, body = BulkUpdatedProducts, description = "What became of the updates."))
)]
#[put("/products/bulk")]
async fn bulk_update_products(
    call: Call,
    body: Body<BulkUpdateProductsBody>,
) -> Result<Json<BulkUpdatedProducts>, ApiError> {
    call.require(Permission::ProductWrite)?;
    let command = |item: BulkItem<UpdateProductBody>| {
        Ok(UpdateProduct {
            id: item.id(PRODUCT)?,
            changes: item.update.into(),
        })
    };
    let done = bulk(&call, body.value.updates, command, |product| {
        ProductRecord::from(&product)
    });
    Ok(Json(done.await?.into()))
}

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
async fn list_variants_of_product(
    call: Call,
    id: PathId<ProductPubId>,
    QueryParams(query): QueryParams<ListVariantsOfProductQuery>,
) -> Result<HttpResponse, ApiError> {
    const MOST: u32 = 250;
    let after = query.starting_after.plain();
    let page = Page {
        start: after.map_or(Start::Offset(0), |id| Start::After(id.as_uuid())),
        limit: query.limit.plain().map_or(MOST, Whole::get),
    };
    let filter = VariantFilter {
        created: wire::span(query.created_after, query.created_before),
        updated: wire::span(query.updated_after, query.updated_before),
        metadata: wire::metadata(query.metadata)?,
    };
    let product = id.of(PRODUCT)?;
    let list = ListVariants {
        product,
        filter,
        page,
    };
    let mut slice = call.read(list).await?;
    let fitting = fitting(slice.items.iter().map(ProductVariantRecord::priced))?;
    // Where there is room for fewer, the next page begins earlier.
    slice.shorten(fitting.count);
    let mut response = listed(&call, &slice, |priced| priced.variant.id);
    Ok(response.content_type(JSON).body(fitting.body))
}
