//! Webhook endpoints as requests have them.

use lessor_adapters::outbound::new_secret;
use lessor_domain::events::EventPattern;
use lessor_domain::ids::WebhookEndpointPubId;
use lessor_domain::services::Error;
use lessor_domain::services::deliveries::ReplayEvents;
use lessor_domain::services::webhook_endpoints::{
    CreateWebhookEndpoint, RollWebhookEndpoint, WebhookEndpointChanges,
};
use lessor_domain::text;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::request::{List, Plain as _, given};
use crate::state::AppState;
use crate::wire::{EventTypes, Line, Overlap, SecretOverlap, Time, Url, WebhookEndpointStatus};

type Types = List<EventTypes, 100, 1>;

/// The URL, if it may be asked.
fn checked(url: Url, state: &AppState) -> Result<text::Url, Error> {
    let url = url.plain();
    let targets = &state.settings.targets;
    targets
        .check(text::Url::as_str(&url))
        .map_err(|refused| Error::invalid("url", refused))?;
    Ok(url)
}

/// A new webhook endpoint.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CreateWebhookEndpoint)]
pub(super) struct CreateWebhookEndpointBody {
    /// Where it is: `https`, of a public address, without user and password.
    #[schema(example = "https://shop.example.com/webhooks")]
    url: Url,
    /// Of what it is told: types, `checkout.*` for all of checkouts, `*` for all. All when it is left out.
    #[schema(example = json!(["checkout.*", "payment.failed"]))]
    types: Option<Types>,
    /// What people call it.
    description: Option<Line>,
}

impl CreateWebhookEndpointBody {
    /// The command that the body gives.
    ///
    /// # Errors
    /// 400 for a URL that is not asked.
    pub(super) fn command(self, state: &AppState) -> Result<CreateWebhookEndpoint, Error> {
        let types: Option<Vec<EventPattern>> = self.types.plain();
        Ok(CreateWebhookEndpoint {
            url: checked(self.url, state)?,
            types: types.unwrap_or_else(|| vec![EventPattern::All]),
            description: self.description.plain(),
            secret: new_secret(&*state.engine.entropy),
        })
    }
}

/// What is to change in a webhook endpoint.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = UpdateWebhookEndpoint)]
pub(super) struct UpdateWebhookEndpointBody {
    /// Where it is: `https`, of a public address, without user and password.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = "https://shop.example.com/webhooks")]
    url: Option<Url>,
    /// Of what it is told: types, `checkout.*` for all of checkouts, `*` for all.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, example = json!(["*"]))]
    types: Option<Types>,
    /// What people call it; `null` takes it away.
    #[serde(default, with = "serde_with::rust::double_option")]
    description: Option<Option<Line>>,
    /// Whether it is told of anything.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    status: Option<WebhookEndpointStatus>,
}

impl UpdateWebhookEndpointBody {
    /// What the body changes.
    ///
    /// # Errors
    /// 400 for a URL that is not asked.
    pub(super) fn changes(self, state: &AppState) -> Result<WebhookEndpointChanges, Error> {
        Ok(WebhookEndpointChanges {
            url: self.url.map(|url| checked(url, state)).transpose()?,
            types: self.types.plain(),
            description: self.description.plain().into(),
            status: self.status.plain(),
        })
    }
}

/// How an endpoint is given another secret.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RollWebhookEndpoint)]
pub(super) struct RollWebhookEndpointBody {
    /// For how long the old secret signs beside the new one: `24h` when it is left out, `0s` ends it at once,
    /// `7d` at most.
    overlap: Option<SecretOverlap>,
}

impl RollWebhookEndpointBody {
    /// The command that the body gives.
    pub(super) fn command(self, id: WebhookEndpointPubId, state: &AppState) -> RollWebhookEndpoint {
        let overlap: Option<Overlap> = self.overlap.plain();
        RollWebhookEndpoint {
            id,
            secret: new_secret(&*state.engine.entropy),
            overlap: overlap.unwrap_or(Overlap::USUAL).get(),
        }
    }
}

/// Nothing is to be said of a test.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestWebhookEndpoint)]
pub(super) struct TestWebhookEndpointBody {}

/// What is to be delivered again.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ReplayEvents)]
pub(super) struct ReplayEventsBody {
    /// What happened then or later.
    from: Time,
    /// What happened before; until now when it is left out.
    to: Option<Time>,
    /// Of these types; of those that the endpoint is told of when it is left out.
    #[schema(example = json!(["checkout.*"]))]
    types: Option<Types>,
    /// Whether what the endpoint took is left out; `false` when it is left out itself.
    only_failed: Option<bool>,
}

impl ReplayEventsBody {
    /// The command that the body gives.
    pub(super) fn command(self, endpoint: WebhookEndpointPubId) -> ReplayEvents {
        ReplayEvents {
            endpoint,
            from: self.from.plain(),
            to: self.to.plain(),
            types: self.types.plain(),
            only_failed: self.only_failed.unwrap_or(false),
        }
    }
}
