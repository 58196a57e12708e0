//! A shop's way to an active lease, with the client that progenitor makes.

use std::collections::HashMap;
use std::env::var;
use std::error::Error as StdError;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use lessor::types::{
    AddressInput, AdvanceCheckout, CheckoutCustomer, CheckoutLifecycle, CreateCheckout,
    CreateLeaseTerm, CreateProduct, CreateProductCategory, CreateProductVariant, Decimal,
    ErrorRecordCode, FulfillCheckout, IdOrNumber, LeaseTermMethod, NullableDecimal,
    NullableIdOrNumber, OptionDefinitionInput, OptionSelectionInput, ProductSource, ProductStatus,
    ProductType,
};
use lessor::{Client, Error};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

#[allow(
    dead_code,
    mismatched_lifetime_syntaxes,
    unused_imports,
    unused_mut,
    unused_variables,
    reason = "as progenitor made it"
)]
mod lessor {
    include!(concat!(env!("OUT_DIR"), "/client.rs"));
}

type Anything = Box<dyn StdError>;

/// A text of the type that the member has.
fn text<T>(text: &str) -> Result<T, Anything>
where
    T: FromStr<Err: StdError + 'static>,
{
    Ok(text.parse()?)
}

/// Like [`text`], for a member that may be left out.
fn some<T>(text: &str) -> Result<Option<T>, Anything>
where
    T: FromStr<Err: StdError + 'static>,
{
    Ok(Some(text.parse()?))
}

fn client() -> Result<Client, Anything> {
    let mut headers = HeaderMap::new();
    let key = format!("Bearer {}", var("SHOP_KEY")?);
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&key)?);
    let http = reqwest::Client::builder()
        .default_headers(headers)
        .build()?;
    Ok(Client::new_with_client(&var("SHOP_URL")?, http))
}

fn product(category: &str) -> Result<CreateProduct, Anything> {
    Ok(CreateProduct {
        metadata: None,
        name: text("Trail bike")?,
        description: text("A bike for every path.")?,
        options: vec![OptionDefinitionInput {
            id: None,
            name: text("Size")?,
            position: None,
            values: vec![text("M")?, text("L")?],
        }],
        organization_id: IdOrNumber::String(text(&var("SHOP_ORGANIZATION")?)?),
        price: Decimal::String(text("1299.00")?),
        product_source: ProductSource::Manual,
        product_type: ProductType::Leasable,
        product_category_id: Some(NullableIdOrNumber::String(some(category)?)),
        discount_percentage: None,
        external_id: None,
        sku: None,
    })
}

fn customer(email: &str) -> Result<CheckoutCustomer, Anything> {
    Ok(CheckoutCustomer {
        email: text(email)?,
        first_name: some("Ada")?,
        last_name: some("Lovelace")?,
        address1: some("1 Market St")?,
        address2: None,
        city: some("San Francisco")?,
        state: some("CA")?,
        zip: some("94105")?,
        country: some("US")?,
        phone: some("+14155550132")?,
        birth_date: None,
    })
}

fn address() -> Result<AddressInput, Anything> {
    Ok(AddressInput {
        first_name: some("Ada")?,
        last_name: some("Lovelace")?,
        company: None,
        address1: text("1 Market St")?,
        address2: None,
        city: text("San Francisco")?,
        state: some("CA")?,
        zip: text("94105")?,
        country: text("US")?,
        phone: None,
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Anything> {
    let shop = client()?;

    let category = CreateProductCategory {
        name: text("Rust bikes")?,
    };
    let category = shop.create_product_category().body(category).send().await?;
    let term = CreateLeaseTerm {
        method: LeaseTermMethod::MoneyFactor,
        term_in_months: NonZeroU64::new(18).ok_or("no months")?,
        money_factor: Some(NullableDecimal::String(text("0.0025")?)),
        residual_percentage: Some(NullableDecimal::Number(Some(45.0))),
        deposit_percentage: Some(NullableDecimal::String(text("10")?)),
        insurance_percentage: Some(NullableDecimal::String(text("6")?)),
        annual_rate: None,
        product_id: None,
        status: None,
    };
    shop.create_lease_term().body(term).send().await?;

    // The same request again is answered as the first was, and makes nothing.
    let create = async || {
        let body = product(&category.id)?;
        let create = shop.create_product().idempotency_key("progenitor-product");
        Ok::<_, Anything>(create.body(body).send().await?)
    };
    let (first, again) = (create().await?, create().await?);
    assert_eq!(*first.id, *again.id);
    assert_eq!(first.headers().get("Idempotent-Replayed"), None);
    assert_eq!(again.headers()["Idempotent-Replayed"], "true");
    let product = first.into_inner();

    for size in ["M", "L"] {
        let variant = CreateProductVariant::builder()
            .product_id(product.id.as_str())
            .name(format!("Trail bike {size}"))
            .description("Hydraulic brakes, 11 gears.")
            .price(Decimal::Number(1299.5))
            .sku(format!("PROGENITOR-{size}"))
            .options(vec![OptionSelectionInput {
                name: text("Size")?,
                value: text(size)?,
            }])
            .product_images(vec![text("https://images.example.com/trail-bike.jpg")?])
            .inventory_quantity(Some(5));
        shop.create_product_variant().body(variant).send().await?;
    }

    // A page, and the one after it.
    let one = NonZeroU64::MIN;
    let page = || {
        shop.list_variants_of_product()
            .id(product.id.as_str())
            .limit(one)
    };
    let newest = page().send().await?;
    let older = page().starting_after(newest[0].id.as_str()).send().await?;
    assert_eq!((newest.len(), older.len()), (1, 1));
    assert_ne!(newest[0].sku, older[0].sku);
    assert!(newest[0].pricing["18"].total_due_at_signing.contains('.'));
    let active = shop.list_products().status(vec![ProductStatus::Active]);
    let listed = active.limit(one).send().await?;
    assert_eq!(*listed.results[0].id, *product.id);

    // What is refused says why, to programs too.
    let refused = CreateCheckout {
        sku: some(&newest[0].sku)?,
        selected_term_in_months: Some(NonZeroU64::new(7).into()),
        customer: Some(customer("ada@example.com")?),
        ..CreateCheckout::default()
    };
    let refused = shop.create_checkout().body(refused).send().await;
    let Err(Error::ErrorResponse(refused)) = refused else {
        return Err("a term that is not offered was taken".into());
    };
    assert_eq!(refused.status(), 400);
    let error = &refused.error;
    assert_eq!(error.code, Some(ErrorRecordCode::InvalidParameter));
    assert_eq!(error.param.as_deref(), Some("selectedTermInMonths"));

    let wanted = CreateCheckout {
        product_variant_id: some(&newest[0].id)?,
        selected_term_in_months: Some(NonZeroU64::new(18).into()),
        customer: Some(customer("ada.progenitor@example.com")?),
        shipping_address: Some(address()?),
        external_order_id: some("progenitor-1")?,
        ..CreateCheckout::default()
    };
    let made = shop.create_checkout().body(wanted).send().await?;
    let id = made.id.as_str();

    let to = AdvanceCheckout {
        to: CheckoutLifecycle::OrderConfirmed,
    };
    let confirmed = shop.advance_sandbox_checkout().id(id).body(to);
    let confirmed = confirmed.send().await?;
    assert_eq!(confirmed.lifecycle, CheckoutLifecycle::OrderConfirmed);
    let serial = (made.items[0].id.to_string(), text("SN-PROGENITOR")?);
    let shipped = FulfillCheckout {
        serial_numbers: Some(HashMap::from([serial])),
        ..FulfillCheckout::default()
    };
    shop.fulfill_checkout().id(id).body(shipped).send().await?;

    let mut checkout = shop.get_checkout().id(id).send().await?;
    for _ in 0..300 {
        if checkout.lifecycle == CheckoutLifecycle::LeaseActive {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        checkout = shop.get_checkout().id(id).send().await?;
    }
    assert_eq!(checkout.lifecycle, CheckoutLifecycle::LeaseActive);
    assert_eq!(checkout.progress.percentage, 100);
    println!("{id}");
    Ok(())
}
