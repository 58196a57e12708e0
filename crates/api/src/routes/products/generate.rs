//! `POST /v1/products/{id}/variants/generate`.

use std::fmt::Display;

use actix_web::{HttpResponse, post};
use lessor_domain::catalog::Inventory;
use lessor_domain::ids::ProductPubId;
use lessor_domain::services::generation::{GenerateVariants, GeneratedVariants};
use lessor_domain::text::Name;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PRODUCT;
use crate::http::error::ApiError;
use crate::idempotency::Call;
use crate::request::body::Body;
use crate::request::fields::{DecimalText, Int, List, Table, Text};
use crate::routes::product_variants::ProductVariantRecord;
use crate::wire::records::ProductId;
use crate::wire::{self, MetadataInput, PathId, invalid, parse, parse_some};

/// Values by the names of options.
type ValuesByOption = Table<Text<255>, List<Text<255>, 250, 1>, 10>;
/// Amounts by the values of an option.
type AmountsByValue = Table<Text<255>, DecimalText, 250>;
/// Amounts by the names of options and their values.
type Additions = Table<Text<255>, AmountsByValue, 10>;

/// Which variants of a product to make.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = GenerateProductVariants)]
pub(super) struct GenerateProductVariantsBody {
    /// How their SKUs are made: `{Size}` stands for the value of the option `Size`, `{product}` for
    /// the product's SKU. A brace itself is doubled. No two may come out the same.
    #[schema(example = "{product}-{Size}-{Colour}")]
    sku: Text<255>,
    /// How their names are made, alike; `{product}` stands for the product's name. Left out: that name
    /// and the values.
    name: Option<Text<255>>,
    /// The values to combine, by option; all of an option that is left out.
    #[schema(example = json!({ "Size": ["S", "M"] }))]
    options: Option<ValuesByOption>,
    /// The price of each before additions; the product's when it is left out.
    #[schema(example = "1299.00")]
    price: Option<DecimalText>,
    /// What values add to the price, by option and value.
    #[schema(example = json!({ "Size": { "L": "50.00" } }))]
    price_additions: Option<Additions>,
    /// Discount of each in percent, 0 to 100; the product's when it is left out.
    discount_percentage: Option<DecimalText>,
    /// How many of each are free to promise; left out, `null` or −1: they are not counted.
    inventory_quantity: Option<Int<-1, 2_147_483_647>>,
    /// The model year of each.
    product_year: Option<Int<1, 9999>>,
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

impl From<GeneratedVariants> for GeneratedProductVariants {
    fn from(made: GeneratedVariants) -> Self {
        Self {
            created: made.created.len(),
            skipped: made.skipped,
            results: made.created.iter().map(ProductVariantRecord::new).collect(),
        }
    }
}

fn name(param: impl Display, text: &Text<255>) -> Result<Name, ApiError> {
    parse(&param.to_string(), text.as_str())
}

impl GenerateProductVariantsBody {
    /// What the body asks for, of the product that is given later: what is wrong with a body is said
    /// before what does not exist.
    fn parse(self) -> Result<impl FnOnce(ProductPubId) -> GenerateVariants, ApiError> {
        let mut options = Vec::new();
        for (option, values) in self.options.unwrap_or_default().into_map() {
            let at = format!("options.{option}");
            let values = values.into_iter().enumerate();
            let values = values
                .map(|(index, value)| name(format!("{at}[{index}]"), &value))
                .collect::<Result<_, _>>()?;
            options.push((name(&at, &option)?, values));
        }
        let mut price_additions = Vec::new();
        for (option, amounts) in self.price_additions.unwrap_or_default().into_map() {
            for (value, amount) in amounts.into_map() {
                let at = format!("priceAdditions.{option}.{value}");
                let amount = parse(&at, amount.as_str())?;
                price_additions.push((name(&at, &option)?, name(&at, &value)?, amount));
            }
        }
        let quantity = self.inventory_quantity.map(Int::get);
        let year = self.product_year.map(|year| i32::try_from(year.get()));
        let price = parse_some("price", self.price)?;
        let inventory = Inventory::from_quantity(quantity)
            .map_err(|error| invalid("inventoryQuantity", error))?;
        let discount = parse_some("discountPercentage", self.discount_percentage)?;
        let product_year = year
            .transpose()
            .map_err(|error| invalid("productYear", error))?;
        let metadata = wire::metadata(self.metadata)?;
        Ok(move |product_id| GenerateVariants {
            product_id,
            options,
            price,
            price_additions,
            sku: self.sku.into_string(),
            name: self.name.map(Text::into_string),
            inventory,
            discount,
            product_year,
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
    let generate = body.value.parse()?;
    let generate = generate(id.of(PRODUCT)?);
    call.post(generate, &body.raw, |made, _| {
        GeneratedProductVariants::from(made)
    })
    .await
}
