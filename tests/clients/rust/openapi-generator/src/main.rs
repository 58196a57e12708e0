//! A shop's way to an active lease, with the client that openapi-generator makes.

use std::collections::HashMap;
use std::env::var;
use std::error::Error as StdError;
use std::time::Duration;

use lessor_client::apis::checkouts_api::{create_checkout, fulfill_checkout, get_checkout};
use lessor_client::apis::configuration::Configuration;
use lessor_client::apis::lease_terms_api::create_lease_term;
use lessor_client::apis::product_categories_api::{
    create_product_category, list_product_categories,
};
use lessor_client::apis::product_variants_api::{
    create_product_variant, list_variants_of_products,
};
use lessor_client::apis::products_api::{create_product, list_products};
use lessor_client::apis::sandbox_api::advance_sandbox_checkout;
use lessor_client::apis::{Error, checkouts_api::CreateCheckoutError};
use lessor_client::models::error_record::Code;
use lessor_client::models::{
    AddressInput, AdvanceCheckout, CheckoutCustomer, CheckoutLifecycle, CreateCheckout,
    CreateCheckoutSelectedTermInMonths, CreateLeaseTerm, CreateProduct, CreateProductCategory,
    CreateProductVariant, Decimal, FulfillCheckout, IdOrNumber, LeaseTermMethod,
    OptionDefinitionInput, OptionSelectionInput, ProductSource, ProductStatus, ProductType,
};

fn some(text: &str) -> Option<Option<String>> {
    Some(Some(text.to_owned()))
}

fn decimal(text: &str) -> Box<Decimal> {
    Box::new(Decimal::String(text.to_owned()))
}

fn months(months: i64) -> Option<Option<Box<CreateCheckoutSelectedTermInMonths>>> {
    let months = CreateCheckoutSelectedTermInMonths::Integer(months);
    Some(Some(Box::new(months)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn StdError>> {
    let shop = Configuration {
        base_path: var("SHOP_URL")?,
        bearer_access_token: Some(var("SHOP_KEY")?),
        ..Configuration::default()
    };

    let category = CreateProductCategory::new("Rust bikes".to_owned());
    let category = create_product_category(&shop, category, None).await?;
    let spare = CreateProductCategory::new("Rust wheels".to_owned());
    create_product_category(&shop, spare, None).await?;
    let mut term = CreateLeaseTerm::new(LeaseTermMethod::MoneyFactor, 18);
    term.money_factor = Some(Some(decimal("0.0025")));
    term.residual_percentage = Some(Some(Box::new(Decimal::Number(45.0))));
    term.deposit_percentage = Some(Some(decimal("10")));
    term.insurance_percentage = Some(Some(decimal("6")));
    create_lease_term(&shop, term, None).await?;

    // The same request again is answered as the first was, and makes nothing.
    let size = OptionDefinitionInput::new("Size".to_owned(), vec!["M".to_owned(), "L".to_owned()]);
    let mut product = CreateProduct::new(
        "A bike for every path.".to_owned(),
        "Trail bike".to_owned(),
        vec![size],
        IdOrNumber::String(var("SHOP_ORGANIZATION")?),
        *decimal("1299.00"),
        ProductSource::Manual,
        ProductType::Leasable,
    );
    product.product_category_id = Some(Some(Box::new(IdOrNumber::String(category.id.clone()))));
    let again = product.clone();
    let product = create_product(&shop, product, Some("openapi-generator-product")).await?;
    let again = create_product(&shop, again, Some("openapi-generator-product")).await?;
    assert_eq!(again, product);

    for size in ["M", "L"] {
        let mut variant = CreateProductVariant::new(
            "Hydraulic brakes, 11 gears.".to_owned(),
            format!("Trail bike {size}"),
            vec![OptionSelectionInput::new(
                "Size".to_owned(),
                size.to_owned(),
            )],
            Decimal::Number(1299.5),
            product.id.clone(),
            vec!["https://images.example.com/trail-bike.jpg".to_owned()],
            format!("OPENAPI-GENERATOR-{size}"),
        );
        variant.inventory_quantity = Some(Some(5));
        create_product_variant(&shop, variant, None).await?;
    }

    // A page, and the one after it, of a list that takes little else: this client takes each
    // parameter by its place, and its calls change with every filter.
    let newest = list_product_categories(&shop, Some(1), None, None, None).await?;
    let after = Some(newest[0].id.as_str());
    let older = list_product_categories(&shop, Some(1), None, after, None).await?;
    assert_eq!((newest.len(), older.len()), (1, 1));
    assert_ne!(newest[0].name, older[0].name);
    let variants = list_variants_of_products(&shop, vec![product.id.clone()]).await?;
    assert_eq!(variants.len(), 2);
    let pricing = variants[0].pricing.as_ref().ok_or("there is no pricing")?;
    assert!(pricing["18"].total_due_at_signing.contains('.'));
    let active = Some(vec![ProductStatus::Active]);
    let listed = list_products(
        &shop,
        Some(1),
        None,
        None,
        None,
        None,
        None,
        active,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
    )
    .await?;
    assert_eq!(listed.results[0].id, product.id);

    // What is refused says why, to programs too.
    let mut refused = CreateCheckout::new();
    refused.sku = some(&variants[0].sku);
    refused.selected_term_in_months = months(7);
    refused.customer = Some(Some(Box::new(CheckoutCustomer::new(
        "ada@example.com".to_owned(),
    ))));
    let refused = create_checkout(&shop, refused, None).await;
    let Err(Error::ResponseError(refused)) = refused else {
        return Err("a term that is not offered was taken".into());
    };
    let Some(CreateCheckoutError::Status400(said)) = refused.entity else {
        return Err(refused.content.into());
    };
    assert_eq!(said.error.code, Some(Code::InvalidParameter));
    assert_eq!(said.error.param.as_deref(), Some("selectedTermInMonths"));

    let mut customer = CheckoutCustomer::new("ada.openapi-generator@example.com".to_owned());
    customer.first_name = some("Ada");
    customer.last_name = some("Lovelace");
    customer.address1 = some("1 Market St");
    customer.city = some("San Francisco");
    customer.state = some("CA");
    customer.zip = some("94105");
    customer.country = some("US");
    let mut address = AddressInput::new(
        "1 Market St".to_owned(),
        "San Francisco".to_owned(),
        "US".to_owned(),
        "94105".to_owned(),
    );
    address.first_name = some("Ada");
    address.last_name = some("Lovelace");
    address.state = some("CA");
    let mut wanted = CreateCheckout::new();
    wanted.product_variant_id = some(&variants[0].id);
    wanted.selected_term_in_months = months(18);
    wanted.customer = Some(Some(Box::new(customer)));
    wanted.shipping_address = Some(Some(Box::new(address)));
    wanted.external_order_id = some("openapi-generator-1");
    let made = create_checkout(&shop, wanted, None).await?;

    let to = AdvanceCheckout::new(CheckoutLifecycle::OrderConfirmed);
    let confirmed = advance_sandbox_checkout(&shop, &made.id, to, None).await?;
    assert_eq!(confirmed.lifecycle, CheckoutLifecycle::OrderConfirmed);
    let mut shipped = FulfillCheckout::new();
    let serial = (made.items[0].id.clone(), "SN-OPENAPI-GENERATOR".to_owned());
    shipped.serial_numbers = Some(Some(HashMap::from([serial])));
    fulfill_checkout(&shop, &made.id, None, Some(shipped)).await?;

    let mut checkout = get_checkout(&shop, &made.id).await?;
    for _ in 0..300 {
        if checkout.lifecycle == CheckoutLifecycle::LeaseActive {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        checkout = get_checkout(&shop, &made.id).await?;
    }
    assert_eq!(checkout.lifecycle, CheckoutLifecycle::LeaseActive);
    assert_eq!(checkout.progress.percentage, 100);
    println!("{}", checkout.id);
    Ok(())
}
