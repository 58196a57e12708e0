//! `/webhooks`: what others tell the service. They have no keys; they sign.

mod tracking;

use utoipa_actix_web::service_config::ServiceConfig;

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config.service(tracking::take_tracking_message);
}
