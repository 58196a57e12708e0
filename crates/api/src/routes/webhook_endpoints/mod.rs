//! `/v1/webhook-endpoints`.

mod body;
mod record;
mod secret;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{HttpResponse, delete, get, post, put};
use lessor_domain::ids::WebhookEndpointPubId;
use lessor_domain::services::deliveries::ListDeliveries;
use lessor_domain::services::webhook_endpoints::{
    DeleteWebhookEndpoint, GetWebhookEndpoint, ListWebhookEndpoints, TestWebhookEndpoint,
    UpdateWebhookEndpoint,
};
use serde::Deserialize;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, OptionalBody, PathId, QueryParams};
use crate::wire::{
    DeliveryId, Limit, Offset, WebhookEndpointId, WebhookEndpointLookup, listed, page,
};

use body::{
    CreateWebhookEndpointBody, ReplayEventsBody, RollWebhookEndpointBody, TestWebhookEndpointBody,
    UpdateWebhookEndpointBody,
};
pub(crate) use record::{DeliveryRecord, Queued, TestMessage, WebhookEndpointRecord};
use secret::ShownOnce;

/// What is not found here.
const ENDPOINT: &str = "webhook endpoint";

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(create_webhook_endpoint)
        .service(list_webhook_endpoints)
        .service(get_webhook_endpoint)
        .service(update_webhook_endpoint)
        .service(delete_webhook_endpoint)
        .service(roll_webhook_endpoint)
        .service(test_webhook_endpoint)
        .service(list_deliveries)
        .service(replay_events);
}

/// The endpoint that a request names.
///
/// # Errors
/// 404 for an id that cannot exist, as for any that does not.
pub(crate) fn endpoint_of(given: &WebhookEndpointLookup) -> Result<WebhookEndpointPubId, ApiError> {
    given.0.id.ok_or_else(|| ApiError::not_found(ENDPOINT))
}

/// Create a webhook endpoint.
///
/// It is told of what happens from now on in the organization and the mode of the key, by POST requests that
/// are signed as [Standard Webhooks](https://www.standardwebhooks.com) say. The answer has the `secret`, which
/// is shown this once: neither a GET nor a repetition of the request has it. An organization has at most 16
/// in a mode. Requires `WebhookWrite`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer, without the secret.")),
    request_body = CreateWebhookEndpointBody,
    responses((status = 200, body = WebhookEndpointRecord, description = "The endpoint, with its secret."))
)]
#[post("/webhook-endpoints")]
async fn create_webhook_endpoint(
    call: Call,
    body: Body<CreateWebhookEndpointBody>,
) -> Result<HttpResponse, ApiError> {
    let create = body.value.command(call.state())?;
    call.post_in_two_phases(ShownOnce(create), &body.raw).await
}

/// Which webhook endpoints to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListWebhookEndpointsQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the endpoint that the page comes after.
    #[param(inline)]
    starting_after: Option<WebhookEndpointId>,
}

/// List webhook endpoints.
///
/// Those of the mode of the key, newest first, disabled ones included. Requires `EventRead`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(ListWebhookEndpointsQuery),
    responses((
        status = 200,
        body = [WebhookEndpointRecord],
        description = "A page of endpoints.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all.")
        )
    ))
)]
#[get("/webhook-endpoints")]
async fn list_webhook_endpoints(
    call: Call,
    QueryParams(query): QueryParams<ListWebhookEndpointsQuery>,
) -> Result<HttpResponse, ApiError> {
    let page = page(query.limit, query.offset, query.starting_after)?;
    let slice = call.read(ListWebhookEndpoints { page }).await?;
    let mut response = listed(&call, &slice, |endpoint| endpoint.id);
    let records = slice.items.iter().map(WebhookEndpointRecord::from);
    Ok(response.json(records.collect::<Vec<_>>()))
}

/// Read a webhook endpoint.
///
/// Requires `EventRead`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(("id" = inline(WebhookEndpointId), Path, description = "The endpoint, `whe_…`.")),
    responses((status = 200, body = WebhookEndpointRecord, description = "The endpoint."))
)]
#[get("/webhook-endpoints/{id}")]
async fn get_webhook_endpoint(
    call: Call,
    id: PathId<WebhookEndpointPubId>,
) -> Result<Json<WebhookEndpointRecord>, ApiError> {
    let id = id.of(ENDPOINT)?;
    let endpoint = call.read(GetWebhookEndpoint { id }).await?;
    Ok(Json(WebhookEndpointRecord::from(&endpoint)))
}

/// Update a webhook endpoint.
///
/// Members that are left out stay as they are. One that is disabled is told of nothing that happens
/// meanwhile, and what waits for it has failed: a replay brings both. Requires `WebhookWrite`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(("id" = inline(WebhookEndpointId), Path, description = "The endpoint, `whe_…`.")),
    request_body = UpdateWebhookEndpointBody,
    responses((status = 200, body = WebhookEndpointRecord, description = "The endpoint."))
)]
#[put("/webhook-endpoints/{id}")]
async fn update_webhook_endpoint(
    call: Call,
    id: PathId<WebhookEndpointPubId>,
    body: Body<UpdateWebhookEndpointBody>,
) -> Result<Json<WebhookEndpointRecord>, ApiError> {
    let changes = body.value.changes(call.state())?;
    let id = id.of(ENDPOINT)?;
    let endpoint = call.mutate(UpdateWebhookEndpoint { id, changes }).await?;
    call.state().feeds.to_deliver();
    Ok(Json(WebhookEndpointRecord::from(&endpoint)))
}

/// Delete a webhook endpoint.
///
/// What is known of its deliveries goes with it. Requires `WebhookWrite`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(("id" = inline(WebhookEndpointId), Path, description = "The endpoint, `whe_…`.")),
    responses((status = 200, body = WebhookEndpointRecord, description = "The endpoint as it was."))
)]
#[delete("/webhook-endpoints/{id}")]
async fn delete_webhook_endpoint(
    call: Call,
    id: PathId<WebhookEndpointPubId>,
) -> Result<Json<WebhookEndpointRecord>, ApiError> {
    let id = id.of(ENDPOINT)?;
    let endpoint = call.mutate(DeleteWebhookEndpoint { id }).await?;
    Ok(Json(WebhookEndpointRecord::from(&endpoint)))
}

/// Give a webhook endpoint another secret.
///
/// The answer has the new `secret`, which is shown this once. Messages bear signatures of both until the
/// overlap is over, so that the receiver can be changed meanwhile. Requires `WebhookWrite`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(
        ("id" = inline(WebhookEndpointId), Path, description = "The endpoint, `whe_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer, without the secret.")
    ),
    request_body(content = Option<RollWebhookEndpointBody>),
    responses((status = 200, body = WebhookEndpointRecord, description = "The endpoint, with its new secret."))
)]
#[post("/webhook-endpoints/{id}/roll")]
async fn roll_webhook_endpoint(
    call: Call,
    id: PathId<WebhookEndpointPubId>,
    body: OptionalBody<RollWebhookEndpointBody>,
) -> Result<HttpResponse, ApiError> {
    let roll = body.value.command(id.of(ENDPOINT)?, call.state());
    call.post_in_two_phases(ShownOnce(roll), &body.raw).await
}

/// Try a webhook endpoint out.
///
/// It is sent a message of the type `webhook_endpoint.test`, whatever it is told of otherwise, which is in no
/// feed. The answer is the delivery, by which `GET /v1/webhook-endpoints/{id}/deliveries` tells what became of
/// it. A disabled endpoint is `invalid_request`. Requires `WebhookWrite`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(
        ("id" = inline(WebhookEndpointId), Path, description = "The endpoint, `whe_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<TestWebhookEndpointBody>),
    responses((status = 200, body = DeliveryRecord, description = "The delivery."))
)]
#[post("/webhook-endpoints/{id}/test")]
async fn test_webhook_endpoint(
    call: Call,
    id: PathId<WebhookEndpointPubId>,
    body: OptionalBody<TestWebhookEndpointBody>,
) -> Result<HttpResponse, ApiError> {
    let id = id.of(ENDPOINT)?;
    let test = TestWebhookEndpoint { id };
    let response = call
        .post(test, &body.raw, |delivery, _| {
            DeliveryRecord::from(&delivery)
        })
        .await?;
    call.state().feeds.to_deliver();
    Ok(response)
}

/// Which deliveries to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListDeliveriesQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// How many to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Offset,
    /// The id of the delivery that the page comes after.
    #[param(inline)]
    starting_after: Option<DeliveryId>,
}

/// List the deliveries to a webhook endpoint.
///
/// Newest first, with what became of the last attempt of each. They are kept as long as events are. Requires
/// `EventRead`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(
        ("id" = inline(WebhookEndpointId), Path, description = "The endpoint, `whe_…`."),
        ListDeliveriesQuery
    ),
    responses((
        status = 200,
        body = [DeliveryRecord],
        description = "A page of deliveries.",
        headers(("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."))
    ))
)]
#[get("/webhook-endpoints/{id}/deliveries")]
async fn list_deliveries(
    call: Call,
    id: PathId<WebhookEndpointPubId>,
    QueryParams(query): QueryParams<ListDeliveriesQuery>,
) -> Result<HttpResponse, ApiError> {
    let page = page(query.limit, query.offset, query.starting_after)?;
    let endpoint = id.of(ENDPOINT)?;
    let slice = call.read(ListDeliveries { endpoint, page }).await?;
    let mut response = listed(&call, &slice, |delivery| delivery.new.id);
    let records = slice.items.iter().map(DeliveryRecord::from);
    Ok(response.json(records.collect::<Vec<_>>()))
}

/// Deliver what happened in a stretch of time again.
///
/// To this endpoint, also what happened before it was there or while it was disabled. What is under way to it
/// already is not sent twice, and is tried at once. A stretch has at most 100,000 events. A disabled endpoint is
/// `invalid_request`. Requires `WebhookWrite`.
#[utoipa::path(
    tag = "Webhook endpoints",
    params(
        ("id" = inline(WebhookEndpointId), Path, description = "The endpoint, `whe_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = ReplayEventsBody,
    responses((status = 200, body = Queued, description = "How many deliveries that are."))
)]
#[post("/webhook-endpoints/{id}/replay")]
async fn replay_events(
    call: Call,
    id: PathId<WebhookEndpointPubId>,
    body: Body<ReplayEventsBody>,
) -> Result<HttpResponse, ApiError> {
    let replay = body.value.command(id.of(ENDPOINT)?);
    let response = call
        .post(replay, &body.raw, |queued, _| Queued { queued })
        .await?;
    call.state().feeds.to_deliver();
    Ok(response)
}
