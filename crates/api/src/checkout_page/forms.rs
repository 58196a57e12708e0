//! The forms of the steps that are the customer's.
//!
//! Forms carry nothing against forged requests: the token in their path is the secret that a forger
//! would need, and no cookie is ever set that a browser could send along by itself.

use lessor_domain::access::Mode;
use lessor_domain::address::{Address, Country};
use lessor_domain::agreement::{CONSENT_TEXT, CONSENT_TEXT_SPANISH};
use lessor_domain::checkout::{EventKind, PaymentMethod};
use lessor_domain::customer::Profile;
use lessor_domain::organization::ServiceArea;
use lessor_domain::services::sessions::takes_a_card;
use lessor_domain::services::visits::Visit;
use lessor_domain::text::Line;
use maud::{Markup, html};

use super::faults::{CARD, Notice, PICKUP_LOCATION};
use super::fields::Fields;
use super::locale::{Language, Reader};
use super::pieces::Place;
use super::{order, steps, words};

/// What a form is filled with: what the customer typed last, else what is known.
struct Filling<'a> {
    entered: &'a Fields,
    notice: Option<&'a Notice>,
    reader: &'a Reader,
    /// What the fields are about, as browsers tell addresses apart.
    group: &'static str,
}

impl Filling<'_> {
    fn value(&self, name: &str, known: Option<&Line>) -> String {
        if self.entered.is_empty() {
            known.map(ToString::to_string).unwrap_or_default()
        } else {
            self.entered.get(name).unwrap_or_default().to_owned()
        }
    }

    /// What is wrong with the field, said beside it, and the id of that.
    fn fault(&self, name: &str) -> Option<(String, Markup)> {
        let fault = self.notice?.fault_of(name)?;
        let id = format!("{name}-fault");
        let said = html! { p.fault id=(id) { (self.reader.fault(fault)) } };
        Some((id, said))
    }

    fn field(&self, field: &Field, known: Option<&Line>) -> Markup {
        let (describes, fault) = self.fault(field.name).unzip();
        html! {
            div.wide[field.is_wide] {
                label for=(field.name) {
                    (self.reader.label(field.name))
                    @if !field.is_required { " " span.hint { (self.reader.optional()) } }
                }
                @if let Some(fault) = fault { (fault) }
                input id=(field.name) name=(field.name) type=(field.kind) inputmode=(field.keyboard)
                    autocomplete={ (self.group) (field.autocomplete) }
                    maxlength="255" required[field.is_required] value=(self.value(field.name, known))
                    aria-invalid=[describes.as_ref().map(|_| "true")] aria-describedby=[describes];
            }
        }
    }

    fn country(&self, area: &ServiceArea, known: Option<Country>) -> Markup {
        let chosen = if self.entered.is_empty() {
            known.map(|country| country.to_string())
        } else {
            self.entered.get("country").map(str::to_ascii_uppercase)
        };
        let (describes, fault) = self.fault("country").unzip();
        let all = Country::all().into_iter().map(|(country, _)| country);
        // Who has said nothing of their country is near: the state decides then.
        let is_served = |country: &Country| area.may_serve(*country, None, None).is_ok();
        let (served, others): (Vec<_>, Vec<_>) = all.partition(is_served);
        let options = |countries: &[Country]| {
            html! {
                @for (country, name) in self.reader.countries_by(countries) {
                    option value=(country) selected[chosen.as_deref() == Some(country.code())] { (name) }
                }
            }
        };
        html! {
            div.wide {
                label for="country" { (self.reader.country_label()) }
                @if let Some(fault) = fault { (fault) }
                select id="country" name="country" autocomplete={ (self.group) "country" } required
                    aria-invalid=[describes.as_ref().map(|_| "true")] aria-describedby=[describes] {
                    option value="" { (self.reader.choose_a_country()) }
                    @if others.is_empty() {
                        (options(&served))
                    } @else {
                        optgroup label=(self.reader.countries_served()) { (options(&served)) }
                        optgroup label=(self.reader.other_countries()) { (options(&others)) }
                    }
                }
            }
        }
    }
}

/// A line to be filled in.
struct Field {
    name: &'static str,
    kind: &'static str,
    keyboard: &'static str,
    autocomplete: &'static str,
    is_required: bool,
    is_wide: bool,
}

const fn field(name: &'static str, autocomplete: &'static str) -> Field {
    Field {
        name,
        kind: "text",
        keyboard: "text",
        autocomplete,
        is_required: true,
        is_wide: false,
    }
}

impl Field {
    const fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }

    const fn optional(mut self) -> Self {
        self.is_required = false;
        self
    }
}

const SIGNER: Field = field("name", "name").wide();
const FIRST_NAME: Field = field("firstName", "given-name");
const LAST_NAME: Field = field("lastName", "family-name");
const ADDRESS1: Field = field("address1", "address-line1").wide();
const ADDRESS2: Field = field("address2", "address-line2").wide().optional();
const CITY: Field = field("city", "address-level2");
const ZIP: Field = field("zip", "postal-code");
const STATE: Field = field("state", "address-level1").optional();
const PHONE: Field = Field {
    kind: "tel",
    keyboard: "tel",
    ..field("phone", "tel").optional()
};
const COMPANY: Field = field("company", "organization").wide().optional();

/// A form with one button and nothing to fill in.
fn button(place: Place<'_>, step: &str, words: &str) -> Markup {
    html! {
        form method="post" action=(place.step(step)) { button { (words) } }
    }
}

/// A form with one button, for what is not the next thing to do.
fn quiet_button(place: Place<'_>, step: &str, words: &str) -> Markup {
    html! {
        form.aside method="post" action=(place.step(step)) { button.quiet { (words) } }
    }
}

/// The form of the step that the checkout is at.
pub(super) fn of(
    visit: &Visit,
    place: Place<'_>,
    notice: Option<&Notice>,
    entered: &Fields,
) -> Markup {
    let t = place.reader;
    let filling = Filling {
        entered,
        notice,
        reader: t,
        group: "",
    };
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
            p { (t.verified_elsewhere()) }
            (button(place, "identity", &t.start_verification()))
        },
        EventKind::IdentitySubmitted if place.hosted => {
            button(place, "identity", &t.continue_verification())
        }
        EventKind::IdentityRequested => button(place, "identity", &t.start_verification()),
        EventKind::IdentitySubmitted => button(place, "identity-submit", &t.hand_in_documents()),
        EventKind::ShippingAddressGiven => shipping(visit, place, &filling),
        EventKind::PickupLocationGiven => pickup(visit, place, &filling),
        EventKind::LeaseAccepted if checkout.term.is_none() => html! {
            p { (t.choose_term_first()) }
        },
        EventKind::LeaseAccepted => html! {
            (order::disclosures(visit, t))
            (button(place, "accept", &t.accept_these_terms()))
        },
        EventKind::DepositSubmitted if place.hosted => html! {
            p { (t.paid_elsewhere()) }
            (button(place, "deposit", &t.go_to_payment()))
        },
        EventKind::DepositAuthorized if visit.pays_elsewhere => html! {
            (button(place, "deposit", &t.go_on_with_payment()))
            (quiet_button(place, "leave-deposit", &t.do_not_pay_now()))
        },
        EventKind::PaymentMethodSaved if place.hosted => html! {
            @if let Some(method) = &checkout.recurring.method {
                p { (t.authorized_with(card(method))) }
                (button(place, "payment-method", &t.use_this_card()))
            }
            (other_card(place, checkout.recurring.method.is_some()))
        },
        EventKind::DepositSubmitted => html! {
            p { (t.sandbox_card()) }
            (button(place, "deposit", &t.authorize_deposit()))
        },
        EventKind::PaymentMethodSaved => html! {
            @match &checkout.recurring.method {
                Some(method) => p { (t.authorized_with(card(method))) },
                None => p { (t.sandbox_card()) },
            }
            (button(place, "payment-method", &t.use_this_card()))
        },
        EventKind::DocumentsSigned if words::signs_elsewhere(visit) => elsewhere(visit, place),
        EventKind::DocumentsSigned if !words::is_moving(checkout) => sign(visit, place, &filling),
        EventKind::CaptureRetried if place.hosted => html! {
            (button(place, "retry-capture", &t.retry_deposit()))
            (quiet_button(place, "deposit", &t.use_another_card()))
        },
        EventKind::CaptureRetried => button(place, "retry-capture", &t.retry_deposit()),
        _ if words::is_moving(checkout) => html! {
            p { a href=(place.path()) { (t.look_again()) } }
        },
        // Somebody else's to do.
        _ => html! {},
    }
}

/// The way to the processor's page, where a card is left.
fn other_card(place: Place<'_>, is_other: bool) -> Markup {
    if is_other {
        quiet_button(place, "card", &place.reader.use_another_card())
    } else {
        button(place, "card", &place.reader.enter_a_card())
    }
}

fn card(method: &PaymentMethod) -> String {
    let brand = method.brand.as_deref().unwrap_or(&method.kind);
    // Processors write the brands small.
    let mut letters = brand.chars();
    let brand: String = letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    });
    match &method.last4 {
        Some(last4) => format!("{brand} •••• {last4}"),
        None => brand,
    }
}

/// The form of a payment that failed: tried again with the card that is known, in the sandbox with
/// any of its cards.
pub(super) fn payment(
    visit: &Visit,
    place: Place<'_>,
    notice: Option<&Notice>,
    entered: &Fields,
) -> Markup {
    let checkout = &visit.checkout;
    if !words::can_pay(checkout) {
        return html! {};
    }
    let t = place.reader;
    let filling = Filling {
        entered,
        notice,
        reader: t,
        group: "",
    };
    let (describes, fault) = filling.fault(CARD).unzip();
    let chosen = entered.get(CARD);
    html! {
        form method="post" action=(place.step("retry-payment")) {
            @if checkout.mode == Mode::Sandbox && !place.hosted {
                fieldset aria-describedby=[describes] {
                    legend { (t.pay_with()) }
                    @if let Some(fault) = fault { (fault) }
                    @for (index, id) in steps::TEST_CARDS.into_iter().enumerate() {
                        label.choice {
                            input type="radio" name=(CARD) value=(id) required checked[chosen == Some(id)]
                                id=[(index == 0).then_some(CARD)];
                            span { (steps::test_card(t, id)) }
                        }
                    }
                }
            } @else if let Some(method) = &checkout.recurring.method {
                p { (t.card_on_file(card(method))) }
            }
            button { (t.retry_payment()) }
        }
        @if place.hosted && takes_a_card(checkout) { (other_card(place, true)) }
    }
}

/// The card that pays every month, while nothing of it failed, and the way to another.
pub(super) fn card_on_file(visit: &Visit, place: Place<'_>) -> Markup {
    let checkout = &visit.checkout;
    let t = place.reader;
    let is_asked_for = checkout.lifecycle().next() == Some(EventKind::PaymentMethodSaved);
    let method = checkout.recurring.method.as_ref();
    let method = method.filter(|_| !is_asked_for && !words::can_pay(checkout));
    html! {
        @if let Some(method) = method && takes_a_card(checkout) {
            section {
                h2 { (t.how_you_pay()) }
                p { (t.collected_from(card(method))) }
                @if place.hosted { (other_card(place, true)) }
            }
        }
    }
}

/// What an older record says of the customer is passed by, and not shown: who has the link of one
/// checkout need not know it.
fn on_file(visit: &Visit, place: Place<'_>) -> Markup {
    let t = place.reader;
    html! {
        p { (t.on_file(visit.organization.shown_name().as_str())) }
        (button(place, "begin", &t.go_on()))
    }
}

fn profile(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let given = visit.checkout.given_profile.as_ref();
    let nothing = Profile::default();
    let known = given.unwrap_or(&nothing);
    let t = place.reader;
    html! {
        // Whoever made the checkout named the customer by it.
        @if given.is_some() { p { (t.write_to(visit.customer.email.as_str())) } }
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
                (filling.country(&visit.organization.service_area, known.country))
            }
            button { (t.save_and_go_on()) }
        }
    }
}

fn shipping(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let t = place.reader;
    let shipping = &visit.checkout.shipping;
    let to_pickup = html! {
        @if !visit.locations.is_empty() {
            (quiet_button(place, "choose-pickup", &t.pick_it_up_instead()))
        }
    };
    if let (true, Some(address)) = (shipping.locked, &shipping.address) {
        return html! {
            p { (t.address_is_set(visit.organization.shown_name().as_str())) }
            (t.postal(address))
            (button(place, "shipping", &t.ship_to_this_address()))
            (to_pickup)
        };
    }
    let filling = Filling {
        entered: filling.entered,
        notice: filling.notice,
        reader: t,
        group: "shipping ",
    };
    let given = visit.checkout.given_profile.as_ref();
    let home = given.and_then(Profile::address);
    let known = shipping.address.as_ref().or(home.as_ref());
    let line = |of: fn(&Address) -> Option<&Line>| known.and_then(of);
    html! {
        form method="post" action=(place.step("shipping")) {
            div.fields {
                (filling.field(&FIRST_NAME.optional(), line(|address| address.first_name.as_ref())))
                (filling.field(&LAST_NAME.optional(), line(|address| address.last_name.as_ref())))
                (filling.field(&COMPANY, line(|address| address.company.as_ref())))
                (filling.field(&ADDRESS1, line(|address| Some(&address.address1))))
                (filling.field(&ADDRESS2, line(|address| address.address2.as_ref())))
                (filling.field(&CITY, line(|address| Some(&address.city))))
                (filling.field(&ZIP, line(|address| Some(&address.zip))))
                (filling.field(&STATE, line(|address| address.state.as_ref())))
                (filling.field(&PHONE, line(|address| address.phone.as_ref())))
                (filling.country(&visit.organization.service_area, known.map(|address| address.country)))
            }
            button { (t.ship_it_there()) }
        }
        (to_pickup)
    }
}

fn pickup(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let t = place.reader;
    let chosen = filling.entered.get(PICKUP_LOCATION);
    let (describes, fault) = filling.fault(PICKUP_LOCATION).unzip();
    html! {
        @if visit.locations.is_empty() {
            p.notice { (t.no_pickup_location()) }
        } @else {
            form method="post" action=(place.step("pickup")) {
                fieldset aria-describedby=[describes] {
                    legend { (t.pickup_location()) }
                    @if let Some(fault) = fault { (fault) }
                    @for (index, location) in visit.locations.iter().enumerate() {
                        label.choice {
                            input type="radio" name=(PICKUP_LOCATION) value=(location.id) required
                                id=[(index == 0).then_some(PICKUP_LOCATION)]
                                checked[chosen == Some(location.id.to_string().as_str())];
                            span { strong { (location.name) } (t.postal(&location.address)) }
                        }
                    }
                }
                button { (t.pick_it_up_there()) }
            }
        }
        (quiet_button(place, "choose-shipping", &t.have_it_shipped()))
    }
}

/// What there is to read while the lease is signed with the organization's signer.
fn elsewhere(visit: &Visit, place: Place<'_>) -> Markup {
    let t = place.reader;
    html! {
        @if let Some(agreement) = &visit.agreement {
            p {
                a href=(place.step("agreement")) { (t.open_agreement()) }
                @if t.language != Language::English { " " (t.agreement_in_english()) }
            }
            p.hint { (t.hash_of_document()) " " code { (agreement.sha256) } }
        }
        p { a href=(place.path()) { (t.look_again()) } }
    }
}

fn sign(visit: &Visit, place: Place<'_>, filling: &Filling<'_>) -> Markup {
    let t = place.reader;
    let (describes, fault) = filling.fault("consent").unzip();
    html! {
        @if let Some(quote) = &visit.quote {
            p {
                (t.sign_summary(
                    t.months(quote.term.get()),
                    t.money(quote.total_monthly_payment),
                    t.money(quote.total_of_payments),
                    t.money(quote.deposit),
                ))
            }
        }
        @if let Some(agreement) = &visit.agreement {
            p {
                a href=(place.step("agreement")) { (t.open_agreement()) }
                " " (t.read_agreement())
                @if t.language != Language::English { " " (t.agreement_in_english()) }
            }
            p.hint { (t.hash_of_document()) " " code { (agreement.sha256) } }
        }
        form method="post" action=(place.step("sign")) {
            @if let Some(fault) = fault { (fault) }
            label.choice {
                input type="checkbox" id="consent" name="consent" value="yes" required
                    checked[filling.entered.get("consent").is_some()]
                    aria-invalid=[describes.as_ref().map(|_| "true")] aria-describedby=[describes];
                span { (consent(t.language)) }
            }
            div.fields { (filling.field(&SIGNER, None)) }
            button { (t.sign_the_lease()) }
        }
    }
}

/// What the box says: its text has a version, which is kept with the signature.
const fn consent(language: Language) -> &'static str {
    match language {
        Language::English => CONSENT_TEXT,
        Language::Spanish => CONSENT_TEXT_SPANISH,
    }
}

/// Going back and calling off, where they are possible.
pub(super) fn aside(visit: &Visit, place: Place<'_>) -> Markup {
    let t = place.reader;
    let can_go_back = visit.checkout.progress().can_go_back;
    let can_cancel = words::can_cancel(visit.checkout.lifecycle());
    html! {
        @if can_go_back || can_cancel {
            div.aside {
                @if can_go_back {
                    form method="post" action=(place.step("back")) {
                        button.quiet { (t.back_a_step()) }
                    }
                }
                @if can_cancel {
                    details {
                        summary { (t.cancel_checkout()) }
                        p { (t.cancel_means()) }
                        form method="post" action=(place.step("cancel")) {
                            button.danger { (t.cancel_for_good()) }
                        }
                    }
                }
            }
        }
    }
}
