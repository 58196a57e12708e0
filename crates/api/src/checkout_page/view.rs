//! The page as HTML. It needs no scripts and loads nothing from elsewhere but pictures.

use lessor_domain::access::Mode;
use lessor_domain::checkout::Lifecycle;
use lessor_domain::credit::CreditDecision;
use lessor_domain::organization::Organization;
use lessor_domain::services::visits::Visit;
use maud::{DOCTYPE, Markup, html};

use super::faults::Notice;
use super::fields::Fields;
use super::pieces::Place;
use super::{forms, lease, order, words};

/// A page around its content, with the face of the organization where it is known.
fn document(
    place: Place<'_>,
    title: &str,
    organization: Option<&Organization>,
    content: &Markup,
) -> String {
    let t = place.reader;
    let prefix = place.prefix;
    let accent = organization.and_then(|it| it.face.accent_color);
    html! {
        (DOCTYPE)
        html lang=(t.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="stylesheet" href={ (prefix) (super::STYLE_PATH) };
                @if let Some(accent) = accent {
                    link rel="stylesheet" href={ (prefix) (super::ACCENT_PATH) "/" (accent.digits()) ".css" };
                }
            }
            body {
                a.skip href="#step" { (t.skip_to_step()) }
                div.page {
                    @if let Some(organization) = organization { (masthead(organization)) }
                    (content)
                    (foot(place, organization))
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

/// How the organization is reached.
pub(super) fn reached(organization: &Organization) -> Markup {
    let face = &organization.face;
    html! {
        @if face.support_email.is_some() || face.support_phone.is_some() {
            ul.ways {
                @if let Some(email) = &face.support_email { li { a href={ "mailto:" (email) } { (email) } } }
                @if let Some(phone) = &face.support_phone { li { a href={ "tel:" (phone) } { (phone) } } }
            }
        }
    }
}

/// Whom to ask, what the organization says of itself, and the other language.
fn foot(place: Place<'_>, organization: Option<&Organization>) -> Markup {
    let t = place.reader;
    let other = t.language.other();
    let face = organization.map(|it| &it.face);
    let links = face.map(|face| {
        [
            (&face.terms_url, t.terms_of_business()),
            (&face.privacy_url, t.privacy()),
        ]
    });
    let is_reached =
        face.is_some_and(|face| face.support_email.is_some() || face.support_phone.is_some());
    html! {
        footer {
            @if let Some(organization) = organization && is_reached {
                p { (t.questions(organization.shown_name().as_str())) }
                (reached(organization))
            }
            ul.ways {
                @for (url, words) in links.iter().flatten() {
                    @if let Some(url) = url { li { a href=(url) rel="noreferrer" { (words) } } }
                }
                li {
                    a href=(place.in_language(other)) lang=(other.code()) hreflang=(other.code()) {
                        (t.other_language())
                    }
                }
            }
        }
    }
}

/// A page that only says something.
fn message(
    place: Place<'_>,
    organization: Option<&Organization>,
    title: &str,
    content: &Markup,
) -> String {
    let content = html! { main #step { h1 { (title) } (content) } };
    document(place, title, organization, &content)
}

/// The page of nothing.
pub(super) fn not_found(place: Place<'_>) -> String {
    let t = place.reader;
    let content = html! { p { (t.missing_text()) } };
    message(place, None, &t.missing_title(), &content)
}

/// The page of a link that was replaced.
pub(super) fn replaced(place: Place<'_>, organization: &Organization) -> String {
    let t = place.reader;
    let name = organization.shown_name().as_str();
    let content = html! { p { (t.replaced_text(name)) } };
    message(place, Some(organization), &t.replaced_title(), &content)
}

/// Whether the page without a token offers to mail the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkOffer {
    /// No mails are sent.
    None,
    Open,
    /// It was asked for.
    Taken,
}

/// The page of a link without its token.
pub(super) fn personal(place: Place<'_>, offer: LinkOffer) -> String {
    let t = place.reader;
    let content = match offer {
        LinkOffer::Taken => {
            let content = html! { p { (t.link_again_asked_text()) } };
            return message(place, None, &t.link_again_asked_title(), &content);
        }
        LinkOffer::None => html! {},
        LinkOffer::Open => html! {
            form method="post" action=(t.keep(&format!("{}{}/link", place.prefix, crate::auth::links::PATH))) {
                h2 { (t.link_again_title()) }
                p { (t.link_again_text()) }
                label for="checkout" { (t.link_again_checkout()) }
                input #checkout name="checkout" type="text" required autocomplete="off" spellcheck="false" maxlength="64";
                label for="email" { (t.link_again_email()) }
                input #email name="email" type="email" required autocomplete="email" maxlength="254";
                button type="submit" { (t.link_again_send()) }
            }
        },
    };
    let content = html! {
        p { (t.personal_text()) }
        p { (t.personal_advice()) }
        (content)
    };
    message(place, None, &t.personal_title(), &content)
}

/// The page of a request that failed, with the way back to the checkout where there is one.
pub(super) fn failed(place: Place<'_>, (title, text): &words::Words, id: &str) -> String {
    let t = place.reader;
    let content = html! {
        p { (text) }
        @if place.token.is_some() { p { a.button href=(place.path()) { (t.back_to_checkout()) } } }
        p.notice { (t.number_of_failure(id)) }
    };
    message(place, None, title, &content)
}

/// The checkout's page long after its end: how it ended, and no more.
fn past(visit: &Visit, place: Place<'_>) -> String {
    let (title, text) = place.reader.heading(&visit.checkout);
    let content = html! {
        p { (text) }
        p { strong { (order::name(&visit.checkout, place.reader)) } }
    };
    message(place, Some(&visit.organization), &title, &content)
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
    let t = place.reader;
    let (title, text) = t.heading_of(visit);
    let content = html! {
        div.columns {
            (order::summary(visit, place, notice, entered))
            main #step {
                @if let Some(notice) = notice { (problem(notice, place)) }
                @if visit.checkout.mode == Mode::Sandbox {
                    p.notice { strong { (t.sandbox()) } " " (t.sandbox_means()) }
                }
                (steps(visit, place))
                h1 { (title) }
                p { (text) }
                @if let Some(at) = visit.place_in_line {
                    p { strong { (t.place_in_line(t.number(&at.to_string()))) } }
                }
                @if let Some(trouble) = t.trouble(&visit.checkout) {
                    p.notice.error role="alert" { (trouble) }
                }
                (refusal(visit, place))
                (forms::payment(visit, place, notice, entered))
                (forms::of(visit, place, notice, entered))
                @if let Some((url, words)) = t.way_out(&visit.checkout) {
                    p { a.button href=(url) rel="noreferrer" { (words) } }
                }
                (lease::life(visit, place))
                (forms::aside(visit, place))
            }
        }
    };
    let title = t.page_title(title, visit.organization.shown_name().as_str());
    let title = match notice {
        Some(_) => t.error_title(title),
        None => title,
    };
    document(place, &title, Some(&visit.organization), &content)
}

/// What is wrong, with the ways to the fields; it has the focus.
fn problem(notice: &Notice, place: Place<'_>) -> Markup {
    let t = place.reader;
    html! {
        div.notice.error #problem role="alert" tabindex="-1" autofocus {
            h2 { (t.there_is_a_problem()) }
            @if let Some(general) = &notice.general { p { (general) } }
            @if !notice.faults.is_empty() {
                ul {
                    @for fault in &notice.faults {
                        li { a href={ "#" (fault.field) } { (t.fault(fault)) } }
                    }
                }
            }
        }
    }
}

/// Why the lease was refused, and whom to ask. What led to the reasons is nobody's to read here.
fn refusal(visit: &Visit, place: Place<'_>) -> Markup {
    let t = place.reader;
    let declined = visit
        .qualification
        .as_ref()
        .filter(|made| made.decision == CreditDecision::Declined);
    html! {
        @if visit.checkout.lifecycle() == Lifecycle::QualificationFailed {
            @if let Some(made) = declined && !made.reasons.is_empty() {
                p { (t.principal_reasons()) }
                ul {
                    @for reason in &made.reasons { li { (t.reason(*reason)) } }
                }
            }
            p { (t.ask_about_decision(visit.organization.shown_name().as_str())) }
        }
    }
}

/// The way to the confirmation, until it is reached.
fn steps(visit: &Visit, place: Place<'_>) -> Markup {
    let t = place.reader;
    let progress = visit.checkout.progress();
    let step = visit.checkout.lifecycle().step().map(usize::from);
    let current = step.filter(|_| progress.milestones.is_none());
    html! {
        @if let Some(current) = current {
            ol.steps aria-label=(t.steps()) {
                @for (index, (number, step)) in (1_usize..).zip(t.step_names()).enumerate() {
                    @if index == current {
                        li aria-current="step" { (t.step_of(step, number, words::STEPS)) }
                    } @else if index < current {
                        li.done { "✓ " (step) }
                    } @else {
                        li { (step) }
                    }
                }
            }
            progress max="100" value=(progress.percentage) aria-label=(t.how_far()) {
                (t.percent(progress.percentage))
            }
        }
    }
}
