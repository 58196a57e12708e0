//! `/v1/events`.

mod record;
mod renderer;

use std::pin::pin;
use std::time::Duration;

use crate::http::routing::Routes;
use actix_web::web::Json;
use actix_web::{HttpResponse, get, post};
use lessor_domain::events::{EventPattern, NumberedEvent};
use lessor_domain::ids::EventPubId;
use lessor_domain::services::checkouts::scope_of;
use lessor_domain::services::deliveries::RedeliverEvent;
use lessor_domain::services::events::{self, GetEvent, IsBehind, ListEvents};
use lessor_domain::services::{Error, Slice, UseCase as _};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{List, OptionalBody, PathId, Plain as _, QueryParams};
use crate::routes::webhook_endpoints::{Queued, endpoint_of};
use crate::wire::{
    EventId, EventSubject, EventTypes, Limit, WaitSeconds, WebhookEndpointLookup, listed,
};

pub(crate) use record::EventRecord;
pub use renderer::EventRenderer;

/// How often whoever waits looks by themselves: a message that there is something may be lost.
const LOOK: Duration = Duration::from_secs(5);

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes
        .service(list_events)
        .service(get_event)
        .service(redeliver_event);
}

type Types = List<EventTypes, 100, 1>;

/// Which events, and how long to wait for them.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListEventsQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// The id of the event that the page comes after: the last that you have. Without it the page begins
    /// with the oldest that is kept.
    #[param(inline)]
    starting_after: Option<EventId>,
    /// Of these types, comma-separated or repeated; `checkout.*` stands for all of checkouts, `*` for all.
    #[param(inline)]
    types: Option<Types>,
    /// About this record: `prod_…`, `pvar_…`, `usr_…`, `term_…`, `chk_…`, `whe_…`.
    #[param(inline)]
    subject: Option<EventSubject>,
    /// How many seconds to hold the request until there is an event, 0 to 30.
    #[param(inline)]
    wait: Option<WaitSeconds>,
}

impl ListEventsQuery {
    fn command(self) -> ListEvents {
        let patterns: Vec<EventPattern> = self.types.plain().unwrap_or_default();
        ListEvents {
            types: EventPattern::types(&patterns),
            subject: self.subject.plain(),
            after: self.starting_after.plain(),
            limit: self.limit.0.get(),
        }
    }
}

/// List what happened.
///
/// Oldest first, in the organization and the mode of the key: read from `startingAfter`, the last event that
/// you have, and nothing is missed or seen twice. With `wait` the request is held until there is an event.
/// Events are kept for 30 days unless the operator says otherwise. Requires `EventRead`.
#[utoipa::path(
    tag = "Events",
    params(ListEventsQuery),
    responses((
        status = 200,
        body = [EventRecord],
        description = "A page of events; an empty one when there is nothing new.",
        headers(("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."))
    ))
)]
#[get("/events")]
async fn list_events(
    call: Call,
    QueryParams(query): QueryParams<ListEventsQuery>,
) -> Result<HttpResponse, ApiError> {
    let wait = query.wait.as_ref().map_or(0, |wait| wait.0.get());
    let slice = follow(&call, query.command(), Duration::from_secs(wait)).await?;
    let organization = call.access().organization_pub_id;
    let records = slice
        .items
        .iter()
        .map(|event| EventRecord::new(event, organization))
        .collect::<Result<Vec<_>, _>>()
        .map_err(ApiError::internal)?;
    let mut response = listed(&call, &slice, |event| event.event.id);
    Ok(response.json(records))
}

/// Read an event.
///
/// Requires `EventRead`.
#[utoipa::path(
    tag = "Events",
    params(("id" = inline(EventId), Path, description = "The event, `evt_…`.")),
    responses((status = 200, body = EventRecord, description = "The event."))
)]
#[get("/events/{id}")]
async fn get_event(call: Call, id: PathId<EventPubId>) -> Result<Json<EventRecord>, ApiError> {
    let get = GetEvent {
        id: id.of("event")?,
    };
    if call.access().require(get.permission()).is_ok() {
        catch_up(&call).await?;
    }
    let event = call.read(get).await?;
    let organization = call.access().organization_pub_id;
    EventRecord::new(&event, organization)
        .map(Json)
        .map_err(ApiError::internal)
}

/// Who is to be told of an event again.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RedeliverEvent)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RedeliverEventBody {
    /// The endpoint, whatever it is told of otherwise; all that are told of the event's type when it is left out.
    endpoint_id: Option<WebhookEndpointLookup>,
}

/// Deliver an event again.
///
/// To the endpoint that is named, or to all enabled ones that are told of its type. Where it is under way
/// already it is not sent twice, and is tried at once. Requires `WebhookWrite`.
#[utoipa::path(
    tag = "Events",
    params(
        ("id" = inline(EventId), Path, description = "The event, `evt_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body(content = Option<RedeliverEventBody>),
    responses((status = 200, body = Queued, description = "How many deliveries that are."))
)]
#[post("/events/{id}/redeliver")]
async fn redeliver_event(
    call: Call,
    id: PathId<EventPubId>,
    body: OptionalBody<RedeliverEventBody>,
) -> Result<HttpResponse, ApiError> {
    let id = id.of("event")?;
    let named = body.value.endpoint_id.as_ref();
    let redeliver = RedeliverEvent {
        id,
        endpoint: named.map(endpoint_of).transpose()?,
    };
    if call.access().require(redeliver.permission()).is_ok() {
        number_now(&call).await?;
    }
    let response = call
        .post(redeliver, &body.raw, |queued, _| Queued { queued })
        .await?;
    call.state().feeds.to_deliver();
    Ok(response)
}

/// What the feed has, once there is something, or the time is over, or the process stops. Nothing of the
/// database is held meanwhile.
async fn follow(
    call: &Call,
    list: ListEvents,
    wait: Duration,
) -> Result<Slice<NumberedEvent>, ApiError> {
    let feeds = &call.state().feeds;
    let bell = feeds.bell(scope_of(call.access()));
    let end = Instant::now() + wait;
    loop {
        // Who looks first may miss what comes then.
        let mut heard = pin!(bell.notified());
        heard.as_mut().enable();
        catch_up(call).await?;
        let slice = call.read(list.clone()).await?;
        let now = Instant::now();
        if !slice.items.is_empty() || now >= end || feeds.is_closed() {
            return Ok(slice);
        }
        tokio::select! {
            () = &mut heard => {}
            () = sleep_until(end.min(now + LOOK)) => {}
            () = feeds.closed() => {}
        }
    }
}

/// Has whatever was committed before numbered, so that it is in the feed.
async fn catch_up(call: &Call) -> Result<(), ApiError> {
    if call.read(IsBehind).await? {
        number_now(call).await?;
    }
    Ok(())
}

async fn number_now(call: &Call) -> Result<(), ApiError> {
    call.run(|runner| async move {
        let scope = scope_of(&runner.access);
        let engine = &runner.state.engine;
        let numbered = events::number(&*engine.database, &*engine.ids, &*engine.clock, scope).await;
        numbered.map_err(Error::from)?;
        // Others may wait for the same.
        runner.state.feeds.ring(Some(scope));
        Ok(())
    })
    .await
}
