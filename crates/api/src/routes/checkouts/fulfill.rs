//! The fulfillment of a checkout.

use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::checkout::Billing;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{JobSubject, UnitOfWork};
use lessor_domain::services::checkouts::WithView;
use lessor_domain::services::shipments::{FulfillCheckout, Fulfillment};
use lessor_domain::services::{Context, Error, UseCase as _};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{CheckoutRecord, record_now};
use crate::idempotency::{FirstPhase, Runner, TwoPhases, Viewer};
use crate::request::{Plain as _, Table};
use crate::state::settle::settle;
use crate::wire::{Carrier, CheckoutItemId, Line, TrackingNumber};

/// Serial numbers by the ids of items.
type SerialNumbers = Table<CheckoutItemId, Line, 100>;

/// The goods were shipped.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FulfillCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FulfillCheckoutBody {
    /// With it billing starts when delivery is confirmed, without it at once.
    tracking_number: Option<TrackingNumber>,
    /// Left out, it is told from the number.
    tracking_carrier: Option<Carrier>,
    /// The serial numbers of the shipped items, by the items' ids: one for each, none twice, and none where it
    /// is left out.
    serial_numbers: Option<SerialNumbers>,
}

impl From<FulfillCheckoutBody> for Fulfillment {
    fn from(body: FulfillCheckoutBody) -> Self {
        Self {
            tracking_number: body.tracking_number.plain(),
            carrier: body.tracking_carrier.plain(),
            serial_numbers: body.serial_numbers.plain().unwrap_or_default(),
        }
    }
}

/// Fulfills, and lets the processor begin to bill while the caller waits.
#[derive(Clone)]
pub(super) struct FulfillAndBill(pub(super) FulfillCheckout);

#[async_trait]
impl TwoPhases for FulfillAndBill {
    type Record = CheckoutRecord;
    type Rest = CheckoutPubId;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        viewer: Viewer<'_>,
    ) -> Result<FirstPhase<CheckoutRecord, CheckoutPubId>, Error> {
        let view = WithView(self.0).run(uow, ctx).await?;
        let record = CheckoutRecord::new(&view, viewer);
        let billing = &view.checkout.recurring.billing;
        Ok(if matches!(billing, Billing::Requested { .. }) {
            FirstPhase::Interim(record, view.checkout.id)
        } else {
            FirstPhase::Done(record)
        })
    }

    async fn second(runner: &Runner, id: CheckoutPubId) -> Result<Option<CheckoutRecord>, Error> {
        let organization = runner.access.organization_id;
        settle(&runner.state, organization, JobSubject::Checkout(id)).await;
        record_now(runner, id).await.map(Some)
    }
}
