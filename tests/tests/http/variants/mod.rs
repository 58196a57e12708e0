//! `/v1/product-variants`.

mod bulk;
mod pricing;
mod rules;
mod sizes;
mod stock;
