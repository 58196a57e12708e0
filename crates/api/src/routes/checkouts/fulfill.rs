//! The fulfilment of a checkout.

use std::collections::BTreeMap;

use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::checkout::Billing;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{JobSubject, UnitOfWork};
use lessor_domain::services::checkouts::Viewed;
use lessor_domain::services::fulfillment::{FulfillCheckout, Fulfillment};
use lessor_domain::services::{Context, Error, UseCase as _};
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::CarrierName;
use super::{CheckoutRecord, record_now};
use crate::http::error::ApiError;
use crate::idempotency::{Phase, Runner, TwoPhases, Viewer};
use crate::request::fields::{Table, Text};
use crate::state::settle::settle;
use crate::wire::parse;
use crate::wire::records::CheckoutItemId;

/// The goods were shipped.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FulfillCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FulfillCheckoutBody {
    /// With it billing starts when delivery is confirmed, without it at once.
    tracking_number: Option<Text<255>>,
    /// Left out, it is told from the number.
    tracking_carrier: Option<CarrierName>,
    /// The serial number of each shipped item, by the item's id.
    #[schema(value_type = Option<Table<CheckoutItemId, Text<255>, 100>>)]
    serial_numbers: Option<Table<Text<64>, Text<255>, 100>>,
}

impl FulfillCheckoutBody {
    pub(crate) fn parse(self) -> Result<Fulfillment, ApiError> {
        let mut serial_numbers = BTreeMap::new();
        let given = self.serial_numbers.unwrap_or_default().into_map();
        for (item, serial) in given {
            let param = format!("serialNumbers.{item}");
            let id = parse(&param, item.as_str())?;
            serial_numbers.insert(id, parse(&param, serial.as_str())?);
        }
        Ok(Fulfillment {
            tracking_number: self
                .tracking_number
                .map(|number| parse("trackingNumber", number.as_str()))
                .transpose()?,
            carrier: self.tracking_carrier.map(|carrier| carrier.0),
            serial_numbers,
        })
    }
}

/// Fulfils, and lets the processor begin to bill while the caller waits.
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
    ) -> Result<Phase<CheckoutRecord, CheckoutPubId>, Error> {
        let view = Viewed(self.0).run(uow, ctx).await?;
        let record = CheckoutRecord::new(&view, viewer.links);
        let billing = &view.checkout.recurring.billing;
        Ok(if matches!(billing, Billing::Requested { .. }) {
            Phase::Interim(record, view.checkout.id)
        } else {
            Phase::Done(record)
        })
    }

    async fn second(runner: &Runner, id: CheckoutPubId) -> Result<Option<CheckoutRecord>, Error> {
        settle(&runner.state, JobSubject::Checkout(id)).await;
        record_now(runner, id).await.map(Some)
    }
}
