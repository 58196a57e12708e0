//! `/v1/customers`.

mod list;
