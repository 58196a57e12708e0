//! `/v1/checkouts`.

mod address;
mod agreement;
mod create;
mod fulfill;
mod link;
mod list;
mod payments;
mod pdf;
mod qualify;
pub(crate) mod record;
mod sign;
mod summary;
mod tracking;
mod update;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{HttpResponse, get, post, put};
use lessor_domain::events::{EventSubject, EventSubjectKind};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::services::Error;
use lessor_domain::services::checkouts::{
    CancelCheckout, CheckoutView, ListCheckouts, RelinkCheckout, ViewCheckout, WithView, view_now,
};
use lessor_domain::services::shipments::{FulfillCheckout, GetTracking, SetTracking};
use serde::Deserialize;
use utoipa::ToSchema;

use self::create::{CreateCheckoutBody, CreateWithPage};
use self::fulfill::{FulfillAndBill, FulfillCheckoutBody};
use self::link::{RelinkCheckoutBody, RelinkWithPage};
use self::list::ListCheckoutsQuery;
use self::payments::RetryPaymentsBody;
use self::qualify::QualifyCheckoutBody;
use self::sign::SignAgreementBody;
use self::tracking::SetTrackingBody;
use self::update::UpdateCheckoutBody;
use crate::http::error::ApiError;
use crate::idempotency::{Call, Runner};
use crate::request::{Body, OptionalBody, PathId, Plain as _, QueryParams};
use crate::state::journal::Shows;
use crate::state::totals::LongList;
use crate::wire::{CheckoutId, Line, counted, listed};

pub(crate) use agreement::{AgreementDocument, document as agreement_document};
pub(crate) use pdf::Pdf;
pub use record::CheckoutRecord;
pub(crate) use tracking::{TrackingEventRecord, TrackingRecord};

/// What is not found here.
pub(super) const CHECKOUT: &str = "checkout";

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(create_checkout)
        .service(list_checkouts)
        // Before the path that takes any id.
        .service(summary::summarize_checkouts)
        .service(get_checkout)
        .service(update_checkout)
        .service(cancel_checkout)
        .service(fulfill_checkout)
        .service(retry_payments)
        .service(relink_checkout)
        .service(qualify_checkout)
        .service(sign_agreement)
        .service(set_tracking)
        .service(get_tracking)
        .service(agreement::get_agreement);
}

/// The record of a checkout as it is now.
pub(crate) async fn record_now(
    runner: &Runner,
    id: CheckoutPubId,
) -> Result<CheckoutRecord, Error> {
    let ctx = runner.context(runner.state.engine.clock.now());
    let organization = runner.access.organization_id;
    let mut work = (runner.state.engine.database)
        .read(organization.into())
        .await?;
    let view = view_now(&mut *work, &ctx, id).await?;
    Ok(CheckoutRecord::new(&view, runner.viewer()))
}

/// Create a checkout.
///
/// A customer has one checkout for a variant and term that is no lease yet: creating it again answers
/// the one there is, with `Existing-Checkout: true`. An active lease is answered too, unless
/// `externalOrderId` names another order than the lease's: then it is a second unit. One of the same
/// `externalOrderId` is answered in whatever state it is. What is not available is waitlisted. Requires
/// `CheckoutCreateWithCustomer` with `customer`, else `CheckoutWrite`.
#[utoipa::path(
    tag = "Checkouts",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")),
    request_body = CreateCheckoutBody,
    responses((
        status = 200,
        body = CheckoutRecord,
        description = "The checkout.",
        headers(("Existing-Checkout" = String, description = "`true` when it was there before the request."))
    ))
)]
#[post("/checkouts")]
async fn create_checkout(
    call: Call,
    body: Body<CreateCheckoutBody>,
) -> Result<HttpResponse, ApiError> {
    let create = CreateWithPage(body.value.command(&*call.state().engine.providers.phones)?);
    call.post_in_two_phases(create, &body.raw).await
}

/// List checkouts.
///
/// Newest first unless something else is asked for; those of the key's organization and mode.
/// Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ListCheckoutsQuery,
        ("Lessor-Position" = Option<String>, Header, pattern = "^[0-9a-f]{16}$", description = "How much the list has to show: what the answer to your last change said. A read replica may answer then.")
    ),
    responses((
        status = 200,
        body = [CheckoutRecord],
        description = "A page of checkouts.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all, up to 1,000. Left out beyond, for up to half a minute after there were more, and with `startingAfter`.")
        )
    ))
)]
#[get("/checkouts")]
async fn list_checkouts(
    call: Call,
    QueryParams(query): QueryParams<ListCheckoutsQuery>,
) -> Result<HttpResponse, ApiError> {
    let list = query.command()?;
    let page = list.page;
    call.remembered(async || {
        let asked = LongList::Checkouts(list.filter.clone());
        let list_of = async |is_long| call.list(ListCheckouts { is_long, ..list }).await;
        let slice = counted(&call, asked, page, list_of).await?;
        let mut response = listed(&call, &slice, |view| view.checkout.id);
        let viewer = call.viewer();
        let records = slice
            .items
            .iter()
            .map(|view| CheckoutRecord::new(view, viewer));
        Ok(response.json(records.collect::<Vec<_>>()))
    })
    .await
}

/// Read a checkout.
///
/// Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    params(("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`.")),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[get("/checkouts/{id}")]
async fn get_checkout(call: Call, id: PathId<CheckoutPubId>) -> Result<HttpResponse, ApiError> {
    let id = id.of(CHECKOUT)?;
    call.remembered(async || {
        let view = call.read(ViewCheckout { id }).await?;
        let answer = HttpResponse::Ok().json(CheckoutRecord::new(&view, call.viewer()));
        Ok(shown_by(&view).told_of(answer))
    })
    .await
}

/// What the checkout is shown by: the catalog as well, as long as that says what it costs.
fn shown_by(view: &CheckoutView) -> Shows {
    let checkout = &view.checkout;
    let itself = EventSubject::Checkout(checkout.id);
    if view.cost.is_none() || checkout.quote.is_some() {
        return Shows::records([itself]);
    }
    let variant = EventSubject::ProductVariant(checkout.variant_id);
    Shows::records([itself, variant])
        .and_any(&[EventSubjectKind::Product, EventSubjectKind::LeaseTerm])
}

/// Change a checkout's lease term, state or metadata.
///
/// Another term can be chosen before the deposit. With a live key a checkout can be moved as an
/// operator can, with a sandbox key to any state that follows; the states that are possible are
/// named when it is refused. The same state again changes nothing. Metadata can be changed in every
/// state. Requires `CheckoutWrite`.
#[utoipa::path(
    tag = "Checkouts",
    params(("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`.")),
    request_body = UpdateCheckoutBody,
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[put("/checkouts/{id}")]
async fn update_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<UpdateCheckoutBody>,
) -> Result<Json<CheckoutRecord>, ApiError> {
    let update = body.value.command(id.of(CHECKOUT)?);
    let record = call
        .run(move |runner| async move { Ok(update::update(&runner, update).await?) })
        .await?;
    Ok(Json(record))
}

/// Why a checkout is cancelled.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CancelCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CancelCheckoutBody {
    /// For the record.
    reason: Option<Line>,
}

/// Cancel a checkout.
///
/// Possible until the goods are shipped. An authorized deposit is released, a charged one refunded,
/// held stock freed. Cancelling again changes nothing. Requires `CheckoutCancel`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<CancelCheckoutBody>),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/cancel")]
async fn cancel_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: OptionalBody<CancelCheckoutBody>,
) -> Result<HttpResponse, ApiError> {
    let reason = body.value.reason.plain();
    let id = id.of(CHECKOUT)?;
    let cancel = WithView(CancelCheckout { id, reason });
    call.post(cancel, &body.raw, |view, viewer| {
        CheckoutRecord::new(&view, viewer)
    })
    .await
}

/// Mark a checkout fulfilled.
///
/// The goods are shipped. With a tracking number billing starts when delivery is confirmed; without
/// one it starts at once, and the lease is active in the answer when the processor answers in time.
/// Only a checkout whose identity verification, qualification, deposit and document signing are
/// complete can be fulfilled. The same fulfillment again changes nothing. Requires `CheckoutFulfill`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<FulfillCheckoutBody>),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/fulfill")]
async fn fulfill_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: OptionalBody<FulfillCheckoutBody>,
) -> Result<HttpResponse, ApiError> {
    let fulfillment = body.value.into();
    let id = id.of(CHECKOUT)?;
    let fulfill = FulfillAndBill(FulfillCheckout { id, fulfillment });
    call.post_in_two_phases(fulfill, &body.raw).await
}

/// Try failed payments again.
///
/// What is open of the monthly payments is paid now, with another method when one is named, which pays
/// from then on; when the subscription has ended with payments left, another takes them. The answer is
/// the checkout once the processor has answered: a decline is in its `progress.attention`. Requires
/// `CheckoutWrite`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<RetryPaymentsBody>),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/payments/retry")]
async fn retry_payments(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: OptionalBody<RetryPaymentsBody>,
) -> Result<HttpResponse, ApiError> {
    let retry = body.value.command(id.of(CHECKOUT)?);
    call.post_in_two_phases(retry, &body.raw).await
}

/// Make a new link of a checkout's page.
///
/// The one that there was ends: who comes with it is told to use the newest. The answer has the new one
/// as `checkoutUrl`. Requires `CheckoutWrite`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<RelinkCheckoutBody>),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/link")]
async fn relink_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: OptionalBody<RelinkCheckoutBody>,
) -> Result<HttpResponse, ApiError> {
    let id = id.of(CHECKOUT)?;
    let relink = RelinkWithPage(RelinkCheckout { id });
    call.post_in_two_phases(relink, &body.raw).await
}

/// Decide about the customer's credit.
///
/// While the checkout is `qualificationPending`. An approval holds for further leases of the customer
/// too, as long as all that rest on it come to no more than this one does; a refusal holds for this
/// checkout alone. The same decision again changes nothing, the other one is refused. Requires
/// `CheckoutQualify`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = QualifyCheckoutBody,
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/qualification")]
async fn qualify_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<QualifyCheckoutBody>,
) -> Result<HttpResponse, ApiError> {
    let holds_for = call.state().engine.credit_holds;
    let qualify = WithView(body.value.command(id.of(CHECKOUT)?, holds_for));
    call.post(qualify, &body.raw, |view, viewer| {
        CheckoutRecord::new(&view, viewer)
    })
    .await
}

/// Tell who signed the lease.
///
/// Where the organization has its agreements signed with a signer of its own (`signer` of the organization is
/// `http`), and while the checkout is `documentsPending`. The deposit is charged from then on. The same
/// signature again changes nothing. Requires `CheckoutSign`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = SignAgreementBody,
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/signature")]
async fn sign_agreement(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<SignAgreementBody>,
) -> Result<HttpResponse, ApiError> {
    let sign = WithView(body.value.command(id.of(CHECKOUT)?));
    call.post(sign, &body.raw, |view, viewer| {
        CheckoutRecord::new(&view, viewer)
    })
    .await
}

/// Add or change tracking.
///
/// After the fulfillment and before the delivery. Requires `CheckoutFulfill`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = SetTrackingBody,
    responses((status = 200, body = TrackingRecord, description = "The tracking."))
)]
#[post("/checkouts/{id}/tracking")]
async fn set_tracking(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<SetTrackingBody>,
) -> Result<HttpResponse, ApiError> {
    let set = SetTracking {
        id: id.of(CHECKOUT)?,
        number: body.value.tracking_number.plain(),
        carrier: body.value.carrier.plain(),
    };
    call.post(set, &body.raw, |view, _| TrackingRecord::new(&view))
        .await
}

/// Read where the goods are.
///
/// After the fulfillment. Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    params(("id" = inline(CheckoutId), Path, description = "The checkout, `chk_…`.")),
    responses((status = 200, body = TrackingRecord, description = "The tracking."))
)]
#[get("/checkouts/{id}/tracking")]
async fn get_tracking(
    call: Call,
    id: PathId<CheckoutPubId>,
) -> Result<Json<TrackingRecord>, ApiError> {
    let id = id.of(CHECKOUT)?;
    let view = call.read(GetTracking { id }).await?;
    Ok(Json(TrackingRecord::new(&view)))
}
