//! `/v1/customers`.

mod body;
mod erase;
mod export;
mod list;
mod record;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{HttpResponse, get, put};
use lessor_domain::events::EventSubject;
use lessor_domain::ids::CustomerPubId;
use lessor_domain::services::customers::{GetCustomer, UpdateCustomer};

use self::body::UpdateCustomerBody;
pub(crate) use self::record::CustomerRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, PathId};
use crate::state::journal::Shows;
use crate::wire::UserId;

/// What is not found here.
const CUSTOMER: &str = "customer";

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(list::list_customers)
        .service(get_customer)
        .service(update_customer)
        .service(export::export_customer)
        .service(erase::erase_customer);
}

/// Read a customer.
///
/// One of the key's organization and mode: who leases in both modes is another customer in each. Of one
/// who was erased nothing is left but that, since when (`erasedAt`), and what a running lease needs.
/// Requires `CustomerRead`.
#[utoipa::path(
    tag = "Customers",
    params(("id" = inline(UserId), Path, description = "The customer, `usr_…`.")),
    responses((status = 200, body = CustomerRecord, description = "The customer."))
)]
#[get("/customers/{id}")]
async fn get_customer(call: Call, id: PathId<CustomerPubId>) -> Result<HttpResponse, ApiError> {
    let id = id.of(CUSTOMER)?;
    call.remembered(async || {
        let customer = call.read(GetCustomer { id }).await?;
        let answer = HttpResponse::Ok().json(CustomerRecord::new(&customer));
        Ok(Shows::records([EventSubject::Customer(id)]).told_of(answer))
    })
    .await
}

/// Update a customer's profile, address and metadata.
///
/// Members that are left out stay as they are; `null` clears one. Checkouts that waited for the
/// profile go on. One who was erased cannot be updated. Requires `CustomerWrite`.
#[utoipa::path(
    tag = "Customers",
    params(("id" = inline(UserId), Path, description = "The customer, `usr_…`.")),
    request_body = UpdateCustomerBody,
    responses((status = 200, body = CustomerRecord, description = "The customer."))
)]
#[put("/customers/{id}")]
async fn update_customer(
    call: Call,
    id: PathId<CustomerPubId>,
    body: Body<UpdateCustomerBody>,
) -> Result<Json<CustomerRecord>, ApiError> {
    let changes = body.value.into();
    let id = id.of(CUSTOMER)?;
    let customer = call.mutate(UpdateCustomer { id, changes }).await?;
    Ok(Json(CustomerRecord::new(&customer)))
}
