//! `/v1/organization`: the key's own.

mod body;
mod record;

use actix_web::web::Json;
use actix_web::{get, put};
use lessor_domain::services::organizations::GetOrganization;
use utoipa_actix_web::service_config::ServiceConfig;

use self::body::UpdateOrganizationBody;
use self::record::OrganizationRecord;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::Body;

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(get_organization)
        .service(update_organization);
}

/// Read the organization.
///
/// The key's own: how it shows itself to customers, and where it delivers. Requires `OrganizationRead`.
#[utoipa::path(
    tag = "Organization",
    responses((status = 200, body = OrganizationRecord, description = "The organization."))
)]
#[get("/organization")]
async fn get_organization(call: Call) -> Result<Json<OrganizationRecord>, ApiError> {
    let organization = call.read(GetOrganization).await?;
    Ok(Json(OrganizationRecord::from(&organization)))
}

/// Update how the organization shows itself, and where it delivers.
///
/// Members that are left out stay as they are; `null` clears one. A wider area frees checkouts that waited
/// for it. Both modes have the same face and area: with a sandbox key they are changed as long as it
/// writes the catalog. Requires `OrganizationWrite`.
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
    let changed = call.mutate(body.value.command()).await?;
    Ok(Json(OrganizationRecord::from(&changed)))
}
