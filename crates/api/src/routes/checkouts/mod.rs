//! `/v1/checkouts`.

mod address;
mod create;
mod fulfill;
mod list;
mod payments;
pub(crate) mod record;
mod update;

use std::convert::Infallible;

use actix_web::web::Json;
use actix_web::{HttpResponse, get, post, put};
use lessor_domain::access::Permission;
use lessor_domain::checkout::{Billing, Checkout};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{JobSubject, StoreError, UnitOfWork};
use lessor_domain::pricing::PricingError;
use lessor_domain::services::{Context, Error, catalog, checkouts, fulfillment};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use self::create::CreateCheckoutBody;
use self::fulfill::{FulfillBody, SetTracking};
use self::list::ListCheckouts;
use self::payments::RetryPayments;
use self::update::UpdateCheckoutBody;
use crate::auth::links::PageLinks;
use crate::http::error::ApiError;
use crate::idempotency::{Call, Phase, Runner};
use crate::request::body::{Body, OptionalBody};
use crate::request::fields::Text;
use crate::request::query::QueryParams;
use crate::state::settle::settle;
use crate::wire::{PathId, listed, parse, unknown_start};

pub(crate) use fulfill::TrackingRecord;
pub use record::CheckoutRecord;

pub(super) fn configure(config: &mut ServiceConfig<'_>) {
    config
        .service(create_checkout)
        .service(list_checkouts)
        .service(get_checkout)
        .service(update_checkout)
        .service(cancel_checkout)
        .service(fulfill_checkout)
        .service(retry_payments)
        .service(set_tracking)
        .service(get_tracking);
}

/// The records of checkouts of the caller's organization; the number of queries does not grow with
/// them.
pub(crate) async fn render_all(
    work: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    links: &PageLinks,
    checkouts: &[Checkout],
) -> Result<Vec<CheckoutRecord>, Error> {
    let organization = work
        .organizations()
        .get(ctx.access.organization_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("organization")))?;
    let quotes = checkouts::quotes_of(work, checkouts).await?;
    checkouts
        .iter()
        .zip(&quotes)
        .map(|(checkout, quote)| {
            CheckoutRecord::new(checkout, quote.as_ref(), &organization, links)
                .map_err(|error| PricingError::from(error).into())
        })
        .collect()
}

/// The record of a checkout of the caller's organization.
pub(crate) async fn render(
    work: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    links: &PageLinks,
    checkout: &Checkout,
) -> Result<CheckoutRecord, Error> {
    let mut records = render_all(work, ctx, links, std::slice::from_ref(checkout)).await?;
    records.pop().ok_or(Error::not_found("checkout"))
}

/// The record of a checkout as it is now.
pub(crate) async fn render_now(
    runner: &Runner,
    id: CheckoutPubId,
) -> Result<CheckoutRecord, Error> {
    let ctx = runner.context(runner.state.ports.clock.now());
    let mut work = runner.state.ports.database.read().await?;
    let checkout = work
        .checkouts()
        .get(id)
        .await?
        .ok_or(Error::not_found("checkout"))?;
    render(&mut *work, &ctx, &runner.state.pages, &checkout).await
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
    let input = body.value.parse()?;
    let permission = match input.customer {
        Some(_) => Permission::CheckoutCreateWithCustomer,
        None => Permission::CheckoutWrite,
    };
    let state = call.state();
    let input = (input, state.pages.clone(), state.ports.entropy.clone());
    call.post_in_two_phases(
        permission,
        &body.raw,
        input,
        |work, ctx, (input, links, entropy)| {
            Box::pin(async move {
                let (checkout, is_new) =
                    checkouts::create_checkout(work, &ctx, &*entropy, input).await?;
                if is_new {
                    let hash = links.hash(&checkout);
                    work.checkouts().set_page_token(checkout.id, &hash).await?;
                }
                let record = render(work, &ctx, &links, &checkout).await?;
                Ok(if is_new {
                    Phase::Done(record)
                } else {
                    Phase::Existing(record)
                })
            })
        },
        |_, never: Infallible| match never {},
    )
    .await
}

/// List checkouts.
///
/// Newest first unless something else is asked for; those of the key's organization and mode.
/// Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    params(ListCheckouts),
    responses((
        status = 200,
        body = [CheckoutRecord],
        description = "A page of checkouts.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all.")
        )
    ))
)]
#[get("/checkouts")]
async fn list_checkouts(
    call: Call,
    QueryParams(query): QueryParams<ListCheckouts>,
) -> Result<HttpResponse, ApiError> {
    let listing = query.parse()?;
    let ctx = call.context();
    for organization in listing.organizations {
        catalog::own_organization(&ctx, organization)?;
    }
    call.require(Permission::CheckoutRead)?;
    let mut work = call.read().await?;
    if let Some(after) = listing.paging.after {
        match checkouts::get_checkout(&mut *work, &ctx, after).await {
            Err(Error::NotFound { .. }) => return Err(unknown_start()),
            start => start?,
        };
    }
    let (mut found, total) = match listing.filter {
        Some(filter) => {
            checkouts::list_checkouts(
                &mut *work,
                &ctx,
                &filter,
                listing.sort,
                listing.order,
                listing.paging.page(),
            )
            .await?
        }
        None => (Vec::new(), 0),
    };
    let mut response = listed(
        &call,
        &listing.paging,
        &mut found,
        |checkout| checkout.id,
        Some(total),
    );
    let records = render_all(&mut *work, &ctx, &call.state().pages, &found).await?;
    Ok(response.json(records))
}

/// Read a checkout.
///
/// Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    params(("id" = String, Path, description = "`chk_…`")),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[get("/checkouts/{id}")]
async fn get_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
) -> Result<Json<CheckoutRecord>, ApiError> {
    let id = id.of("checkout")?;
    let ctx = call.context();
    let mut work = call.read().await?;
    let checkout = checkouts::get_checkout(&mut *work, &ctx, id).await?;
    let record = render(&mut *work, &ctx, &call.state().pages, &checkout).await?;
    Ok(Json(record))
}

/// Change a checkout's lease term, state or metadata.
///
/// Another term can be chosen before the deposit. With a live key a checkout can be moved as an
/// operator can, with a sandbox key to any state that follows; the states that are possible are
/// named when it is refused. The same state again changes nothing. Metadata can be changed in every
/// state. Requires `CheckoutWrite`.
#[utoipa::path(
    tag = "Checkouts",
    params(("id" = String, Path, description = "`chk_…`")),
    request_body = UpdateCheckoutBody,
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[put("/checkouts/{id}")]
async fn update_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<UpdateCheckoutBody>,
) -> Result<Json<CheckoutRecord>, ApiError> {
    let update = body.value.parse()?;
    let id = id.of("checkout")?;
    let record = call
        .run(move |runner| async move { Ok(update::update(&runner, id, update).await?) })
        .await?;
    Ok(Json(record))
}

/// Why a checkout is cancelled.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CancelCheckout {
    /// For the record.
    reason: Option<Text<255>>,
}

/// Cancel a checkout.
///
/// Possible until the goods are shipped. An authorized deposit is released, a charged one refunded,
/// held stock freed. Cancelling again changes nothing. Requires `CheckoutCancel`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = String, Path, description = "`chk_…`"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<CancelCheckout>),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/cancel")]
async fn cancel_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: OptionalBody<CancelCheckout>,
) -> Result<HttpResponse, ApiError> {
    let reason = body.value.reason;
    let reason = reason
        .map(|reason| parse("reason", reason.as_str()))
        .transpose()?;
    let id = id.of("checkout")?;
    let input = (id, reason, call.state().pages.clone());
    call.post(
        Permission::CheckoutCancel,
        &body.raw,
        input,
        |work, ctx, (id, reason, links)| {
            Box::pin(async move {
                let checkout = checkouts::cancel_checkout(work, &ctx, id, reason).await?;
                render(work, &ctx, &links, &checkout).await
            })
        },
    )
    .await
}

/// Mark a checkout fulfilled.
///
/// The goods are shipped. With a tracking number billing starts when delivery is confirmed; without
/// one it starts at once, and the lease is active in the answer when the processor answers in time.
/// Only a checkout whose identity verification, qualification, deposit and document signing are
/// complete can be fulfilled. The same fulfilment again changes nothing. Requires `CheckoutFulfill`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = String, Path, description = "`chk_…`"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<FulfillBody>),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/fulfill")]
async fn fulfill_checkout(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: OptionalBody<FulfillBody>,
) -> Result<HttpResponse, ApiError> {
    let fulfilment = body.value.parse()?;
    let id = id.of("checkout")?;
    let state = call.state();
    let carriers = state.ports.providers.carriers.clone();
    let input = (id, fulfilment, carriers, state.pages.clone());
    call.post_in_two_phases(
        Permission::CheckoutFulfill,
        &body.raw,
        input,
        |work, ctx, (id, fulfilment, carriers, links)| {
            Box::pin(async move {
                let checkout = fulfillment::fulfill(work, &ctx, &*carriers, id, fulfilment).await?;
                let record = render(work, &ctx, &links, &checkout).await?;
                let billing_is_due =
                    matches!(checkout.recurring.billing, Billing::Requested { .. });
                Ok(if billing_is_due {
                    Phase::Interim(record, id)
                } else {
                    Phase::Done(record)
                })
            })
        },
        |runner, id| {
            Box::pin(async move {
                settle(&runner.state, JobSubject::Checkout(id)).await;
                render_now(&runner, id).await.map(Some)
            })
        },
    )
    .await
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
        ("id" = String, Path, description = "`chk_…`"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<RetryPayments>),
    responses((status = 200, body = CheckoutRecord, description = "The checkout."))
)]
#[post("/checkouts/{id}/payments/retry")]
async fn retry_payments(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: OptionalBody<RetryPayments>,
) -> Result<HttpResponse, ApiError> {
    let named = body.value.parse();
    let id = id.of("checkout")?;
    let input = (id, named, call.state().pages.clone());
    call.post_in_two_phases(
        Permission::CheckoutWrite,
        &body.raw,
        input,
        |work, ctx, (id, named, links)| {
            Box::pin(async move { payments::begin(work, &ctx, &links, id, named).await })
        },
        |runner, rest| Box::pin(async move { payments::finish(&runner, rest).await.map(Some) }),
    )
    .await
}

/// Add or change tracking.
///
/// After the fulfilment and before the delivery. Requires `CheckoutFulfill`.
#[utoipa::path(
    tag = "Checkouts",
    params(
        ("id" = String, Path, description = "`chk_…`"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = SetTracking,
    responses((status = 200, body = TrackingRecord, description = "The tracking."))
)]
#[post("/checkouts/{id}/tracking")]
async fn set_tracking(
    call: Call,
    id: PathId<CheckoutPubId>,
    body: Body<SetTracking>,
) -> Result<HttpResponse, ApiError> {
    let (number, carrier) = body.value.parse()?;
    let id = id.of("checkout")?;
    let carriers = call.state().ports.providers.carriers.clone();
    call.post(
        Permission::CheckoutFulfill,
        &body.raw,
        (id, number, carrier, carriers),
        |work, ctx, (id, number, carrier, carriers)| {
            Box::pin(async move {
                let view =
                    fulfillment::set_tracking(work, &ctx, &*carriers, id, number, carrier).await?;
                Ok(TrackingRecord::new(&view))
            })
        },
    )
    .await
}

/// Read where the goods are.
///
/// After the fulfilment. Requires `CheckoutRead`.
#[utoipa::path(
    tag = "Checkouts",
    params(("id" = String, Path, description = "`chk_…`")),
    responses((status = 200, body = TrackingRecord, description = "The tracking."))
)]
#[get("/checkouts/{id}/tracking")]
async fn get_tracking(
    call: Call,
    id: PathId<CheckoutPubId>,
) -> Result<Json<TrackingRecord>, ApiError> {
    let id = id.of("checkout")?;
    let mut work = call.read().await?;
    let view = fulfillment::get_tracking(&mut *work, &call.context(), id).await?;
    Ok(Json(TrackingRecord::new(&view)))
}
