//! The life of a lease after its confirmation: how far it is, where the goods are, and what is paid.

use lessor_domain::checkout::{Checkout, Milestone, MilestoneName, Phase};
use lessor_domain::services::visits::Visit;
use maud::{Markup, html};

use super::forms;
use super::locale::{Language, Reader};
use super::pieces::Place;

/// All of it, where the lease is confirmed.
pub(super) fn life(visit: &Visit, place: Place<'_>) -> Markup {
    let checkout = &visit.checkout;
    let t = place.reader;
    let milestones = checkout.progress().milestones;
    html! {
        @if let Some(milestones) = &milestones { (self::milestones(checkout, milestones, t)) }
        (shipment(visit, t))
        @if milestones.is_some() { (payments(visit, t)) }
        (forms::card_on_file(visit, place))
        @if milestones.is_some() {
            (agreement(visit, place))
            (giving_back(visit, t))
            (contact(visit, t))
        }
    }
}

fn milestones(checkout: &Checkout, reached: &[Milestone], t: &Reader) -> Markup {
    let to_come = t.milestone_to_come();
    html! {
        section {
            h2 { (t.milestones()) }
            ol.milestones {
                @for milestone in reached {
                    @let day = match milestone.name {
                        MilestoneName::LeaseActive => checkout.lease.start,
                        _ => milestone.completed_at.map(|at| at.date_naive()),
                    };
                    li.done[day.is_some()] {
                        span { (t.milestone(milestone.name)) }
                        span { @match day { Some(day) => (t.day_mark(day)), None => (to_come) } }
                    }
                    @if milestone.name == MilestoneName::LeaseActive {
                        @if let Some(end) = checkout.lease.end {
                            li.done[checkout.lifecycle().is_ended()] {
                                span { (t.milestone_ends()) }
                                span { (t.day_mark(end)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where the goods are, the newest first.
fn shipment(visit: &Visit, t: &Reader) -> Markup {
    let Some(tracking) = &visit.checkout.shipment.tracking else {
        return html! {};
    };
    let carrier = tracking.carrier.as_str().to_uppercase();
    html! {
        section {
            h2 { (t.shipment()) }
            p { (t.tracking_number(tracking.number.as_str(), carrier)) }
            @if visit.events.is_empty() {
                p { (t.nothing_heard_yet()) }
            } @else {
                ol.events {
                    @for event in visit.events.iter().rev() {
                        @let told = event.reported.description.as_ref();
                        li {
                            (t.time_mark(event.reported.at))
                            br;
                            // Carriers write English.
                            @match told.and_then(|told| t.in_english(told.as_str())) {
                                Some(told) => (told),
                                None => (t.tracking(event.reported.status)),
                            }
                            @if let Some(location) = &event.reported.location { ", " (location) }
                        }
                    }
                }
            }
        }
    }
}

/// What was paid, newest first, and what is still to come.
fn payments(visit: &Visit, t: &Reader) -> Markup {
    let statement = &visit.statement;
    let mut to_come = statement.to_come.iter();
    let next = to_come.next();
    html! {
        section {
            h2 #payments { (t.payments()) }
            @if let Some(next) = next {
                p { (t.next_payment()) " " strong { (t.money(next.amount)) } ", " (t.day_mark(next.at.date_naive())) }
            }
            @if to_come.len() > 0 {
                details {
                    summary { (t.further_payments(to_come.len())) }
                    ul.options {
                        @for payment in to_come {
                            li { (t.day_mark(payment.at.date_naive())) " · " (t.money(payment.amount)) }
                        }
                    }
                }
            }
            @if statement.made.is_empty() {
                p { (t.no_payments_yet()) }
            } @else {
                div.scroll tabindex="0" role="region" aria-labelledby="payments" {
                    table.made {
                        thead {
                            tr {
                                th scope="col" { (t.payment_date()) }
                                th scope="col" { (t.payment_for()) }
                                th scope="col" { (t.payment_amount()) }
                                th scope="col" { (t.payment_state()) }
                            }
                        }
                        tbody {
                            @for payment in statement.made.iter().rev() {
                                tr {
                                    td { (t.day_mark(payment.at.date_naive())) }
                                    td { (t.paid_for(payment.what)) }
                                    td { (t.money(payment.amount)) }
                                    td { (t.paid(payment.standing)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn agreement(visit: &Visit, place: Place<'_>) -> Markup {
    let t = place.reader;
    html! {
        @if let Some(agreement) = &visit.agreement {
            section {
                h2 { (t.agreement()) }
                p {
                    a href=(place.step("agreement")) { (t.open_agreement()) }
                    @if let Some(at) = agreement.signed_at { " " (t.agreement_signed(t.instant(at))) }
                    @if t.language != Language::English { " " (t.agreement_in_english()) }
                }
                p.hint { (t.hash_of_document()) " " code { (agreement.sha256) } }
            }
        }
    }
}

fn giving_back(visit: &Visit, t: &Reader) -> Markup {
    let checkout = &visit.checkout;
    let name = visit.organization.shown_name().as_str();
    html! {
        @if !checkout.lifecycle().is_ended() {
            section {
                h2 { (t.giving_back()) }
                @if checkout.lifecycle().phase() == Phase::Return {
                    p { (t.give_back_now(name)) }
                } @else {
                    p { (t.give_back_later(name)) }
                }
            }
        }
    }
}

fn contact(visit: &Visit, t: &Reader) -> Markup {
    let name = visit.organization.shown_name().as_str();
    html! {
        section {
            h2 { (t.contact()) }
            p { (t.ask_whom(name)) }
            (super::view::reached(&visit.organization))
        }
    }
}
