//! `lessor checkout qualify`.

use chrono::{DateTime, Utc};
use clap::Args;
use lessor_domain::access::Access;
use lessor_domain::checkout::Checkout;
use lessor_domain::credit::{AdverseReason, CreditDecision};
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::StoreError;
use lessor_domain::services::qualifications::QualifyCheckout;
use lessor_domain::services::{Error, UseCase as _};
use lessor_domain::text::Line;
use serde::Serialize;

use crate::cli::output::{Reply, time};
use crate::cli::session::{Session, operator_access};

#[derive(Debug, Args)]
pub(crate) struct QualifyArgs {
    /// The checkout, chk_…
    #[arg(value_name = "CHK")]
    checkout: CheckoutPubId,
    /// approved or declined
    #[arg(long)]
    decision: CreditDecision,
    /// Why it is declined, up to four, separated by commas
    #[arg(long, value_name = "REASONS", value_delimiter = ',')]
    reasons: Vec<AdverseReason>,
    /// What you know the decision by
    #[arg(long, value_name = "TEXT")]
    reference: Option<Line>,
    /// When an approval ceases to hold for further leases, RFC 3339
    #[arg(long, value_name = "TIME")]
    expires_at: Option<DateTime<Utc>>,
}

/// What became of the checkout.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    lifecycle: &'static str,
    decision: &'static str,
    updated_at: String,
}

pub(super) async fn run(session: &Session, args: QualifyArgs) -> anyhow::Result<Reply> {
    let qualify = QualifyCheckout {
        id: args.checkout,
        decision: args.decision,
        reasons: args.reasons,
        reference: args.reference,
        expires_at: args.expires_at,
        holds_for: session.credit_holds(),
    };
    let decision = args.decision.as_str();
    let checkout = decide(session, qualify).await?;
    let view = View {
        id: checkout.id.to_string(),
        lifecycle: checkout.lifecycle().as_str(),
        decision,
        updated_at: time(checkout.updated_at),
    };
    Reply::record(
        &view,
        [
            ("id", view.id.clone()),
            ("state", view.lifecycle.to_owned()),
            ("decision", view.decision.to_owned()),
            ("updated", view.updated_at.clone()),
        ],
    )
}

/// Decides as the operator, in the name of the checkout's organization and in its mode.
async fn decide(session: &Session, qualify: QualifyCheckout) -> Result<Checkout, Error> {
    const CHECKOUT: Error = Error::not_found("checkout");
    let mut uow = session.begin().await?;
    let owner = uow.doors().owner_of_checkout(qualify.id).await?;
    let owner = owner.ok_or(CHECKOUT)?;
    uow.enter(owner).await?;
    let organization = uow.organizations().get(owner).await?;
    let organization = organization.ok_or(StoreError::Missing("organization"))?;
    let known = uow.checkouts().get(qualify.id).await?.ok_or(CHECKOUT)?;
    let access = Access {
        mode: known.mode,
        ..operator_access(organization.id, organization.pub_id)?
    };
    let ctx = session.operator(&access);
    let decided = qualify.run(uow.as_mut(), &ctx).await?;
    uow.commit().await?;
    Ok(decided)
}
