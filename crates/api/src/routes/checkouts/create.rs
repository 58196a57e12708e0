//! New checkouts.

use std::convert::Infallible;

use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::checkout::{PurchaseItem, Redirects};
use lessor_domain::ids::ProductVariantPubId;
use lessor_domain::ports::{DialingPlan, UnitOfWork};
use lessor_domain::quantity::Quantity;
use lessor_domain::services::checkouts::{
    CreateCheckout, NewPage, PurchaseItemInput, VariantRef, view_of,
};
use lessor_domain::services::{Context, Error, UseCase as _};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::CheckoutRecord;
use super::address::{AddressInput, CheckoutCustomer};
use crate::http::error::ApiError;
use crate::idempotency::{FirstPhase, Runner, TwoPhases, Viewer};
use crate::request::{List, Parsed, Plain as _, Whole};
use crate::wire::{
    self, Amount, ExternalId, MetadataInput, Name, RedirectUrl, Sku, TermOrText, VariantId,
    VariantLookup,
};

/// What is bought along.
type PurchaseItems = List<PurchaseItemBody, 50>;
/// How many of one thing are bought along.
type PurchaseQuantity = Parsed<Whole<u32, 1, { PurchaseItem::MAX_QUANTITY as i64 }>>;

/// How many of the variant are leased together.
type LeasedQuantity = Parsed<Whole<u32, 1, { Quantity::MAX.get() as i64 }>>;

/// A new checkout. The variant is named by exactly one of `productVariantId` and `sku`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CreateCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateCheckoutBody {
    /// The variant, `pvar_…`. A product id is not accepted.
    product_variant_id: Option<VariantLookup>,
    /// The variant's sku, where `productVariantId` is left out.
    sku: Option<Sku>,
    /// How many of the variant are leased together, 1 to 50; left out, one. A checkout that there is
    /// already keeps its own number.
    quantity: Option<LeasedQuantity>,
    /// The lease term; left out, the customer chooses it.
    selected_term_in_months: Option<TermOrText>,
    /// The customer; left out, the checkout is for the key's own user.
    customer: Option<CheckoutCustomer>,
    /// The customer cannot change an address that is given here.
    billing_address: Option<AddressInput>,
    /// The customer cannot change an address that is given here.
    shipping_address: Option<AddressInput>,
    /// What is bought along; authorized with the deposit.
    purchase_items: Option<PurchaseItems>,
    /// Your order id, unique per organization and mode.
    external_order_id: Option<ExternalId>,
    /// Where the customer's browser goes after the confirmation: https, or http for this machine's
    /// own addresses in sandbox mode. In each of the three, `{CHECKOUT_ID}` behind the host stands for the
    /// checkout's id.
    success_url: Option<RedirectUrl>,
    /// Where it goes after a cancel.
    cancel_url: Option<RedirectUrl>,
    /// Where it goes after a failure.
    failure_url: Option<RedirectUrl>,
    /// What you keep beside it: up to 50 keys of 40 characters, each with a text of up to 500. A
    /// checkout that there is already keeps its own.
    metadata: Option<MetadataInput>,
}

/// Something bought along with the lease.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(title = "PurchaseItemInput")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PurchaseItemBody {
    /// What it is; that of the add-on where one is named.
    name: Option<Name>,
    /// Price of one; that of the add-on where one is named.
    amount: Option<Amount>,
    /// How many.
    quantity: PurchaseQuantity,
    /// A variant of an add-on product, `pvar_…`.
    product_variant_id: Option<VariantId>,
}

impl CreateCheckoutBody {
    /// The command that the body gives.
    ///
    /// # Errors
    /// 400 about what contradicts itself, or what a country does not allow.
    pub(crate) fn command(self, phones: &dyn DialingPlan) -> Result<CreateCheckout, ApiError> {
        let variant = match (self.product_variant_id.plain(), self.sku.plain()) {
            (Some(_), Some(_)) => {
                return Err(ApiError::invalid(
                    "sku",
                    "sku: cannot be combined with productVariantId; name the variant by one of them",
                ));
            }
            (None, None) => return Err(ApiError::missing("productVariantId")),
            // One that cannot be is looked for all the same, so that it is a 404 like any other that is
            // not there.
            (Some(sought), None) => VariantRef::Id(
                sought
                    .id
                    .unwrap_or(ProductVariantPubId::from_uuid(Uuid::nil())),
            ),
            (None, Some(sku)) => VariantRef::Sku(sku),
        };
        let items = self.purchase_items.into_iter().flatten().enumerate();
        let address = |given: Option<AddressInput>, prefix| {
            given
                .map(|address| address.checked(phones, prefix))
                .transpose()
        };
        Ok(CreateCheckout {
            variant,
            quantity: match self.quantity.plain() {
                Some(number) => Quantity::new(number.get())
                    .map_err(|error| ApiError::invalid("quantity", error.to_string()))?,
                None => Quantity::ONE,
            },
            term: self.selected_term_in_months.plain().map(|term| term.0),
            customer: self
                .customer
                .map(|customer| customer.checked(phones))
                .transpose()?,
            billing_address: address(self.billing_address, "billingAddress")?,
            shipping_address: address(self.shipping_address, "shippingAddress")?,
            purchase_items: items
                .map(|(index, item)| item.checked(index))
                .collect::<Result<_, _>>()?,
            external_order_id: self.external_order_id.plain(),
            redirects: Redirects {
                success: self.success_url.plain(),
                cancel: self.cancel_url.plain(),
                failure: self.failure_url.plain(),
            },
            metadata: wire::metadata(self.metadata)?,
            page: None,
        })
    }
}

impl PurchaseItemBody {
    fn checked(self, index: usize) -> Result<PurchaseItemInput, ApiError> {
        let missing = |member| ApiError::missing(format!("purchaseItems[{index}].{member}"));
        if self.product_variant_id.is_none() {
            if self.name.is_none() {
                return Err(missing("name"));
            }
            if self.amount.is_none() {
                return Err(missing("amount"));
            }
        }
        Ok(PurchaseItemInput {
            name: self.name.plain(),
            amount: self.amount.plain(),
            quantity: self.quantity.plain().get(),
            variant_id: self.product_variant_id.plain(),
        })
    }
}

/// Creates, and has the page of a new checkout found.
#[derive(Clone)]
pub(super) struct CreateWithPage(pub(super) CreateCheckout);

#[async_trait]
impl TwoPhases for CreateWithPage {
    type Record = CheckoutRecord;
    type Rest = Infallible;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    fn is_of_its_user(&self) -> bool {
        self.0.customer.is_none()
    }

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        viewer: Viewer<'_>,
    ) -> Result<FirstPhase<CheckoutRecord, Infallible>, Error> {
        let mut nonce = [0; 16];
        ctx.entropy.fill(&mut nonce);
        let create = CreateCheckout {
            page: Some(NewPage {
                nonce,
                token_hashes: viewer.links.hashes(&nonce),
            }),
            ..self.0
        };
        let (checkout, is_new) = create.run(uow, ctx).await?;
        let view = view_of(uow, ctx, checkout).await?;
        let record = CheckoutRecord::new(&view, viewer);
        Ok(if is_new {
            FirstPhase::Done(record)
        } else {
            FirstPhase::Existing(record)
        })
    }

    async fn second(_: &Runner, rest: Infallible) -> Result<Option<CheckoutRecord>, Error> {
        match rest {}
    }
}
