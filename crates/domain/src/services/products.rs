//! Products.

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::slice::unknown_start;
use super::{Context, Error, Patch, Slice, UseCase, waitlist, window};
use crate::access::{Mode, Permission};
use crate::audit::AuditAction;
use crate::catalog::{
    Category, OptionDefinition, Product, ProductSource, ProductStatus, ProductType, Review,
    ReviewStatus, check_definitions, check_selection, is_product_offered,
};
use crate::checkout::Effect;
use crate::ids::{
    IdRef, OrganizationId, OrganizationRef, ProductCategoryRef, ProductPubId, UserId,
};
use crate::metadata::{Metadata, MetadataPatch};
use crate::money::{Amount, Money};
use crate::organization::Organization;
use crate::percentage::Percentage;
use crate::ports::{
    IdGenerator, JobSubject, NewJob, Page, ProductFilter, ProductPage, ProductSort, SortOrder,
    Start, StoreError, UnitOfWork,
};
use crate::text::{Description, ExternalId, Name, Notes, Sku, Url};
use crate::time::Timestamp;

/// Up to how many records are counted whenever somebody asks. Of more, who asks may be told what was counted before.
pub const COUNTED: u64 = 10_000;

/// An option as a caller gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionInput {
    /// Its id; one is made when it is left out.
    pub id: Option<String>,
    pub name: Name,
    /// Its position; the place in the list when it is left out.
    pub position: Option<i32>,
    pub values: Vec<Name>,
}

/// Creates a product.
///
/// # Errors
/// [`Error`]: another organization, the missing permission, options that are no
/// matrix, a price that the currency cannot express, an external id in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateProduct {
    /// Whose it is to be.
    pub organization: OrganizationRef,
    pub name: Name,
    /// What it is.
    pub description: Description,
    /// What it can be chosen in.
    pub options: Vec<OptionInput>,
    /// Its base price.
    pub price: Amount,
    /// Where its data come from.
    pub source: ProductSource,
    /// Whether it can be leased.
    pub product_type: ProductType,
    pub discount: Option<Percentage>,
    /// The caller's own id of it.
    pub external_id: Option<ExternalId>,
    pub category: Option<ProductCategoryRef>,
    /// Its stock keeping unit.
    pub sku: Option<Sku>,
    /// What the caller keeps beside it.
    pub metadata: Metadata,
}

/// What is to change in a product.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProductChanges {
    pub name: Option<Name>,
    /// What it is.
    pub description: Option<Description>,
    /// What it can be chosen in.
    pub options: Option<Vec<OptionInput>>,
    /// Its base price.
    pub price: Option<Amount>,
    /// Whether it can be leased.
    pub product_type: Option<ProductType>,
    /// Whether it is offered.
    pub status: Option<ProductStatus>,
    /// Active or inactive, in other words.
    pub is_active: Option<bool>,
    /// Whether new checkouts wait.
    pub is_waitlisted: Option<bool>,
    /// Whether updates from its source are refused.
    pub ignore_upstream_updates: Option<bool>,
    pub discount: Patch<Percentage>,
    pub main_image: Patch<Url>,
    pub category: Patch<ProductCategoryRef>,
    /// Its stock keeping unit.
    pub sku: Patch<Sku>,
    /// What the caller keeps beside it.
    pub metadata: MetadataPatch,
    /// Where the update comes from; by hand when nobody says.
    pub source: Option<ProductSource>,
}

impl ProductChanges {
    fn touches_more_than_status(&self) -> bool {
        *self
            != Self {
                status: self.status,
                is_active: self.is_active,
                source: self.source,
                ..Self::default()
            }
    }
}

/// The status that `status` and `isActive` ask for together.
pub(super) fn wanted_status(
    status: Option<ProductStatus>,
    is_active: Option<bool>,
) -> Result<Option<ProductStatus>, Error> {
    let by_flag = is_active.map(|active| {
        if active {
            ProductStatus::Active
        } else {
            ProductStatus::Inactive
        }
    });
    match (status, by_flag) {
        (Some(status), Some(flag)) if status != flag => Err(Error::invalid(
            "isActive",
            format!("contradicts status {status}: give one of them"),
        )),
        (status, flag) => Ok(status.or(flag)),
    }
}

pub(super) async fn organization_of(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
) -> Result<Organization, Error> {
    uow.organizations()
        .get(ctx.access.organization_id)
        .await?
        .ok_or(Error::Store(StoreError::Missing("organization")))
}

/// Whether the reference is to the key's own organization.
///
/// # Errors
/// [`Error::ForeignOrganization`] when it is not.
pub fn own_organization(ctx: &Context<'_>, organization: OrganizationRef) -> Result<(), Error> {
    let own = match organization {
        IdRef::Public(id) => id == ctx.access.organization_pub_id,
        IdRef::Number(id) => id == ctx.access.organization_id,
    };
    if own {
        Ok(())
    } else {
        Err(Error::ForeignOrganization)
    }
}

pub(super) fn price_in(
    amount: Amount,
    organization: &Organization,
    param: &str,
) -> Result<Money, Error> {
    amount
        .in_currency(organization.currency)
        .map_err(|error| Error::invalid(param, error))
}

/// Applies an update of metadata.
///
/// # Errors
/// [`Error::Invalid`] of `metadata`: more keys than a record keeps.
pub(super) fn merge_metadata(kept: &mut Metadata, update: MetadataPatch) -> Result<(), Error> {
    kept.merge(update)
        .map_err(|error| Error::invalid("metadata", error))
}

fn defined(
    options: Vec<OptionInput>,
    before: &[OptionDefinition],
    ctx: &Context<'_>,
) -> Result<Vec<OptionDefinition>, Error> {
    let options: Vec<OptionDefinition> = options
        .into_iter()
        .enumerate()
        .map(|(index, option)| {
            let known = before.iter().find(|known| {
                known
                    .name
                    .as_str()
                    .eq_ignore_ascii_case(option.name.as_str())
            });
            OptionDefinition {
                id: option
                    .id
                    .or_else(|| known.map(|known| known.id.clone()))
                    .unwrap_or_else(|| format!("opt_{}", ctx.ids.next().simple())),
                position: option
                    .position
                    .unwrap_or_else(|| i32::try_from(index).unwrap_or(i32::MAX)),
                name: option.name,
                values: option.values,
            }
        })
        .collect();
    check_definitions(&options)
        .map_err(|fault| Error::invalid(format!("options{}", fault.path), &fault.message))?;
    Ok(options)
}

async fn category_of(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    category: ProductCategoryRef,
) -> Result<Category, Error> {
    uow.categories()
        .find(ctx.access.organization_id, category)
        .await?
        .ok_or_else(|| Error::invalid("productCategoryId", "is not a category of the organization"))
}

/// A job about the catalog, which concerns both modes.
pub(super) fn catalog_job(ctx: &Context<'_>, effect: Effect, subject: JobSubject) -> NewJob {
    job_of_catalog(
        ctx.ids,
        ctx.now,
        ctx.access.organization_id,
        effect,
        subject,
    )
}

/// A job that tells the processor of the organization's product or variant.
pub(super) fn job_of_catalog(
    ids: &dyn IdGenerator,
    now: Timestamp,
    organization_id: OrganizationId,
    effect: Effect,
    subject: JobSubject,
) -> NewJob {
    NewJob {
        id: ids.next(),
        effect,
        subject,
        organization_id,
        mode: Mode::Live,
        created_at: now,
        available_at: now,
        is_held: false,
        units: None,
    }
}

/// Has the processor told of a change of the catalog.
pub(super) async fn push(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    effect: Effect,
    subject: JobSubject,
) -> Result<(), Error> {
    let job = catalog_job(ctx, effect, subject);
    Ok(uow.jobs().push(&[job]).await?)
}

#[async_trait]
impl UseCase for CreateProduct {
    type Output = Product;

    fn permission(&self) -> Permission {
        Permission::ProductWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Product, Error> {
        own_organization(ctx, self.organization)?;
        ctx.access.require(self.permission())?;
        let organization = organization_of(uow, ctx).await?;
        let options = defined(self.options, &[], ctx)?;
        let price = price_in(self.price, &organization, "price")?;
        let category = match self.category {
            Some(category) => Some(category_of(uow, ctx, category).await?.category_id),
            None => None,
        };
        let product = Product {
            id: ProductPubId::from_uuid(ctx.ids.next()),
            organization_id: organization.id,
            name: self.name,
            description: self.description,
            options,
            price,
            discount: self.discount,
            source: self.source,
            product_type: self.product_type,
            review: Review {
                status: if organization.requires_product_review {
                    ReviewStatus::Pending
                } else {
                    ReviewStatus::Approved
                },
                notes: None,
                reviewed_at: None,
                reviewed_by: None,
            },
            status: ProductStatus::Active,
            is_waitlisted: false,
            ignore_upstream_updates: false,
            external_id: self.external_id,
            sku: self.sku,
            main_image: None,
            category_id: category,
            metadata: self.metadata,
            created_at: ctx.now,
            updated_at: ctx.now,
            version: 1,
        };
        uow.products().insert(&product).await?;
        let made = Entry::created(AuditAction::ProductCreated, &product);
        audit::note(uow, ctx, made).await?;
        push(
            uow,
            ctx,
            Effect::PushProduct,
            JobSubject::Product(product.id),
        )
        .await?;
        Ok(product)
    }
}

/// The product, archived or not.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetProduct {
    /// Which one.
    pub id: ProductPubId,
}

#[async_trait]
impl UseCase for GetProduct {
    type Output = Product;

    fn permission(&self) -> Permission {
        Permission::ProductRead
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Product, Error> {
        let product = uow
            .products()
            .get(ctx.access.organization_id, self.id)
            .await?
            .ok_or(Error::not_found("product"))?;
        ctx.access.require_to_look(self.permission())?;
        window::product(ctx, product)
    }
}

/// How many products a list had, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedProducts {
    /// Up to 10,000.
    pub total: u64,
    /// The [catalog's](crate::ports::ProductStore::revision), from before they were counted.
    pub revision: i64,
}

/// What is known of how many products a list has before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KnownTotal {
    /// Nothing: they are counted.
    #[default]
    Nothing,
    /// So many, unless the catalog has changed since.
    Then(CountedProducts),
    /// All that the caller wants to know: they are not counted.
    Enough,
}

/// A page of products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProducts {
    /// The page, and how many there are in all where that is up to 10,000.
    pub slice: Slice<Product>,
    /// What was counted for it, for whoever asks for the list [again](KnownTotal::Then).
    pub counted: Option<CountedProducts>,
}

/// A page of products, and how many there are in all where that is up to 10,000.
///
/// # Errors
/// [`Error::ForeignOrganization`], [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins
/// after no product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListProducts {
    /// Of which organizations: only the caller's own has any.
    pub organizations: Vec<OrganizationRef>,
    /// Of which categories; any when nothing is said.
    pub categories: Option<Vec<ProductCategoryRef>>,
    /// Which otherwise. Its own categories are not looked at.
    pub filter: ProductFilter,
    /// By what they are sorted.
    pub sort: ProductSort,
    /// Which way.
    pub order: SortOrder,
    /// Which part of the list.
    pub page: Page,
    /// How many there are, as far as that is known.
    pub known: KnownTotal,
}

#[async_trait]
impl UseCase for ListProducts {
    type Output = ListedProducts;

    fn permission(&self) -> Permission {
        Permission::ProductRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<ListedProducts, Error> {
        for organization in &self.organizations {
            own_organization(ctx, *organization)?;
        }
        ctx.access.require(self.permission())?;
        let organization = ctx.access.organization_id;
        if let Start::After(id) = self.page.start {
            let start = ProductPubId::from_uuid(id);
            let start = uow.products().get(organization, start).await?;
            start.ok_or_else(unknown_start)?;
        }
        let Some(filter) = within(uow, ctx, self.filter, self.categories).await? else {
            return Ok(ListedProducts {
                slice: Slice::EMPTY,
                counted: None,
            });
        };
        let page = self.page.and_one_more();
        let (sort, order, products) = (self.sort, self.order, uow.products());
        let (found, revision) = if let KnownTotal::Then(_) = self.known {
            let found = products.list_with_revision(organization, &filter, sort, order, page);
            let ProductPage { products, revision } = found.await?;
            (products, Some(revision))
        } else {
            let found = products.list(organization, &filter, sort, order, page);
            (found.await?, None)
        };
        let mut slice = Slice::found(found, self.page);
        if let KnownTotal::Then(known) = self.known
            && Some(known.revision) == revision
        {
            slice.total = slice.total.or(Some(known.total));
        }
        if slice.total.is_some() || self.known == KnownTotal::Enough {
            return Ok(ListedProducts {
                slice,
                counted: None,
            });
        }
        let products = uow.products();
        let revision = match revision {
            Some(revision) => revision,
            None => products.revision(organization).await?,
        };
        let most = COUNTED + 1;
        let total = products.count(organization, &filter, most).await?;
        let counted = (total < most).then_some(CountedProducts { total, revision });
        slice.total = counted.map(|counted| counted.total);
        Ok(ListedProducts { slice, counted })
    }
}

impl ListProducts {
    /// What counts the list, however many it has.
    #[must_use]
    pub fn count(&self) -> CountProducts {
        CountProducts {
            organizations: self.organizations.clone(),
            categories: self.categories.clone(),
            filter: self.filter.clone(),
        }
    }
}

/// How many products a list has: what [`ListProducts`] does not say of one of more than 10,000.
///
/// # Errors
/// [`Error::ForeignOrganization`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CountProducts {
    organizations: Vec<OrganizationRef>,
    categories: Option<Vec<ProductCategoryRef>>,
    filter: ProductFilter,
}

#[async_trait]
impl UseCase for CountProducts {
    type Output = u64;

    fn permission(&self) -> Permission {
        Permission::ProductRead
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<u64, Error> {
        for organization in &self.organizations {
            own_organization(ctx, *organization)?;
        }
        ctx.access.require(self.permission())?;
        let organization = ctx.access.organization_id;
        let Some(filter) = within(uow, ctx, self.filter, self.categories).await? else {
            return Ok(0);
        };
        Ok(uow
            .products()
            .count(organization, &filter, u64::MAX)
            .await?)
    }
}

/// The filter of the categories; `None` when the organization has none of them, so that no product
/// can be of one.
async fn within(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    mut filter: ProductFilter,
    categories: Option<Vec<ProductCategoryRef>>,
) -> Result<Option<ProductFilter>, Error> {
    filter.categories.clear();
    let Some(categories) = categories else {
        return Ok(Some(filter));
    };
    for category in categories {
        let number = match category {
            IdRef::Number(number) => Some(number),
            IdRef::Public(_) => uow
                .categories()
                .find(ctx.access.organization_id, category)
                .await?
                .map(|category| category.category_id),
        };
        filter.categories.extend(number);
    }
    Ok((!filter.categories.is_empty()).then_some(filter))
}

async fn still_fits_variants(
    uow: &mut dyn UnitOfWork,
    product: &Product,
    options: &[OptionDefinition],
) -> Result<(), Error> {
    let variants = uow
        .variants()
        .of_products(product.organization_id, &[product.id])
        .await?;
    for variant in variants {
        if let Err(fault) = check_selection(options, &variant.options) {
            return Err(Error::invalid(
                "options",
                format!(
                    "the variant {} ({}) no longer fits: {}",
                    variant.id, variant.name, fault.message
                ),
            ));
        }
    }
    Ok(())
}

/// Updates a product: what is not mentioned stays.
///
/// # Errors
/// [`Error`]: not found, the missing permission, an archived product, options that
/// a live variant no longer fits, a status that contradicts `isActive`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateProduct {
    /// Which one.
    pub id: ProductPubId,
    /// What is to change.
    pub changes: ProductChanges,
}

impl UpdateProduct {
    /// Who may ask, whatever is to be updated.
    pub const PERMISSION: Permission = Permission::ProductWrite;
}

#[async_trait]
impl UseCase for UpdateProduct {
    type Output = Product;

    fn permission(&self) -> Permission {
        Self::PERMISSION
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Product, Error> {
        let mut product = uow
            .products()
            .lock(ctx.access.organization_id, self.id)
            .await?
            .ok_or(Error::not_found("product"))?;
        ctx.access.require(self.permission())?;
        if product.status == ProductStatus::Archived && self.changes.touches_more_than_status() {
            return Err(Error::rule(
                "the product is archived: only its status can be updated",
            ));
        }
        if product.ignore_upstream_updates
            && self
                .changes
                .source
                .is_some_and(|source| source != ProductSource::Manual)
        {
            return Err(Error::rule(
                "the product ignores updates from upstream systems",
            ));
        }
        let organization = organization_of(uow, ctx).await?;
        let before = product.clone();
        if let Some(status) = wanted_status(self.changes.status, self.changes.is_active)? {
            product.status = status;
        }
        if let Some(options) = self.changes.options {
            let options = defined(options, &product.options, ctx)?;
            still_fits_variants(uow, &product, &options).await?;
            product.options = options;
        }
        if let Some(price) = self.changes.price {
            product.price = price_in(price, &organization, "price")?;
        }
        product.name = self.changes.name.unwrap_or(product.name);
        product.description = self.changes.description.unwrap_or(product.description);
        product.product_type = self.changes.product_type.unwrap_or(product.product_type);
        product.is_waitlisted = self.changes.is_waitlisted.unwrap_or(product.is_waitlisted);
        product.ignore_upstream_updates = self
            .changes
            .ignore_upstream_updates
            .unwrap_or(product.ignore_upstream_updates);
        self.changes.discount.apply(&mut product.discount);
        self.changes.main_image.apply(&mut product.main_image);
        self.changes.sku.apply(&mut product.sku);
        merge_metadata(&mut product.metadata, self.changes.metadata)?;
        match self.changes.category {
            Patch::Keep => {}
            Patch::Clear => product.category_id = None,
            Patch::Set(category) => {
                product.category_id = Some(category_of(uow, ctx, category).await?.category_id);
            }
        }
        let shown = |product: &Product| {
            (
                product.name.clone(),
                product.description.clone(),
                product.price,
                product.main_image.clone(),
            )
        };
        if organization.requires_product_review
            && product.review.status == ReviewStatus::Approved
            && shown(&before) != shown(&product)
        {
            product.review.status = ReviewStatus::Pending;
        }
        if product == before {
            return Ok(product);
        }
        product.updated_at = ctx.now;
        uow.products().update(&mut product).await?;
        let updated = Entry::changed(AuditAction::ProductUpdated, &before, &product);
        audit::note(uow, ctx, updated).await?;
        push(
            uow,
            ctx,
            Effect::PushProduct,
            JobSubject::Product(product.id),
        )
        .await?;
        if is_product_offered(&product) && !is_product_offered(&before) {
            waitlist::after_product_opened(uow, ctx, &product).await?;
        }
        Ok(product)
    }
}

/// Deletes the product and its variants, or archives them when a checkout leases or
/// bought any. Answers it as it is then, or as it was.
///
/// # Errors
/// [`Error::NotFound`], also of what is archived already; [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteProduct {
    /// Which one.
    pub id: ProductPubId,
}

#[async_trait]
impl UseCase for DeleteProduct {
    type Output = Product;

    fn permission(&self) -> Permission {
        Permission::ProductDelete
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Product, Error> {
        let mut product = uow
            .products()
            .lock(ctx.access.organization_id, self.id)
            .await?
            .ok_or(Error::not_found("product"))?;
        ctx.access.require(self.permission())?;
        if product.status == ProductStatus::Archived {
            return Err(Error::not_found("product"));
        }
        // The variants are locked, so that no checkout of one appears in between.
        let variants = uow
            .variants()
            .of_products(product.organization_id, &[product.id])
            .await?;
        let mut locked = Vec::with_capacity(variants.len());
        for variant in variants {
            locked.extend(
                uow.variants()
                    .lock(product.organization_id, variant.id)
                    .await?,
            );
        }
        if uow.products().has_checkout_items(product.id).await? {
            let before = product.clone();
            product.updated_at = ctx.now;
            product.status = ProductStatus::Archived;
            let mut done = vec![Entry::changed(
                AuditAction::ProductUpdated,
                &before,
                &product,
            )];
            for before in locked {
                let mut variant = before.clone();
                variant.status = ProductStatus::Archived;
                variant.updated_at = ctx.now;
                uow.variants().update(&mut variant).await?;
                let archived = Entry::changed(AuditAction::VariantUpdated, &before, &variant);
                done.push(archived);
            }
            uow.products().update(&mut product).await?;
            audit::note_all(uow, ctx, done).await?;
            push(
                uow,
                ctx,
                Effect::PushProduct,
                JobSubject::Product(product.id),
            )
            .await?;
        } else {
            let mut gone = vec![Entry::deleted(AuditAction::ProductDeleted, &product)];
            let deleted = |variant| Entry::deleted(AuditAction::VariantDeleted, variant);
            gone.extend(locked.iter().map(deleted));
            // Its own terms go with it.
            let terms = uow.lease_terms().list(product.organization_id).await?;
            let own = terms
                .iter()
                .filter(|term| term.product_id == Some(product.id));
            gone.extend(own.map(|term| Entry::deleted(AuditAction::LeaseTermDeleted, term)));
            uow.products().delete(product.id).await?;
            audit::note_all(uow, ctx, gone).await?;
        }
        Ok(product)
    }
}

/// Reviews a product.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn review_product(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: ProductPubId,
    status: ReviewStatus,
    notes: Option<Notes>,
    reviewer: Option<UserId>,
) -> Result<Product, Error> {
    let mut product = uow
        .products()
        .lock(ctx.access.organization_id, id)
        .await?
        .ok_or(Error::not_found("product"))?;
    let before = product.clone();
    product.review = Review {
        status,
        notes,
        reviewed_at: Some(ctx.now),
        reviewed_by: reviewer,
    };
    product.updated_at = ctx.now;
    uow.products().update(&mut product).await?;
    let reviewed = Entry::changed(AuditAction::ProductReviewed, &before, &product);
    audit::note(uow, ctx, reviewed).await?;
    if is_product_offered(&product) && !is_product_offered(&before) {
        waitlist::after_product_opened(uow, ctx, &product).await?;
    }
    Ok(product)
}
