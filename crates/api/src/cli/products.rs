//! `lessor product`: the review that an organization may ask for.

use clap::Subcommand;
use lessor_domain::catalog::{Product, ReviewStatus};
use lessor_domain::ids::{OrganizationRef, ProductPubId, UserId, UserPubId};
use lessor_domain::services::Error;
use lessor_domain::services::products::review_product;
use lessor_domain::text::Notes;
use serde::Serialize;

use super::output::{Reply, time};
use super::session::{self, Session, operator_access};

/// Review products.
#[derive(Debug, Subcommand)]
pub(crate) enum ProductCommand {
    /// Decide on a product of an organization that requires reviews
    #[command(
        after_help = "Examples:\n  lessor product review prod_06EAAA… --status approved\n  \
        lessor product review prod_06EAAA… --status changesRequested --notes 'The image is missing'"
    )]
    Review {
        /// The product's prod_ id
        #[arg(value_name = "PROD_ID")]
        product: ProductPubId,
        /// pending, approved, rejected or changesRequested
        #[arg(long)]
        status: ReviewStatus,
        /// What is to change, up to 2,000 characters
        #[arg(long)]
        notes: Option<Notes>,
        /// Who decided: a usr_ id of its organization
        #[arg(long, value_name = "USR_ID")]
        reviewer: Option<UserPubId>,
        /// Its organization's number or public id; looked for if not given
        #[arg(long, value_name = "ORG")]
        org: Option<OrganizationRef>,
    },
}

/// A reviewed product as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    organization_id: i64,
    name: String,
    status: &'static str,
    review_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    review_notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reviewed_by: Option<i64>,
}

impl From<&Product> for View {
    fn from(product: &Product) -> Self {
        Self {
            id: product.id.to_string(),
            organization_id: product.organization_id.get(),
            name: product.name.to_string(),
            status: product.status.as_str(),
            review_status: product.review.status.as_str(),
            review_notes: product.review.notes.as_ref().map(ToString::to_string),
            reviewed_at: product.review.reviewed_at.map(time),
            reviewed_by: product.review.reviewed_by.map(UserId::get),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: ProductCommand) -> anyhow::Result<Reply> {
    let ProductCommand::Review {
        product,
        status,
        notes,
        reviewer,
        org,
    } = command;
    let mut uow = session.begin().await?;
    let mut owner = None;
    for organization in session::candidates(uow.as_mut(), org).await? {
        uow.enter(organization.id).await?;
        if uow
            .products()
            .get(organization.id, product)
            .await?
            .is_some()
        {
            owner = Some(organization);
            break;
        }
    }
    let owner = owner.ok_or(Error::not_found("product"))?;
    let reviewer = match reviewer {
        Some(id) => {
            let user = uow.customers().get(id).await?;
            Some(user.ok_or(Error::not_found("user"))?.user_id)
        }
        None => None,
    };
    let access = operator_access(owner.id, owner.pub_id)?;
    let ctx = session.operator(&access);
    let reviewed = review_product(uow.as_mut(), &ctx, product, status, notes, reviewer).await?;
    uow.commit().await?;
    let view = View::from(&reviewed);
    Reply::record(
        &view,
        [
            ("id", view.id.clone()),
            ("name", view.name.clone()),
            ("status", view.status.to_owned()),
            ("review", view.review_status.to_owned()),
            ("notes", view.review_notes.clone().unwrap_or_default()),
            ("reviewed", view.reviewed_at.clone().unwrap_or_default()),
        ],
    )
}
