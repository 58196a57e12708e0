//! `POST /webhooks/mail`: whoever delivers mails tells which came back.

use actix_web::web::Json;
use actix_web::{HttpRequest, post};
use lessor_domain::ids::MailPubId;
use lessor_domain::mail::SuppressionReason;
use lessor_domain::ports::Reach;
use lessor_domain::services::{Error, mails};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Received, StandardSignature, check};
use crate::http::error::ApiError;
use crate::request::{Plain as _, SignedBody};
use crate::state::AppState;
use crate::wire::{EventText, Line, MailReportType, Time};

/// What is reported of a mail that was sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MailReport {
    /// What became of it.
    r#type: MailReportType,
    /// The mail's `Message-ID`, with or without angle brackets. Of one that nobody sent nothing is noted.
    message_id: Line,
    /// Whether it would come back again. One that came back for a while alone changes nothing.
    permanent: Option<bool>,
    /// When, RFC 3339.
    at: Option<Time>,
    /// What the mail server said. It is not kept: it may name people.
    #[expect(dead_code, reason = "senders may tell it")]
    description: Option<EventText>,
}

impl MailReport {
    /// The mail, where the `Message-ID` is of one of ours.
    fn mail(&self) -> Option<MailPubId> {
        let id = self
            .message_id
            .0
            .as_str()
            .trim_start()
            .trim_start_matches('<');
        let (local, _) = id.split_once('@')?;
        local.parse().ok()
    }

    /// Why its address is sent nothing more; none where it is sent mails still.
    fn reason(&self) -> Option<SuppressionReason> {
        self.r#type.plain().reason(self.permanent.unwrap_or(true))
    }
}

/// Tell what became of a mail.
///
/// For whoever delivers mails, or for what watches the mailbox that they come back to. Signed as
/// <https://www.standardwebhooks.com> says, with a secret of `LESSOR_MAIL_WEBHOOK_SECRET`. An address that a mail
/// came back from for good, or whose owner complained, is sent nothing more by that organization.
#[utoipa::path(
    tag = "Webhooks",
    params(
        ("webhook-id" = String, Header, description = "The same in every delivery of the message."),
        ("webhook-timestamp" = String, Header, description = "When it was sent, Unix seconds; within five minutes."),
        ("webhook-signature" = String, Header, description = "`v1,<base64>`, several separated by spaces.")
    ),
    request_body = MailReport,
    responses((status = 200, body = Received, description = "The message was taken in."))
)]
#[post("/webhooks/mail")]
pub(super) async fn take_mail_report(
    request: HttpRequest,
    body: Result<SignedBody<StandardSignature>, ApiError>,
) -> Result<Json<Received>, ApiError> {
    let state = AppState::of(&request)?.clone();
    let (secrets, now) = (&state.settings.mail_secrets, state.engine.clock.now());
    let checked = body.and_then(|body| {
        check(&body, secrets, now)?;
        Ok(body)
    });
    let body = state.unproven(&request).settle(checked)?;
    let report = body.json::<MailReport>()?;
    let (Some(id), Some(reason)) = (report.mail(), report.reason()) else {
        return Ok(Json(Received { received: true }));
    };
    let now = state.engine.clock.now();
    let at = report.at.map_or(now, Time::plain).min(now);
    let mutations = state.mutations.clone();
    mutations
        .run(async move {
            let mut uow = state.engine.database.begin(Reach::Server).await?;
            let owner = mails::report(uow.as_mut(), id, reason, at).await?;
            uow.commit().await?;
            if owner.is_none() {
                tracing::info!(mail = %id, "a report is of no mail of ours");
            }
            Ok::<_, Error>(())
        })
        .await?;
    Ok(Json(Received { received: true }))
}
