//! `POST /webhooks/tracking`: carriers tell where shipments are.

use actix_web::web::Json;
use actix_web::{HttpRequest, post};
use lessor_domain::access::Mode;
use lessor_domain::checkout::Tracking;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{InboxMessage, JobSubject, Reach};
use lessor_domain::services::Error;
use lessor_domain::shipments::CarrierReport;
use lessor_domain::time::to_millis;
use lessor_domain::workers::inbox::CheckoutReport;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Received, StandardSignature, check};
use crate::http::error::ApiError;
use crate::idempotency::Tries;
use crate::request::{Plain as _, SignedBody};
use crate::state::AppState;
use crate::state::settle::settle;
use crate::telemetry::outage;
use crate::wire::{Carrier, EventText, Line, Time, TrackingNumber, TrackingStatus};

/// Who the messages are kept from.
const SOURCE: &str = "carriers";

/// What a carrier reports of a shipment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TrackingMessage {
    /// The carrier's number of the shipment.
    tracking_number: TrackingNumber,
    /// Whose number it is.
    carrier: Carrier,
    /// Where the shipment is.
    status: TrackingStatus,
    /// What happened, for people; what is said of the status when it is left out.
    description: Option<EventText>,
    /// Where it happened.
    location: Option<Line>,
    /// When it happened, RFC 3339.
    timestamp: Time,
    /// Who signed for the goods.
    signed_by: Option<Line>,
}

impl TrackingMessage {
    /// Which shipment, and what is told of it.
    fn told(self) -> (Tracking, CarrierReport) {
        let tracking = Tracking {
            number: self.tracking_number.plain(),
            carrier: self.carrier.plain(),
        };
        let reported = CarrierReport {
            at: to_millis(self.timestamp.plain()),
            status: self.status.plain(),
            description: self.description.plain(),
            location: self.location.plain(),
            signed_by: self.signed_by.plain(),
            estimated_delivery: None,
        };
        (tracking, reported)
    }
}

/// Tell where a shipment is.
///
/// For carriers and those who watch them. Signed as <https://www.standardwebhooks.com> says, with a
/// secret of `LESSOR_TRACKING_WEBHOOK_SECRETS`. A message is taken in once, whatever order they come
/// in; about an unknown shipment it is kept for 30 days, and counts once its number is given.
#[utoipa::path(
    tag = "Webhooks",
    params(
        ("webhook-id" = String, Header, description = "The same in every delivery of the message."),
        ("webhook-timestamp" = String, Header, description = "When it was sent, Unix seconds; within five minutes."),
        ("webhook-signature" = String, Header, description = "`v1,<base64>`, several separated by spaces.")
    ),
    request_body = TrackingMessage,
    responses((status = 200, body = Received, description = "The message was taken in."))
)]
#[post("/webhooks/tracking")]
pub(super) async fn take_tracking_message(
    request: HttpRequest,
    body: Result<SignedBody<StandardSignature>, ApiError>,
) -> Result<Json<Received>, ApiError> {
    let state = AppState::of(&request)?.clone();
    let (secrets, now) = (&state.settings.tracking_secrets, state.engine.clock.now());
    let checked = body.and_then(|body| {
        check(&body, secrets, now)?;
        Ok(body)
    });
    let body = state.unproven(&request).settle(checked)?;
    let (tracking, reported) = body.json::<TrackingMessage>()?.told();
    let mutations = state.mutations.clone();
    mutations
        .run(async move {
            let message = InboxMessage {
                source: SOURCE.to_owned(),
                id: body.signature.id,
                mode: Mode::Live,
                organization_id: None,
                body: body.raw.to_vec(),
                received_at: state.engine.clock.now(),
            };
            let mut tries = Tries::default();
            let taken = loop {
                match state
                    .engine
                    .inbox()
                    .take_report(&message, &tracking, &reported)
                    .await
                {
                    Err(error) if tries.again(&error) => {}
                    result => break result?,
                }
            };
            if taken.is_empty() {
                tracing::info!(
                    id = message.id,
                    "no checkout has the shipment of a tracking message"
                );
            }
            for CheckoutReport { id, refusal } in taken {
                match refusal {
                    None => settle_reported(&state, id).await,
                    Some(why) => {
                        tracing::info!(checkout = %id, why, "a tracking message came to nothing");
                    }
                }
            }
            Ok::<_, Error>(())
        })
        .await?;
    Ok(Json(Received { received: true }))
}

/// Lets what follows from a report be done while the carrier waits. The report is taken in, so that
/// whatever fails here is left to the worker.
async fn settle_reported(state: &AppState, id: CheckoutPubId) {
    let owner = async {
        let mut view = state.engine.database.read(Reach::Server).await?;
        view.doors().owner_of_checkout(id).await
    };
    match owner.await {
        Ok(Some(owner)) => settle(state, owner, JobSubject::Checkout(id)).await,
        Ok(None) => {}
        Err(error) => {
            let span = tracing::info_span!("settle", checkout = %id);
            span.in_scope(|| outage::hinders("jobs are left to the worker", &error));
        }
    }
}
