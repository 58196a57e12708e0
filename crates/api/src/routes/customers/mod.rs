//! `/v1/customers`.

mod list;
mod record;

use actix_web::web::Json;
use actix_web::{HttpResponse, get, put};
use lessor_domain::ids::CustomerPubId;
use lessor_domain::services::customers;
use utoipa_actix_web::service_config::ServiceConfig;

use self::record::{CustomerRecord, UpdateCustomerBody};
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::body::Body;
use crate::wire::PathId;

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(list::list)
        .service(get_customer)
        .service(update_customer);
}

/// Read a customer.
///
/// One that has a checkout with the key's organization, or the user of one of its keys. Requires
/// `CustomerRead`.
#[utoipa::path(
    tag = "Customers",
    params(("id" = String, Path, description = "`usr_…`")),
    responses((status = 200, body = CustomerRecord, description = "The customer."))
)]
#[get("/customers/{id}")]
async fn get_customer(
    call: Call,
    id: PathId<CustomerPubId>,
) -> Result<Json<CustomerRecord>, ApiError> {
    let id = id.of("customer")?;
    let ctx = call.context();
    let mut work = call.read().await?;
    let customer = customers::get_customer(&mut *work, &ctx, id).await?;
    Ok(Json(CustomerRecord::new(&customer, ctx.access)))
}

/// Update a customer's profile, address and metadata.
///
/// Members that are left out stay as they are; `null` clears one. Checkouts that waited for the
/// profile go on. Requires `CustomerWrite`.
#[utoipa::path(
    tag = "Customers",
    params(("id" = String, Path, description = "`usr_…`")),
    request_body = UpdateCustomerBody,
    responses((status = 200, body = CustomerRecord, description = "The customer."))
)]
#[put("/customers/{id}")]
async fn update_customer(
    call: Call,
    id: PathId<CustomerPubId>,
    body: Body<UpdateCustomerBody>,
) -> Result<HttpResponse, ApiError> {
    let update = body.value.parse()?;
    let id = id.of("customer")?;
    call.mutate((id, update), |work, ctx, (id, update)| {
        Box::pin(async move {
            let customer = customers::update_customer(work, &ctx, id, update).await?;
            Ok(CustomerRecord::new(&customer, ctx.access))
        })
    })
    .await
}
