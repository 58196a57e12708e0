//! The forms of the steps that are the customer's.
//!
//! Forms carry nothing against forged requests: the token in their path is the secret that a forger
//! would need, and no cookie is ever set that a browser could send along by itself.

use lessor_domain::access::Mode;
use lessor_domain::address::Country;
use lessor_domain::agreement::CONSENT_TEXT;
use lessor_domain::checkout::{EventKind, PaymentMethod};
use lessor_domain::customer::Profile;
use lessor_domain::ids::LeaseTermPubId;
use lessor_domain::services::sessions::takes_a_card;
use lessor_domain::services::visits::Visit;
use lessor_domain::text::Line;
use maud::{Markup, html};

use super::fields::Fields;
use super::pieces::{Notice, Place, money, postal};
use super::{steps, words};

/// What a form is filled with: what the customer typed last, else what is known.
struct Filling<'a> {
    entered: &'a Fields,
    notice: Option<&'a Notice>,
}

impl Filling<'_> {
    fn value(&self, name: &str, known: Option<&Line>) -> String {
        if self.entered.is_empty() {
            known.map(ToString::to_string).unwrap_or_default()
        } else {
            self.entered.get(name).unwrap_or_default().to_owned()
        }
    }

    fn is_at_fault(&self, name: &str) -> bool {
        self.notice.and_then(|notice| notice.field.as_deref()) == Some(name)
    }

    fn field(&self, field: &Field, known: Option<&Line>) -> Markup {
        let fault = self.is_at_fault(field.name);
        html! {
            div.wide[field.is_wide] {
                label for=(field.name) {
                    (field.label)
                    @if !field.is_required { span.hint { " (optional)" } }
                }
                input id=(field.name) name=(field.name) type=(field.kind) autocomplete=(field.autocomplete)
                    maxlength="255" required[field.is_required] value=(self.value(field.name, known))
                    aria-invalid=[fault.then_some("true")] aria-describedby=[fault.then_some("notice")];
            }
        }
    }

    fn country(&self, known: Option<Country>) -> Markup {
        let chosen = if self.entered.is_empty() {
            known.map(|country| country.to_string())
        } else {
            self.entered.get("country").map(str::to_ascii_uppercase)
        };
        let fault = self.is_at_fault("country");
        html! {
            div.wide {
                label for="country" { "Country" }
                select id="country" name="country" autocomplete="country" required
                    aria-invalid=[fault.then_some("true")] aria-describedby=[fault.then_some("notice")] {
                    option value="" { "Choose a country" }
                    @for (country, name) in Country::all() {
                        option value=(country) selected[chosen.as_deref() == Some(country.code())] { (name) }
                    }
                }
            }
        }
    }
}

/// A line to be filled in.
struct Field {
    name: &'static str,
    label: &'static str,
    kind: &'static str,
    autocomplete: &'static str,
    is_required: bool,
    is_wide: bool,
}

const fn field(name: &'static str, label: &'static str, autocomplete: &'static str) -> Field {
    Field {
        name,
        label,
        kind: "text",
        autocomplete,
        is_required: true,
        is_wide: false,
    }
}

const SIGNER: Field = Field {
    is_wide: true,
    ..field("name", "Your name, as it stands in the agreement", "name")
};
const FIRST_NAME: Field = field("firstName", "First name", "given-name");
const LAST_NAME: Field = field("lastName", "Last name", "family-name");
const ADDRESS1: Field = Field {
    is_wide: true,
    ..field("address1", "Street and number", "address-line1")
};
const ADDRESS2: Field = Field {
    is_wide: true,
    is_required: false,
    ..field("address2", "Apartment, floor", "address-line2")
};
const CITY: Field = field("city", "City", "address-level2");
const ZIP: Field = field("zip", "Postal code", "postal-code");
const STATE: Field = Field {
    is_required: false,
    ..field("state", "State or province", "address-level1")
};
const PHONE: Field = Field {
    kind: "tel",
    is_required: false,
    ..field("phone", "Phone", "tel")
};
const COMPANY: Field = Field {
    is_required: false,
    is_wide: true,
    ..field("company", "Company", "organization")
};

/// A form with one button and nothing to fill in.
fn button(place: Place<'_>, step: &str, words: &str) -> Markup {
    html! {
        form method="post" action=(place.step(step)) { button { (words) } }
    }
}

/// The form of the step that the checkout is at.
pub(super) fn of(
    visit: &Visit,
    place: Place<'_>,
    notice: Option<&Notice>,
    entered: &Fields,
) -> Markup {
    let filling = Filling { entered, notice };
    let checkout = &visit.checkout;
    let Some(next) = checkout.lifecycle().next() else {
        return html! {};
    };
    match next {
        EventKind::Opened | EventKind::ProfileCompleted if visit.is_on_file() => {
            on_file(visit, place)
        }
        EventKind::Opened | EventKind::ProfileCompleted => profile(visit, place, &filling),
        EventKind::IdentityRequested if place.hosted => html! {
            p { "You do that on our verifier's own page. Have your passport, driving licence or identity card at hand." }
            (button(place, "identity", "Start the verification"))
        },
        EventKind::IdentitySubmitted if place.hosted => {
            button(place, "identity", "Continue the verification")
        }
        EventKind::IdentityRequested => button(place, "identity", "Start the verification"),
        EventKind::IdentitySubmitted => button(place, "identity-submit", "Hand in my documents"),
        EventKind::ShippingAddressGiven => shipping(visit, place, &filling),
        EventKind::PickupLocationGiven => pickup(visit, place, &filling),
        EventKind::LeaseAccepted if checkout.term.is_none() => html! {
            p { "Choose how long you would like to lease, then accept these terms." }
        },
        EventKind::LeaseAccepted => button(place, "accept", "Accept these terms"),
        EventKind::DepositSubmitted if place.hosted => html! {
            p { "You enter your card on the payment processor's own page, and come back here. It is kept for the monthly payments; you can change it later." }
            (button(place, "deposit", "Go to the payment"))
        },
        EventKind::DepositAuthorized if visit.pays_elsewhere => html! {
            (button(place, "deposit", "Go on with the payment"))
            form.aside method="post" action=(place.step("leave-deposit")) {
                button.quiet { "Do not pay now" }
            }
        },
        EventKind::PaymentMethodSaved if place.hosted => html! {
            @if let Some(method) = &checkout.recurring.method {
                p { "Your deposit was authorized with " strong { (card(method)) } "." }
                (button(place, "payment-method", "Use this card every month"))
            }
            (other_card(place, checkout.recurring.method.is_some()))
        },
        EventKind::DepositSubmitted => html! {
            p { "The sandbox's test card is used." }
            (button(place, "deposit", "Authorize the deposit"))
        },
        EventKind::PaymentMethodSaved => html! {
            @match &checkout.recurring.method {
                Some(method) => p { "Your deposit was authorized with " strong { (card(method)) } "." },
                None => p { "The sandbox's test card is used." },
            }
            (button(place, "payment-method", "Use this card every month"))
        },
        EventKind::DocumentsSigned if words::signs_elsewhere(visit) => elsewhere(visit, place),
        EventKind::DocumentsSigned if !words::is_moving(checkout) => sign(visit, place, &filling),
        EventKind::CaptureRetried if place.hosted => html! {
            (button(place, "retry-capture", "Try to charge the deposit again"))
            form.aside method="post" action=(place.step("deposit")) {
                button.quiet { "Use another card" }
            }
        },
        EventKind::CaptureRetried => {
            button(place, "retry-capture", "Try to charge the deposit again")
        }
        _ if words::is_moving(checkout) => html! {
            p { a href=(place.path()) { "Look again" } }
        },
        // Somebody else's to do.
        _ => html! {},
    }
}

/// The way to the processor's page, where a card is left.
fn other_card(place: Place<'_>, is_other: bool) -> Markup {
    html! {
        @if is_other {
            form.aside method="post" action=(place.step("card")) {
                button.quiet { "Use another card" }
            }
        } @else {
            (button(place, "card", "Enter a card"))
        }
    }
}

fn card(method: &PaymentMethod) -> String {
    let brand = method.brand.as_deref().unwrap_or(&method.kind);
    match &method.last4 {
        Some(last4) => format!("{brand} •••• {last4}"),
        None => brand.to_owned(),
    }
}

/// The form of a payment that failed: tried again with the card that is known, in the sandbox with
/// any of its cards.
pub(super) fn payment(visit: &Visit, place: Place<'_>, entered: &Fields) -> Markup {
    let checkout = &visit.checkout;
    if !words::can_pay(checkout) {
        return card_on_file(visit, place);
    }
    let chosen = entered.get(steps::CARD);
    html! {
        form method="post" action=(place.step("retry-payment")) {
            @if checkout.mode == Mode::Sandbox && !place.hosted {
                fieldset {
                    legend { "Pay with" }
                    @for (id, words) in steps::TEST_CARDS {
                        label.choice {
                            input type="radio" name=(steps::CARD) value=(id) required checked[chosen == Some(id)];
                            span { (words) }
                        }
                    }
                }
            } @else if let Some(method) = &checkout.recurring.method {
                p { "Your card on file is " strong { (card(method)) } "." }
            }
            button { "Try the payment again" }
        }
        @if place.hosted && takes_a_card(checkout) { (other_card(place, true)) }
    }
}

/// The card that pays every month, while nothing of it failed.
fn card_on_file(visit: &Visit, place: Place<'_>) -> Markup {
    let checkout = &visit.checkout;
    let is_asked_for = checkout.lifecycle().next() == Some(EventKind::PaymentMethodSaved);
    html! {
        @if place.hosted && takes_a_card(checkout) && !is_asked_for {
            @if let Some(method) = &checkout.recurring.method {
                p { "Your monthly payments are collected from " strong { (card(method)) } "." }
                (other_card(place, true))
            }
        }
    }
}

/// What an older record says of the customer is passed by, and not shown: who has the link of one
/// checkout need not know it.
fn on_file(visit: &Visit, place: Place<'_>) -> Markup {
    let name = visit.organization.shown_name();
    html! {
        p { "Your name and address are on file with " (name) ". If something of them has changed, tell " (name) " before you go on." }
        (button(place, "begin", "Go on"))
    }
}

fn profile(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let given = visit.checkout.given_profile.as_ref();
    let nothing = Profile::default();
    let known = given.unwrap_or(&nothing);
    html! {
        // Whoever made the checkout named the customer by it.
        @if given.is_some() { p { "We write to you at " strong { (visit.customer.email) } "." } }
        form method="post" action=(place.step("profile")) {
            div.fields {
                (filling.field(&FIRST_NAME, known.first_name.as_ref()))
                (filling.field(&LAST_NAME, known.last_name.as_ref()))
                (filling.field(&ADDRESS1, known.address1.as_ref()))
                (filling.field(&ADDRESS2, known.address2.as_ref()))
                (filling.field(&CITY, known.city.as_ref()))
                (filling.field(&ZIP, known.zip.as_ref()))
                (filling.field(&STATE, known.state.as_ref()))
                (filling.field(&PHONE, known.phone.as_ref()))
                (filling.country(known.country))
            }
            button { "Save and go on" }
        }
    }
}

fn shipping(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let shipping = &visit.checkout.shipping;
    let to_pickup = html! {
        @if !visit.locations.is_empty() {
            form.aside method="post" action=(place.step("choose-pickup")) {
                button.quiet { "Pick it up instead" }
            }
        }
    };
    if let (true, Some(address)) = (shipping.locked, &shipping.address) {
        return html! {
            p { (visit.organization.shown_name()) " has set the address; it cannot be changed here." }
            (postal(address))
            (button(place, "shipping", "Ship it to this address"))
            (to_pickup)
        };
    }
    let given = visit.checkout.given_profile.as_ref();
    let home = given.and_then(Profile::address);
    let known = shipping.address.as_ref().or(home.as_ref());
    let line = |of: fn(&lessor_domain::address::Address) -> Option<&Line>| known.and_then(of);
    html! {
        form method="post" action=(place.step("shipping")) {
            div.fields {
                (filling.field(&FIRST_NAME, line(|address| address.first_name.as_ref())))
                (filling.field(&LAST_NAME, line(|address| address.last_name.as_ref())))
                (filling.field(&COMPANY, line(|address| address.company.as_ref())))
                (filling.field(&ADDRESS1, line(|address| Some(&address.address1))))
                (filling.field(&ADDRESS2, line(|address| address.address2.as_ref())))
                (filling.field(&CITY, line(|address| Some(&address.city))))
                (filling.field(&ZIP, line(|address| Some(&address.zip))))
                (filling.field(&STATE, line(|address| address.state.as_ref())))
                (filling.field(&PHONE, line(|address| address.phone.as_ref())))
                (filling.country(known.map(|address| address.country)))
            }
            button { "Ship it there" }
        }
        (to_pickup)
    }
}

fn pickup(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let chosen = filling.entered.get("pickupLocationId");
    html! {
        @if visit.locations.is_empty() {
            p.notice { "No pickup location is open at the moment." }
        } @else {
            form method="post" action=(place.step("pickup")) {
                fieldset {
                    legend { "Pickup location" }
                    @for location in &visit.locations {
                        label.choice {
                            input type="radio" name="pickupLocationId" value=(location.id) required
                                checked[chosen == Some(location.id.to_string().as_str())];
                            span { strong { (location.name) } (postal(&location.address)) }
                        }
                    }
                }
                button { "Pick it up there" }
            }
        }
        form.aside method="post" action=(place.step("choose-shipping")) {
            button.quiet { "Have it shipped instead" }
        }
    }
}

/// What each term costs, with the chosen one marked, and the way to another: until the lease is accepted.
pub(super) fn terms(visit: &Visit, place: Place<'_>, entered: &Fields) -> Markup {
    let checkout = &visit.checkout;
    if !checkout.offers_terms() {
        return html! {};
    }
    let typed = entered.get("leaseTermId");
    let chosen = checkout.term.map(|term| term.id);
    let is_checked = |id: LeaseTermPubId| match typed {
        Some(typed) => id.to_string() == typed,
        None => chosen == Some(id),
    };
    html! {
        section.aside {
            h2 { "How long would you like to lease?" }
            @if visit.terms.is_empty() {
                p.notice { "This item is not offered for any lease term at the moment. Please get in touch with us." }
            } @else {
                form method="post" action=(place.step("term")) {
                    table {
                        thead {
                            tr { th scope="col" { "Term" } th scope="col" { "Every month" } th scope="col" { "Deposit" } th scope="col" { "Due at signing" } }
                        }
                        tbody {
                            @for (id, quote) in &visit.terms {
                                tr.chosen[chosen == Some(*id)] {
                                    th scope="row" {
                                        label.term {
                                            input type="radio" name="leaseTermId" value=(id) required checked[is_checked(*id)];
                                            span { (quote.term) " months" @if chosen == Some(*id) { " (your choice)" } }
                                        }
                                    }
                                    td { (money(quote.total_monthly_payment)) }
                                    td { (money(quote.deposit)) }
                                    td { @if let Ok(due) = checkout.due(quote) { (money(due.due_at_signing)) } }
                                }
                            }
                        }
                    }
                    button.quiet[chosen.is_some()] { @if chosen.is_some() { "Change the term" } @else { "Choose this term" } }
                }
            }
        }
    }
}

/// What there is to read while the lease is signed with the organization's signer.
fn elsewhere(visit: &Visit, place: Place<'_>) -> Markup {
    html! {
        @if let Some(agreement) = &visit.agreement {
            p { a href={ (place.path()) "/agreement" } { "Open the agreement (PDF)" } }
            p.hint { "SHA-256 of the document: " code { (agreement.sha256) } }
        }
        p { a href=(place.path()) { "Look again" } }
    }
}

fn sign(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let consent_fault = filling.is_at_fault("consent");
    html! {
        @if let Some(quote) = &visit.quote {
            p {
                "You lease for " strong { (quote.term) " months" } " at "
                strong { (money(quote.total_monthly_payment)) } " a month, "
                (money(quote.total_of_payments)) " in all, and leave a refundable deposit of "
                (money(quote.deposit)) "."
            }
        }
        @if let Some(agreement) = &visit.agreement {
            p {
                a href={ (place.path()) "/agreement" } { "Open the agreement (PDF)" }
                ". Please read it before you sign."
            }
            p.hint { "SHA-256 of the document: " code { (agreement.sha256) } }
        }
        form method="post" action=(place.step("sign")) {
            label.choice {
                input type="checkbox" name="consent" value="yes" required
                    aria-invalid=[consent_fault.then_some("true")]
                    aria-describedby=[consent_fault.then_some("notice")];
                span { (CONSENT_TEXT) }
            }
            div.fields { (filling.field(&SIGNER, None)) }
            button { "Sign the lease" }
        }
    }
}

/// Going back and calling off, where they are possible.
pub(super) fn aside(visit: &Visit, place: Place<'_>) -> Markup {
    let can_go_back = visit.checkout.progress().can_go_back;
    let can_cancel = words::can_cancel(visit.checkout.lifecycle());
    html! {
        @if can_go_back || can_cancel {
            div.aside {
                @if can_go_back {
                    form method="post" action=(place.step("back")) {
                        button.quiet { "Back to the step before" }
                    }
                }
                @if can_cancel {
                    details {
                        summary { "Cancel this checkout" }
                        p { "A deposit that was reserved is released, one that was charged is refunded. This cannot be undone." }
                        form method="post" action=(place.step("cancel")) {
                            button.danger { "Yes, cancel it" }
                        }
                    }
                }
            }
        }
    }
}
