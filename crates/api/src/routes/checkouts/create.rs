//! New checkouts.

use std::convert::Infallible;

use async_trait::async_trait;
use lessor_domain::access::Permission;
use lessor_domain::checkout::{PurchaseItem, Redirects};
use lessor_domain::ids::{ProductPubId, ProductVariantPubId};
use lessor_domain::ports::{DialingPlan, UnitOfWork};
use lessor_domain::services::checkouts::{
    CreateCheckout, PurchaseItemInput, VariantRef, set_page, view_of,
};
use lessor_domain::services::{Context, Error, UseCase as _};
use lessor_domain::text::Url;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::CheckoutRecord;
use super::address::{AddressInput, CheckoutCustomer};
use crate::http::error::ApiError;
use crate::idempotency::{Phase, Runner, TwoPhases, Viewer};
use crate::request::fields::{DecimalText, Int, IntText, List, Text, WebUrl};
use crate::wire::records::VariantId;
use crate::wire::{self, MetadataInput, findable, invalid, parse};

/// A new checkout. The variant is named by exactly one of `productVariantId` and `sku`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CreateCheckout)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateCheckoutBody {
    /// The variant, `pvar_…`. A product id is not accepted.
    #[schema(value_type = Option<VariantId>)]
    product_variant_id: Option<Text<255>>,
    /// The variant's sku, where `productVariantId` is left out.
    sku: Option<Text<255>>,
    /// The lease term; left out, the customer chooses it.
    selected_term_in_months: Option<IntText<1, 120>>,
    /// The customer; left out, the checkout is for the key's own user.
    customer: Option<CheckoutCustomer>,
    /// The customer cannot change an address that is given here.
    billing_address: Option<AddressInput>,
    /// The customer cannot change an address that is given here.
    shipping_address: Option<AddressInput>,
    /// What is bought along; authorized with the deposit.
    purchase_items: Option<List<PurchaseItemBody, 50>>,
    /// Your order id, unique per organization and mode.
    external_order_id: Option<Text<255>>,
    /// Where the customer's browser goes after the confirmation: https, or http for this machine's
    /// own addresses in sandbox mode.
    success_url: Option<WebUrl>,
    /// Where it goes after a cancel.
    cancel_url: Option<WebUrl>,
    /// Where it goes after a failure.
    failure_url: Option<WebUrl>,
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
    name: Option<Text<255>>,
    /// Price of one; that of the add-on where one is named.
    amount: Option<DecimalText>,
    /// How many.
    quantity: Int<1, { PurchaseItem::MAX_QUANTITY as i64 }>,
    /// A variant of an add-on product, `pvar_…`.
    #[schema(value_type = Option<VariantId>)]
    product_variant_id: Option<Text<255>>,
}

/// The variant that a text names. One that cannot be is looked for all the same, so that it is a 404
/// like any other that is not there.
fn variant(param: &str, text: &str) -> Result<ProductVariantPubId, ApiError> {
    if text.starts_with(ProductPubId::PREFIX) {
        return Err(invalid(
            param,
            "is a product's id; customers lease variants, pvar_…",
        ));
    }
    let nobody = ProductVariantPubId::from_uuid(Uuid::nil());
    Ok(findable(param, text)?.unwrap_or(nobody))
}

fn url(param: &str, url: Option<&WebUrl>) -> Result<Option<Url>, ApiError> {
    url.map(|url| parse(param, url.as_str())).transpose()
}

impl CreateCheckoutBody {
    /// What the body asks for.
    pub(crate) fn parse(self, phones: &dyn DialingPlan) -> Result<CreateCheckout, ApiError> {
        let variant = match (self.product_variant_id, self.sku) {
            (Some(_), Some(_)) => {
                return Err(ApiError::invalid(
                    "sku",
                    "sku: cannot be combined with productVariantId; name the variant by one of them",
                ));
            }
            (None, None) => return Err(ApiError::missing("productVariantId")),
            (Some(id), None) => VariantRef::Id(variant("productVariantId", id.as_str())?),
            (None, Some(sku)) => VariantRef::Sku(parse("sku", sku.as_str())?),
        };
        let term = self
            .selected_term_in_months
            .map(|months| parse("selectedTermInMonths", &months.get().to_string()))
            .transpose()?;
        let purchase_items = self
            .purchase_items
            .map(List::into_vec)
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .map(|(index, item)| item.parse(index))
            .collect::<Result<_, _>>()?;
        Ok(CreateCheckout {
            variant,
            term,
            customer: self
                .customer
                .map(|customer| customer.parse(phones))
                .transpose()?,
            billing_address: self
                .billing_address
                .map(|address| address.parse(phones, "billingAddress"))
                .transpose()?,
            shipping_address: self
                .shipping_address
                .map(|address| address.parse(phones, "shippingAddress"))
                .transpose()?,
            purchase_items,
            external_order_id: self
                .external_order_id
                .map(|id| parse("externalOrderId", id.as_str()))
                .transpose()?,
            redirects: Redirects {
                success: url("successUrl", self.success_url.as_ref())?,
                cancel: url("cancelUrl", self.cancel_url.as_ref())?,
                failure: url("failureUrl", self.failure_url.as_ref())?,
            },
            metadata: wire::metadata(self.metadata)?,
        })
    }
}

impl PurchaseItemBody {
    fn parse(self, index: usize) -> Result<PurchaseItemInput, ApiError> {
        let at = |member: &str| format!("purchaseItems[{index}].{member}");
        if self.product_variant_id.is_none() {
            if self.name.is_none() {
                return Err(ApiError::missing(at("name")));
            }
            if self.amount.is_none() {
                return Err(ApiError::missing(at("amount")));
            }
        }
        Ok(PurchaseItemInput {
            name: self
                .name
                .map(|name| parse(&at("name"), name.as_str()))
                .transpose()?,
            amount: self
                .amount
                .map(|amount| parse(&at("amount"), amount.as_str()))
                .transpose()?,
            quantity: u32::try_from(self.quantity.get()).unwrap_or(1),
            variant_id: self
                .product_variant_id
                .map(|id| parse(&at("productVariantId"), id.as_str()))
                .transpose()?,
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

    async fn first(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
        viewer: Viewer<'_>,
    ) -> Result<Phase<CheckoutRecord, Infallible>, Error> {
        let (checkout, is_new) = self.0.run(uow, ctx).await?;
        if is_new {
            set_page(uow, checkout.id, &viewer.links.hash(&checkout)).await?;
        }
        let view = view_of(uow, ctx, checkout).await?;
        let record = CheckoutRecord::new(&view, viewer.links);
        Ok(if is_new {
            Phase::Done(record)
        } else {
            Phase::Existing(record)
        })
    }

    async fn second(_: &Runner, rest: Infallible) -> Result<Option<CheckoutRecord>, Error> {
        match rest {}
    }
}
