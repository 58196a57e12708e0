//! `/v1/products`.

mod generate;
mod records;
mod review;
mod rules;
mod search;
