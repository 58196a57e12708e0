//! `lessor terms`: the lease terms that organizations offer.

use clap::{Args, Subcommand, ValueEnum};
use lessor_domain::ids::{LeaseTermRef, OrganizationRef, ProductPubId};
use lessor_domain::lease_term::{LeaseTerm, LeaseTermStatus};
use lessor_domain::organization::Organization;
use lessor_domain::percentage::{AnnualRate, MoneyFactor, Percentage, TermMonths};
use lessor_domain::ports::UnitOfWork;
use lessor_domain::pricing::{Rate, RateCard};
use lessor_domain::services::lease_terms::{
    CreateLeaseTerm, DeleteLeaseTerm, LeaseTermChanges, Method, UpdateLeaseTerm, rate_of,
};
use lessor_domain::services::{Error, UseCase as _};
use serde::Serialize;

use super::output::{Reply, time};
use super::session::{self, Session, operator_access};

/// Manage the lease terms that organizations offer.
#[derive(Debug, Subcommand)]
pub(crate) enum TermsCommand {
    /// List an organization's terms, shortest first
    #[command(after_help = "Example:\n  lessor terms list --org 1")]
    List {
        /// Its number or public id
        #[arg(long, value_name = "ORG")]
        org: OrganizationRef,
    },
    /// Offer a term
    #[command(after_help = "Examples:\n  \
        lessor terms create --org 1 --months 48 --method moneyFactor --money-factor 0.0025 \\\n      \
        --residual 20 --deposit 10 --insurance 6\n  \
        lessor terms create --org 1 --months 12 --method annualRate --annual-rate 6.9 --residual 55 \\\n      \
        --product prod_06EAAA…        (for one product, in place of the organization's terms)")]
    Create(CreateArgs),
    /// Change a term; what is not mentioned stays, and so do quotes that are frozen
    #[command(
        after_help = "Examples:\n  lessor terms update 3 --residual 28 --money-factor 0.002\n  \
        lessor terms update term_06EAAA… --status inactive"
    )]
    Update(UpdateArgs),
    /// Delete a term; one that checkouts have becomes inactive
    #[command(after_help = "Example:\n  lessor terms delete 3")]
    Delete(TermArgs),
}

/// Which term.
#[derive(Debug, Args)]
pub(crate) struct TermArgs {
    /// Its number or public id
    #[arg(value_name = "TERM")]
    term: LeaseTermRef,
    /// Its organization's number or public id; looked for if not given
    #[arg(long, value_name = "ORG")]
    org: Option<OrganizationRef>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "camelCase")]
enum MethodArg {
    /// Level rent: the factor times capitalized cost plus residual, each month
    MoneyFactor,
    /// Constant yield in percent a year, payments in advance
    AnnualRate,
}

impl From<MethodArg> for Method {
    fn from(method: MethodArg) -> Self {
        match method {
            MethodArg::MoneyFactor => Self::MoneyFactor,
            MethodArg::AnnualRate => Self::AnnualRate,
        }
    }
}

#[derive(Debug, Args)]
struct ConditionArgs {
    /// For the method moneyFactor: 0 to 1, up to 8 decimals
    #[arg(long, value_name = "FACTOR")]
    money_factor: Option<MoneyFactor>,
    /// For the method annualRate: percent, 0 to 100, up to 6 decimals
    #[arg(long, value_name = "PERCENT")]
    annual_rate: Option<AnnualRate>,
    /// Residual value in percent of the list price
    #[arg(long, value_name = "PERCENT")]
    residual: Option<Percentage>,
    /// Refundable deposit in percent of the list price
    #[arg(long, value_name = "PERCENT")]
    deposit: Option<Percentage>,
    /// Insurance in percent of the list price a year
    #[arg(long, value_name = "PERCENT")]
    insurance: Option<Percentage>,
    /// active or inactive
    #[arg(long)]
    status: Option<LeaseTermStatus>,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The organization that offers it: its number or public id
    #[arg(long, value_name = "ORG")]
    org: OrganizationRef,
    /// Length of the lease, 1 to 120 months
    #[arg(long)]
    months: TermMonths,
    /// How the rent charge is computed
    #[arg(long)]
    method: MethodArg,
    /// For this product only: its prod_ id
    #[arg(long, value_name = "PROD_ID")]
    product: Option<ProductPubId>,
    #[command(flatten)]
    conditions: ConditionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    #[command(flatten)]
    which: TermArgs,
    /// Length of the lease, 1 to 120 months
    #[arg(long)]
    months: Option<TermMonths>,
    /// How the rent charge is computed
    #[arg(long)]
    method: Option<MethodArg>,
    #[command(flatten)]
    conditions: ConditionArgs,
}

/// A term as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    lease_term_id: i64,
    organization_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    product_id: Option<String>,
    term_in_months: u16,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    money_factor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annual_rate: Option<String>,
    residual_percentage: String,
    deposit_percentage: String,
    insurance_percentage: String,
    status: &'static str,
    created_at: String,
    updated_at: String,
}

impl From<&LeaseTerm> for View {
    fn from(term: &LeaseTerm) -> Self {
        let (method, money_factor, annual_rate) = match term.card.rate {
            Rate::MoneyFactor(factor) => ("moneyFactor", Some(factor.to_string()), None),
            Rate::AnnualRate(rate) => ("annualRate", None, Some(rate.to_string())),
        };
        Self {
            id: term.id.to_string(),
            lease_term_id: term.lease_term_id.get(),
            organization_id: term.organization_id.get(),
            product_id: term.product_id.map(|id| id.to_string()),
            term_in_months: term.card.term.get(),
            method,
            money_factor,
            annual_rate,
            residual_percentage: term.card.residual.to_string(),
            deposit_percentage: term.card.deposit.to_string(),
            insurance_percentage: term.card.insurance.to_string(),
            status: term.status.as_str(),
            created_at: time(term.created_at),
            updated_at: time(term.updated_at),
        }
    }
}

impl View {
    fn rate(&self) -> String {
        match (&self.money_factor, &self.annual_rate) {
            (Some(factor), _) => format!("money factor {factor}"),
            (None, Some(rate)) => format!("{rate} % a year"),
            (None, None) => String::new(),
        }
    }

    fn reply(&self) -> anyhow::Result<Reply> {
        Reply::record(
            self,
            [
                ("id", self.lease_term_id.to_string()),
                ("public id", self.id.clone()),
                ("product", self.product_id.clone().unwrap_or_default()),
                ("months", self.term_in_months.to_string()),
                ("rate", self.rate()),
                ("residual", format!("{} %", self.residual_percentage)),
                ("deposit", format!("{} %", self.deposit_percentage)),
                (
                    "insurance",
                    format!("{} % a year", self.insurance_percentage),
                ),
                ("status", self.status.to_owned()),
            ],
        )
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: TermsCommand) -> anyhow::Result<Reply> {
    match command {
        TermsCommand::List { org } => list(&session, org).await,
        TermsCommand::Create(args) => create(&session, args).await,
        TermsCommand::Update(args) => update(&session, args).await,
        TermsCommand::Delete(which) => {
            let mut uow = session.begin().await?;
            let owner = owner(uow.as_mut(), &which).await?;
            let access = operator_access(owner.id, owner.pub_id)?;
            let ctx = session.operator(&access);
            let term = DeleteLeaseTerm { id: which.term }
                .run(uow.as_mut(), &ctx)
                .await?;
            let kept = uow
                .lease_terms()
                .find(owner.id, which.term)
                .await?
                .is_some();
            uow.commit().await?;
            let note = if kept {
                "Checkouts have the term: it is inactive now, and stays for them."
            } else {
                "Deleted."
            };
            Ok(View::from(&term)
                .reply()?
                .with_member("deleted", (!kept).into())
                .with_note(note))
        }
    }
}

/// The organization that has the term, in whose name the work goes on.
async fn owner(uow: &mut dyn UnitOfWork, which: &TermArgs) -> Result<Organization, Error> {
    for organization in session::candidates(uow, which.org).await? {
        uow.enter(organization.id).await?;
        let found = uow.lease_terms().find(organization.id, which.term).await?;
        if found.is_some() {
            return Ok(organization);
        }
    }
    Err(Error::not_found("lease term"))
}

async fn list(session: &Session, org: OrganizationRef) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let organization = session::enter(view.as_mut(), org).await?;
    let terms = view.lease_terms().list(organization.id).await?;
    let views: Vec<View> = terms.iter().map(View::from).collect();
    let rows = views.iter().map(|view| {
        [
            view.lease_term_id.to_string(),
            view.id.clone(),
            view.term_in_months.to_string(),
            view.rate(),
            format!("{} %", view.residual_percentage),
            format!("{} %", view.deposit_percentage),
            format!("{} %", view.insurance_percentage),
            view.status.to_owned(),
            view.product_id.clone().unwrap_or_default(),
        ]
    });
    Reply::list(
        &views,
        [
            "id",
            "public id",
            "months",
            "rate",
            "residual",
            "deposit",
            "insurance",
            "status",
            "product",
        ],
        rows,
    )
}

async fn create(session: &Session, args: CreateArgs) -> anyhow::Result<Reply> {
    let conditions = args.conditions;
    let rate = rate_of(
        args.method.into(),
        conditions.money_factor,
        conditions.annual_rate,
    )?;
    let create = CreateLeaseTerm {
        product_id: args.product,
        card: RateCard {
            term: args.months,
            rate,
            residual: conditions.residual.unwrap_or(Percentage::ZERO),
            deposit: conditions.deposit.unwrap_or(Percentage::ZERO),
            insurance: conditions.insurance.unwrap_or(Percentage::ZERO),
        },
        status: conditions.status.unwrap_or(LeaseTermStatus::Active),
    };
    let mut uow = session.begin().await?;
    let organization = session::enter(uow.as_mut(), args.org).await?;
    let access = operator_access(organization.id, organization.pub_id)?;
    let term = create.run(uow.as_mut(), &session.operator(&access)).await?;
    uow.commit().await?;
    View::from(&term).reply()
}

async fn update(session: &Session, args: UpdateArgs) -> anyhow::Result<Reply> {
    let conditions = args.conditions;
    let changes = LeaseTermChanges {
        term: args.months,
        method: args.method.map(Method::from),
        money_factor: conditions.money_factor,
        annual_rate: conditions.annual_rate,
        residual: conditions.residual,
        deposit: conditions.deposit,
        insurance: conditions.insurance,
        status: conditions.status,
    };
    let mut uow = session.begin().await?;
    let owner = owner(uow.as_mut(), &args.which).await?;
    let access = operator_access(owner.id, owner.pub_id)?;
    let ctx = session.operator(&access);
    let id = args.which.term;
    let term = UpdateLeaseTerm { id, changes }
        .run(uow.as_mut(), &ctx)
        .await?;
    uow.commit().await?;
    View::from(&term).reply()
}
