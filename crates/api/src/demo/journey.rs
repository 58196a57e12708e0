//! The journey: the integration order of the interface, twice to the end, and once begun.

use lessor_domain::ids::OrganizationPubId;
use serde_json::{Value, json};

use super::client::{Client, inner, text};

const COLORS: [&str; 2] = ["Forest", "Sand"];
const SIZES: [&str; 2] = ["M", "L"];

/// What the journey leaves behind.
pub(super) struct Told {
    pub(super) checkouts: Vec<String>,
    pub(super) checkout_url: String,
    /// Of a variant that is priced.
    pub(super) sku: String,
}

/// A variant that was made.
pub(super) struct Variant {
    pub(super) id: String,
    pub(super) sku: String,
}

/// Makes the journey. The suffix keeps the names of one run apart from those of others.
pub(super) async fn make(
    client: &Client<'_>,
    organization: OrganizationPubId,
    suffix: &str,
) -> anyhow::Result<Told> {
    let product = create_product(client, organization, suffix).await?;
    let variants = create_variants(client, &product, suffix).await?;
    let [first, second, ..] = variants.as_slice() else {
        anyhow::bail!("the product has too few variants");
    };
    read_pricing(client, &product, first).await?;
    let one = first_lease(client, &product, first, suffix).await?;
    let two = second_lease(client, second, suffix).await?;
    let checkout_url = third_checkout(client, second, suffix).await?;
    Ok(Told {
        checkouts: vec![one, two],
        checkout_url,
        sku: first.sku.clone(),
    })
}

pub(super) async fn create_product(
    client: &Client<'_>,
    organization: OrganizationPubId,
    suffix: &str,
) -> anyhow::Result<String> {
    let product = client
        .post(
            "/v1/products",
            json!({
                "name": "Trail bike",
                "description": "A bike for every path.",
                "options": [
                    { "name": "Color", "values": COLORS },
                    { "name": "Size", "values": SIZES },
                ],
                "organizationId": organization.to_string(),
                "price": "1299.00",
                "productSource": "manual",
                "productType": "leasable",
                "externalId": format!("trail-bike-{suffix}"),
            }),
        )
        .await?;
    let id = text(&product, "id")?;
    client.step(
        "Create a product",
        vec![format!("{id}  Trail bike in 2 colors and 2 sizes")],
    );
    Ok(id)
}

pub(super) async fn create_variants(
    client: &Client<'_>,
    product: &str,
    suffix: &str,
) -> anyhow::Result<Vec<Variant>> {
    let mut variants = Vec::new();
    let mut shows = Vec::new();
    for (color, price) in COLORS.into_iter().zip(["1299.00", "1349.00"]) {
        for size in SIZES {
            let sku = format!("TRAIL-{}-{size}-{suffix}", color.to_uppercase());
            let variant = client
                .post(
                    "/v1/product-variants",
                    json!({
                        "productId": product,
                        "name": format!("Trail bike {color} {size}"),
                        "description": "Hydraulic brakes, 11 gears.",
                        "price": price,
                        "sku": sku,
                        "options": [
                            { "name": "Color", "value": color },
                            { "name": "Size", "value": size },
                        ],
                        "productImages": ["https://images.example.com/trail-bike.jpg"],
                        "inventoryQuantity": 5,
                    }),
                )
                .await?;
            let id = text(&variant, "id")?;
            shows.push(format!("{id}  {sku}  {price} USD"));
            variants.push(Variant { id, sku });
        }
    }
    client.step("Create one variant for every combination", shows);
    Ok(variants)
}

pub(super) async fn read_pricing(
    client: &Client<'_>,
    product: &str,
    variant: &Variant,
) -> anyhow::Result<()> {
    let variants = client
        .get(&format!("/v1/products/{product}/variants"))
        .await?;
    let priced = variants
        .as_array()
        .into_iter()
        .flatten()
        .find(|found| found.get("id").and_then(Value::as_str) == Some(&variant.id));
    let terms = priced
        .and_then(|found| found.get("pricing"))
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    anyhow::ensure!(!terms.is_empty(), "the variant has no pricing: {variants}");
    let mut by_months: Vec<(&String, &Value)> = terms.iter().collect();
    by_months.sort_by_key(|(months, _)| months.parse::<u16>().unwrap_or(u16::MAX));
    let shows = by_months
        .into_iter()
        .map(|(months, entry)| {
            format!(
                "{months} months: {} a month with insurance, deposit {}, due at signing {}, residual {}",
                inner(entry, "/totalMonthlyPayment"),
                inner(entry, "/deposit"),
                inner(entry, "/totalDueAtSigning"),
                inner(entry, "/residualValue"),
            )
        })
        .collect();
    client.step("Read the pricing of every term", shows);

    let summary = client
        .get(&format!(
            "/v1/product-variants/{}/pricing-summary",
            variant.sku
        ))
        .await?;
    client.step(
        "Read the summary of the variant, by its SKU",
        vec![format!(
            "24 months: list price {}, deposit {} %, {} a month",
            inner(&summary, "/pricing/24/msrp"),
            inner(&summary, "/pricing/24/depositPercentage"),
            inner(&summary, "/pricing/24/totalMonthlyPayment"),
        )],
    );

    let lowest = client
        .get(&format!("/v1/product-variants/{}/lowest", variant.id))
        .await?;
    client.step(
        "Read the lowest monthly payment",
        vec![format!(
            "from {} a month, for {} months",
            inner(&lowest, "/totalMonthlyPayment"),
            inner(&lowest, "/termInMonths"),
        )],
    );
    Ok(())
}

/// A lease that is fulfilled without tracking: billing begins at once.
async fn first_lease(
    client: &Client<'_>,
    product: &str,
    variant: &Variant,
    suffix: &str,
) -> anyhow::Result<String> {
    let body = json!({
        "productVariantId": variant.id,
        "selectedTermInMonths": 24,
        "customer": customer("ada", "Ada", "Lovelace", suffix),
        "shippingAddress": address("Ada", "Lovelace"),
        "externalOrderId": format!("order-{suffix}-1"),
    });
    let checkout = client.post("/v1/checkouts", body.clone()).await?;
    let id = text(&checkout, "id")?;
    let url = text(&checkout, "checkoutUrl")?;
    let again = client.post("/v1/checkouts", body).await;
    let again = match again {
        // The order's number is taken, by the very checkout that would be answered.
        Err(error) => return Err(error.context("the same checkout again")),
        Ok(again) => text(&again, "id")?,
    };
    anyhow::ensure!(
        again == id,
        "the same checkout was made twice: {id}, {again}"
    );
    client.step(
        "Create a checkout; the same request again gives the same one",
        vec![format!("{id}  {}", progress(&checkout)), url],
    );

    let read = client.get(&format!("/v1/checkouts/{id}")).await?;
    let payment = inner(&read, "/pricing/totalMonthlyPayment");
    client.step(
        "Read the checkout",
        vec![format!(
            "{payment} a month for 24 months, {}",
            progress(&read)
        )],
    );
    go_through(client, &id).await?;
    update_catalog(client, product, variant).await?;

    let item = inner(&read, "/items/0/id");
    let fulfilled = client
        .post(
            &format!("/v1/checkouts/{id}/fulfill"),
            json!({ "serialNumbers": { (item): format!("SN-{suffix}-1") } }),
        )
        .await?;
    client.until(&id, "leaseActive").await?;
    let active = client.get(&format!("/v1/checkouts/{id}")).await?;
    client.step(
        "Fulfill it without tracking: billing begins at once",
        vec![
            format!(
                "answered {}, now {}",
                inner(&fulfilled, "/lifecycle"),
                progress(&active)
            ),
            lease(&active),
        ],
    );
    Ok(id)
}

/// A lease that is fulfilled with tracking: billing begins when delivery is confirmed.
async fn second_lease(
    client: &Client<'_>,
    variant: &Variant,
    suffix: &str,
) -> anyhow::Result<String> {
    let checkout = client
        .post(
            "/v1/checkouts",
            json!({
                "sku": variant.sku,
                "quantity": 2,
                "selectedTermInMonths": "12",
                "customer": customer("grace", "Grace", "Hopper", suffix),
                "shippingAddress": address("Grace", "Hopper"),
                "externalOrderId": format!("order-{suffix}-2"),
            }),
        )
        .await?;
    let id = text(&checkout, "id")?;
    client.step(
        "Create a second checkout, of two, by SKU",
        vec![format!(
            "{id}  {}, {} for {} a month",
            progress(&checkout),
            inner(&checkout, "/quantity"),
            inner(&checkout, "/pricing/totalMonthlyPayment"),
        )],
    );
    let confirmed = advance(client, &id, "orderConfirmed").await?;
    client.step(
        "Let the sandbox play every step up to the confirmation",
        vec![progress(&confirmed)],
    );
    let shipped = client
        .post(
            &format!("/v1/checkouts/{id}/fulfill"),
            json!({ "trackingNumber": "1Z999AA10123456784", "trackingCarrier": "ups" }),
        )
        .await?;
    client.step(
        "Fulfill it with tracking: billing waits for the delivery",
        vec![progress(&shipped)],
    );
    for (status, description) in [
        ("inTransit", "Departed from facility"),
        ("outForDelivery", "Out for delivery"),
        ("delivered", "Delivered, front door"),
    ] {
        let mut event = json!({
            "status": status,
            "description": description,
            "location": "San Francisco, CA",
        });
        if status == "delivered"
            && let Value::Object(members) = &mut event
        {
            members.insert("signedBy".to_owned(), "G. Hopper".into());
        }
        client
            .post(&format!("/v1/sandbox/checkouts/{id}/tracking-event"), event)
            .await?;
    }
    client.until(&id, "leaseActive").await?;
    let tracking = client.get(&format!("/v1/checkouts/{id}/tracking")).await?;
    let events = tracking
        .get("events")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    client.step(
        "Let the carrier report, and read the tracking",
        vec![format!(
            "{} {}: {} after {events} events, signed by {}",
            inner(&tracking, "/carrier"),
            inner(&tracking, "/trackingNumber"),
            inner(&tracking, "/status"),
            inner(&tracking, "/signedBy"),
        )],
    );
    let active = client.get(&format!("/v1/checkouts/{id}")).await?;
    client.step(
        "Read the second lease",
        vec![progress(&active), lease(&active)],
    );
    Ok(id)
}

/// A checkout whose customer is whoever watches: nothing is known of them, and every step is theirs.
async fn third_checkout(
    client: &Client<'_>,
    variant: &Variant,
    suffix: &str,
) -> anyhow::Result<String> {
    let checkout = client
        .post(
            "/v1/checkouts",
            json!({
                "sku": variant.sku,
                "selectedTermInMonths": 36,
                "customer": { "email": format!("you.{suffix}@example.com") },
                "externalOrderId": format!("order-{suffix}-3"),
            }),
        )
        .await?;
    let url = text(&checkout, "checkoutUrl")?;
    client.step(
        "Create a third checkout, for you to go through as the customer",
        vec![
            format!("{}  {}", text(&checkout, "id")?, progress(&checkout)),
            url.clone(),
        ],
    );
    Ok(url)
}

/// Plays the customer's and the providers' steps one by one.
async fn go_through(client: &Client<'_>, id: &str) -> anyhow::Result<()> {
    for (to, title) in [
        ("qualificationPending", "Verify the identity"),
        (
            "depositPending",
            "Check the credit, take the address, review the lease",
        ),
        ("recurringPaymentMethodPending", "Authorize the deposit"),
        ("documentsPending", "Set up the monthly payment"),
        (
            "orderConfirmed",
            "Sign the documents, which captures the deposit",
        ),
    ] {
        let checkout = advance(client, id, to).await?;
        client.step(title, vec![progress(&checkout)]);
    }
    Ok(())
}

async fn update_catalog(
    client: &Client<'_>,
    product: &str,
    variant: &Variant,
) -> anyhow::Result<()> {
    let updated = client
        .put(
            &format!("/v1/products/{product}"),
            json!({ "description": "A bike for every path, now with lights.", "isActive": true }),
        )
        .await?;
    let raised = client
        .put(
            &format!("/v1/product-variants/{}", variant.id),
            json!({ "price": "1399.00", "inventoryQuantity": 8 }),
        )
        .await?;
    client.step(
        "Update the product and the variant; the lease keeps its price",
        vec![
            inner(&updated, "/description"),
            format!(
                "{} USD, {} in stock",
                inner(&raised, "/price"),
                inner(&raised, "/inventoryQuantity")
            ),
        ],
    );
    Ok(())
}

async fn advance(client: &Client<'_>, id: &str, to: &str) -> anyhow::Result<Value> {
    client
        .post(
            &format!("/v1/sandbox/checkouts/{id}/advance"),
            json!({ "to": to }),
        )
        .await
}

pub(super) fn customer(local: &str, first_name: &str, last_name: &str, suffix: &str) -> Value {
    json!({
        "email": format!("{local}.{suffix}@example.com"),
        "firstName": first_name,
        "lastName": last_name,
        "address1": "1 Market St",
        "city": "San Francisco",
        "state": "CA",
        "zip": "94105",
        "country": "US",
        "phone": "+14155550132",
    })
}

pub(super) fn address(first_name: &str, last_name: &str) -> Value {
    json!({
        "firstName": first_name,
        "lastName": last_name,
        "address1": "1 Market St",
        "city": "San Francisco",
        "state": "CA",
        "zip": "94105",
        "country": "US",
    })
}

pub(super) fn progress(checkout: &Value) -> String {
    format!(
        "{} ({} %)",
        inner(checkout, "/lifecycle"),
        inner(checkout, "/progress/percentage")
    )
}

pub(super) fn lease(checkout: &Value) -> String {
    format!(
        "leased {} to {}, subscription {}",
        inner(checkout, "/leaseStartDate"),
        inner(checkout, "/leaseEndDate"),
        inner(checkout, "/processorSubscriptionId"),
    )
}
