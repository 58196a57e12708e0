//! `/v1/sandbox`: what time, customers, providers and carriers would do, for sandbox keys.
//!
//! The steps on the way to a state are transactions of their own. Whether they may be played at all is
//! said in one before them, which notes that a request that may be repeated is begun.

use crate::http::routing::Routes;
use actix_web::{HttpResponse, post};
use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{JobSubject, UnitOfWork};
use lessor_domain::services::{Context, Error, UseCase as _};
use lessor_domain::shipments::CarrierReport;
use lessor_domain::time::Timestamp;
use lessor_domain::workers::sandbox::{PlanAdvance, PlayTrackingEvent};
use serde::Deserialize;
use utoipa::ToSchema;

use super::checkouts::CHECKOUT;
use crate::http::error::ApiError;
use crate::idempotency::{Call, FirstPhase, Runner, TwoPhases, Viewer};
use crate::request::{Body, PathId, Plain as _};
use crate::routes::checkouts::{CheckoutRecord, TrackingRecord, record_now};
use crate::state::settle::settle;
use crate::wire::{CheckoutId, EventText, Lifecycle, Line, TrackingStatus};

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(advance_sandbox_checkout)
        .service(play_tracking_event);
}

/// How far a checkout is to come.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AdvanceCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AdvanceCheckoutBody {
    /// A state ahead on the way.
    to: Lifecycle,
}

/// What a carrier is to have reported.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PlayTrackingEvent)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlayTrackingEventBody {
    /// Where the shipment is.
    status: TrackingStatus,
    /// What happened, for people; what is said of the status when it is left out.
    description: Option<EventText>,
    /// Where it happened.
    location: Option<Line>,
    /// Who signed for the goods.
    signed_by: Option<Line>,
}

impl PlayTrackingEventBody {
    fn reported(self, at: Timestamp) -> CarrierReport {
        CarrierReport {
            at,
            status: self.status.plain(),
            description: self.description.plain(),
            location: self.location.plain(),
            signed_by: self.signed_by.plain(),
            estimated_delivery: None,
        }
    }
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
    request_body = AdvanceCheckoutBody,
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/sandbox/checkouts/{id}/advance")]
async fn advance_sandbox_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<AdvanceCheckoutBody>,
) -> Result<HttpResponse, ApiError> {
    let target = body.value.to.plain();
    let id = id.of(CHECKOUT)?;
    let advance = Advance(PlanAdvance { id, target });
    call.post_in_two_phases(advance, &body.raw).await
}

/// Looks whether the checkout can be played forward, then plays.
#[derive(Clone)]
struct Advance(PlanAdvance);

#[async_trait]
impl TwoPhases for Advance {
    type Record = CheckoutRecord;
    type Rest = PlanAdvance;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        _: Viewer<'_>,
    ) -> Result<FirstPhase<CheckoutRecord, PlanAdvance>, Error> {
        self.0.run(uow, ctx).await?;
        Ok(FirstPhase::Begun(self.0))
    }

    async fn second(runner: &Runner, plan: PlanAdvance) -> Result<Option<CheckoutRecord>, Error> {
        let PlanAdvance { id, target } = plan;
        let ctx = runner.context(runner.state.engine.clock.now());
        runner
            .state
            .engine
            .sandbox()
            .advance(&ctx, id, target)
            .await?;
        record_now(runner, id).await.map(Some)
    }
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
    request_body = PlayTrackingEventBody,
    responses((status = 200, body = TrackingRecord, description = "The tracking."))
)]
#[post("/sandbox/checkouts/{id}/tracking-event")]
async fn play_tracking_event(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<PlayTrackingEventBody>,
) -> Result<HttpResponse, ApiError> {
    let at = call.context().now;
    let reported = body.value.reported(at);
    let id = id.of(CHECKOUT)?;
    let report = Report(PlayTrackingEvent { id, reported });
    call.post_in_two_phases(report, &body.raw).await
}

/// Takes the report in, then lets what follows from a delivery be done while the caller waits.
#[derive(Clone)]
struct Report(PlayTrackingEvent);

#[async_trait]
impl TwoPhases for Report {
    type Record = TrackingRecord;
    type Rest = CheckoutPubId;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        _: Viewer<'_>,
    ) -> Result<FirstPhase<TrackingRecord, CheckoutPubId>, Error> {
        let id = self.0.id;
        let view = self.0.run(uow, ctx).await?;
        Ok(FirstPhase::Interim(TrackingRecord::new(&view), id))
    }

    async fn second(runner: &Runner, id: CheckoutPubId) -> Result<Option<TrackingRecord>, Error> {
        let organization = runner.access.organization_id;
        settle(&runner.state, organization, JobSubject::Checkout(id)).await;
        Ok(None)
    }
}
