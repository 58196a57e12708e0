//! The page as HTML. It needs no scripts and loads nothing from elsewhere.

use lessor_domain::access::Mode;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::credit::CreditDecision;
use lessor_domain::money::Money;
use lessor_domain::organization::Organization;
use lessor_domain::services::visits::Visit;
use maud::{DOCTYPE, Markup, html};

use super::fields::Fields;
use super::forms;
use super::pieces::{Notice, Place, money, postal};
use super::words;

/// A page around its content, with the face of the organization where it is known.
fn document(
    prefix: &str,
    title: &str,
    organization: Option<&Organization>,
    content: &Markup,
) -> String {
    let accent = organization.and_then(|it| it.face.accent_color);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) }
                link rel="stylesheet" href={ (prefix) (super::STYLE_PATH) };
                @if let Some(accent) = accent {
                    link rel="stylesheet" href={ (prefix) (super::ACCENT_PATH) "/" (accent.digits()) ".css" };
                }
            }
            body {
                a.skip href="#step" { "Skip to the current step" }
                div.page {
                    @if let Some(organization) = organization { (masthead(organization)) }
                    (content)
                    @if let Some(organization) = organization { (contact(organization)) }
                }
            }
        }
    }
    .into_string()
}

/// Who it is.
fn masthead(organization: &Organization) -> Markup {
    let name = organization.shown_name();
    html! {
        header {
            @if let Some(logo) = &organization.face.logo_url { img.logo src=(logo) alt=""; }
            p { (name) }
        }
    }
}

/// Whom to ask.
fn contact(organization: &Organization) -> Markup {
    let face = &organization.face;
    let links = [(&face.terms_url, "Terms"), (&face.privacy_url, "Privacy")];
    let has_links = links.iter().any(|(url, _)| url.is_some());
    let is_reached = face.support_email.is_some() || face.support_phone.is_some();
    html! {
        @if is_reached || has_links {
            footer {
                @if is_reached {
                    p {
                        "Questions? " (organization.shown_name()) ": "
                        @if let Some(email) = &face.support_email { a href={ "mailto:" (email) } { (email) } }
                        @if face.support_email.is_some() && face.support_phone.is_some() { " · " }
                        @if let Some(phone) = &face.support_phone { a href={ "tel:" (phone) } { (phone) } }
                    }
                }
                @if has_links {
                    p {
                        @for (url, words) in links {
                            @if let Some(url) = url { a href=(url) rel="noreferrer" { (words) } " " }
                        }
                    }
                }
            }
        }
    }
}

/// A page that only says something.
fn message(
    prefix: &str,
    organization: Option<&Organization>,
    title: &str,
    content: &Markup,
) -> String {
    let content = html! { main #step { h1 { (title) } (content) } };
    document(prefix, title, organization, &content)
}

/// The page of nothing.
pub(super) fn not_found(prefix: &str) -> String {
    let content =
        html! { p { "The link is incomplete. Please use the link as it was sent to you." } };
    message(prefix, None, "There is no such page", &content)
}

/// The page of a link that was replaced.
pub(super) fn replaced(prefix: &str, organization: &Organization) -> String {
    let name = organization.shown_name();
    let content = html! {
        p { "This link was replaced by a newer one. Please use the newest link that you were sent, or ask " (name) " for it." }
    };
    let title = "This link has ended";
    message(prefix, Some(organization), title, &content)
}

/// The page of a link without its token.
pub(super) fn personal(prefix: &str) -> String {
    let content = html! {
        p { "The page of a checkout is opened by a personal link, which is not shown here." }
        p { "If you are the customer, use the link that you were sent, or ask the shop that you lease from for it." }
    };
    message(prefix, None, "This link is personal", &content)
}

/// The page of a request that failed, with the way back to the checkout where there is one.
pub(super) fn failed(
    prefix: &str,
    title: &str,
    text: &str,
    id: &str,
    back: Option<&str>,
) -> String {
    let content = html! {
        p { (text) }
        @if let Some(back) = back { p { a.button href=(back) { "Back to your checkout" } } }
        p.notice { "If it happens again, tell us this number: " (id) }
    };
    message(prefix, None, title, &content)
}

/// The checkout's page long after its end: how it ended, and no more.
fn past(visit: &Visit, place: Place<'_>) -> String {
    let (title, text) = words::heading(&visit.checkout);
    let content = html! {
        p { (text) }
        @for item in &visit.checkout.items { p { strong { (item.name) } } }
    };
    message(place.prefix, Some(&visit.organization), title, &content)
}

/// The checkout's page.
pub(super) fn checkout(
    visit: &Visit,
    place: Place<'_>,
    notice: Option<&Notice>,
    entered: &Fields,
) -> String {
    if visit.is_past {
        return past(visit, place);
    }
    let (title, text) = if visit.pays_elsewhere {
        words::PAYS_ELSEWHERE
    } else {
        words::heading(&visit.checkout)
    };
    let content = html! {
        @if visit.checkout.mode == Mode::Sandbox {
            section.notice aria-label="Sandbox" { strong { "Sandbox." } " This is a trial: no identity is checked, no money moves, no goods are sent." }
        }
        @if let Some(notice) = notice {
            p.notice.error #notice role="alert" { (notice.message) }
        }
        div.columns {
            main #step {
                (steps(visit))
                h1 { (title) }
                p { (text) }
                @if let Some(trouble) = words::trouble(&visit.checkout) {
                    p.notice.error role="alert" { (trouble) }
                }
                (refusal(visit))
                (forms::payment(visit, place, entered))
                (forms::of(visit, place, notice, entered))
                (forms::terms(visit, place, entered))
                @if let Some((_, url, words)) = words::way_out(&visit.checkout) {
                    p { a.button href=(url) rel="noreferrer" { (words) } }
                }
                (shipment(visit))
                (forms::aside(visit, place))
            }
            (summary(visit))
        }
    };
    let title = format!("{title} – {}", visit.organization.shown_name());
    document(place.prefix, &title, Some(&visit.organization), &content)
}

/// Why the lease was refused, and whom to ask. What led to the reasons is nobody's to read here.
fn refusal(visit: &Visit) -> Markup {
    let declined = visit
        .qualification
        .as_ref()
        .filter(|made| made.decision == CreditDecision::Declined);
    html! {
        @if visit.checkout.lifecycle() == Lifecycle::QualificationFailed {
            @if let Some(made) = declined && !made.reasons.is_empty() {
                p { "The principal reasons for this decision:" }
                ul {
                    @for reason in &made.reasons {
                        li { (words::reason(*reason)) }
                    }
                }
            }
            p { "For questions about this decision, please ask " (visit.organization.shown_name()) "." }
        }
    }
}

fn steps(visit: &Visit) -> Markup {
    let progress = visit.checkout.progress();
    let current = visit.checkout.lifecycle().step().map(usize::from);
    html! {
        @if let Some(current) = current {
            ol.steps aria-label="Steps" {
                @for (index, step) in words::STEPS.iter().enumerate() {
                    @if index == current {
                        li aria-current="step" { (step) }
                    } @else if index < current {
                        li.done { "✓ " (step) }
                    } @else {
                        li { (step) }
                    }
                }
            }
        }
        @if !progress.is_terminal {
            progress max="100" value=(progress.percentage) aria-label="How far you are" { (progress.percentage) " %" }
        }
    }
}

fn row(name: &str, amount: Money) -> Markup {
    html! { dt { (name) } dd { (money(amount)) } }
}

/// What is leased and what it costs.
fn summary(visit: &Visit) -> Markup {
    let checkout = &visit.checkout;
    html! {
        aside.stack aria-label="Your lease" {
            section {
                h2 { "What you lease" }
                @for item in &checkout.items {
                    p { strong { (item.name) } br; "SKU " (item.sku) }
                    @if let Some(serial) = &item.serial_number { p { "Serial number " (serial) } }
                }
                @if let Some(term) = checkout.term { p { "For " (term.months) " months" } }
                @if let (Some(start), Some(end)) = (checkout.lease.start, checkout.lease.end) {
                    p { "From " (start) " to " (end) }
                }
            }
            @if let Some(quote) = &visit.quote { (costs(visit, quote)) }
            @if let Some(address) = &checkout.shipping.address {
                section {
                    h2 { "Shipped to" }
                    (postal(address))
                }
            }
            @if let Some(location) = &visit.location {
                section {
                    h2 { "Picked up at" }
                    p { (location.name) }
                    (postal(&location.address))
                }
            }
        }
    }
}

fn costs(visit: &Visit, quote: &lessor_domain::pricing::Quote) -> Markup {
    let checkout = &visit.checkout;
    // More than can be counted is nowhere to be had: the checkout was refused then.
    let due = checkout.due(quote).ok();
    html! {
        section {
            h2 { "Every month" }
            dl {
                (row("Payment", quote.monthly_payment))
                (row("Insurance", quote.insurance))
                dt.total { "Monthly total" } dd.total { (money(quote.total_monthly_payment)) }
            }
        }
        section {
            h2 { "To begin with" }
            dl {
                (row("Refundable deposit", quote.deposit))
                @for item in &checkout.purchase_items {
                    @if let Ok(total) = item.total() {
                        dt { (item.name) @if item.quantity > 1 { " × " (item.quantity) } } dd { (money(total)) }
                    }
                }
                @if let Some(due) = due {
                    dt.total { "Reserved with the deposit, charged when you sign" } dd.total { (money(due.authorized_at_signing)) }
                    (row(words::first_payment(due.first_payment_due), due.first_payment))
                    dt.total { "Due at signing" } dd.total { (money(due.due_at_signing)) }
                }
            }
        }
        section {
            h2 { "In all" }
            dl {
                (row("List price", quote.msrp))
                @if !quote.discount.is_zero() { dt { "Discount" } dd { (quote.discount) " %" } }
                dt { (quote.term) " monthly payments" } dd { (money(quote.total_of_payments)) }
                (row("Value at the end", quote.residual_value))
            }
        }
    }
}

/// Where the goods are.
fn shipment(visit: &Visit) -> Markup {
    let shipment = &visit.checkout.shipment;
    html! {
        @if let Some(tracking) = &shipment.tracking {
            section {
                h2 { "Your shipment" }
                p { "Tracking number " strong { (tracking.number) } " (" (tracking.carrier.as_str().to_uppercase()) ")" }
                ol.events {
                    @for event in visit.events.iter().rev() {
                        li {
                            time datetime=(event.reported.at.to_rfc3339()) { (event.reported.at.format("%Y-%m-%d %H:%M UTC")) }
                            ": "
                            @if let Some(description) = &event.reported.description { (description) }
                            @else { (event.reported.status.description()) }
                            @if let Some(location) = &event.reported.location { ", " (location) }
                        }
                    }
                }
            }
        }
    }
}
