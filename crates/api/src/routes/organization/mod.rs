//! `/v1/organization`: the key's own.

mod body;
mod record;
mod settings;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{get, put};
use lessor_domain::services::organizations::GetOrganization;

use self::body::UpdateOrganizationBody;
use self::record::OrganizationRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::Body;

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(get_organization)
        .service(update_organization);
}

/// Read the organization.
///
/// The key's own: how it shows itself to customers, where it delivers, its own terms, and how it decides about
/// credit and has its agreements signed in the key's mode. Requires `OrganizationRead`.
#[utoipa::path(
    tag = "Organization",
    responses((status = 200, body = OrganizationRecord, description = "The organization."))
)]
#[get("/organization")]
async fn get_organization(call: Call) -> Result<Json<OrganizationRecord>, ApiError> {
    let organization = call.read(GetOrganization).await?;
    Ok(Json(OrganizationRecord::from(&organization)))
}

/// Update how the organization shows itself, where it delivers, and how it works.
///
/// Members that are left out stay as they are; `null` clears one. A wider area frees checkouts that waited
/// for it. Both modes have the same face, area and terms: with a sandbox key they are changed as long as it
/// writes the catalog. How credit is decided about and where agreements are signed is the key's mode's own;
/// `creditSecret` and `signerSecret` are in the answer that made them, and in no other. Requires
/// `OrganizationWrite`.
#[utoipa::path(
    tag = "Organization",
    request_body = UpdateOrganizationBody,
    responses((status = 200, body = OrganizationRecord, description = "The organization."))
)]
#[put("/organization")]
async fn update_organization(
    call: Call,
    body: Body<UpdateOrganizationBody>,
) -> Result<Json<OrganizationRecord>, ApiError> {
    let change = body.value.command(call.state())?;
    let changed = call.mutate(change).await?;
    Ok(Json(OrganizationRecord::from(&changed)))
}
