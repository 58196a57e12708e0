//! What the page and its forms are both made of: where they stand, what went wrong, amounts and
//! addresses.

use lessor_domain::address::Address;
use lessor_domain::money::Money;
use maud::{Markup, html};

/// What went wrong with a form.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    /// What is wrong, for the customer.
    pub(super) message: String,
    /// The field at fault.
    pub(super) field: Option<String>,
}

/// How the page is addressed.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The path that the service is served under, often empty.
    pub(super) prefix: &'a str,
    /// The page's token.
    pub(super) token: &'a str,
    /// Whether the customer pays and is verified on the providers' own pages.
    pub(super) hosted: bool,
}

impl Place<'_> {
    /// The page's own path.
    pub(super) fn path(&self) -> String {
        format!("{}{}/{}", self.prefix, crate::auth::links::PATH, self.token)
    }

    /// Where a form of the page is sent.
    pub(super) fn step(&self, step: &str) -> String {
        format!("{}/{step}", self.path())
    }
}

/// An amount with its currency.
pub(super) fn money(amount: Money) -> String {
    format!("{} {amount}", amount.currency())
}

/// An address on lines.
pub(super) fn postal(address: &Address) -> Markup {
    let name = [&address.first_name, &address.last_name]
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    let state = address
        .state
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    html! {
        address {
            @if !name.is_empty() { (name) br; }
            @if let Some(company) = &address.company { (company) br; }
            (address.address1) br;
            @if let Some(second) = &address.address2 { (second) br; }
            (address.city) " " (state) " " (address.zip) br;
            (address.country)
        }
    }
}
