//! What the service answers, by path: a folder for each resource, as in the address.
//!
//! A handler extracts and parses, calls one use case, renders. What it answers is a type of its own,
//! not the domain's.

pub mod audit;
pub mod categories;
pub mod checkouts;
pub mod customers;
pub mod docs;
pub mod elements;
pub mod events;
pub mod health;
pub mod lease_terms;
pub mod organization;
pub mod products;
pub mod root;
pub mod sandbox;
pub mod variants;
pub mod webhook_endpoints;
pub mod webhooks;

use actix_web::middleware::from_fn;

use crate::http::routing::Routes;
use crate::middleware::{require_key, tell_position};

/// Every route of the service, for [`app::build`](crate::run::app::build). The app needs an
/// [`AppState`](crate::state::AppState) among its data.
pub fn configure(routes: &mut Routes<'_>) {
    routes
        .scope("/v1", with_key, |scope| {
            scope
                .wrap(from_fn(tell_position))
                .wrap(from_fn(require_key))
        })
        .configure(webhooks::configure)
        .configure(crate::checkout_page::configure);
}

/// Those that a key is shown to.
fn with_key(routes: &mut Routes<'_>) {
    routes
        .configure(products::configure)
        .configure(variants::configure)
        .configure(lease_terms::configure)
        .configure(categories::configure)
        .configure(checkouts::configure)
        .configure(customers::configure)
        .configure(audit::configure)
        .configure(events::configure)
        .configure(webhook_endpoints::configure)
        .configure(organization::configure)
        .configure(sandbox::configure);
}
