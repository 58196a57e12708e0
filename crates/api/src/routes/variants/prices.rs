//! What variants cost: bulk reads, the summary, the lowest payment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, VARY};
use actix_web::{HttpRequest, HttpResponse, get, post};
use lessor_domain::events::{EventSubject, EventSubjectKind};
use lessor_domain::ids::{ProductPubId, ProductVariantPubId};
use lessor_domain::services::Error;
use lessor_domain::services::pricing::{
    self, Otherwise, PriceProducts, PriceSince, PriceTable, PriceVariant, PriceVariants,
    PricedVariant, Prices, TermPrice,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ProductVariantRecord;
use super::VARIANT;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, List, Lookup, Plain as _, QueryParams, Segment};
use crate::state::journal::Shows;
use crate::state::pricing_summaries::{Summary, SummaryKey};
use crate::wire::size::{aside, fitting, fitting_behind};
use crate::wire::{DecimalString, JSON, MoneyText, ProductLookup, TermId, VariantLookup};

/// How long a caller may keep a price.
const FIVE_MINUTES: HeaderValue = HeaderValue::from_static("private, max-age=300");
/// What else an answer depends on.
const BY_KEY: HeaderValue = HeaderValue::from_static("Authorization");

/// The price of a variant for one term. All amounts are of `currency`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PricingEntry {
    /// The lease term.
    pub lease_term_id: TermId,
    /// Its length in months.
    #[schema(minimum = 1, maximum = 120, example = 24)]
    pub term_in_months: u16,
    /// ISO 4217 code.
    #[schema(example = "USD", pattern = "^[A-Z]{3}$")]
    pub currency: &'static str,
    /// List price.
    pub msrp: MoneyText,
    /// Discount in percent of the list price.
    pub discount_percentage: DecimalString,
    /// List price less discount.
    pub capitalized_cost: MoneyText,
    /// Value at the end of the term.
    pub residual_value: MoneyText,
    /// Capitalized cost less residual value.
    pub depreciation: MoneyText,
    /// What the base payments exceed the depreciation by.
    pub rent_charge: MoneyText,
    /// Base payment a month, without insurance.
    pub monthly_payment: MoneyText,
    /// Insurance a month.
    pub insurance: MoneyText,
    /// Base payment and insurance a month.
    pub total_monthly_payment: MoneyText,
    /// Deposit in percent of the list price.
    pub deposit_percentage: DecimalString,
    /// Refundable deposit.
    pub deposit: MoneyText,
    /// Deposit and first total monthly payment.
    pub total_due_at_signing: MoneyText,
    /// All total monthly payments.
    pub total_of_payments: MoneyText,
}

impl From<&TermPrice> for PricingEntry {
    fn from(price: &TermPrice) -> Self {
        let quote = &price.quote;
        Self {
            lease_term_id: price.lease_term_id.into(),
            term_in_months: quote.term.get(),
            currency: quote.currency.code(),
            msrp: quote.msrp.into(),
            discount_percentage: quote.discount.into(),
            capitalized_cost: quote.capitalized_cost.into(),
            residual_value: quote.residual_value.into(),
            depreciation: quote.depreciation.into(),
            rent_charge: quote.rent_charge.into(),
            monthly_payment: quote.monthly_payment.into(),
            insurance: quote.insurance.into(),
            total_monthly_payment: quote.total_monthly_payment.into(),
            deposit_percentage: quote.deposit_percentage.into(),
            deposit: quote.deposit.into(),
            total_due_at_signing: quote.total_due_at_signing.into(),
            total_of_payments: quote.total_of_payments.into(),
        }
    }
}

/// The prices by months.
pub(super) fn entries(prices: &PriceTable) -> BTreeMap<u16, PricingEntry> {
    let entry = |(months, price): (&lessor_domain::percentage::TermMonths, &TermPrice)| {
        (months.get(), PricingEntry::from(price))
    };
    prices.iter().map(entry).collect()
}

type ProductLookups = List<ProductLookup, 100, 1>;
type VariantLookups = List<VariantLookup, 100, 1>;

/// Of which products.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListVariantsOfProductsQuery {
    /// Public ids of products.
    #[param(inline)]
    product_ids: ProductLookups,
}

/// Read the variants of several products with their prices.
///
/// In the order of the products. Products that are not found are left out, archived variants too.
/// Requires `ProductVariantRead`.
#[utoipa::path(
    tag = "Product variants",
    params(ListVariantsOfProductsQuery),
    responses((
        status = 200,
        body = [ProductVariantRecord],
        description = "The variants, each with `pricing` and `productId`: at most 5,000, and 8 MiB of them. More are refused."
    ))
)]
#[get("/product-variants/bulk")]
pub(super) async fn list_variants_of_products(
    call: Call,
    QueryParams(query): QueryParams<ListVariantsOfProductsQuery>,
) -> Result<HttpResponse, ApiError> {
    call.count_items(query.product_ids.as_slice().len());
    let sought = query.product_ids.plain().into_iter();
    let ids: Vec<ProductPubId> = sought.filter_map(|sought| sought.id).collect();
    call.remembered(async || {
        let shows = of_products(ids.iter().copied());
        let priced = call.read(PriceProducts { ids }).await?;
        let mode = call.access().mode;
        let body = aside(priced.len(), move || {
            let records = priced.iter();
            let records = records.map(|it| ProductVariantRecord::priced_with_product(it, mode));
            fitting(records)?.whole(
                "productIds",
                "ask for fewer products at once, or page through the variants of one",
            )
        })
        .await?;
        Ok(shows.told_of(HttpResponse::Ok().content_type(JSON).body(body)))
    })
    .await
}

/// What variants of products are shown by, with their prices.
pub(super) fn of_products(products: impl IntoIterator<Item = ProductPubId>) -> Shows {
    let products = products.into_iter().map(EventSubject::Product);
    Shows::records(products).and_any(&[
        EventSubjectKind::ProductVariant,
        EventSubjectKind::LeaseTerm,
    ])
}

/// Which variants to fetch.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = FetchProductVariants)]
pub(super) struct FetchProductVariantsBody {
    /// Public ids of variants.
    ids: VariantLookups,
}

/// Variants that were asked for.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(
    dead_code,
    reason = "an answer is written record by record, up to as many bytes as it may have"
)]
pub(super) struct FetchedProductVariants {
    /// Those that were found, each with `pricing`, in the order asked for.
    results: Vec<ProductVariantRecord>,
    /// The ids of the others.
    not_found: Vec<String>,
}

impl FetchedProductVariants {
    /// The answer.
    ///
    /// # Errors
    /// 400 when it would be too large.
    fn json(
        results: impl Iterator<Item = ProductVariantRecord>,
        not_found: &[String],
    ) -> Result<Vec<u8>, ApiError> {
        let results = fitting_behind(b"{\"results\":", results)?;
        let mut body = results.whole("ids", "ask for fewer variants at once")?;
        body.extend_from_slice(b",\"notFound\":");
        serde_json::to_writer(&mut body, not_found).map_err(ApiError::internal)?;
        body.push(b'}');
        Ok(body)
    }
}

/// Fetch several variants with their prices.
///
/// In the order asked for; an id that is given twice is answered once. Archived variants are
/// found too. Requires `ProductVariantRead`.
#[utoipa::path(
    tag = "Product variants",
    request_body = FetchProductVariantsBody,
    responses((status = 200, body = FetchedProductVariants, description = "The variants, 8 MiB of them at most. More are refused."))
)]
#[post("/product-variants/bulk/fetch")]
pub(super) async fn fetch_product_variants(
    call: Call,
    body: Body<FetchProductVariantsBody>,
) -> Result<HttpResponse, ApiError> {
    call.count_items(body.value.ids.as_slice().len());
    let mut wanted = Wanted::default();
    for sought in body.value.ids.plain() {
        wanted.add(sought);
    }
    // It changes nothing: there is no answer to keep for its repetition, which is the same request.
    call.remembered_of(Some(&body.raw), async || {
        let ids = wanted.ids.clone();
        let found = call.read(PriceVariants { ids }).await?;
        let shows = wanted.shown_by(&found);
        let mode = call.access().mode;
        let body = aside(found.len(), move || {
            let records = found.iter();
            let records = records.map(|priced| ProductVariantRecord::priced(priced, mode));
            FetchedProductVariants::json(records, &wanted.missing(&found))
        })
        .await?;
        Ok(shows.told_of(HttpResponse::Ok().content_type(JSON).body(body)))
    })
    .await
}

/// The ids that a request asks for, each once, in order.
#[derive(Clone, Debug, Default)]
struct Wanted {
    texts: Vec<String>,
    ids: Vec<ProductVariantPubId>,
}

impl Wanted {
    fn add(&mut self, Lookup { id, text }: Lookup<ProductVariantPubId>) {
        if !self.texts.contains(&text) {
            self.texts.push(text);
            self.ids.extend(id);
        }
    }

    /// What the answer is shown by that has those which were found.
    fn shown_by(&self, found: &[PricedVariant]) -> Shows {
        let variants = self.ids.iter().copied().map(EventSubject::ProductVariant);
        let products = found.iter().map(|priced| priced.variant.product_id);
        let products: BTreeSet<ProductPubId> = products.collect();
        let shows = Shows::records(variants.chain(products.into_iter().map(EventSubject::Product)));
        // Of which product the others are nobody knows, who may be found as soon as that is offered.
        shows.and_any(if found.len() < self.ids.len() {
            &[EventSubjectKind::Product, EventSubjectKind::LeaseTerm]
        } else {
            &[EventSubjectKind::LeaseTerm]
        })
    }

    /// The texts of those that were not found.
    fn missing(self, found: &[PricedVariant]) -> Vec<String> {
        let known: Vec<String> = found
            .iter()
            .map(|priced| priced.variant.id.to_string())
            .collect();
        let missing = self.texts.into_iter().filter(|text| !known.contains(text));
        missing.collect()
    }
}

/// What a term costs, in short.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SummaryEntry {
    /// List price.
    msrp: MoneyText,
    /// Deposit in percent of the list price.
    deposit_percentage: DecimalString,
    /// Base payment and insurance a month.
    total_monthly_payment: MoneyText,
    /// Deposit and first total monthly payment.
    total_due_at_signing: MoneyText,
    /// ISO 4217 code.
    #[schema(example = "USD", pattern = "^[A-Z]{3}$")]
    currency: &'static str,
}

/// What a variant costs, in short.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PricingSummary {
    /// The variant.
    product_variant_id: String,
    /// Its prices by months.
    #[schema(value_type = BTreeMap<String, SummaryEntry>)]
    pricing: BTreeMap<u16, SummaryEntry>,
    /// The months of the lowest total monthly payment, as `lowest` tells it; absent: it is offered for no
    /// term.
    #[schema(minimum = 1, maximum = 120, example = 36)]
    #[serde(skip_serializing_if = "Option::is_none")]
    lowest_term_in_months: Option<u16>,
}

impl From<&PricedVariant> for PricingSummary {
    fn from(priced: &PricedVariant) -> Self {
        let entry = |price: &TermPrice| SummaryEntry {
            msrp: price.quote.msrp.into(),
            deposit_percentage: price.quote.deposit_percentage.into(),
            total_monthly_payment: price.quote.total_monthly_payment.into(),
            total_due_at_signing: price.quote.total_due_at_signing.into(),
            currency: price.quote.currency.code(),
        };
        let prices = priced.prices.iter();
        let lowest = pricing::lowest(&priced.prices).ok();
        Self {
            product_variant_id: priced.variant.id.to_string(),
            pricing: prices
                .map(|(months, price)| (months.get(), entry(price)))
                .collect(),
            lowest_term_in_months: lowest.map(|(months, _)| months.get()),
        }
    }
}

impl LowestPayment {
    /// None where the variant is offered for no term.
    fn of(priced: &PricedVariant) -> Option<Self> {
        let (months, price) = pricing::lowest(&priced.prices).ok()?;
        Some(Self {
            product_variant_id: priced.variant.id.to_string(),
            term_in_months: months.get(),
            total_monthly_payment: price.quote.total_monthly_payment.into(),
            currency: price.quote.currency.code(),
        })
    }
}

/// What the variant costs, made anew where a price has changed since.
async fn priced(
    call: &Call,
    identifier: Result<Segment, ApiError>,
    otherwise: Otherwise,
) -> Result<Arc<Summary>, ApiError> {
    let Segment(identifier) = identifier.map_err(|_| ApiError::not_found(VARIANT))?;
    let (state, access) = (call.state(), call.access());
    let key = SummaryKey {
        kind: access.kind,
        organization: access.organization_id,
        identifier,
        otherwise,
    };
    let kept = state.summaries.get(&key);
    let current = state.prices.current(key.organization);
    if let Some(kept) = kept.as_ref().filter(|kept| current == Some(kept.revision)) {
        access
            .require_to_look(PriceVariant::PERMISSION)
            .map_err(Error::from)?;
        return Ok(Arc::clone(kept));
    }
    let price = PriceVariant {
        identifier: key.identifier.clone(),
        otherwise,
    };
    let silence = state.prices.silence();
    let known = kept.as_ref().map(|summary| summary.revision);
    let summary = match (call.read(PriceSince { price, known }).await?, kept) {
        (Prices::Known, Some(summary)) => summary,
        (Prices::Known, None) => return Err(ApiError::internal("nothing is known of the prices")),
        (Prices::New { revision, priced }, _) => {
            let body = serde_json::to_vec(&PricingSummary::from(&*priced));
            let lowest = LowestPayment::of(&priced);
            let lowest = lowest.map(|lowest| serde_json::to_vec(&lowest)).transpose();
            let (body, lowest) = (
                body.map_err(ApiError::internal)?,
                lowest.map_err(ApiError::internal)?,
            );
            let summary = Summary::new(revision, body, lowest);
            let summary = Arc::new(summary.map_err(ApiError::internal)?);
            state.summaries.insert(key.clone(), Arc::clone(&summary));
            summary
        }
    };
    state
        .prices
        .read(silence, key.organization, summary.revision);
    Ok(summary)
}

/// Read what a variant costs, in short.
///
/// May be kept by the caller for five minutes. What the service keeps itself is thrown away as soon
/// as a price, discount or term changes. Requires `ProductVariantRead`, or a publishable key.
#[utoipa::path(
    tag = "Product variants",
    security(("apiKey" = []), ("publishableKey" = [])),
    params(
        ("identifier" = String, Path, description = "`pvar_…`, or the SKU of the variant."),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier answer.")
    ),
    responses(
        (
            status = 200,
            body = PricingSummary,
            description = "The prices.",
            headers(("ETag" = String, description = "Changes when the answer does."))
        ),
        (status = 304, description = "The answer is still what it was.")
    )
)]
#[get("/product-variants/{identifier}/pricing-summary")]
pub(super) async fn get_pricing_summary(
    call: Call,
    identifier: Result<Segment, ApiError>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let summary = priced(&call, identifier, Otherwise::Sku).await?;
    let known = names(request.headers(), summary.etag.as_bytes());
    let mut response = HttpResponse::build(if known {
        StatusCode::NOT_MODIFIED
    } else {
        StatusCode::OK
    });
    response
        .insert_header((CACHE_CONTROL, FIVE_MINUTES))
        // A sku is another variant to another organization's key.
        .append_header((VARY, BY_KEY))
        .insert_header((ETAG, summary.etag.clone()));
    Ok(if known {
        response.finish()
    } else {
        response.content_type(JSON).body(summary.body.clone())
    })
}

/// The lowest payment of a variant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LowestPayment {
    /// The variant.
    product_variant_id: String,
    /// The term that it is for.
    #[schema(minimum = 1, maximum = 120)]
    term_in_months: u16,
    /// Base payment and insurance a month.
    total_monthly_payment: MoneyText,
    /// ISO 4217 code.
    #[schema(example = "USD", pattern = "^[A-Z]{3}$")]
    currency: &'static str,
}

/// Read the lowest total monthly payment of a variant.
///
/// Over all terms that it is offered for; of several with the same payment, the shortest. Requires
/// `ProductVariantRead`, or a publishable key.
#[utoipa::path(
    tag = "Product variants",
    security(("apiKey" = []), ("publishableKey" = [])),
    params(("identifier" = String, Path, description = "`pvar_…`, or the external id of the variant.")),
    responses((status = 200, body = LowestPayment, description = "The payment and its term."))
)]
#[get("/product-variants/{identifier}/lowest")]
pub(super) async fn get_lowest_payment(
    call: Call,
    identifier: Result<Segment, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let summary = priced(&call, identifier, Otherwise::ExternalId).await?;
    let lowest = summary.lowest.clone();
    let lowest = lowest.ok_or(pricing::NOT_OFFERED)?;
    Ok(HttpResponse::Ok().content_type(JSON).body(lowest))
}

/// Whether `If-None-Match` names the tag.
pub(crate) fn names(headers: &HeaderMap, etag: &[u8]) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let named = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static(value));
            names(&headers, b"\"a\"")
        };
        for same in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert!(named(same), "{same}");
        }
        for other in ["\"b\"", "a", "", "\"a"] {
            assert!(!named(other), "{other}");
        }
    }
}
