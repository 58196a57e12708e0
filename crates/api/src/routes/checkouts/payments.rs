//! Failed payments, tried again.

use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::checkout::{Checkout, PaymentMethod};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{JobSubject, UnitOfWork};
use lessor_domain::services::billing::RetryPayments;
use lessor_domain::services::checkouts::WithView;
use lessor_domain::services::{Context, Error, UseCase as _};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{CheckoutRecord, record_now};
use crate::idempotency::{FirstPhase, Runner, TwoPhases, Viewer};
use crate::request::Plain as _;
use crate::state::settle::settle;
use crate::wire::Line;

/// What is to pay.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RetryPayments)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RetryPaymentsBody {
    /// The processor's id of a payment method of the customer's, which pays from now on; in sandbox
    /// mode a test card by its name too, such as `pm_card_visa`. Left out, the method stays.
    payment_method_id: Option<Line>,
}

impl RetryPaymentsBody {
    pub(super) fn command(self, id: CheckoutPubId) -> RetryAndPay {
        RetryAndPay {
            id,
            named: self.payment_method_id.plain().map(Into::into),
        }
    }
}

/// Asks for the payments at once, unless a method is named that the processor has to be asked for
/// first: that is not done within a transaction. The processor tries while the caller waits.
#[derive(Clone)]
pub(super) struct RetryAndPay {
    id: CheckoutPubId,
    named: Option<String>,
}

/// What is left to do after the first transaction.
pub(super) enum Rest {
    /// The payments are asked for: let the processor try.
    Settle(CheckoutPubId),
    /// The processor is to be asked for the method first.
    Ask(Box<Checkout>, String),
}

#[async_trait]
impl TwoPhases for RetryAndPay {
    type Record = CheckoutRecord;
    type Rest = Rest;

    fn permission(&self) -> Permission {
        self.with(None).permission()
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        viewer: Viewer<'_>,
    ) -> Result<FirstPhase<CheckoutRecord, Rest>, Error> {
        let retry = self.with(None);
        if let Some(named) = self.named
            && let Some(checkout) = retry.takes_a_method(uow, ctx).await?
        {
            return Ok(FirstPhase::Begun(Rest::Ask(Box::new(checkout), named)));
        }
        let view = WithView(retry).run(uow, ctx).await?;
        let record = CheckoutRecord::new(&view, viewer);
        Ok(FirstPhase::Interim(record, Rest::Settle(view.checkout.id)))
    }

    async fn second(runner: &Runner, rest: Rest) -> Result<Option<CheckoutRecord>, Error> {
        let id = match rest {
            Rest::Settle(id) => id,
            Rest::Ask(checkout, named) => {
                let jobs = runner.state.engine.jobs();
                let method = jobs.named_method(&checkout, &named).await;
                let method = method.map_err(|error| match error {
                    // The processor's words about what was named.
                    Error::Rule { message } => Error::invalid("paymentMethodId", message),
                    other => other,
                })?;
                let (id, method) = (checkout.id, Some(method));
                runner.once(RetryPayments { id, method }).await?.id
            }
        };
        let organization = runner.access.organization_id;
        settle(&runner.state, organization, JobSubject::Checkout(id)).await;
        record_now(runner, id).await.map(Some)
    }
}

impl RetryAndPay {
    const fn with(&self, method: Option<PaymentMethod>) -> RetryPayments {
        RetryPayments {
            id: self.id,
            method,
        }
    }
}
