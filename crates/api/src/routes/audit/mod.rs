//! `/v1/audit`.

mod record;

use crate::http::routing::Routes;
use actix_web::{HttpResponse, get};
use lessor_domain::ports::AuditFilter;
use lessor_domain::services::audit::ListAudit;
use serde::Deserialize;

use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Plain as _, QueryParams};
use crate::state::totals::LongList;
use crate::wire::{AuditEventId, AuditSubject, Limit, Line, Offset, counted, listed, page};

pub(crate) use record::AuditEventRecord;

pub(super) fn configure(routes: &mut Routes<'_>) {
    routes.service(list_audit_events);
}

/// Which audit events to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListAuditQuery {
    /// How many to answer.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// The id of the event that the page comes after; at constant cost, however deep.
    #[param(inline)]
    starting_after: Option<AuditEventId>,
    /// What was done to this, by the id that events name it by.
    #[param(inline)]
    subject: Option<AuditSubject>,
    /// What this actor did, by its `id`: `key_…`, `usr_…`, `cli:ada`.
    #[param(inline)]
    actor: Option<Line>,
}

/// List who did what.
///
/// Newest first: what was done to keys, settings, catalog, prices, lease terms, customers and checkouts, by
/// whom and from where. A live key sees all of the organization; a sandbox key its own mode and the
/// catalog, and nothing that the command line did. Moves of a checkout are in its own history. Events are
/// never changed; what they say of a customer's person goes when that is erased. Requires `AuditRead`.
#[utoipa::path(
    tag = "Audit",
    params(
        ListAuditQuery,
        ("Lessor-Position" = Option<String>, Header, pattern = "^[0-9a-f]{16}$", description = "How much the list has to show: what the answer to your last change said. A read replica may answer then.")
    ),
    responses((
        status = 200,
        body = [AuditEventRecord],
        description = "A page of audit events.",
        headers(
            ("Link" = String, description = "`rel=\"next\"`: the next page, if there is one."),
            ("X-Total-Count" = u64, description = "How many there are in all, up to 1,000. Left out beyond, for up to half a minute after there were more, and with `startingAfter`.")
        )
    ))
)]
#[get("/audit")]
async fn list_audit_events(
    call: Call,
    QueryParams(query): QueryParams<ListAuditQuery>,
) -> Result<HttpResponse, ApiError> {
    let page = page(query.limit, Offset::default(), query.starting_after)?;
    let list = ListAudit {
        filter: AuditFilter {
            subject: query.subject.plain(),
            actor: query.actor.plain().map(|actor| actor.to_string()),
        },
        page,
        is_long: false,
    };
    let asked = LongList::Audit(list.filter.clone());
    let list_of = async |is_long| call.list(ListAudit { is_long, ..list }).await;
    let slice = counted(&call, asked, page, list_of).await?;
    let mut response = listed(&call, &slice, |event| event.id);
    let records = slice.items.iter().map(AuditEventRecord::from);
    Ok(response.json(records.collect::<Vec<_>>()))
}
