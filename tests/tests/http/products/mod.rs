//! `/v1/products`.

mod records;
mod review;
mod rules;
