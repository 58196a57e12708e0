//! Organizations' own accounts at the payment processor: administration by the operator of the
//! installation.
//!
//! What was made at one account is unknown at every other. So an organization moves from one to another
//! while nothing of its checkouts rests on the former, unless the operator insists: then what was made
//! there is nobody's here, and a person ends it there.

use super::audit::{self, Entry};
use super::organizations::entered;
use super::{Error, products};
use crate::access::Mode;
use crate::audit::Origin;
use crate::catalog::ProductStatus;
use crate::checkout::Effect;
use crate::ids::{OrganizationId, OrganizationRef};
use crate::organization::Organization;
use crate::ports::{
    IdGenerator, JobSubject, NewJob, Page, ProductFilter, ProductSort, SortOrder, Start,
    StoreError, UnitOfWork,
};
use crate::processor_account::{AccountRecord, ProcessorAccount};
use crate::secret::Secret;
use crate::time::Timestamp;

/// How many checkouts a refusal names.
const NAMED: u32 = 5;
/// How many are looked for, to say how many there are.
const COUNTED: u32 = 1_000;
/// How many products a batch of jobs is about.
const BATCH: u32 = 50;

/// An account to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAccount {
    pub organization: OrganizationRef,
    /// Live or sandbox.
    pub mode: Mode,
    /// As [`read_key`](crate::processor_account::read_key) took it.
    pub key: Secret,
    /// As [`read_webhook_secrets`](crate::processor_account::read_webhook_secrets) took them.
    pub webhook_secrets: Vec<Secret>,
    /// The key is another account's than the one that is set: without this a key that replaces one is a
    /// new key of the same account.
    pub is_other_account: bool,
    /// Also while checkouts rest on what is at the former account.
    pub force: bool,
}

/// An account that was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSet {
    /// Whose.
    pub organization: Organization,
    /// What people see of it.
    pub account: AccountRecord,
    /// Whether the organization works with another account since: the catalog is to be
    /// [pushed](push_catalog) there.
    pub moved: bool,
    /// Of how many customers the former account's ids were forgotten.
    pub forgotten: u64,
    /// How many checkouts are left behind at the former account, up to 1,000.
    pub left_behind: usize,
}

/// How many checkouts rest on the former account.
///
/// # Errors
/// [`Error::Rule`] when any do and nobody insists.
async fn left_behind(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationId,
    mode: Mode,
    force: bool,
) -> Result<usize, Error> {
    let resting = uow
        .processor_accounts()
        .resting(organization, mode, COUNTED)
        .await?;
    if resting.is_empty() || force {
        return Ok(resting.len());
    }
    let most = usize::try_from(NAMED).unwrap_or(usize::MAX);
    let named: Vec<String> = resting.iter().take(most).map(ToString::to_string).collect();
    let more = if resting.len() > named.len() {
        ", …"
    } else {
        ""
    };
    Err(Error::rule(format!(
        "{} checkouts of {mode} mode rest on what is at the account that the organization works with now: {}{more}. \
         What was made there is unknown at any other: wait until they have ended, or insist with --force, and end \
         their subscriptions and deposits at that account yourself",
        resting.len(),
        named.join(", ")
    )))
}

/// Forgets who customers are at the former account. They are too many to be told of one by one: that the organization is
/// written has the [edition](crate::ports::Edition) of its records be another.
async fn forget_customers(
    uow: &mut dyn UnitOfWork,
    organization: &mut Organization,
    mode: Mode,
) -> Result<u64, Error> {
    let forgotten = uow
        .processor_accounts()
        .forget_customers(organization.id, mode)
        .await?;
    if forgotten > 0 {
        uow.organizations().update(organization).await?;
    }
    Ok(forgotten)
}

/// Sees to it that no secret is one of the organization's account of the other mode too: one opens one
/// mode only. What does not open is compared with nothing.
async fn is_apart(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationId,
    mode: Mode,
    secrets: &[Secret],
) -> Result<(), Error> {
    for other in Mode::ALL.into_iter().filter(|other| *other != mode) {
        let account = match uow.processor_accounts().get(organization, other).await {
            Ok(account) => account,
            Err(StoreError::Internal(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let known = account.map(|account| account.webhook_secrets);
        if known.iter().flatten().any(|known| secrets.contains(known)) {
            return Err(Error::invalid(
                "webhookSecrets",
                format!("has one of the account of {other} mode too: one opens one mode only"),
            ));
        }
    }
    Ok(())
}

/// Sets the organization's account of the mode. The work goes on in the organization's name.
///
/// # Errors
/// [`Error::NotFound`] of the organization; [`Error::Invalid`] of a webhook secret that its account of the
/// other mode has too; [`Error::Rule`] when checkouts rest on the account that it works with now, be it its
/// own, the process's or the simulated one.
pub async fn set_account(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    set: SetAccount,
) -> Result<AccountSet, Error> {
    let mut organization = entered(uow, set.organization).await?;
    let (owner, mode) = (organization.id, set.mode);
    let listed = uow.processor_accounts().list(owner).await?;
    let known = listed.into_iter().find(|account| account.mode == mode);
    let moved = known.is_none() || set.is_other_account;
    let (mut behind, mut forgotten) = (0, 0);
    if moved {
        behind = left_behind(uow, owner, mode, set.force).await?;
        forgotten = forget_customers(uow, &mut organization, mode).await?;
    }
    is_apart(uow, owner, mode, &set.webhook_secrets).await?;
    let mut account = ProcessorAccount {
        organization_id: owner,
        mode,
        key: set.key,
        webhook_secrets: set.webhook_secrets,
        created_at: known.as_ref().map_or(now, |known| known.created_at),
        updated_at: now,
        version: known.as_ref().map_or(1, |known| known.version),
    };
    // What was sealed before is of no use any more, whether it opens or not.
    let store = uow.processor_accounts();
    match known {
        Some(_) => store.update(&mut account).await?,
        None => store.insert(&mut account).await?,
    }
    let entry = Entry::account_set(&organization, &account, moved);
    audit::record(uow, ids, now, origin, owner, entry).await?;
    Ok(AccountSet {
        organization,
        account: account.record(),
        moved,
        forgotten,
        left_behind: behind,
    })
}

/// What the organization works with, live before sandbox. The work goes on in the organization's name.
///
/// # Errors
/// [`Error::NotFound`] of the organization.
pub async fn show_accounts(
    uow: &mut dyn UnitOfWork,
    organization: OrganizationRef,
) -> Result<(Organization, Vec<AccountRecord>), Error> {
    let found = uow.organizations().find(organization).await?;
    let found = found.ok_or(Error::not_found("organization"))?;
    uow.enter(found.id).await?;
    let accounts = uow.processor_accounts().list(found.id).await?;
    Ok((found, accounts))
}

/// Removes the organization's account of the mode: it works with the process's again, or with none.
/// Answers whose it was, and how many checkouts are left behind there, up to 1,000.
///
/// # Errors
/// [`Error::NotFound`] of the organization or the account; [`Error::Rule`] when checkouts rest on it and
/// nobody insists.
pub async fn remove_account(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    origin: &Origin,
    (organization, mode): (OrganizationRef, Mode),
    force: bool,
) -> Result<(Organization, usize), Error> {
    let mut organization = entered(uow, organization).await?;
    let owner = organization.id;
    let listed = uow.processor_accounts().list(owner).await?;
    let Some(known) = listed.into_iter().find(|account| account.mode == mode) else {
        return Err(Error::not_found("account of this mode"));
    };
    let behind = left_behind(uow, owner, mode, force).await?;
    uow.processor_accounts().remove(owner, mode).await?;
    forget_customers(uow, &mut organization, mode).await?;
    let entry = Entry::account_removed(&organization, &known);
    audit::record(uow, ids, now, origin, owner, entry).await?;
    Ok((organization, behind))
}

/// Has the processor told of a batch of the organization's catalog, from the product on that follows this
/// one: for an account that is new to it. Answers the last product of the batch, none at the end. The work
/// is in the organization's name.
///
/// # Errors
/// [`Error::Store`].
pub async fn push_catalog(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    organization: OrganizationId,
    after: Option<uuid::Uuid>,
) -> Result<Option<uuid::Uuid>, Error> {
    let filter = ProductFilter {
        statuses: ProductStatus::ALL.to_vec(),
        ..ProductFilter::default()
    };
    let page = Page {
        start: after.map_or(Start::Offset(0), Start::After),
        limit: BATCH,
    };
    let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
    let products = uow
        .products()
        .list(organization, &filter, sort, order, page)
        .await?;
    let named: Vec<_> = products.iter().map(|product| product.id).collect();
    let Some(last) = named.last() else {
        return Ok(None);
    };
    let variants = uow.variants().of_products(organization, &named).await?;
    let job = |effect, subject| products::job_of_catalog(ids, now, organization, effect, subject);
    let products = named
        .iter()
        .map(|id| job(Effect::PushProduct, JobSubject::Product(*id)));
    let variants = variants
        .iter()
        .map(|variant| job(Effect::PushVariant, JobSubject::Variant(variant.id)));
    let jobs: Vec<NewJob> = products.chain(variants).collect();
    uow.jobs().push(&jobs).await?;
    Ok(Some(last.as_uuid()))
}
