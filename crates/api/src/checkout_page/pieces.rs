//! What all parts of the page are made of: where they stand, amounts, days and addresses.

use lessor_domain::address::Address;
use lessor_domain::money::Money;
use lessor_domain::time::{Day, Timestamp};
use maud::{Markup, html};

use super::locale::{Language, PARAMETER, Reader};

/// How the page is addressed, and who reads it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The path that the service is served under, often empty.
    pub(super) prefix: &'a str,
    /// The page's token, where there is one.
    pub(super) token: Option<&'a str>,
    /// Whether the customer pays and is verified on the providers' own pages.
    pub(super) hosted: bool,
    pub(super) reader: &'a Reader,
}

impl Place<'_> {
    /// The page's own path, without what the address says of the language.
    fn bare(&self) -> String {
        let token = self.token.unwrap_or_default();
        format!("{}{}/{token}", self.prefix, crate::auth::links::PATH)
    }

    /// The page's own path.
    pub(super) fn path(&self) -> String {
        self.reader.keep(&self.bare())
    }

    /// Where a form of the page is sent, and what else is under it.
    pub(super) fn step(&self, step: &str) -> String {
        self.reader.keep(&format!("{}/{step}", self.bare()))
    }

    /// The page in another language; where nothing is known of a page, the same address.
    pub(super) fn in_language(&self, language: Language) -> String {
        let path = self.token.map(|_| self.bare()).unwrap_or_default();
        format!("{path}?{PARAMETER}={}", language.code())
    }
}

impl Reader {
    /// A day, which programs can read too.
    pub(super) fn day_mark(&self, day: Day) -> Markup {
        html! { time datetime=(day) { (self.day(day)) } }
    }

    /// A time, which programs can read too.
    pub(super) fn time_mark(&self, at: Timestamp) -> Markup {
        html! { time datetime=(at.to_rfc3339()) { (self.instant(at)) } }
    }

    /// A row of a list of amounts.
    pub(super) fn row(&self, name: &str, amount: Money) -> Markup {
        html! { div { dt { (name) } dd { (self.money(amount)) } } }
    }

    /// A row that sums up those before it.
    pub(super) fn total(&self, name: &str, amount: Money) -> Markup {
        html! { div.total { dt { (name) } dd { (self.money(amount)) } } }
    }

    /// An address on lines.
    pub(super) fn postal(&self, address: &Address) -> Markup {
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
                (self.country(address.country))
            }
        }
    }
}
