//! What is leased, for how long, and what it costs: beside every step, and first on a phone.

use lessor_domain::checkout::{Checkout, EventKind, FirstPaymentDue};
use lessor_domain::ids::LeaseTermPubId;
use lessor_domain::pricing::Quote;
use lessor_domain::services::visits::{Showpiece, Visit};
use lessor_domain::text::Url;
use maud::{Markup, html};

use super::faults::{LEASE_TERM, Notice};
use super::fields::Fields;
use super::locale::Reader;
use super::pieces::Place;

/// Longer descriptions are opened by whoever wants to read them, in characters.
const SHORT: usize = 240;

/// The picture of what is leased. One that is not sent safely is not shown.
pub(super) fn picture(showpiece: Option<&Showpiece>) -> Option<&Url> {
    showpiece?.image.as_ref().filter(|url| url.is_https())
}

/// What is leased and what it costs.
pub(super) fn summary(
    visit: &Visit,
    place: Place<'_>,
    notice: Option<&Notice>,
    entered: &Fields,
) -> Markup {
    let t = place.reader;
    let checkout = &visit.checkout;
    let monthly = visit
        .quote
        .as_ref()
        .map(|quote| quote.total_monthly_payment);
    html! {
        aside.order aria-label=(t.your_lease()) {
            details open[is_open(checkout)] {
                summary {
                    h2 { (name(checkout, t)) }
                    @if let Some(monthly) = monthly { span.price { (t.monthly(t.money(monthly))) } }
                }
                (goods(checkout, visit.showpiece.as_ref(), t))
                @if let Some(term) = checkout.term && !checkout.offers_terms() {
                    p { (t.months(term.months.get())) }
                }
                (terms(visit, place, notice, entered))
                @if let Some(quote) = &visit.quote { (costs(checkout, quote, t)) }
                @if let Some(address) = &checkout.shipping.address {
                    h3 { (t.shipped_to()) }
                    (t.postal(address))
                }
                @if let Some(location) = &visit.location {
                    h3 { (t.picked_up_at()) }
                    p { (location.name) }
                    (t.postal(&location.address))
                }
            }
        }
    }
}

/// Whether all of it is to be read now: at first, while the term is asked for, and at the review.
fn is_open(checkout: &Checkout) -> bool {
    let state = checkout.lifecycle();
    state.step() == Some(0)
        || state.next() == Some(EventKind::LeaseAccepted)
        || checkout.term.is_none() && checkout.offers_terms()
}

/// What is leased, and how many of it.
pub(crate) fn name(checkout: &Checkout, t: &Reader) -> String {
    let name = checkout.items.first().map_or("", |item| item.name.as_str());
    let quantity = checkout.quantity();
    if quantity.is_several() {
        t.times(name, quantity.get())
    } else {
        name.to_owned()
    }
}

/// What is leased. Its name stands above.
fn goods(checkout: &Checkout, showpiece: Option<&Showpiece>, t: &Reader) -> Markup {
    html! {
        @if let Some(url) = picture(showpiece) { img.picture src=(url) alt=""; }
        @if let Some(showpiece) = showpiece {
            @if !showpiece.options.is_empty() {
                ul.options {
                    @for option in &showpiece.options {
                        li { (t.option_chosen(option.name.as_str(), option.value.as_str())) }
                    }
                }
            }
            (description(showpiece.description.as_str(), t))
        }
        @for item in &checkout.items {
            @if let Some(serial) = &item.serial_number { p { (t.serial_number(serial.as_str())) } }
        }
    }
}

fn description(text: &str, t: &Reader) -> Markup {
    html! {
        @if text.chars().count() > SHORT {
            details { summary { (t.about_the_item()) } p.prose { (text) } }
        } @else if !text.is_empty() {
            p.prose { (text) }
        }
    }
}

/// What each term costs, with the chosen one marked, and the way to another: until the lease is accepted.
fn terms(visit: &Visit, place: Place<'_>, notice: Option<&Notice>, entered: &Fields) -> Markup {
    let checkout = &visit.checkout;
    if !checkout.offers_terms() {
        return html! {};
    }
    let t = place.reader;
    let typed = entered.get(LEASE_TERM);
    let chosen = checkout.term.map(|term| term.id);
    let is_checked = |id: LeaseTermPubId| match typed {
        Some(typed) => id.to_string() == typed,
        None => chosen == Some(id),
    };
    let fault = notice.and_then(|notice| notice.fault_of(LEASE_TERM));
    html! {
        h3 #terms { (t.how_long()) }
        @if visit.terms.is_empty() {
            p.notice { (t.no_terms()) }
        } @else {
            form method="post" action=(place.step("term")) {
                @if let Some(fault) = fault { p.fault { (t.fault(fault)) } }
                div.scroll tabindex="0" role="region" aria-labelledby="terms" {
                    table {
                        thead {
                            tr {
                                th scope="col" { (t.term()) }
                                th scope="col" { (t.every_month()) }
                                th scope="col" { (t.in_all()) }
                                th scope="col" { (t.purchase_price()) }
                            }
                        }
                        tbody {
                            @for (index, (id, quote)) in visit.terms.iter().enumerate() {
                                tr.chosen[chosen == Some(*id)] {
                                    th scope="row" {
                                        label.term {
                                            input type="radio" name=(LEASE_TERM) value=(id) required checked[is_checked(*id)]
                                                id=[(index == 0).then_some(LEASE_TERM)];
                                            span {
                                                (t.months(quote.term.get()))
                                                @if chosen == Some(*id) { " " (t.your_choice()) }
                                            }
                                        }
                                    }
                                    td { (t.money(quote.total_monthly_payment)) }
                                    td { (t.money(quote.total_of_payments)) }
                                    td { (t.money(quote.residual_value)) }
                                }
                            }
                        }
                    }
                }
                button.quiet[chosen.is_some()] {
                    @if chosen.is_some() { (t.change_the_term()) } @else { (t.choose_this_term()) }
                }
            }
        }
    }
}

fn costs(checkout: &Checkout, quote: &Quote, t: &Reader) -> Markup {
    // More than can be counted is nowhere to be had: the checkout was refused then.
    let due = checkout.due(quote).ok();
    html! {
        h3 { (t.every_month()) }
        dl {
            (t.row(&t.monthly_payment(), quote.monthly_payment))
            (t.row(&t.insurance(), quote.insurance))
            (t.total(&t.monthly_total(), quote.total_monthly_payment))
        }
        h3 { (t.taken_when()) }
        dl {
            (t.row(&t.deposit(), quote.deposit))
            @for item in &checkout.purchase_items {
                @if let Ok(total) = item.total() {
                    @if item.quantity > 1 {
                        (t.row(&t.times(item.name.as_str(), item.quantity), total))
                    } @else {
                        (t.row(item.name.as_str(), total))
                    }
                }
            }
            @if let Some(due) = due {
                (t.total(&t.reserved_with_deposit(), due.authorized_at_signing))
                (t.row(&t.first_month(due.first_payment_due), due.first_payment))
                (t.total(&t.due_at_signing(), due.due_at_signing))
            }
        }
        h3 { (t.in_all()) }
        dl {
            (t.row(&t.list_price(), quote.msrp))
            @if !quote.discount.is_zero() {
                div { dt { (t.discount()) } dd { (t.percent(t.number(&quote.discount.to_string()))) } }
            }
            (t.row(&t.monthly_payments(quote.term.get()), quote.total_of_payments))
            (t.row(&t.price_at_the_end(), quote.residual_value))
        }
    }
}

/// What is disclosed before the lease is accepted, in sentences; the agreement has all of it.
pub(super) fn disclosures(visit: &Visit, t: &Reader) -> Markup {
    let Some((quote, due)) = visit
        .quote
        .as_ref()
        .and_then(|quote| Some((quote, visit.checkout.due(quote).ok()?)))
    else {
        return html! {};
    };
    let monthly = || t.money(quote.total_monthly_payment);
    let first = match due.first_payment_due {
        FirstPaymentDue::OnDelivery => t.disclosed_first_on_delivery(monthly()),
        FirstPaymentDue::OnShipment => t.disclosed_first_on_shipment(monthly()),
    };
    let insurance = if quote.insurance.is_zero() {
        t.disclosed_no_insurance()
    } else {
        t.disclosed_insurance(t.money(quote.insurance))
    };
    html! {
        section {
            h2 { (t.disclosures()) }
            ul {
                li { (t.disclosed_payments(quote.term.get(), monthly())) " " (first) }
                li { (t.disclosed_at_signing(t.money(due.authorized_at_signing))) }
                li { (t.disclosed_total(t.money(quote.total_of_payments))) }
                li { (t.disclosed_deposit(t.money(quote.deposit))) }
                li { (insurance) }
                li { (t.disclosed_purchase(t.money(quote.residual_value))) }
                li { (t.disclosed_early_end()) }
                li { (t.disclosed_no_other_charges()) }
            }
        }
    }
}
