//! Variants made of a product's options, many at once.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::products::{catalog_job, organization_of, price_in};
use super::variants::explain;
use super::{Context, Error, UseCase};
use crate::access::Permission;
use crate::catalog::{
    ChosenValues, Inventory, MAX_VARIANTS_OF_PRODUCT, NewVariant, OptionSelection, Pattern,
    PriceAdditions, Product, ProductStatus, ProductVariant, Stock, combinations,
    folded_combination,
};
use crate::checkout::Effect;
use crate::ids::{ProductPubId, ProductVariantPubId};
use crate::metadata::Metadata;
use crate::money::{Amount, Money};
use crate::organization::Organization;
use crate::percentage::Percentage;
use crate::ports::{JobSubject, UnitOfWork};
use crate::text::{Name, Sku};

/// Makes a variant of every combination of the chosen values, all or none. Combinations that there
/// are already, of the same model year and not archived, stay as they are.
///
/// # Errors
/// [`Error`]: no such product, the missing permission, an archived product, values that the product
/// does not have, patterns that make no names or the same sku twice, a sku in use, prices that the
/// currency cannot express, more than [`MAX_VARIANTS_OF_PRODUCT`] variants of the product in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerateVariants {
    pub product_id: ProductPubId,
    /// The values to combine; of an option that is not named, all.
    pub options: ChosenValues,
    /// What each costs before additions; the product's price when nothing is said.
    pub price: Option<Amount>,
    /// What a value of an option adds to the price: the option, the value, the amount.
    pub price_additions: Vec<(Name, Name, Amount)>,
    /// The [`Pattern`] of the skus, whose `{product}` is the product's sku.
    pub sku: String,
    /// The [`Pattern`] of the names, whose `{product}` is the product's name; that name and the
    /// values when nothing is said.
    pub name: Option<String>,
    /// What is free to promise of each.
    pub inventory: Inventory,
    /// The discount of each.
    pub discount: Option<Percentage>,
    /// The model year of each.
    pub product_year: Option<i32>,
    /// What the caller keeps beside each.
    pub metadata: Metadata,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedVariants {
    /// Those that are new, in the order of the options and their values.
    pub created: Vec<ProductVariant>,
    /// How many of the combinations there were already, and stayed as they are.
    pub skipped: usize,
}

/// What the variants are made by, once it is known to fit the product.
struct Plan<'a> {
    input: &'a GenerateVariants,
    product: &'a Product,
    price: Money,
    additions: PriceAdditions,
    sku: Pattern,
    name: Option<Pattern>,
}

impl<'a> Plan<'a> {
    fn of(
        input: &'a GenerateVariants,
        product: &'a Product,
        organization: &Organization,
    ) -> Result<Self, Error> {
        let price = match input.price {
            Some(price) => price_in(price, organization, "price")?,
            None => product.price,
        };
        let mut additions = Vec::with_capacity(input.price_additions.len());
        for (option, value, amount) in &input.price_additions {
            let param = format!("priceAdditions.{option}.{value}");
            let amount = price_in(*amount, organization, &param)?;
            additions.push((option.clone(), value.clone(), amount));
        }
        let pattern = |param: &str, text: &str| {
            Pattern::parse(text, &product.options).map_err(|error| Error::invalid(param, error))
        };
        let sku = pattern("sku", &input.sku)?;
        if product.sku.is_none() && sku.names_the_product() {
            return Err(Error::invalid(
                "sku",
                "names {product}, the product's sku, and the product has none",
            ));
        }
        let additions = PriceAdditions::new(&product.options, additions).map_err(|fault| {
            Error::invalid(format!("priceAdditions{}", fault.path), fault.message)
        })?;
        let name = input.name.as_deref().map(|text| pattern("name", text));
        Ok(Self {
            input,
            product,
            price,
            additions,
            sku,
            name: name.transpose()?,
        })
    }

    fn name(&self, selection: &[OptionSelection]) -> Result<Name, Error> {
        let product = self.product.name.as_str();
        let text = match &self.name {
            Some(pattern) => pattern.of(product, selection),
            None => {
                let values = selection.iter().map(|chosen| chosen.value.as_str());
                format!("{product} {}", values.collect::<Vec<_>>().join(" / "))
            }
        };
        Name::parse(&text).map_err(|error| Error::invalid("name", said_of(selection, &error)))
    }

    fn sku(&self, selection: &[OptionSelection]) -> Result<Sku, Error> {
        let product = self.product.sku.as_ref().map_or("", Sku::as_str);
        Sku::parse(&self.sku.of(product, selection))
            .map_err(|error| Error::invalid("sku", said_of(selection, &error)))
    }

    fn price(&self, selection: &[OptionSelection]) -> Result<Money, Error> {
        let price = self.additions.applied_to(self.price, selection);
        price.ok_or_else(|| {
            let largest = Money::largest_amount(self.price.currency());
            let message = format!("must make a price of at most {largest}");
            Error::invalid("priceAdditions", said_of(selection, &message))
        })
    }

    fn variant(
        &self,
        ctx: &Context<'_>,
        options: Vec<OptionSelection>,
    ) -> Result<ProductVariant, Error> {
        let new = NewVariant {
            id: ProductVariantPubId::from_uuid(ctx.ids.next()),
            name: self.name(&options)?,
            price: self.price(&options)?,
            sku: self.sku(&options)?,
            options,
        };
        Ok(ProductVariant {
            discount: self.input.discount,
            stock: Stock::both(self.input.inventory),
            product_year: self.input.product_year,
            metadata: self.input.metadata.clone(),
            ..ProductVariant::new(self.product, new, ctx.now)
        })
    }
}

/// The fault, and of which combination it is.
fn said_of(selection: &[OptionSelection], fault: &impl ToString) -> String {
    let values: Vec<&str> = selection
        .iter()
        .map(|chosen| chosen.value.as_str())
        .collect();
    format!("{} (of {})", fault.to_string(), values.join(" / "))
}

/// Refuses two variants of one sku.
fn check_skus(variants: &[ProductVariant]) -> Result<(), Error> {
    let mut skus: Vec<&Sku> = variants.iter().map(|variant| &variant.sku).collect();
    skus.sort_unstable();
    let twice = skus.windows(2).find_map(|pair| match pair {
        [one, other] if one == other => Some(*one),
        _ => None,
    });
    match twice {
        Some(sku) => Err(Error::invalid(
            "sku",
            format!(
                "gives several variants the sku {sku}: name each option that tells them apart, such as {{Size}}"
            ),
        )),
        None => Ok(()),
    }
}

#[async_trait]
impl UseCase for GenerateVariants {
    type Output = GeneratedVariants;

    fn permission(&self) -> Permission {
        Permission::ProductVariantWrite
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<GeneratedVariants, Error> {
        // Alone, so that what another request makes of it meanwhile is seen or waits.
        let product = uow
            .products()
            .lock(ctx.access.organization_id, self.product_id)
            .await?
            .ok_or(Error::not_found("product"))?;
        ctx.access.require(self.permission())?;
        if product.status == ProductStatus::Archived {
            return Err(Error::rule(
                "the product is archived: it takes no new variants",
            ));
        }
        let organization = organization_of(uow, ctx).await?;
        let wanted = combinations(&product.options, &self.options)
            .map_err(|fault| Error::invalid(format!("options{}", fault.path), fault.message))?;
        let plan = Plan::of(&self, &product, &organization)?;
        let there = uow
            .variants()
            .of_products(product.organization_id, &[product.id])
            .await?;
        let of_the_year: BTreeSet<_> = there
            .iter()
            .filter(|variant| variant.product_year == self.product_year)
            .map(|variant| folded_combination(&variant.options))
            .collect();
        let all = wanted.len();
        let missing = wanted
            .into_iter()
            .filter(|selection| !of_the_year.contains(&folded_combination(selection)));
        let created = missing
            .map(|selection| plan.variant(ctx, selection))
            .collect::<Result<Vec<_>, Error>>()?;
        if there.len().saturating_add(created.len()) > usize::from(MAX_VARIANTS_OF_PRODUCT) {
            return Err(Error::invalid(
                "options",
                format!(
                    "would make {} new variants beside the {} that there are; a product has at most {MAX_VARIANTS_OF_PRODUCT}",
                    created.len(),
                    there.len()
                ),
            ));
        }
        check_skus(&created)?;
        uow.variants().insert_all(&created).await.map_err(explain)?;
        let made = created.iter().map(Entry::variant_created).collect();
        audit::note_all(uow, ctx, made).await?;
        let jobs: Vec<_> = created
            .iter()
            .map(|variant| catalog_job(ctx, Effect::PushVariant, JobSubject::Variant(variant.id)))
            .collect();
        uow.jobs().push(&jobs).await?;
        Ok(GeneratedVariants {
            skipped: all.saturating_sub(created.len()),
            created,
        })
    }
}
