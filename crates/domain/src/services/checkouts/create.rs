//! Creating checkouts.

use async_trait::async_trait;

use super::scope_of;
use crate::access::Permission;
use crate::address::Address;
use crate::audit::AuditAction;
use crate::catalog::{Availability, ProductType, availability};
use crate::checkout::{Actor, Checkout, ChosenTerm, NewCheckout, Opening, PurchaseItem, Redirects};
use crate::customer::{Customer, Profile};
use crate::ids::{CheckoutItemPubId, CheckoutPubId, CustomerPubId, ProductVariantPubId};
use crate::lease_term::{LeaseTerm, offered};
use crate::metadata::Metadata;
use crate::money::{Amount, Money};
use crate::organization::Organization;
use crate::percentage::TermMonths;
use crate::ports::{
    InsertedCheckout, InsertedCustomer, NewCustomer, Offer, StoreError, UnitOfWork,
    VariantSelection,
};
use crate::quantity::Quantity;
use crate::services::audit::{self, Entry};
use crate::services::products::price_in;
use crate::services::{Context, Error, UseCase, customers, person, waitlist};
use crate::text::{Email, ExternalId, Name, Sku};

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

/// Creates a checkout, or answers the one that there is: of the same order in whatever
/// state, or of the customer for the variant and term. A lease that runs is answered too,
/// unless the order is another: then it is a second unit. Tells whether it is new.
///
/// # Errors
/// [`Error`], in the order of the module's documentation; an external order id in
/// use is [`Error::Taken`] of `externalOrderId`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateCheckout {
    /// What is leased.
    pub variant: VariantRef,
    /// How many of it. A checkout that there is already keeps its own number.
    pub quantity: Quantity,
    /// For how long; the customer may choose later.
    pub term: Option<TermMonths>,
    /// For whom; the key's own user when there is none.
    pub customer: Option<CustomerInput>,
    pub billing_address: Option<Address>,
    pub shipping_address: Option<Address>,
    /// What is bought along.
    pub purchase_items: Vec<PurchaseItemInput>,
    /// The caller's order id.
    pub external_order_id: Option<ExternalId>,
    /// Where the browser goes.
    pub redirects: Redirects,
    /// What the caller keeps beside it; one that there is already stays as it is.
    pub metadata: Metadata,
    /// The page of a new one; without it, one that is [opened](super::set_page) later.
    pub page: Option<NewPage>,
}

/// The page of a checkout that is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPage {
    /// What its address is derived from, by chance.
    pub nonce: [u8; 16],
    /// By which tokens it is found, as SHA-256.
    pub token_hashes: Vec<[u8; 32]>,
}

#[async_trait]
impl UseCase for CreateCheckout {
    type Output = (Checkout, bool);

    fn permission(&self) -> Permission {
        match self.customer {
            Some(_) => Permission::CheckoutCreateWithCustomer,
            None => Permission::CheckoutWrite,
        }
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<(Checkout, bool), Error> {
        let organization_id = ctx.access.organization_id;
        let (variant_param, found) = match &self.variant {
            VariantRef::Id(id) => (
                "productVariantId",
                uow.variants().get(organization_id, *id).await?,
            ),
            VariantRef::Sku(sku) => (
                "sku",
                uow.variants().find_by_sku(organization_id, sku).await?,
            ),
        };
        let found = found.ok_or(Error::not_found("product variant"))?;
        ctx.access.require(match self.customer {
            Some(_) => Permission::CheckoutCreateWithCustomer,
            None => Permission::CheckoutWrite,
        })?;
        // Kept from changing until the checkout is there: nobody adds stock past one
        // who is about to wait.
        let Offer {
            variant,
            product,
            organization,
            terms,
        } = uow
            .variants()
            .hold_offer(organization_id, found.id, found.product_id)
            .await?
            .ok_or(Error::not_found("product variant"))?;
        let available = availability(&product, &variant, ctx.access.mode, self.quantity)
            .map_err(|why| Error::invalid(variant_param, why))?;
        check_price_of(self.quantity, variant.price)?;
        if self.redirects.any_insecure(ctx.access.mode) {
            return Err(insecure_redirect(&self.redirects, ctx));
        }
        let term = match self.term {
            Some(months) => Some(offered_term(&terms, &product.id, months)?),
            None => None,
        };
        let purchase_items = purchase_items(uow, ctx, &organization, self.purchase_items).await?;
        let given_profile = self.customer.as_ref();
        let given_profile = given_profile.map(|given| given.profile.clone().as_on_a_page());
        let customer = customer_for(uow, ctx, self.customer).await?;
        let scope = scope_of(ctx.access);
        let term_id = term.map(|term| term.id);
        let order = self.external_order_id.as_ref();
        let of_order = match order {
            Some(order) => uow.checkouts().find_by_external_order(scope, order).await?,
            None => None,
        };
        let is_ordered = of_order.is_some();
        if let Some(known) = of_order.filter(|known| known.is_for(customer.id, variant.id, term_id))
        {
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
        let page = self.page.unwrap_or_else(|| {
            let mut nonce = [0_u8; 16];
            ctx.entropy.fill(&mut nonce);
            NewPage {
                nonce,
                token_hashes: Vec::new(),
            }
        });
        let new = NewCheckout {
            term,
            purchase_items,
            external_order_id: self.external_order_id,
            redirects: self.redirects,
            given_profile,
            billing_address: self.billing_address,
            shipping_address: self.shipping_address,
            metadata: self.metadata,
            ..NewCheckout::of(
                CheckoutPubId::from_uuid(ctx.ids.next()),
                CheckoutItemPubId::from_uuid(ctx.ids.next()),
                &customer,
                &variant,
                page.nonce,
            )
            .times(self.quantity, || {
                CheckoutItemPubId::from_uuid(ctx.ids.next())
            })
        };
        let available = match available {
            Availability::Available if waitlist::is_kept(uow, &variant, customer.mode).await? => {
                Availability::Waitlisted
            }
            available => available,
        };
        let opening = opening(&new, &customer, &organization, available);
        let checkout = Checkout::open(new, opening, ctx.now);
        match uow
            .checkouts()
            .insert(&checkout, &page.token_hashes)
            .await?
        {
            InsertedCheckout::New => {
                let made = Entry::created(AuditAction::CheckoutCreated, &checkout);
                audit::note(uow, ctx, made).await?;
                Ok((checkout, true))
            }
            InsertedCheckout::Existing(existing) => Ok((*existing, false)),
        }
    }
}

/// Refuses more than can be priced: what so many cost together is an amount like any other.
fn check_price_of(quantity: Quantity, each: Money) -> Result<(), Error> {
    let largest = Money::largest_amount(each.currency());
    match quantity.of(each) {
        Ok(all) if all.minor() <= largest.minor() => Ok(()),
        _ => Err(Error::invalid(
            "quantity",
            format!("{quantity} of them cost more than {largest} together: lease fewer at once"),
        )),
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
        let insecure = |url: &Option<crate::text::RedirectUrl>| {
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
                (name, price_in(amount, organization, &at("amount"))?)
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

/// For whom the checkout is: somebody of the key's mode.
async fn customer_for(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    input: Option<CustomerInput>,
) -> Result<Customer, Error> {
    let Some(CustomerInput { email, profile }) = input else {
        let own = uow.customers().get(ctx.access.user_pub_id).await?;
        let own = own
            .filter(|own| own.mode == ctx.access.mode)
            .ok_or(Error::Store(StoreError::Missing("customer")))?;
        if own.erased_at.is_some() {
            return Err(Error::invalid(
                "customer",
                "is needed: the key's own user was erased",
            ));
        }
        return Ok(own);
    };
    let born = profile.birth_date;
    customers::check_birth_date(born, None, "customer.birthDate", ctx.now)?;
    let new = NewCustomer {
        id: CustomerPubId::from_uuid(ctx.ids.next()),
        organization_id: ctx.access.organization_id,
        mode: ctx.access.mode,
        email,
        profile,
        created_at: ctx.now,
    };
    match uow.customers().insert(&new).await? {
        InsertedCustomer::New(customer) => {
            let made = Entry::created(AuditAction::CustomerCreated, &customer);
            audit::note(uow, ctx, made).await?;
            Ok(customer)
        }
        InsertedCustomer::Existing(existing) => {
            check_not_erased(&existing)?;
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
            // Erased since it was found: by the address there may be somebody else now.
            if customer.erased_at != existing.erased_at {
                return Err(Error::Store(StoreError::Contended));
            }
            let before = customer.clone();
            customer.profile.fill_from(new.profile);
            let change = person::forget_findings(&mut customer, &before.profile);
            customer.updated_at = ctx.now;
            uow.customers().update(&mut customer).await?;
            let filled = Entry::changed(AuditAction::CustomerUpdated, &before, &customer);
            let screened = Entry::screened(&before, &customer);
            audit::note_all(uow, ctx, vec![filled, screened]).await?;
            let by = ctx.circumstances(Actor::System);
            person::ask_again(uow, ctx.ids, &customer, change, &by, None).await?;
            Ok(customer)
        }
    }
}

/// Who was erased and still leases keeps the e-mail address until then, and starts nothing new.
fn check_not_erased(customer: &Customer) -> Result<(), Error> {
    match customer.erased_at {
        None => Ok(()),
        Some(_) => Err(Error::invalid(
            "customer.email",
            "is that of a customer who was erased and whose lease has not ended",
        )),
    }
}
