//! `/v1/customers`.

mod list;
mod modes;
