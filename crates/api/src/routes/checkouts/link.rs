//! New links of checkouts' pages.

use std::convert::Infallible;

use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::ports::UnitOfWork;
use lessor_domain::services::checkouts::{RelinkCheckout, set_page, view_of};
use lessor_domain::services::{Context, Error, UseCase as _};
use serde::Deserialize;
use utoipa::ToSchema;

use super::CheckoutRecord;
use crate::idempotency::{FirstPhase, Runner, TwoPhases, Viewer};

/// Nothing is to be said; the body may be left out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = RelinkCheckout)]
#[serde(deny_unknown_fields)]
pub(super) struct RelinkCheckoutBody {}

/// Makes a new link, and has the page found by it.
#[derive(Clone, Copy)]
pub(super) struct RelinkWithPage(pub(super) RelinkCheckout);

#[async_trait]
impl TwoPhases for RelinkWithPage {
    type Record = CheckoutRecord;
    type Rest = Infallible;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        viewer: Viewer<'_>,
    ) -> Result<FirstPhase<CheckoutRecord, Infallible>, Error> {
        let checkout = self.0.run(uow, ctx).await?;
        set_page(uow, checkout.id, &viewer.links.hashes(&checkout.page_nonce)).await?;
        let view = view_of(uow, ctx, checkout).await?;
        Ok(FirstPhase::Done(CheckoutRecord::new(&view, viewer)))
    }

    async fn second(_: &Runner, rest: Infallible) -> Result<Option<CheckoutRecord>, Error> {
        match rest {}
    }
}
