//! `/v1/product-variants`.

mod dto;
mod prices;

use actix_web::web::Json;
use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::access::Permission;
use lessor_domain::ids::ProductVariantPubId;
use lessor_domain::services::variants;
use lessor_domain::text::Sku;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::body::Body;
use crate::request::query::Segment;
use crate::wire::records::VariantId;
use crate::wire::{BulkItem, PathId, bulk};

pub use dto::{
    BulkUpdateProductVariants, BulkUpdatedProductVariants, CreateProductVariant, OptionSelection,
    OptionSelectionInput, ProductVariantRecord, UpdateProductVariant,
};
pub use prices::PricingEntry;
pub(crate) use prices::names;

/// What is not found here.
const VARIANT: &str = "product variant";

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    // `bulk` and `by-sku` before `{id}`, which would take them for ids.
    config
        .service(create)
        .service(prices::of_products)
        .service(bulk_update)
        .service(prices::fetch)
        .service(read_by_sku)
        .service(prices::summary)
        .service(prices::lowest)
        .service(read)
        .service(update)
        .service(remove);
}

/// Create a product variant.
///
/// One combination of the option values of its product, with a price, a SKU and a stock of its own.
/// Requires `ProductVariantWrite`.
#[utoipa::path(
    operation_id = "create_product_variant",
    tag = "Product variants",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateProductVariant,
    responses((status = 200, body = ProductVariantRecord, description = "The variant, with `organizationId` and `productId`."))
)]
#[post("/product-variants")]
async fn create(call: Call, body: Body<CreateProductVariant>) -> Result<HttpResponse, ApiError> {
    let input = body.value.into_input()?;
    call.post(
        Permission::ProductVariantWrite,
        &body.raw,
        input,
        |work, ctx, input| {
            Box::pin(async move {
                let variant = variants::create_variant(work, &ctx, input).await?;
                Ok(ProductVariantRecord::owned(&variant, ctx.access))
            })
        },
    )
    .await
}

/// Read a product variant.
///
/// Archived variants stay readable. Requires `ProductVariantRead`.
#[utoipa::path(
    operation_id = "get_product_variant",
    tag = "Product variants",
    params(("id" = inline(VariantId), Path, description = "The variant, `pvar_…`.")),
    responses((status = 200, body = ProductVariantRecord, description = "The variant, with `organizationId` and `productId`."))
)]
#[get("/product-variants/{id}")]
async fn read(
    call: Call,
    id: PathId<ProductVariantPubId>,
) -> Result<Json<ProductVariantRecord>, ApiError> {
    let id = id.of(VARIANT)?;
    let mut work = call.read().await?;
    let variant = variants::get_variant(&mut *work, &call.context(), id).await?;
    Ok(Json(ProductVariantRecord::owned(&variant, call.access())))
}

/// Read the product variant of a SKU.
///
/// Requires `ProductVariantRead`.
#[utoipa::path(
    operation_id = "get_product_variant_by_sku",
    tag = "Product variants",
    params(("sku" = String, Path, description = "The stock keeping unit.")),
    responses((status = 200, body = ProductVariantRecord, description = "The variant, with `organizationId` and `productId`."))
)]
#[get("/product-variants/by-sku/{sku}")]
async fn read_by_sku(
    call: Call,
    sku: Result<Segment, ApiError>,
) -> Result<Json<ProductVariantRecord>, ApiError> {
    let sku = sku.ok().and_then(|sku| Sku::parse(&sku.0).ok());
    let sku = sku.ok_or_else(|| ApiError::not_found(VARIANT))?;
    let mut work = call.read().await?;
    let variant = variants::get_variant_by_sku(&mut *work, &call.context(), &sku).await?;
    Ok(Json(ProductVariantRecord::owned(&variant, call.access())))
}

/// Update a product variant.
///
/// Members that are left out stay as they are; `null` clears an optional one. An archived variant
/// can only have its status changed. Requires `ProductVariantWrite`.
#[utoipa::path(
    operation_id = "update_product_variant",
    tag = "Product variants",
    params(("id" = inline(VariantId), Path, description = "The variant, `pvar_…`.")),
    request_body = UpdateProductVariant,
    responses((status = 200, body = ProductVariantRecord, description = "The variant."))
)]
#[put("/product-variants/{id}")]
async fn update(
    call: Call,
    id: PathId<ProductVariantPubId>,
    body: Body<UpdateProductVariant>,
) -> Result<HttpResponse, ApiError> {
    let changes = body.value.into_update()?;
    let id = id.of(VARIANT)?;
    call.mutate((id, changes), |work, ctx, (id, changes)| {
        Box::pin(async move {
            let variant = variants::update_variant(work, &ctx, id, changes).await?;
            Ok(ProductVariantRecord::new(&variant))
        })
    })
    .await
}

/// Delete a product variant.
///
/// One that has checkout items is archived instead. Requires `ProductVariantDelete`.
#[utoipa::path(
    operation_id = "delete_product_variant",
    tag = "Product variants",
    params(("id" = inline(VariantId), Path, description = "The variant, `pvar_…`.")),
    responses((status = 200, body = ProductVariantRecord, description = "The variant as it was, with `organizationId` and `productId`."))
)]
#[delete("/product-variants/{id}")]
async fn remove(call: Call, id: PathId<ProductVariantPubId>) -> Result<HttpResponse, ApiError> {
    call.mutate(id.of(VARIANT)?, |work, ctx, id| {
        Box::pin(async move {
            let variant = variants::delete_variant(work, &ctx, id).await?;
            Ok(ProductVariantRecord::owned(&variant, ctx.access))
        })
    })
    .await
}

/// Update several product variants.
///
/// Each update is made on its own, in order; one that fails does not affect the others. Requires
/// `ProductVariantWrite`.
#[utoipa::path(
    operation_id = "bulk_update_product_variants",
    tag = "Product variants",
    request_body = BulkUpdateProductVariants,
    responses((status = 200, body = BulkUpdatedProductVariants, description = "What became of the updates."))
)]
#[put("/product-variants/bulk")]
async fn bulk_update(
    call: Call,
    body: Body<BulkUpdateProductVariants>,
) -> Result<Json<BulkUpdatedProductVariants>, ApiError> {
    call.require(Permission::ProductVariantWrite)?;
    let items = body.value.updates.into_vec();
    let done = call
        .run(|runner| async move {
            Ok(bulk(
                &runner,
                &items,
                |runner, item: BulkItem<UpdateProductVariant>| {
                    Box::pin(async move {
                        let id: ProductVariantPubId = item.id(VARIANT)?;
                        let changes = item.update.into_update()?;
                        let updated = runner
                            .once(&changes, move |work, ctx, changes| {
                                Box::pin(async move {
                                    variants::update_variant(work, &ctx, id, changes).await
                                })
                            })
                            .await?;
                        Ok(ProductVariantRecord::new(&updated))
                    })
                },
            )
            .await)
        })
        .await?;
    Ok(Json(done.into()))
}
