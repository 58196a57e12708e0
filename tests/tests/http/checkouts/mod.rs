//! `/v1/checkouts`.

mod agreement;
pub(crate) mod attention;
mod create;
mod fulfillment;
mod lifecycle;
mod outcomes;
mod payments;
mod qualification;
mod quantity;
mod records;
mod signature;
mod tracking;
mod waitlists;
