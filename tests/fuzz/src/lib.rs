//! What strangers send, changed by chance, and what must hold of whatever is read.
//!
//! A target reads what a client, a customer's browser or a sender of webhooks says before anybody knows who they are.
//! Its `run` never panics on what is sent: only where what it states does not hold. It answers whether the input was
//! taken, so that the corpus shows that it reaches what it is to reach.
//!
//! The tests run every file of the corpus and so many changes of them, from a seed, the same in every run. `cargo-fuzz`
//! is a package of its own that calls the same functions for as long as somebody likes.

pub mod amount;
pub mod body;
pub mod email;
pub mod form;
pub mod mutation;
pub mod page_token;
pub mod phone;
pub mod processor_signature;
pub mod public_id;
pub mod query;
pub mod standard_webhooks;
pub mod tracking_number;

use std::fmt::{Debug, Display};
use std::str::FromStr;

/// What reads one kind of input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of its module, its corpus and its program of `cargo-fuzz`.
    pub name: &'static str,
    /// Reads an input; whether it was taken. Panics where what it states does not hold.
    pub run: fn(&[u8]) -> bool,
    /// How many changes of the corpus a test reads: as many as take about a second without optimisation.
    pub changes: u32,
}

/// Every target.
pub static TARGETS: [Target; 11] = [
    Target {
        name: "amount",
        run: amount::run,
        changes: 20_000,
    },
    Target {
        name: "body",
        run: body::run,
        changes: 6_000,
    },
    Target {
        name: "email",
        run: email::run,
        changes: 20_000,
    },
    Target {
        name: "form",
        run: form::run,
        changes: 4_000,
    },
    Target {
        name: "page_token",
        run: page_token::run,
        changes: 20_000,
    },
    Target {
        name: "phone",
        run: phone::run,
        changes: 4_000,
    },
    Target {
        name: "processor_signature",
        run: processor_signature::run,
        changes: 10_000,
    },
    Target {
        name: "public_id",
        run: public_id::run,
        changes: 20_000,
    },
    Target {
        name: "query",
        run: query::run,
        changes: 4_000,
    },
    Target {
        name: "standard_webhooks",
        run: standard_webhooks::run,
        changes: 10_000,
    },
    Target {
        name: "tracking_number",
        run: tracking_number::run,
        changes: 20_000,
    },
];

/// Reads a value; whether there is one, which then reads the same from its own text.
fn reads_back<T: FromStr + Display + PartialEq + Debug>(text: &str) -> bool {
    let Ok(value) = text.parse::<T>() else {
        return false;
    };
    let printed = value.to_string();
    assert_eq!(
        printed.parse::<T>().ok().as_ref(),
        Some(&value),
        "{printed}"
    );
    true
}
