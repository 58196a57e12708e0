//! Creating, reading, moving and cancelling checkouts.

use super::catalog::merge_metadata;
use super::{Context, Error, moving};
use crate::access::{Access, Permission};
use crate::address::Address;
use crate::catalog::{Availability, ProductType, availability};
use crate::checkout::{
    Actor, Checkout, ChosenTerm, Circumstances, Event, EventKind, Facts, InsuranceStatus,
    Lifecycle, NewCheckout, Opening, PurchaseItem, Redirects,
};
use crate::customer::{Customer, Profile};
use crate::ids::{
    CheckoutItemPubId, CheckoutPubId, CustomerPubId, LeaseTermRef, ProductVariantPubId,
};
use crate::lease_term::{LeaseTerm, offered};
use crate::metadata::{Metadata, MetadataPatch};
use crate::money::{Amount, Money};
use crate::organization::Organization;
use crate::percentage::TermMonths;
use crate::ports::{
    CheckoutFilter, CheckoutSort, Entropy, InsertedCheckout, InsertedCustomer, NewCustomer, Page,
    Scope, SortOrder, StoreError, UnitOfWork, VariantSelection,
};
use crate::pricing::{Quote, quote};
use crate::text::{Email, ExternalId, Line, Name, Sku};
use crate::time::Timestamp;

/// How a caller names the variant of a new checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariantRef {
    /// By id.
    Id(ProductVariantPubId),
    /// By sku.
    Sku(Sku),
}

/// The customer of a new checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerInput {
    /// The e-mail address by which an existing one is found.
    pub email: Email,
    /// Name, phone and address; they fill what the customer lacks.
    pub profile: Profile,
}

/// A purchase item as a caller gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurchaseItemInput {
    /// What it is; an add-on's own name when it is one.
    pub name: Option<Name>,
    /// The price of one; an add-on's own price when it is one.
    pub amount: Option<Amount>,
    /// How many.
    pub quantity: u32,
    /// The add-on variant.
    pub variant_id: Option<ProductVariantPubId>,
}

/// A checkout to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateCheckout {
    /// What is leased.
    pub variant: VariantRef,
    /// For how long; the customer may choose later.
    pub term: Option<TermMonths>,
    /// For whom; the key's own user when there is none.
    pub customer: Option<CustomerInput>,
    /// The billing address.
    pub billing_address: Option<Address>,
    /// The shipping address.
    pub shipping_address: Option<Address>,
    /// What is bought along.
    pub purchase_items: Vec<PurchaseItemInput>,
    /// The caller's order id.
    pub external_order_id: Option<ExternalId>,
    /// Where the browser goes.
    pub redirects: Redirects,
    /// What the caller keeps beside it; one that there is already stays as it is.
    pub metadata: Metadata,
}

/// Whose checkouts the key sees.
#[must_use]
pub const fn scope_of(access: &Access) -> Scope {
    Scope {
        organization_id: access.organization_id,
        mode: access.mode,
    }
}

/// Whether the key may know of the checkout.
fn visible(access: &Access, checkout: Option<Checkout>) -> Result<Checkout, Error> {
    checkout
        .filter(|checkout| {
            checkout.organization_id == access.organization_id && checkout.mode == access.mode
        })
        .ok_or(Error::not_found("checkout"))
}

/// The checkout, locked, if the key may know of it.
pub(crate) async fn lock_visible(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
) -> Result<Checkout, Error> {
    visible(ctx.access, uow.checkouts().lock(id).await?)
}

/// The checkout.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
pub async fn get_checkout(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
) -> Result<Checkout, Error> {
    let checkout = visible(ctx.access, uow.checkouts().get(id).await?)?;
    ctx.access.require(Permission::CheckoutRead)?;
    Ok(checkout)
}

/// A page of checkouts and how many there are in all.
///
/// # Errors
/// [`Error::Forbidden`].
pub async fn list_checkouts(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    filter: &CheckoutFilter,
    sort: CheckoutSort,
    order: SortOrder,
    page: Page,
) -> Result<(Vec<Checkout>, u64), Error> {
    ctx.access.require(Permission::CheckoutRead)?;
    let scope = scope_of(ctx.access);
    let total = uow.checkouts().count(scope, filter).await?;
    Ok((
        uow.checkouts()
            .list(scope, filter, sort, order, page)
            .await?,
        total,
    ))
}

/// What a checkout's lease costs: the frozen quote, else by today's catalog; none
/// while no term is chosen.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub async fn quote_of(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
) -> Result<Option<Quote>, Error> {
    Ok(quotes_of(uow, std::slice::from_ref(checkout))
        .await?
        .pop()
        .flatten())
}

/// What the leases of checkouts of one organization cost, in their order; the
/// number of queries does not grow with them.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub async fn quotes_of(
    uow: &mut dyn UnitOfWork,
    checkouts: &[Checkout],
) -> Result<Vec<Option<Quote>>, Error> {
    let open: Vec<&Checkout> = checkouts
        .iter()
        .filter(|checkout| checkout.quote.is_none() && checkout.term.is_some())
        .collect();
    let Some(first) = open.first() else {
        return Ok(checkouts.iter().map(|checkout| checkout.quote).collect());
    };
    let organization_id = first.organization_id;
    let (organization, terms) =
        super::pricing::organization_with_terms(uow, organization_id).await?;
    let mut variant_ids: Vec<ProductVariantPubId> =
        open.iter().map(|checkout| checkout.variant_id).collect();
    variant_ids.sort_unstable();
    variant_ids.dedup();
    let variants = uow
        .variants()
        .with_products(
            organization_id,
            &VariantSelection::IdsWithArchived(variant_ids),
        )
        .await?;
    checkouts
        .iter()
        .map(|checkout| {
            if let Some(frozen) = checkout.quote {
                return Ok(Some(frozen));
            }
            let Some(chosen) = checkout.term else {
                return Ok(None);
            };
            let term = terms.iter().find(|term| term.id == chosen.id);
            let found = variants
                .iter()
                .find(|(variant, _)| variant.id == checkout.variant_id);
            match (term, found) {
                (Some(term), Some((variant, product))) => {
                    let discount = variant.effective_discount(product, organization.discount);
                    Ok(Some(quote(variant.price, discount, &term.card)?))
                }
                _ => Ok(None),
            }
        })
        .collect()
}

/// Creates a checkout, or answers the one that there is: of the same order in whatever
/// state, or of the customer for the variant and term. A lease that runs is answered too,
/// unless the order is another: then it is a second unit. Tells whether it is new.
///
/// # Errors
/// [`Error`], in the order of the module's documentation; an external order id in
/// use is [`Error::Taken`] of `externalOrderId`.
pub async fn create_checkout(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    entropy: &dyn Entropy,
    input: CreateCheckout,
) -> Result<(Checkout, bool), Error> {
    let organization_id = ctx.access.organization_id;
    let (variant_param, found) = match &input.variant {
        VariantRef::Id(id) => (
            "productVariantId",
            uow.variants().get(organization_id, *id).await?,
        ),
        VariantRef::Sku(sku) => (
            "sku",
            uow.variants().find_by_sku(organization_id, sku).await?,
        ),
    };
    let variant_id = found.ok_or(Error::not_found("product variant"))?;
    ctx.access.require(match input.customer {
        Some(_) => Permission::CheckoutCreateWithCustomer,
        None => Permission::CheckoutWrite,
    })?;
    // Kept from changing until the checkout is there: nobody adds stock past one
    // who is about to wait.
    let product = uow
        .products()
        .lock_shared(organization_id, variant_id.product_id)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    let variant = uow
        .variants()
        .lock_shared(organization_id, variant_id.id)
        .await?
        .ok_or(Error::not_found("product variant"))?;
    let available =
        availability(&product, &variant).map_err(|why| Error::invalid(variant_param, why))?;
    if input.redirects.any_insecure(ctx.access.mode) {
        return Err(insecure_redirect(&input.redirects, ctx));
    }
    let (organization, terms) =
        super::pricing::organization_with_terms(uow, organization_id).await?;
    let term = match input.term {
        Some(months) => Some(offered_term(&terms, &product.id, months)?),
        None => None,
    };
    let purchase_items = purchase_items(uow, ctx, &organization, input.purchase_items).await?;
    let customer = customer_for(uow, ctx, input.customer).await?;
    let scope = scope_of(ctx.access);
    let term_id = term.map(|term| term.id);
    let order = input.external_order_id.as_ref();
    let of_order = match order {
        Some(order) => uow.checkouts().find_by_external_order(scope, order).await?,
        None => None,
    };
    let is_ordered = of_order.is_some();
    if let Some(known) = of_order.filter(|known| known.is_for(customer.id, variant.id, term_id)) {
        return Ok((known, false));
    }
    let open = uow
        .checkouts()
        .find_open(scope, customer.id, variant.id, term_id)
        .await?;
    if let Some(existing) = open.filter(|open| !open.admits_another(order)) {
        return Ok((existing, false));
    }
    if is_ordered {
        return Err(StoreError::Conflict(crate::ports::UniqueField::ExternalOrderId).into());
    }
    let mut page_nonce = [0_u8; 16];
    entropy.fill(&mut page_nonce);
    let new = NewCheckout {
        term,
        purchase_items,
        external_order_id: input.external_order_id,
        redirects: input.redirects,
        billing_address: input.billing_address,
        shipping_address: input.shipping_address,
        metadata: input.metadata,
        ..NewCheckout::of(
            CheckoutPubId::from_uuid(ctx.ids.next()),
            CheckoutItemPubId::from_uuid(ctx.ids.next()),
            ctx.access.mode,
            &customer,
            &variant,
            page_nonce,
        )
    };
    let opening = opening(&new, &customer, &organization, available);
    let checkout = Checkout::open(new, opening, ctx.now);
    match uow.checkouts().insert(&checkout).await? {
        InsertedCheckout::New => Ok((checkout, true)),
        InsertedCheckout::Existing(existing) => Ok((*existing, false)),
    }
}

/// Where the new checkout begins. What it lacks in both ways it waits for by location.
fn opening(
    new: &NewCheckout,
    customer: &Customer,
    organization: &Organization,
    available: Availability,
) -> Opening {
    let area = &organization.service_area;
    let refused = |address: &Address| {
        let code = area.serves(address).err()?;
        Some((Some(address.clone()), code))
    };
    let profile = customer.profile.address();
    let not_served = match (
        new.shipping_address.as_ref().or(profile.as_ref()),
        &new.billing_address,
    ) {
        (Some(address), _) => refused(address),
        // Of the customer's own no more may be known than the country.
        (None, billing) => match customer.profile.check_served(area) {
            Err(code) => Some((None, code)),
            Ok(()) => billing.as_ref().and_then(refused),
        },
    };
    match (not_served, available) {
        (Some((address, code)), _) => Opening::NotServed { address, code },
        (None, Availability::Waitlisted) => Opening::OutOfStock,
        (None, Availability::Available) => Opening::Ready,
    }
}

fn insecure_redirect(redirects: &Redirects, ctx: &Context<'_>) -> Error {
    let param = redirects
        .first_insecure(ctx.access.mode)
        .unwrap_or("successUrl");
    Error::invalid(
        param,
        "must be an absolute https URL; http is allowed for this machine's own addresses in sandbox mode",
    )
}

impl Redirects {
    fn first_insecure(&self, mode: crate::access::Mode) -> Option<&'static str> {
        let insecure = |url: &Option<crate::text::Url>| {
            url.as_ref().is_some_and(|url| {
                !(url.is_https() || mode == crate::access::Mode::Sandbox && url.is_loopback())
            })
        };
        [
            ("successUrl", &self.success),
            ("cancelUrl", &self.cancel),
            ("failureUrl", &self.failure),
        ]
        .into_iter()
        .find(|(_, url)| insecure(url))
        .map(|(param, _)| param)
    }

    fn any_insecure(&self, mode: crate::access::Mode) -> bool {
        self.first_insecure(mode).is_some()
    }
}

fn offered_term(
    terms: &[LeaseTerm],
    product: &crate::ids::ProductPubId,
    months: TermMonths,
) -> Result<ChosenTerm, Error> {
    let offered = offered(terms, *product);
    offered
        .iter()
        .find(|term| term.card.term == months)
        .map(|term| ChosenTerm::from(*term))
        .ok_or_else(|| {
            let known = offered
                .iter()
                .map(|term| term.card.term.to_string())
                .collect::<Vec<_>>()
                .join(", ");
            let known = if known.is_empty() {
                "no term".to_owned()
            } else {
                known
            };
            Error::invalid(
                "selectedTermInMonths",
                format!("is not offered for this variant, which is offered for: {known}"),
            )
        })
}

async fn purchase_items(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    organization: &Organization,
    inputs: Vec<PurchaseItemInput>,
) -> Result<Vec<PurchaseItem>, Error> {
    let mut ids: Vec<ProductVariantPubId> =
        inputs.iter().filter_map(|item| item.variant_id).collect();
    ids.sort_unstable();
    ids.dedup();
    // Kept from being deleted until the checkout that buys them is there.
    for id in &ids {
        uow.variants()
            .lock_shared(ctx.access.organization_id, *id)
            .await?;
    }
    let variants = if ids.is_empty() {
        Vec::new()
    } else {
        uow.variants()
            .with_products(ctx.access.organization_id, &VariantSelection::Ids(ids))
            .await?
    };
    let mut items = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.into_iter().enumerate() {
        let at = |member: &str| format!("purchaseItems[{index}].{member}");
        let (name, amount) = match input.variant_id {
            Some(id) => {
                let (variant, product) = variants
                    .iter()
                    .find(|(variant, _)| variant.id == id)
                    .ok_or_else(|| {
                        Error::invalid(
                            at("productVariantId"),
                            "is not a variant of the organization",
                        )
                    })?;
                if product.product_type != ProductType::AddOn {
                    return Err(Error::invalid(
                        at("productVariantId"),
                        "is not an add-on: only add-ons can be bought along",
                    ));
                }
                (variant.name.clone(), variant.price)
            }
            None => {
                let name = input.name.ok_or(Error::Missing { param: at("name") })?;
                let amount = input.amount.ok_or(Error::Missing {
                    param: at("amount"),
                })?;
                (
                    name,
                    super::catalog::price_in(amount, organization, &at("amount"))?,
                )
            }
        };
        items.push(PurchaseItem {
            name,
            amount,
            quantity: input.quantity,
            variant_id: input.variant_id,
        });
    }
    let total = items
        .iter()
        .try_fold(Money::zero(organization.currency), |sum, item| {
            sum.checked_add(item.total()?)
        })
        .map_err(|error| Error::invalid("purchaseItems", error))?;
    if total.minor() > Money::largest_amount(organization.currency).minor() {
        return Err(Error::invalid(
            "purchaseItems",
            format!(
                "must cost at most {} together",
                Money::largest_amount(organization.currency)
            ),
        ));
    }
    Ok(items)
}

async fn customer_for(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    input: Option<CustomerInput>,
) -> Result<Customer, Error> {
    let Some(CustomerInput { email, profile }) = input else {
        return uow
            .customers()
            .get(ctx.access.user_pub_id)
            .await?
            .ok_or(Error::Store(StoreError::Missing("customer")));
    };
    let new = NewCustomer {
        id: CustomerPubId::from_uuid(ctx.ids.next()),
        organization_id: ctx.access.organization_id,
        email,
        profile,
        created_at: ctx.now,
    };
    match uow.customers().insert(&new).await? {
        InsertedCustomer::New(customer) => Ok(customer),
        InsertedCustomer::Existing(existing) => {
            let mut filled = existing.clone();
            filled.profile.fill_from(new.profile.clone());
            if filled.profile == existing.profile {
                return Ok(existing);
            }
            // Locked before it is filled, so that nothing somebody else wrote is lost.
            let mut customer = uow
                .customers()
                .lock(existing.id)
                .await?
                .ok_or(Error::Store(StoreError::Missing("customer")))?;
            customer.profile.fill_from(new.profile);
            customer.updated_at = ctx.now;
            uow.customers().update(&mut customer).await?;
            Ok(customer)
        }
    }
}

/// Chooses another lease term, before the deposit.
///
/// # Errors
/// [`Error`]: not found, the missing permission, a term that is not offered for the
/// variant, a deposit that is paid or under way, another running checkout of the
/// customer for the variant and that term.
pub async fn choose_term(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
    term: LeaseTermRef,
) -> Result<Checkout, Error> {
    let mut checkout = changeable(uow, ctx, id).await?;
    set_term(uow, ctx.now, &mut checkout, term).await?;
    Ok(checkout)
}

/// Changes what the caller keeps beside the checkout, in whatever state it is.
///
/// # Errors
/// [`Error`]: not found, the missing permission, more keys than a record keeps.
pub async fn annotate(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
    update: MetadataPatch,
) -> Result<Checkout, Error> {
    let mut checkout = changeable(uow, ctx, id).await?;
    let mut metadata = checkout.metadata.clone();
    merge_metadata(&mut metadata, update)?;
    if metadata != checkout.metadata {
        checkout.annotate(metadata, ctx.now);
        uow.checkouts().update(&mut checkout).await?;
    }
    Ok(checkout)
}

/// The checkout, locked, for one who may change it.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
pub async fn changeable(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
) -> Result<Checkout, Error> {
    let checkout = lock_visible(uow, ctx, id).await?;
    ctx.access.require(Permission::CheckoutWrite)?;
    Ok(checkout)
}

/// Sets the lease term of the locked checkout, whoever chose it.
pub(crate) async fn set_term(
    uow: &mut dyn UnitOfWork,
    now: Timestamp,
    checkout: &mut Checkout,
    term: LeaseTermRef,
) -> Result<(), Error> {
    let terms = uow.lease_terms().list(checkout.organization_id).await?;
    let wanted = |known: &&&LeaseTerm| match term {
        LeaseTermRef::Public(id) => known.id == id,
        LeaseTermRef::Number(number) => known.lease_term_id == number,
    };
    let offered = offered(&terms, checkout.product_id);
    let found = offered
        .iter()
        .find(wanted)
        .map(|term| ChosenTerm::from(*term))
        .ok_or_else(|| {
            let known = offered
                .iter()
                .map(|term| format!("{} ({} months)", term.id, term.card.term))
                .collect::<Vec<_>>()
                .join(", ");
            Error::invalid(
                "leaseTermId",
                format!("is not offered for this variant, which is offered for: {known}"),
            )
        })?;
    if checkout.term == Some(found) {
        return Ok(());
    }
    if !checkout.takes_a_term() {
        return Err(Error::rule(format!(
            "the lease term can be changed before the deposit only; the checkout is {}",
            checkout.lifecycle()
        )));
    }
    let scope = Scope {
        organization_id: checkout.organization_id,
        mode: checkout.mode,
    };
    let open = uow
        .checkouts()
        .find_open(
            scope,
            checkout.customer_id,
            checkout.variant_id,
            Some(found.id),
        )
        .await?;
    let order = checkout.external_order_id.as_ref();
    if open.is_some_and(|open| !open.admits_another(order)) {
        return Err(Error::taken(
            "leaseTermId",
            "is the term of another running checkout of the customer for this variant",
        ));
    }
    checkout
        .choose_term(found, now)
        .map_err(|obstacle| Error::rule(obstacle.to_string()))?;
    uow.checkouts().update(checkout).await?;
    Ok(())
}

/// Moves the checkout to the state as an operator can; the same state again changes
/// nothing. Whatever else a sandbox key may do is the [sandbox](crate::workers::sandbox)'s.
///
/// # Errors
/// [`Error::Rule`] naming the states that are possible now.
pub async fn move_to(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
    target: Lifecycle,
) -> Result<Checkout, Error> {
    let mut checkout = lock_visible(uow, ctx, id).await?;
    ctx.access.require(Permission::CheckoutWrite)?;
    if checkout.lifecycle() == target {
        return Ok(checkout);
    }
    let by = Circumstances::new(ctx.now, Actor::Operator);
    let event = operator_event(&checkout, target, ctx.now).ok_or_else(|| {
        Error::rule(format!(
            "the checkout is {} and cannot be moved to {target}: {}",
            checkout.lifecycle(),
            allowed_now(&checkout)
        ))
    })?;
    moving::apply(uow, ctx.ids, &mut checkout, event, &by).await?;
    Ok(checkout)
}

/// What an operator can move the checkout to, for people.
fn allowed_now(checkout: &Checkout) -> String {
    let mut states: Vec<&str> = Lifecycle::ALL
        .iter()
        .filter(|target| operator_event(checkout, **target, checkout.updated_at).is_some())
        .map(|target| target.as_str())
        .collect();
    states.dedup();
    if states.is_empty() {
        "no other state is possible now".to_owned()
    } else {
        format!("possible now: {}", states.join(", "))
    }
}

/// The event by which an operator brings the checkout to the state.
///
/// `leaseActive` from `shipped` is a delivery that is confirmed by hand: the lease
/// becomes active when the subscription runs, as after a carrier's word. `shipped`
/// from `orderConfirmed` is the fulfilment, which has an endpoint of its own.
pub(crate) fn operator_event(
    checkout: &Checkout,
    target: Lifecycle,
    now: Timestamp,
) -> Option<Event> {
    let by_hand = |kind: EventKind| {
        let event = kind.said_by_hand(now)?;
        is_possible(checkout, event.clone(), now).then_some(event)
    };
    if target == Lifecycle::LeaseActive && checkout.lifecycle().is_under_way() {
        return by_hand(EventKind::Delivered);
    }
    let mut ways = checkout.ways_to(target, Actor::Operator);
    // A delivery leads on to the active lease.
    ways.find_map(|kind| {
        let is_delivery = kind == EventKind::Delivered;
        by_hand(kind).filter(|_| !is_delivery)
    })
}

/// Whether the checkout takes the operator's event in.
fn is_possible(checkout: &Checkout, event: Event, now: Timestamp) -> bool {
    let by = Circumstances::new(now, Actor::Operator);
    checkout.clone().apply(event, &by, &Facts::NONE).is_ok()
}

/// Calls the checkout off; again changes nothing.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`], [`Error::Rule`] when the goods are on
/// their way or the checkout has ended otherwise.
pub async fn cancel_checkout(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
    reason: Option<Line>,
) -> Result<Checkout, Error> {
    let mut checkout = lock_visible(uow, ctx, id).await?;
    ctx.access.require(Permission::CheckoutCancel)?;
    let by = Circumstances {
        reason: reason.clone(),
        ..Circumstances::new(ctx.now, Actor::Operator)
    };
    moving::apply(
        uow,
        ctx.ids,
        &mut checkout,
        Event::Cancelled { reason },
        &by,
    )
    .await?;
    Ok(checkout)
}

/// Lets the organization's insurer refuse or accept.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn set_insurance(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CheckoutPubId,
    status: InsuranceStatus,
) -> Result<Checkout, Error> {
    let mut checkout = lock_visible(uow, ctx, id).await?;
    ctx.access.require(Permission::CheckoutWrite)?;
    if checkout.insure(status, ctx.now) {
        uow.checkouts().update(&mut checkout).await?;
    }
    Ok(checkout)
}
