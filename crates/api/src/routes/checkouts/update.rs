//! What a PUT does to a checkout.

use lessor_domain::access::Mode;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::ids::{CheckoutPubId, LeaseTermRef};
use lessor_domain::metadata::MetadataPatch;
use lessor_domain::ports::JobSubject;
use lessor_domain::services::{Error, checkouts};
use lessor_domain::workers::sandbox;
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::LifecycleName;
use super::{CheckoutRecord, render_now};
use crate::http::error::ApiError;
use crate::idempotency::Runner;
use crate::request::fields::{Patch, Reference};
use crate::state::settle::settle;
use crate::wire::{self, MetadataChanges, reference};

/// What is to change in a checkout: a member that is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UpdateCheckoutBody {
    /// The lease term, `term_…` or its number.
    #[schema(nullable = false)]
    lease_term_id: Option<Reference>,
    #[schema(nullable = false)]
    lifecycle: Option<LifecycleName>,
    /// What you keep beside it: keys that are named are set, or taken away by `null`; the others stay.
    /// `null`: all are taken away.
    #[serde(default)]
    metadata: Patch<MetadataChanges>,
}

/// What is to change in a checkout.
#[derive(Clone, Debug)]
pub(super) struct Update {
    term: Option<LeaseTermRef>,
    lifecycle: Option<Lifecycle>,
    metadata: MetadataPatch,
}

impl UpdateCheckoutBody {
    pub(super) fn parse(self) -> Result<Update, ApiError> {
        Ok(Update {
            term: self
                .lease_term_id
                .map(|term| reference("leaseTermId", &term))
                .transpose()?,
            lifecycle: self.lifecycle.map(|state| state.0),
            metadata: wire::metadata_patch(self.metadata)?,
        })
    }
}

/// Updates the checkout. The term, metadata and an operator's move are one transaction. A sandbox key's move
/// may take several, as the steps that it plays do; whether it is possible is said before any.
pub(super) async fn update(
    runner: &Runner,
    id: CheckoutPubId,
    update: Update,
) -> Result<CheckoutRecord, Error> {
    let (state, is_there) = runner
        .once(&(id, update.clone()), |work, ctx, (id, update)| {
            Box::pin(async move {
                let mut checkout = checkouts::changeable(work, &ctx, id).await?;
                if let Some(term) = update.term {
                    checkout = checkouts::choose_term(work, &ctx, id, term).await?;
                }
                if update.metadata != MetadataPatch::Keep {
                    checkout = checkouts::annotate(work, &ctx, id, update.metadata).await?;
                }
                if let Some(target) = update.lifecycle {
                    match ctx.access.mode {
                        Mode::Live => {
                            checkout = checkouts::move_to(work, &ctx, id, target).await?;
                        }
                        Mode::Sandbox => {
                            sandbox::check_move(work, &ctx, &checkout, target).await?;
                        }
                    }
                }
                let state = checkout.lifecycle();
                Ok((state, update.lifecycle.is_none_or(|target| target == state)))
            })
        })
        .await?;
    if !is_there && let Some(target) = update.lifecycle {
        match runner.access.mode {
            // A delivery that was confirmed by hand: the lease is active once it is billed.
            Mode::Live => settle(&runner.state, JobSubject::Checkout(id)).await,
            Mode::Sandbox => {
                tracing::debug!(%state, %target, "playing");
                let ctx = runner.context(runner.state.ports.clock.now());
                let played = runner.state.sandbox().move_to(&ctx, id, target).await?;
                // Where a worker was quicker its work is waited for, as with a live key.
                if !played.lifecycle().is_at_provider() {
                    settle(&runner.state, JobSubject::Checkout(id)).await;
                }
            }
        }
    }
    render_now(runner, id).await
}
