//! `/v1/customers`.

mod erase;
mod list;
mod modes;
