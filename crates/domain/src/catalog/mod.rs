//! Products, their options and their variants.

mod matrix;
mod options;
mod product;
mod variant;
mod window;

pub use matrix::{
    ChosenValues, MAX_VARIANTS_OF_PRODUCT, Pattern, PatternError, PriceAdditions, combinations,
};
pub use options::{
    OptionDefinition, OptionError, OptionSelection, check_definitions, check_selection,
    folded_combination, is_same_combination,
};
pub use product::{
    Category, Product, ProductSource, ProductStatus, ProductType, Review, ReviewStatus,
};
pub use variant::{
    Availability, Inventory, InventoryError, NewVariant, ProductVariant, Stock, StockTaken,
    Unavailable, VariantFilter, availability, is_offered, is_product_offered,
};

/// Most options of a product.
pub const MAX_OPTIONS: usize = 10;
/// Most values of an option.
pub const MAX_OPTION_VALUES: usize = 250;
/// Most images of a variant.
pub const MAX_IMAGES: usize = 50;
