//! `/v1/products`.

mod body;
mod generate;
mod list;
mod record;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::events::EventSubject;
use lessor_domain::ids::ProductPubId;
use lessor_domain::services::products::{DeleteProduct, GetProduct, UpdateProduct};

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, PathId};
use crate::state::journal::Shows;
use crate::wire::{BulkItem, ProductId, bulk};

pub use body::{
    BulkUpdateProductsBody, CreateProductBody, OptionDefinitionInput, UpdateProductBody,
};
pub use record::{BulkUpdatedProducts, OptionDefinition, ProductRecord};

/// What is not found here.
const PRODUCT: &str = "product";

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(create_product)
        .service(list::list_products)
        .service(bulk_update_products)
        .service(get_product)
        .service(update_product)
        .service(delete_product)
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
async fn get_product(call: Call, id: PathId<ProductPubId>) -> Result<HttpResponse, ApiError> {
    let id = id.of(PRODUCT)?;
    call.remembered(async || {
        let product = call.read(GetProduct { id }).await?;
        let answer = HttpResponse::Ok().json(ProductRecord::from(&product));
        Ok(Shows::records([EventSubject::Product(id)]).told_of(answer))
    })
    .await
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
    call.require(UpdateProduct::PERMISSION)?;
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
