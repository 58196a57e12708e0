//! `/v1/sandbox`: what time, customers, providers and carriers would do, for sandbox keys.
//!
//! The steps on the way to a state are transactions of their own. Whether they may be played at all is
//! said in one before them, which notes that a request that may be repeated is begun.

use actix_web::{HttpResponse, post};
use lessor_domain::access::{Mode, Permission};
use lessor_domain::checkout::Checkout;
use lessor_domain::fulfillment::Reported;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::JobSubject;
use lessor_domain::ports::UnitOfWork;
use lessor_domain::services::{Context, Error, checkouts};
use lessor_domain::workers::sandbox;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::http::error::ApiError;
use crate::idempotency::{Call, Phase};
use crate::request::body::Body;
use crate::request::fields::{Prose, Text};
use crate::routes::checkouts::record::{LifecycleName, TrackingStatusName};
use crate::routes::checkouts::{CheckoutRecord, TrackingRecord, render_now};
use crate::state::settle::settle;
use crate::wire::records::CheckoutId;
use crate::wire::{PathId, parse};

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(advance_sandbox_checkout)
        .service(play_tracking_event);
}

/// How far a checkout is to come.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AdvanceCheckout {
    /// A state ahead on the way.
    to: LifecycleName,
}

/// What a carrier is to have reported.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlayTrackingEvent {
    /// Where the shipment is.
    status: TrackingStatusName,
    /// What happened, for people; what is said of the status when it is left out.
    description: Option<Prose<1000>>,
    /// Where it happened.
    location: Option<Text<255>>,
    /// Who signed for the goods.
    signed_by: Option<Text<255>>,
}

/// The checkout, locked, for one who may play with it.
async fn playable(
    work: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
) -> Result<Checkout, Error> {
    if ctx.access.mode != Mode::Sandbox {
        return Err(Error::SandboxOnly);
    }
    checkouts::changeable(work, ctx, id).await
}

/// Play a sandbox checkout forward.
///
/// Every step on the way to the state, as the checkout page and the providers would do it. Where a
/// provider refuses, as the customer's e-mail address asked for (`+identityfail@`, `+creditfail@`,
/// `+depositfail@`, `+depositdecline@`, `+capturefail@`, `+capturedecline@`, `+paymentfail@`), the
/// checkout stays where that led. Requires a sandbox key with `CheckoutWrite`.
#[utoipa::path(
    tag = "Sandbox",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = AdvanceCheckout,
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/sandbox/checkouts/{id}/advance")]
async fn advance_sandbox_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<AdvanceCheckout>,
) -> Result<HttpResponse, ApiError> {
    let target = body.value.to.0;
    let id = id.of("checkout")?;
    call.post_in_two_phases(
        Permission::CheckoutWrite,
        &body.raw,
        (id, target),
        |work, ctx, (id, target)| {
            Box::pin(async move {
                let checkout = playable(work, &ctx, id).await?;
                sandbox::check_way(&checkout, target)?;
                Ok(Phase::Begun((id, target)))
            })
        },
        |runner, (id, target)| {
            Box::pin(async move {
                let ctx = runner.context(runner.state.ports.clock.now());
                runner.state.sandbox().advance(&ctx, id, target).await?;
                render_now(&runner, id).await.map(Some)
            })
        },
    )
    .await
}

/// Play a carrier's report about a sandbox checkout.
///
/// Requires a sandbox key with `CheckoutWrite`, and a checkout that was fulfilled with tracking.
#[utoipa::path(
    tag = "Sandbox",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = PlayTrackingEvent,
    responses((status = 200, body = TrackingRecord, description = "The tracking."))
)]
#[post("/sandbox/checkouts/{id}/tracking-event")]
async fn play_tracking_event(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<PlayTrackingEvent>,
) -> Result<HttpResponse, ApiError> {
    let PlayTrackingEvent {
        status,
        description,
        location,
        signed_by,
    } = body.value;
    let reported = Reported {
        at: call.context().now,
        status: status.0,
        description: description
            .map(|text| parse("description", text.as_str()))
            .transpose()?,
        location: location
            .map(|text| parse("location", text.as_str()))
            .transpose()?,
        signed_by: signed_by
            .map(|text| parse("signedBy", text.as_str()))
            .transpose()?,
        estimated_delivery: None,
    };
    let id = id.of("checkout")?;
    call.post_in_two_phases(
        Permission::CheckoutWrite,
        &body.raw,
        (id, reported),
        |work, ctx, (id, reported)| {
            Box::pin(async move {
                let view = sandbox::tracking_event(work, &ctx, id, reported).await?;
                Ok(Phase::Interim(TrackingRecord::new(&view), id))
            })
        },
        |runner, id| {
            Box::pin(async move {
                // What follows from a delivery is done when the answer is given.
                settle(&runner.state, JobSubject::Checkout(id)).await;
                Ok(None)
            })
        },
    )
    .await
}
