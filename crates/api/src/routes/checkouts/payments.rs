//! Failed payments, tried again.

use lessor_domain::checkout::{Billing, Checkout};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{JobSubject, UnitOfWork};
use lessor_domain::services::{Context, Error, billing, checkouts};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{CheckoutRecord, render, render_now};
use crate::auth::links::PageLinks;
use crate::idempotency::{Phase, Runner};
use crate::request::fields::Text;
use crate::state::settle::settle;

/// What is to pay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RetryPayments {
    /// The processor's id of a payment method of the customer's, which pays from now on; in sandbox
    /// mode a test card by its name too, such as `pm_card_visa`. Left out, the method stays.
    payment_method_id: Option<Text<255>>,
}

impl RetryPayments {
    pub(super) fn parse(self) -> Option<String> {
        self.payment_method_id.map(Text::into_string)
    }
}

/// What is left to do after the first transaction.
pub(super) enum Rest {
    /// The payments are asked for: let the processor try.
    Settle(CheckoutPubId),
    /// The processor is to be asked for the method first.
    Ask(CheckoutPubId, String),
}

/// Asks for the payments at once, unless a method is named that the processor has to be asked for
/// first: that is not done within a transaction.
pub(super) async fn begin(
    work: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    links: &PageLinks,
    id: CheckoutPubId,
    named: Option<String>,
) -> Result<Phase<CheckoutRecord, Rest>, Error> {
    let checkout = checkouts::changeable(work, ctx, id).await?;
    if let Some(named) = named.filter(|_| takes_a_method(&checkout)) {
        return Ok(Phase::Begun(Rest::Ask(id, named)));
    }
    let checkout = billing::retry_payment(work, ctx, id, None).await?;
    let record = render(work, ctx, links, &checkout).await?;
    Ok(Phase::Interim(record, Rest::Settle(id)))
}

/// Whether a method could pay anything. Where none can no card is touched: the refusal is the
/// domain's.
fn takes_a_method(checkout: &Checkout) -> bool {
    match checkout.recurring.billing {
        Billing::NotRequested | Billing::Requested { .. } => false,
        Billing::Ended { .. } => checkout.is_to_be_billed(),
        Billing::Incomplete { .. } | Billing::Active { .. } => true,
    }
}

/// Does what is left, and answers the checkout as it is then.
pub(super) async fn finish(runner: &Runner, rest: Rest) -> Result<CheckoutRecord, Error> {
    let id = match rest {
        Rest::Settle(id) => id,
        Rest::Ask(id, named) => {
            let mut view = runner.state.ports.database.read().await?;
            let found = view.checkouts().get(id).await?;
            let checkout = found.ok_or(Error::not_found("checkout"))?;
            drop(view);
            let deliverer = runner.state.deliverer();
            let method = deliverer.named_method(&checkout, &named).await;
            let method = method.map_err(|error| match error {
                // The processor's words about what was named.
                Error::Rule { message } => Error::invalid("paymentMethodId", message),
                other => other,
            })?;
            runner
                .once(&(id, method), |work, ctx, (id, method)| {
                    Box::pin(async move {
                        billing::retry_payment(work, &ctx, id, Some(method)).await?;
                        Ok(id)
                    })
                })
                .await?
        }
    };
    settle(&runner.state, JobSubject::Checkout(id)).await;
    render_now(runner, id).await
}
