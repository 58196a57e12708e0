//! `/v1/products`.

mod dto;
mod list;

use actix_web::web::Json;
use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::access::Permission;
use lessor_domain::ids::ProductPubId;
use lessor_domain::services::catalog;
use lessor_domain::services::pricing;
use lessor_domain::services::variants;
use serde::Deserialize;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::body::Body;
use crate::request::fields::{Int, Text};
use crate::request::query::QueryParams;
use crate::routes::product_variants::ProductVariantRecord;
use crate::wire::size::fitting;
use crate::wire::{BulkItem, JSON, Paging, PathId, bulk, listed, unknown_start};

pub use dto::{
    BulkUpdateProducts, BulkUpdatedProducts, CreateProduct, OptionDefinition,
    OptionDefinitionInput, ProductRecord, UpdateProduct,
};

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(create)
        .service(list::list)
        .service(bulk_update)
        .service(read)
        .service(update)
        .service(remove)
        .service(list_variants);
}

/// Create a product.
///
/// A product is a container: it says in what its variants differ. Customers lease variants.
///
/// Requires `ProductWrite`.
#[utoipa::path(
    operation_id = "create_product",
    tag = "Products",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateProduct,
    responses((status = 200, body = ProductRecord, description = "The product."))
)]
#[post("/products")]
async fn create(call: Call, body: Body<CreateProduct>) -> Result<HttpResponse, ApiError> {
    let input = body.value.into_input()?;
    call.post(
        Permission::ProductWrite,
        &body.raw,
        input,
        |work, ctx, input| {
            Box::pin(async move {
                let product = catalog::create_product(work, &ctx, input).await?;
                Ok(ProductRecord::from(&product))
            })
        },
    )
    .await
}

/// Read a product.
///
/// Archived products stay readable. Requires `ProductRead`.
#[utoipa::path(
    operation_id = "get_product",
    tag = "Products",
    params(("id" = String, Path, description = "`prod_…`")),
    responses((status = 200, body = ProductRecord, description = "The product."))
)]
#[get("/products/{id}")]
async fn read(call: Call, id: PathId<ProductPubId>) -> Result<Json<ProductRecord>, ApiError> {
    let id = id.of("product")?;
    let mut work = call.read().await?;
    let product = catalog::get_product(&mut *work, &call.context(), id).await?;
    Ok(Json(ProductRecord::from(&product)))
}

/// Update a product.
///
/// Members that are left out stay as they are; `null` clears an optional one. An archived product
/// can only have its status changed. Requires `ProductWrite`.
#[utoipa::path(
    operation_id = "update_product",
    tag = "Products",
    params(("id" = String, Path, description = "`prod_…`")),
    request_body = UpdateProduct,
    responses((status = 200, body = ProductRecord, description = "The product."))
)]
#[put("/products/{id}")]
async fn update(
    call: Call,
    id: PathId<ProductPubId>,
    body: Body<UpdateProduct>,
) -> Result<HttpResponse, ApiError> {
    let changes = body.value.into_update()?;
    let id = id.of("product")?;
    call.mutate((id, changes), |work, ctx, (id, changes)| {
        Box::pin(async move {
            let product = catalog::update_product(work, &ctx, id, changes).await?;
            Ok(ProductRecord::from(&product))
        })
    })
    .await
}

/// Delete a product.
///
/// Its variants are deleted with it. When any of them has checkout items, the product and its
/// variants are archived instead. Requires `ProductDelete`.
#[utoipa::path(
    operation_id = "delete_product",
    tag = "Products",
    params(("id" = String, Path, description = "`prod_…`")),
    responses((status = 200, body = ProductRecord, description = "The product as it was."))
)]
#[delete("/products/{id}")]
async fn remove(call: Call, id: PathId<ProductPubId>) -> Result<HttpResponse, ApiError> {
    call.mutate(id.of("product")?, |work, ctx, id| {
        Box::pin(async move {
            let product = catalog::delete_product(work, &ctx, id).await?;
            Ok(ProductRecord::from(&product))
        })
    })
    .await
}

/// Update several products.
///
/// Each update is made on its own, in order; one that fails does not affect the others. Requires
/// `ProductWrite`.
#[utoipa::path(
    operation_id = "bulk_update_products",
    tag = "Products",
    request_body = BulkUpdateProducts,
    responses((status = 200, body = BulkUpdatedProducts, description = "What became of the updates."))
)]
#[put("/products/bulk")]
async fn bulk_update(
    call: Call,
    body: Body<BulkUpdateProducts>,
) -> Result<Json<BulkUpdatedProducts>, ApiError> {
    call.require(Permission::ProductWrite)?;
    let items = body.value.updates.into_vec();
    let done = call
        .run(|runner| async move {
            Ok(
                bulk(&runner, &items, |runner, item: BulkItem<UpdateProduct>| {
                    Box::pin(async move {
                        let id: ProductPubId = item.id("product")?;
                        let changes = item.update.into_update()?;
                        let updated = runner
                            .once(&changes, move |work, ctx, changes| {
                                Box::pin(async move {
                                    catalog::update_product(work, &ctx, id, changes).await
                                })
                            })
                            .await?;
                        Ok(ProductRecord::from(&updated))
                    })
                })
                .await,
            )
        })
        .await?;
    Ok(Json(done.into()))
}

/// Which variants of a product to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListVariants {
    /// How many to answer; 250 when nothing is said.
    #[param(inline)]
    limit: Option<Int<1, 250>>,
    /// The id of the variant that the page comes after.
    #[param(inline)]
    starting_after: Option<Text<64>>,
}

/// List the variants of a product with their prices.
///
/// Oldest first, without archived ones. Requires `ProductVariantRead`.
#[utoipa::path(
    operation_id = "list_variants_of_product",
    tag = "Products",
    params(("id" = String, Path, description = "`prod_…`"), ListVariants),
    responses((
        status = 200,
        body = [ProductVariantRecord],
        description = "The variants, each with `pricing`. A page that would be larger than 8 MiB has fewer.",
        headers(("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."))
    ))
)]
#[get("/products/{id}/variants")]
async fn list_variants(
    call: Call,
    id: PathId<ProductPubId>,
    QueryParams(query): QueryParams<ListVariants>,
) -> Result<HttpResponse, ApiError> {
    const MOST: usize = 250;
    let limit = query.limit.map_or(MOST, |limit| limit.get() as usize);
    let paging = Paging::new(limit, 0, query.starting_after.as_ref())?;
    let id = id.of("product")?;
    let mut work = call.read().await?;
    let ctx = call.context();
    let (product, found) = variants::list_variants(&mut *work, &ctx, id, paging.page()).await?;
    if let Some(after) = paging.after {
        let start = work
            .variants()
            .get(ctx.access.organization_id, after)
            .await?;
        if start.is_none_or(|variant| variant.product_id != product.id) {
            return Err(unknown_start());
        }
    }
    let found = found
        .into_iter()
        .map(|variant| (variant, &product))
        .collect();
    let mut priced = pricing::price_all(&mut *work, &ctx, found).await?;
    let records = priced
        .iter()
        .take(paging.limit)
        .map(|priced| ProductVariantRecord::new(&priced.variant).with_pricing(&priced.prices));
    let page = fitting(records)?;
    // Where there is room for fewer, the next page begins earlier.
    let paging = Paging {
        limit: page.count,
        ..paging
    };
    let mut response = listed(
        &call,
        &paging,
        &mut priced,
        |priced| priced.variant.id,
        None,
    );
    Ok(response.content_type(JSON).body(page.body))
}
