//! Products and prices.

use lessor_domain::checkout::Refusal;
use lessor_domain::money::Money;
use lessor_domain::percentage::TermMonths;
use lessor_domain::ports::{Attempt, Doubt, ProcessorProduct, ProcessorVariant, Verdict};
use serde::Serialize;

use super::amount;
use super::client::Client;
use super::error::{CallError, done, settle};
use super::ids::{self, Ids};
use super::lists;
use super::once::{self, Work, subkey};
use super::wire::{Metadata, Price, Reference};

#[derive(Serialize)]
struct ProductParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    // The processor refuses an empty text for a new product.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    active: bool,
    metadata: Metadata,
}

#[derive(Serialize)]
struct PriceParams<'a> {
    product: &'a str,
    currency: String,
    unit_amount: i64,
    recurring: RecurringParams,
    lookup_key: &'a str,
    transfer_lookup_key: bool,
    metadata: Metadata,
}

#[derive(Serialize)]
pub(super) struct RecurringParams {
    interval: &'static str,
}

pub(super) const MONTHLY: RecurringParams = RecurringParams { interval: "month" };

#[derive(Serialize)]
struct PricesOf<'a> {
    product: &'a str,
    active: bool,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Activity {
    active: bool,
}

/// Makes the product known under its id, or brings what is known up to date.
pub(super) async fn push_product(
    client: &Client,
    attempt: &Attempt,
    product: &ProcessorProduct,
) -> Result<Verdict<()>, Doubt> {
    let metadata = || Ids::default().organization(product.organization).metadata();
    let description = Some(product.description.as_str()).filter(|text| !text.is_empty());
    let params = ProductParams {
        id: Some(&product.id),
        name: &product.name,
        description,
        active: product.active,
        metadata: metadata(),
    };
    let update = ProductParams {
        id: None,
        // An empty text clears the description of one that is there.
        description: Some(&product.description),
        metadata: metadata(),
        ..params
    };
    make_product(client, attempt, &params, &update).await
}

/// Makes a product, whose id is ours, so that there is never a second one. One that is
/// found instead of made gets `update`.
async fn make_product<U: Serialize + Sync>(
    client: &Client,
    attempt: &Attempt,
    params: &ProductParams<'_>,
    update: &U,
) -> Result<Verdict<()>, Doubt> {
    let id = params.id.unwrap_or_default();
    let find = || async {
        let updated: Result<Reference, _> =
            once::set(client, attempt, &["products", id], update).await;
        match updated {
            Err(CallError::Api(error)) if error.is_missing() => Ok(None),
            other => other.map(Some),
        }
    };
    let work = Work {
        attempt,
        key: &subkey(&attempt.idempotency_key, "product"),
        path: &["products"],
        params,
    };
    let made = match once::make(client, work, find).await {
        // Somebody else made it, or is about to.
        Err(CallError::Api(error))
            if error.is("resource_already_exists") || error.status == 409 =>
        {
            match find().await {
                Ok(None) => Err(CallError::Api(error)),
                Ok(Some(found)) => Ok(found),
                Err(other) => Err(other),
            }
        }
        other => other,
    };
    done!(settle(made)?);
    Ok(Verdict::Done(()))
}

/// Makes the variant known as a product, with one active price for each term.
///
/// A price never changes: another amount is another price, which takes the name
/// over, and the one before is retired. What runs on it is not touched.
pub(super) async fn push_variant(
    client: &Client,
    attempt: &Attempt,
    variant: &ProcessorVariant,
) -> Result<Verdict<()>, Doubt> {
    done!(push_product(client, attempt, &variant.product).await?);
    let known = prices_of(client, attempt, &variant.product.id).await?;
    let mut kept = Vec::with_capacity(variant.monthly.len());
    for (months, monthly) in &variant.monthly {
        let name = lookup_key(&variant.product.id, *months);
        let named = |price: &&Price| price.lookup_key.as_deref() == Some(&name);
        let price = match known.iter().find(named) {
            Some(price) if is_monthly(price, *monthly) => price.id.clone(),
            _ => {
                let part = format!("price:{months}:{}", monthly.minor());
                let key = subkey(&attempt.idempotency_key, &part);
                let Some(units) = amount::to_processor(*monthly) else {
                    return Ok(Verdict::Refused(unchargeable(*monthly)));
                };
                let wanted = NewPrice {
                    product: &variant.product.id,
                    monthly: *monthly,
                    units,
                    lookup_key: &name,
                    ids: Ids::default()
                        .organization(variant.product.organization)
                        .variant(&variant.product.id),
                };
                done!(settle(create_price(client, attempt, &key, &wanted).await)?).id
            }
        };
        kept.push(price);
    }
    // Only those that have a name of ours: others are somebody else's.
    let retired = known
        .iter()
        .filter(|price| price.lookup_key.is_some() && !kept.contains(&price.id));
    for price in retired {
        let off = Activity { active: false };
        let retired: Result<Reference, _> =
            once::set(client, attempt, &["prices", &price.id], &off).await;
        done!(settle(retired)?);
    }
    Ok(Verdict::Done(()))
}

/// Makes the product that a lease is billed on, or offers the one that is there again.
///
/// It is the lease's own: the processor takes no new subscription on a product that somebody
/// archived, and what is leased may well leave the catalog before it is billed.
pub(super) async fn make_lease_product(
    client: &Client,
    attempt: &Attempt,
    id: &str,
    name: &str,
    ids: Ids,
) -> Result<Verdict<()>, Doubt> {
    let params = ProductParams {
        id: Some(id),
        name,
        description: None,
        active: true,
        metadata: ids.metadata(),
    };
    make_product(client, attempt, &params, &Activity { active: true }).await
}

struct NewPrice<'a> {
    product: &'a str,
    monthly: Money,
    units: i64,
    lookup_key: &'a str,
    ids: Ids,
}

async fn create_price(
    client: &Client,
    attempt: &Attempt,
    key: &str,
    wanted: &NewPrice<'_>,
) -> Result<Price, CallError> {
    let params = PriceParams {
        product: wanted.product,
        currency: amount::code(wanted.monthly.currency()),
        unit_amount: wanted.units,
        recurring: MONTHLY,
        lookup_key: wanted.lookup_key,
        transfer_lookup_key: true,
        metadata: wanted.ids.clone().work(key).metadata(),
    };
    let work = Work {
        attempt,
        key,
        path: &["prices"],
        params: &params,
    };
    let find = || async {
        let known = prices_of(client, attempt, wanted.product).await?;
        Ok(known.into_iter().find(|price| {
            ids::is_of_work(&price.metadata, key) && is_monthly(price, wanted.monthly)
        }))
    };
    once::make(client, work, find).await
}

/// The product's active recurring prices.
async fn prices_of(
    client: &Client,
    attempt: &Attempt,
    product: &str,
) -> Result<Vec<Price>, CallError> {
    let query = PricesOf {
        product,
        active: true,
        kind: "recurring",
    };
    lists::all(client, attempt.mode, &["prices"], &query).await
}

fn is_monthly(price: &Price, amount: Money) -> bool {
    let every_month = price.recurring.as_ref().is_some_and(|recurring| {
        recurring.interval == "month" && recurring.interval_count.unwrap_or(1) == 1
    });
    every_month
        && price
            .unit_amount
            .and_then(|units| amount::from_processor(units, &price.currency))
            == Some(amount)
}

fn lookup_key(product: &str, months: TermMonths) -> String {
    format!("{product}-{months}")
}

/// An amount that the processor cannot count.
pub(super) fn unchargeable(amount: Money) -> Refusal {
    Refusal {
        code: "invalid_amount".to_owned(),
        message: format!(
            "{amount} {} cannot be charged: the processor counts this currency in coarser units",
            amount.currency()
        ),
    }
}
