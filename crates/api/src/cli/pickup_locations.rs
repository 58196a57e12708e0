//! `lessor pickup-location`: where customers pick goods up.

use clap::{Args, Subcommand};
use lessor_adapters::dialing::PublishedPlans;
use lessor_domain::address::{Address, Country};
use lessor_domain::ids::{OrganizationRef, PickupLocationId};
use lessor_domain::organization::PickupLocation;
use lessor_domain::services::Error;
use lessor_domain::services::pickup_locations::{
    CreatePickupLocation, UpdatePickupLocation, create_pickup_location, update_pickup_location,
};
use lessor_domain::text::{Line, Name};
use serde::Serialize;

use super::output::Reply;
use super::session::{self, Session};

/// Manage the places where customers pick goods up.
#[derive(Debug, Subcommand)]
pub(crate) enum PickupLocationCommand {
    /// Add a place
    #[command(
        after_help = "Example:\n  lessor pickup-location create --org 1 --name 'Market Street' \\\n      \
        --address1 '1 Market St' --city 'San Francisco' --state CA --zip 94105 --country US"
    )]
    Create(CreateArgs),
    /// List an organization's places, oldest first
    #[command(after_help = "Example:\n  lessor pickup-location list --org 1")]
    List {
        /// Its number or public id
        #[arg(long, value_name = "ORG")]
        org: OrganizationRef,
    },
    /// Change a place; what is not mentioned stays
    #[command(
        after_help = "Examples:\n  lessor pickup-location update 2 --name 'Mission Street'\n  \
        lessor pickup-location update 2 --active=false     (customers cannot choose it any more)"
    )]
    Update(UpdateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The organization: its number or public id
    #[arg(long, value_name = "ORG")]
    org: OrganizationRef,
    /// Its name, unique among the organization's active places
    #[arg(long)]
    name: Name,
    /// Street and number
    #[arg(long)]
    address1: Line,
    /// City
    #[arg(long)]
    city: Line,
    /// Postal code
    #[arg(long)]
    zip: Line,
    /// Country, ISO 3166-1 alpha-2
    #[arg(long)]
    country: Country,
    #[command(flatten)]
    optional: OptionalArgs,
}

#[derive(Debug, Args)]
struct OptionalArgs {
    /// Company
    #[arg(long)]
    company: Option<Line>,
    /// Second line
    #[arg(long)]
    address2: Option<Line>,
    /// State or province; required for US, CA and AU
    #[arg(long)]
    state: Option<Line>,
    /// Phone number
    #[arg(long)]
    phone: Option<Line>,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Its number
    #[arg(value_name = "ID")]
    id: PickupLocationId,
    /// Its organization's number or public id; looked for if not given
    #[arg(long, value_name = "ORG")]
    org: Option<OrganizationRef>,
    /// Its name, unique among the organization's active places
    #[arg(long)]
    name: Option<Name>,
    /// Street and number
    #[arg(long)]
    address1: Option<Line>,
    /// City
    #[arg(long)]
    city: Option<Line>,
    /// Postal code
    #[arg(long)]
    zip: Option<Line>,
    /// Country, ISO 3166-1 alpha-2
    #[arg(long)]
    country: Option<Country>,
    #[command(flatten)]
    optional: OptionalArgs,
    /// Whether customers may choose it
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
}

impl UpdateArgs {
    /// The address with the members that are given in place of its own; none when none is given.
    fn address(&self, old: &Address) -> Option<Address> {
        let optional = &self.optional;
        let new = Address {
            company: optional.company.clone().or(old.company.clone()),
            address1: self.address1.clone().unwrap_or(old.address1.clone()),
            address2: optional.address2.clone().or(old.address2.clone()),
            city: self.city.clone().unwrap_or(old.city.clone()),
            state: optional.state.clone().or(old.state.clone()),
            zip: self.zip.clone().unwrap_or(old.zip.clone()),
            country: self.country.unwrap_or(old.country),
            phone: optional.phone.clone().or(old.phone.clone()),
            first_name: old.first_name.clone(),
            last_name: old.last_name.clone(),
        };
        (new != *old).then_some(new)
    }
}

/// A place as it is shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: i64,
    organization_id: i64,
    name: String,
    active: bool,
    address: Address,
}

impl From<PickupLocation> for View {
    fn from(location: PickupLocation) -> Self {
        Self {
            id: location.id.get(),
            organization_id: location.organization_id.get(),
            name: location.name.to_string(),
            active: location.active,
            address: location.address,
        }
    }
}

impl View {
    fn address(&self) -> String {
        let address = &self.address;
        let parts = [
            Some(&address.address1),
            address.address2.as_ref(),
            Some(&address.city),
            address.state.as_ref(),
            Some(&address.zip),
        ];
        let mut text = String::new();
        for part in parts.into_iter().flatten() {
            text.push_str(part.as_str());
            text.push_str(", ");
        }
        text.push_str(address.country.code());
        text
    }

    fn reply(&self) -> anyhow::Result<Reply> {
        Reply::record(
            self,
            [
                ("id", self.id.to_string()),
                ("organization", self.organization_id.to_string()),
                ("name", self.name.clone()),
                ("active", self.active.to_string()),
                ("address", self.address()),
            ],
        )
    }
}

/// Runs the command.
pub(crate) async fn run(session: Session, command: PickupLocationCommand) -> anyhow::Result<Reply> {
    match command {
        PickupLocationCommand::Create(args) => create(&session, args).await,
        PickupLocationCommand::List { org } => list(&session, org).await,
        PickupLocationCommand::Update(args) => update(&session, args).await,
    }
}

async fn create(session: &Session, args: CreateArgs) -> anyhow::Result<Reply> {
    let address = Address {
        first_name: None,
        last_name: None,
        company: args.optional.company,
        address1: args.address1,
        address2: args.optional.address2,
        city: args.city,
        state: args.optional.state,
        zip: args.zip,
        country: args.country,
        phone: args.optional.phone,
    };
    let mut uow = session.begin().await?;
    let organization = session::enter(uow.as_mut(), args.org).await?;
    let input = CreatePickupLocation {
        organization_id: organization.id,
        name: args.name,
        address,
    };
    let created = create_pickup_location(
        uow.as_mut(),
        session.ids(),
        session.now(),
        session.origin(),
        &PublishedPlans,
        input,
    )
    .await?;
    uow.commit().await?;
    View::from(created).reply()
}

async fn list(session: &Session, org: OrganizationRef) -> anyhow::Result<Reply> {
    let mut view = session.read().await?;
    let organization = session::enter(view.as_mut(), org).await?;
    let locations = view.pickup_locations().list(organization.id).await?;
    let views: Vec<View> = locations.into_iter().map(View::from).collect();
    let rows = views.iter().map(|view| {
        [
            view.id.to_string(),
            view.name.clone(),
            view.active.to_string(),
            view.address(),
        ]
    });
    Reply::list(&views, ["id", "name", "active", "address"], rows)
}

async fn update(session: &Session, args: UpdateArgs) -> anyhow::Result<Reply> {
    let mut uow = session.begin().await?;
    let mut found = None;
    for organization in session::candidates(uow.as_mut(), args.org).await? {
        uow.enter(organization.id).await?;
        found = uow.pickup_locations().get(organization.id, args.id).await?;
        if found.is_some() {
            break;
        }
    }
    let old = found.ok_or(Error::not_found("pickup location"))?;
    let update = UpdatePickupLocation {
        organization_id: old.organization_id,
        id: old.id,
        address: args.address(&old.address),
        name: args.name,
        active: args.active,
    };
    let updated = update_pickup_location(
        uow.as_mut(),
        session.ids(),
        session.now(),
        session.origin(),
        &PublishedPlans,
        update,
    )
    .await?;
    uow.commit().await?;
    View::from(updated).reply()
}
