//! `/v1/product-variants`, and the variants of a product.

mod body;
mod prices;
mod record;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::catalog::ProductVariant;
use lessor_domain::events::EventSubject;
use lessor_domain::ids::{ProductPubId, ProductVariantPubId};
use lessor_domain::services::variants::{
    DeleteVariant, GetVariant, GetVariantBySku, UpdateVariant,
};
use lessor_domain::text::Sku;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, PathId, QueryParams, Segment};
use crate::state::journal::Shows;
use crate::wire::size::{aside, fitting};
use crate::wire::{BulkItem, JSON, ProductId, VariantId, bulk, listed};

use body::ListVariantsOfProductQuery;
pub(super) use body::inventory;
pub use body::{
    BulkUpdateProductVariantsBody, CreateProductVariantBody, OptionSelectionInput,
    UpdateProductVariantBody,
};
pub use prices::PricingEntry;
pub(crate) use prices::names;
pub use record::{BulkUpdatedProductVariants, OptionSelection, ProductVariantRecord};

/// What is not found here.
const VARIANT: &str = "product variant";

pub(super) fn configure(routes: &mut Routes<'_>) {
    // `bulk` and `by-sku` before `{id}`, which would take them for ids.
    routes
        .service(create_product_variant)
        .service(list_variants_of_product)
        .service(prices::list_variants_of_products)
        .service(bulk_update_product_variants)
        .service(prices::fetch_product_variants)
        .service(get_product_variant_by_sku)
        .service(prices::get_pricing_summary)
        .service(prices::get_lowest_payment)
        .service(get_product_variant)
        .service(update_product_variant)
        .service(delete_product_variant);
}

/// Create a product variant.
///
/// One combination of the option values of its product, with a price, a SKU and a stock of its own,
/// which is counted in each mode. Requires `ProductVariantWrite`.
#[utoipa::path(
    tag = "Product variants",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateProductVariantBody,
    responses((status = 200, body = ProductVariantRecord, description = "The variant, with `organizationId` and `productId`."))
)]
#[post("/product-variants")]
async fn create_product_variant(
    call: Call,
    body: Body<CreateProductVariantBody>,
) -> Result<HttpResponse, ApiError> {
    let create = body.value.command()?;
    call.post(create, &body.raw, |variant, viewer| {
        ProductVariantRecord::owned(&variant, viewer.access)
    })
    .await
}

/// Read a product variant.
///
/// Archived variants stay readable. Requires `ProductVariantRead`, or a publishable key: to that the
/// variant is there while it and its product are active and approved, without `externalId`,
/// `inventoryQuantity` and `metadata`.
#[utoipa::path(
    tag = "Product variants",
    security(("apiKey" = []), ("publishableKey" = [])),
    params(("id" = inline(VariantId), Path, description = "The variant, `pvar_…`.")),
    responses((status = 200, body = ProductVariantRecord, description = "The variant, with `organizationId` and `productId`."))
)]
#[get("/product-variants/{id}")]
async fn get_product_variant(
    call: Call,
    id: PathId<ProductVariantPubId>,
) -> Result<HttpResponse, ApiError> {
    let id = id.of(VARIANT)?;
    call.remembered(async || {
        let variant = call.read(GetVariant { id }).await?;
        Ok(one(&variant, &call))
    })
    .await
}

/// Read the product variant of a SKU.
///
/// Requires `ProductVariantRead`, or a publishable key, which is shown what reading it by id shows.
#[utoipa::path(
    tag = "Product variants",
    security(("apiKey" = []), ("publishableKey" = [])),
    params(("sku" = String, Path, description = "The stock keeping unit.")),
    responses((status = 200, body = ProductVariantRecord, description = "The variant, with `organizationId` and `productId`."))
)]
#[get("/product-variants/by-sku/{sku}")]
async fn get_product_variant_by_sku(
    call: Call,
    sku: Result<Segment, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let sku = sku.ok().and_then(|sku| Sku::parse(&sku.0).ok());
    let sku = sku.ok_or_else(|| ApiError::not_found(VARIANT))?;
    call.remembered(async || {
        let variant = call.read(GetVariantBySku { sku }).await?;
        Ok(one(&variant, &call))
    })
    .await
}

/// The answer that has the variant alone, which is there for everybody while its product is.
fn one(variant: &ProductVariant, call: &Call) -> HttpResponse {
    let record = ProductVariantRecord::owned(variant, call.access());
    Shows::records([
        EventSubject::ProductVariant(variant.id),
        EventSubject::Product(variant.product_id),
    ])
    .told_of(HttpResponse::Ok().json(record))
}

/// Update a product variant.
///
/// Members that are left out stay as they are; `null` clears an optional one. Stock is that of the
/// key's mode, all else is both modes'. An archived variant can only have its status changed. Requires
/// `ProductVariantWrite`. A sandbox key may always change `inventoryQuantity` alone.
#[utoipa::path(
    tag = "Product variants",
    params(("id" = inline(VariantId), Path, description = "The variant, `pvar_…`.")),
    request_body = UpdateProductVariantBody,
    responses((status = 200, body = ProductVariantRecord, description = "The variant."))
)]
#[put("/product-variants/{id}")]
async fn update_product_variant(
    call: Call,
    id: PathId<ProductVariantPubId>,
    body: Body<UpdateProductVariantBody>,
) -> Result<Json<ProductVariantRecord>, ApiError> {
    let changes = body.value.changes()?;
    let id = id.of(VARIANT)?;
    let variant = call.mutate(UpdateVariant { id, changes }).await?;
    Ok(Json(ProductVariantRecord::new(
        &variant,
        call.access().mode,
    )))
}

/// Delete a product variant.
///
/// One that has checkout items is archived instead. Requires `ProductVariantDelete`.
#[utoipa::path(
    tag = "Product variants",
    params(("id" = inline(VariantId), Path, description = "The variant, `pvar_…`.")),
    responses((status = 200, body = ProductVariantRecord, description = "The variant as it was, with `organizationId` and `productId`."))
)]
#[delete("/product-variants/{id}")]
async fn delete_product_variant(
    call: Call,
    id: PathId<ProductVariantPubId>,
) -> Result<Json<ProductVariantRecord>, ApiError> {
    let id = id.of(VARIANT)?;
    let variant = call.mutate(DeleteVariant { id }).await?;
    Ok(Json(ProductVariantRecord::owned(&variant, call.access())))
}

/// Update several product variants.
///
/// Each update is made on its own, in order; one that fails does not affect the others. Requires
/// `ProductVariantWrite`. A sandbox key may always change `inventoryQuantity` alone.
#[utoipa::path(
    tag = "Product variants",
    request_body = BulkUpdateProductVariantsBody,
    responses((status = 200, body = BulkUpdatedProductVariants, description = "What became of the updates."))
)]
#[put("/product-variants/bulk")]
async fn bulk_update_product_variants(
    call: Call,
    body: Body<BulkUpdateProductVariantsBody>,
) -> Result<Json<BulkUpdatedProductVariants>, ApiError> {
    // An update of the stock alone is none of the catalog: each is asked for itself.
    call.require_permission(UpdateVariant::PERMISSION)?;
    let command = |item: BulkItem<UpdateProductVariantBody>| {
        Ok(UpdateVariant {
            id: item.id(VARIANT)?,
            changes: item.update.changes()?,
        })
    };
    let mode = call.access().mode;
    let done = bulk(&call, body.value.updates, command, move |variant| {
        ProductVariantRecord::new(&variant, mode)
    });
    Ok(Json(done.await?.into()))
}

/// List the variants of a product with their prices.
///
/// Newest first, without archived ones. Requires `ProductVariantRead`.
#[utoipa::path(
    tag = "Products",
    params(
        ("id" = inline(ProductId), Path, description = "The product, `prod_…`."),
        ListVariantsOfProductQuery,
        ("Lessor-Position" = Option<String>, Header, pattern = "^[0-9a-f]{16}$", description = "How much the list has to show: what the answer to your last change said. A read replica may answer then.")
    ),
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
    let list = query.command(id)?;
    let product = list.product;
    call.remembered(async || {
        let mut slice = call.list(list).await?;
        let mode = call.access().mode;
        let (slice, body) = aside(slice.items.len(), move || {
            let records = slice.items.iter();
            let records = records.map(|priced| ProductVariantRecord::priced(priced, mode));
            let fitting = fitting(records)?;
            // Where there is room for fewer, the next page begins earlier.
            slice.shorten(fitting.count);
            Ok((slice, fitting.body))
        })
        .await?;
        let mut response = listed(&call, &slice, |priced| priced.variant.id);
        let answer = response.content_type(JSON).body(body);
        Ok(prices::of_products([product]).told_of(answer))
    })
    .await
}
