//! `/v1/checkouts`.

mod create;
mod fulfilment;
mod lifecycle;
mod outcomes;
mod records;
mod tracking;
mod waitlists;
