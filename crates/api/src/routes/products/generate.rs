//! `POST /v1/products/{id}/variants/generate`.

use actix_web::{HttpResponse, post};
use lessor_domain::access::Mode;
use lessor_domain::ids::ProductPubId;
use lessor_domain::services::generation::{GenerateVariants, GeneratedVariants};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PRODUCT;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::{Body, List, PathId, Plain as _, Table, Whole};
use crate::routes::variants::{ProductVariantRecord, inventory};
use crate::wire::{self, Amount, Line, MetadataInput, Name, Percentage, ProductId, Quantity, Year};

/// Values of an option.
type Values = List<Name, 250, 1>;
/// Values by the names of options.
type ValuesByOption = Table<Name, Values, 10>;
/// Amounts by the values of an option.
type AmountsByValue = Table<Name, Amount, 250>;
/// Amounts by the names of options and their values.
type Additions = Table<Name, AmountsByValue, 10>;

/// Which variants of a product to make.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = GenerateProductVariants)]
pub(super) struct GenerateProductVariantsBody {
    /// How their SKUs are made: `{Size}` stands for the value of the option `Size`, `{product}` for
    /// the product's SKU. A brace itself is doubled. No two may come out the same.
    #[schema(example = "{product}-{Size}-{Colour}")]
    sku: Line,
    /// How their names are made, alike; `{product}` stands for the product's name. Left out: that name
    /// and the values.
    name: Option<Line>,
    /// The values to combine, by option; all of an option that is left out.
    #[schema(example = json!({ "Size": ["S", "M"] }))]
    options: Option<ValuesByOption>,
    /// The price of each before additions; the product's when it is left out.
    #[schema(example = "1299.00")]
    price: Option<Amount>,
    /// What values add to the price, by option and value.
    #[schema(example = json!({ "Size": { "L": "50.00" } }))]
    price_additions: Option<Additions>,
    /// Discount of each in percent, 0 to 100; the product's when it is left out.
    discount_percentage: Option<Percentage>,
    /// How many of each are free to promise, in each mode; left out, `null` or −1: they are not counted.
    inventory_quantity: Option<Quantity>,
    /// The model year of each.
    product_year: Option<Year>,
    /// What you keep beside each.
    metadata: Option<MetadataInput>,
}

/// What came of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeneratedProductVariants {
    /// How many are new.
    created: usize,
    /// How many of the combinations there were already, and stayed as they are.
    skipped: usize,
    /// The new ones, in the order of the options and their values.
    results: Vec<ProductVariantRecord>,
}

impl GeneratedProductVariants {
    /// What was made, with the stock of the mode.
    fn new(made: &GeneratedVariants, mode: Mode) -> Self {
        let results = made.created.iter();
        let results = results.map(|variant| ProductVariantRecord::new(variant, mode));
        Self {
            created: made.created.len(),
            skipped: made.skipped,
            results: results.collect(),
        }
    }
}

impl GenerateProductVariantsBody {
    /// What the body asks for, of the product that is given later: what is wrong with a body is said
    /// before what does not exist.
    ///
    /// # Errors
    /// 400 for a stock that cannot be.
    fn command(self) -> Result<impl FnOnce(ProductPubId) -> GenerateVariants, ApiError> {
        let inventory = inventory(self.inventory_quantity)?;
        let metadata = wire::metadata(self.metadata)?;
        let additions = self.price_additions.plain().unwrap_or_default();
        let additions = additions.into_iter().flat_map(|(option, amounts)| {
            let amounts = amounts.into_iter();
            amounts.map(move |(value, amount)| (option.clone(), value, amount))
        });
        Ok(move |product_id| GenerateVariants {
            product_id,
            options: self.options.plain().into_iter().flatten().collect(),
            price: self.price.plain(),
            price_additions: additions.collect(),
            sku: self.sku.plain().into(),
            name: self.name.plain().map(Into::into),
            inventory,
            discount: self.discount_percentage.plain(),
            product_year: self.product_year.plain().map(Whole::get),
            metadata,
        })
    }
}

/// Generate variants of a product.
///
/// One for every combination of the product's option values, or of those that are chosen: all, or none
/// when one cannot be made. Combinations that there are already, of the same model year and not
/// archived, are skipped and stay as they are, so that the same request after another value was added
/// makes what is missing. A product has at most 2,000 variants then. Requires `ProductVariantWrite`.
#[utoipa::path(
    tag = "Products",
    params(
        ("id" = inline(ProductId), Path, description = "The product, `prod_…`."),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255, description = "Repeats of the request with the same key get its first answer.")
    ),
    request_body = GenerateProductVariantsBody,
    responses((status = 200, body = GeneratedProductVariants, description = "The new variants."))
)]
#[post("/products/{id}/variants/generate")]
pub(super) async fn generate_product_variants(
    call: Call,
    id: PathId<ProductPubId>,
    body: Body<GenerateProductVariantsBody>,
) -> Result<HttpResponse, ApiError> {
    let generate = body.value.command()?;
    let generate = generate(id.of(PRODUCT)?);
    call.post(generate, &body.raw, |made, viewer| {
        GeneratedProductVariants::new(&made, viewer.access.mode)
    })
    .await
}
