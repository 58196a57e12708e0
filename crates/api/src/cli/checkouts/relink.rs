//! `lessor checkout relink`.

use clap::Args;
use lessor_domain::access::Access;
use lessor_domain::ids::{CheckoutPubId, OrganizationRef};
use lessor_domain::services::Error;
use lessor_domain::services::checkouts::{relink, set_page};
use serde_json::json;

use crate::auth::links::CheckoutPageLinks;
use crate::cli::output::Reply;
use crate::cli::session::{self, Session, operator_access};

#[derive(Debug, Args)]
pub(crate) struct RelinkArgs {
    /// The checkout's chk_ id
    #[arg(value_name = "CHK")]
    checkout: CheckoutPubId,
}

/// Runs the command.
pub(super) async fn run(
    session: Session,
    links: CheckoutPageLinks,
    args: RelinkArgs,
) -> anyhow::Result<Reply> {
    let missing = || Error::not_found("checkout");
    let mut uow = session.begin().await?;
    let owner = uow.doors().owner_of_checkout(args.checkout).await?;
    let owner = OrganizationRef::Number(owner.ok_or_else(missing)?);
    let organization = session::enter(uow.as_mut(), owner).await?;
    let locked = uow.checkouts().lock(args.checkout).await?;
    let mut checkout = locked.ok_or_else(missing)?;
    let access = Access {
        mode: checkout.mode,
        ..operator_access(organization.id, organization.pub_id)?
    };
    let ctx = session.operator(&access);
    relink(uow.as_mut(), &ctx, &mut checkout).await?;
    set_page(
        uow.as_mut(),
        checkout.id,
        &links.hashes(&checkout.page_nonce),
    )
    .await?;
    uow.commit().await?;
    let (id, url) = (checkout.id.to_string(), links.url(&checkout));
    Reply::record(
        &json!({ "id": id, "checkoutUrl": url }),
        [("id", id), ("link", url)],
    )
}
