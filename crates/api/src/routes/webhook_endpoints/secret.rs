//! Secrets that are shown in the answer that made them, and never again.

use std::convert::Infallible;

use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::ports::UnitOfWork;
use lessor_domain::services::{Context, Error, UseCase};
use lessor_domain::webhooks::WebhookEndpoint;

use super::WebhookEndpointRecord;
use crate::idempotency::{FirstPhase, Runner, TwoPhases, Viewer};

/// A use case that makes an endpoint's secret.
#[derive(Clone)]
pub(super) struct ShownOnce<U>(pub(super) U);

#[async_trait]
impl<U: UseCase<Output = WebhookEndpoint>> TwoPhases for ShownOnce<U> {
    type Record = WebhookEndpointRecord;
    type Rest = Infallible;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    fn kept(record: &WebhookEndpointRecord) -> Option<WebhookEndpointRecord> {
        Some(record.without_secret())
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        _: Viewer<'_>,
    ) -> Result<FirstPhase<WebhookEndpointRecord, Infallible>, Error> {
        let endpoint = self.0.run(uow, ctx).await?;
        let record = WebhookEndpointRecord::with_secret(&endpoint);
        Ok(FirstPhase::Done(record))
    }

    async fn second(_: &Runner, rest: Infallible) -> Result<Option<WebhookEndpointRecord>, Error> {
        match rest {}
    }
}
