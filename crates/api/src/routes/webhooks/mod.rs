//! `/webhooks`: what others tell the service. They have no keys; they sign.

mod processor;
mod tracking;

use serde::Serialize;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(processor::take_processor_message)
        .service(processor::take_account_message)
        .service(tracking::take_tracking_message);
}

/// The message was taken in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Received {
    /// Always `true`.
    received: bool,
}
