//! What a PUT does to a checkout.

use lessor_domain::access::Mode;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::JobSubject;
use lessor_domain::services::Error;
use lessor_domain::workers::sandbox::{UpdateCheckout, Updated};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{CheckoutRecord, record_now};
use crate::idempotency::Runner;
use crate::request::{Plain as _, given};
use crate::state::settle::settle;
use crate::wire::{self, Lifecycle, MetadataChanges, TermRef};

/// What is to change in a checkout: a member that is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UpdateCheckoutBody {
    /// The lease term, `term_…` or its number.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    lease_term_id: Option<TermRef>,
    /// The state that it is to be moved to: in sandbox mode any next one, in live mode those that an operator may set.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    lifecycle: Option<Lifecycle>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default, with = "serde_with::rust::double_option")]
    metadata: Option<Option<MetadataChanges>>,
}

impl UpdateCheckoutBody {
    /// What the body asks of the checkout.
    pub(super) fn command(self, id: CheckoutPubId) -> UpdateCheckout {
        UpdateCheckout {
            id,
            term: self.lease_term_id.plain(),
            metadata: wire::metadata_patch(self.metadata),
            target: self.lifecycle.plain(),
        }
    }
}

/// Updates the checkout. The term, metadata and an operator's move are one transaction. A sandbox key's move in
/// which a provider takes part takes several, as the steps that it plays do; whether it is possible is said before any.
pub(super) async fn update(
    runner: &Runner,
    update: UpdateCheckout,
) -> Result<CheckoutRecord, Error> {
    let id = update.id;
    let organization = runner.access.organization_id;
    let sandbox = runner.state.engine.sandbox();
    let ctx = runner.context(runner.state.engine.clock.now());
    let played = match (runner.once(update).await?, runner.access.mode) {
        (Updated::Whole(view), _) => return Ok(CheckoutRecord::new(&view, runner.viewer())),
        // A delivery that was confirmed by hand: the lease is active once it is billed.
        (_, Mode::Live) => None,
        (Updated::ToBeSettled, Mode::Sandbox) => Some(sandbox.settle(&ctx, id).await?),
        (Updated::ToBeMoved { from, to }, Mode::Sandbox) => {
            tracing::debug!(state = %from, target = %to, "playing");
            Some(sandbox.move_to(&ctx, id, to).await?)
        }
    };
    // Where a worker was quicker its work is waited for, as with a live key.
    if played.is_none_or(|played| !played.lifecycle().is_at_provider()) {
        settle(&runner.state, organization, JobSubject::Checkout(id)).await;
    }
    record_now(runner, id).await
}
