//! `/v1/product-categories`.

use crate::http::routing::Routes;
use actix_web::{HttpResponse, get, post};
use lessor_domain::catalog::Category;
use lessor_domain::services::categories::{CreateCategory, ListCategories};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, Plain as _, QueryParams};
use crate::wire::{CategoryId, DateTimeText, Limit, Name, Offset, listed, page};

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(create_product_category)
        .service(list_product_categories);
}

/// A new product category.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CreateProductCategory)]
struct CreateProductCategoryBody {
    /// Its name, unique within the organization in any case.
    #[schema(example = "Bikes")]
    name: Name,
}

/// A product category.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ProductCategory)]
struct ProductCategoryRecord {
    /// Its public id.
    id: CategoryId,
    /// Its number.
    product_category_id: i64,
    /// Its name.
    name: String,
    /// When it was made.
    created_at: DateTimeText,
    /// When it last changed.
    updated_at: DateTimeText,
}

impl From<&Category> for ProductCategoryRecord {
    fn from(category: &Category) -> Self {
        Self {
            id: category.id.into(),
            product_category_id: category.category_id.get(),
            name: category.name.to_string(),
            created_at: category.created_at.into(),
            updated_at: category.updated_at.into(),
        }
    }
}

/// Create a product category.
///
/// Requires `ProductWrite`.
#[utoipa::path(
    tag = "Product categories",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateProductCategoryBody,
    responses((status = 200, body = ProductCategoryRecord, description = "The category."))
)]
#[post("/product-categories")]
async fn create_product_category(
    call: Call,
    body: Body<CreateProductCategoryBody>,
) -> Result<HttpResponse, ApiError> {
    let name = body.value.name.plain();
    call.post(CreateCategory { name }, &body.raw, |category, _| {
        ProductCategoryRecord::from(&category)
    })
    .await
}

/// Which product categories to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListProductCategoriesQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the category that the page comes after.
    #[param(inline)]
    starting_after: Option<CategoryId>,
}

/// List product categories.
///
/// Newest first. Requires `ProductRead`.
#[utoipa::path(
    tag = "Product categories",
    params(
        ListProductCategoriesQuery,
        ("Lessor-Position" = Option<String>, Header, pattern = "^[0-9a-f]{16}$", description = "How much the list has to show: what the answer to your last change said. A read replica may answer then.")
    ),
    responses((
        status = 200,
        body = [ProductCategoryRecord],
        description = "A page of product categories.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all.")
        )
    ))
)]
#[get("/product-categories")]
async fn list_product_categories(
    call: Call,
    QueryParams(query): QueryParams<ListProductCategoriesQuery>,
) -> Result<HttpResponse, ApiError> {
    let page = page(query.limit, query.offset, query.starting_after)?;
    let slice = call.list(ListCategories { page }).await?;
    let mut response = listed(&call, &slice, |category| category.id);
    let records = slice.items.iter().map(ProductCategoryRecord::from);
    Ok(response.json(records.collect::<Vec<_>>()))
}
