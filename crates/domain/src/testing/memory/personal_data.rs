//! What is known of persons.
//!
//! What is sealed in the audit needs no key here: that of an erased customer is told without it.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::Memory;
use super::tables::{Owned, Unowned};
use crate::checkout::CANCELLED_BY_ERASURE;
use crate::ports::{
    Erasure, InboxState, JobSubject, PersonalDataStore, PersonalTable, Removal, Scope, StoreError,
};
use crate::text::Line;

/// What the paths of requests for erasures end in: their answers tell of no person.
const OF_ERASURES: &str = "/erase";

/// Whether the bytes hold one of the names.
fn holds(bytes: &[u8], names: &[String]) -> bool {
    names.iter().any(|name| {
        let name = name.as_bytes();
        !name.is_empty() && bytes.windows(name.len()).any(|part| part == name)
    })
}

/// The ids of all of their checkouts, as callers and providers write them.
fn checkouts(erasure: &Erasure) -> Vec<String> {
    let all = erasure.ended.iter().chain(&erasure.running);
    all.map(ToString::to_string).collect()
}

/// Takes what is there away. Tells whether there was something.
fn take<T>(member: &mut Option<T>) -> bool {
    member.take().is_some()
}

fn history(state: &mut Owned, erasure: &Erasure) -> bool {
    let mut taken = false;
    for id in &erasure.ended {
        let entries = state.checkouts.get_mut(id).map(|row| &mut row.history);
        for entry in entries.into_iter().flatten() {
            let reason = &mut entry.transition.reason;
            if reason.as_ref().map(Line::as_str) != Some(CANCELLED_BY_ERASURE) {
                taken |= take(reason);
            }
        }
    }
    taken
}

fn tracking(state: &mut Owned, erasure: &Erasure) -> bool {
    let mut taken = false;
    for row in &mut state.tracking {
        if erasure.ended.contains(&row.checkout) {
            let reported = &mut row.event.reported;
            taken |= take(&mut reported.description);
            taken |= take(&mut reported.location);
            taken |= take(&mut reported.signed_by);
        }
    }
    taken
}

fn jobs(state: &mut Owned, erasure: &Erasure) -> bool {
    let mut taken = false;
    for row in &mut state.jobs {
        let is_about = match row.job.new.subject {
            JobSubject::Checkout(id) => erasure.ended.contains(&id),
            JobSubject::Customer(id) => id == erasure.customer,
            JobSubject::Product(_) | JobSubject::Variant(_) | JobSubject::Waitlist(_) => false,
        };
        if is_about {
            taken |= take(&mut row.job.last_error);
        }
    }
    taken
}

fn decisions(state: &mut Owned, erasure: &Erasure) -> bool {
    let mut taken = false;
    for kept in &mut state.qualifications {
        if erasure.ended.contains(&kept.checkout) {
            taken |= take(&mut kept.reference) | !kept.reasons.is_empty();
            kept.reasons.clear();
        }
    }
    taken
}

/// What endpoints answered when they were told of the customer or their checkouts.
fn answered_deliveries(state: &mut Owned, erasure: &Erasure) -> bool {
    let checkouts = erasure.ended.iter().chain(&erasure.running);
    let mut subjects: Vec<uuid::Uuid> = checkouts.map(crate::ids::CheckoutPubId::as_uuid).collect();
    subjects.push(erasure.customer.as_uuid());
    let mut taken = false;
    for row in state.deliveries.values_mut() {
        if subjects.contains(&row.delivery.new.subject) {
            taken |= take(&mut row.delivery.last.response_body);
        }
    }
    taken
}

fn agreements(state: &mut Owned, erasure: &Erasure) -> (bool, bool) {
    let (mut documents, mut events) = (false, false);
    for row in state.agreements.values_mut() {
        if erasure.never_leased.contains(&row.record.checkout_id) {
            documents |= take(&mut row.pdf);
            documents |= take(&mut row.record.signer_name);
            documents |= take(&mut row.record.signer_reference);
            for event in &mut row.events {
                events |= take(&mut event.happening.address);
                events |= take(&mut event.happening.user_agent);
            }
        }
    }
    (documents, events)
}

fn answers(state: &mut Owned, scope: Scope, erasure: &Erasure) -> bool {
    let checkouts = checkouts(erasure);
    let mut taken = false;
    for (key, answer) in &mut state.answers {
        let path = key.path.as_bytes();
        let is_about = holds(&answer.body, &erasure.names)
            || holds(path, &erasure.names)
            || holds(path, &checkouts);
        if key.mode == scope.mode
            && is_about
            && !key.path.ends_with(OF_ERASURES)
            && answer.body != erasure.replacement.body
        {
            answer.status = erasure.replacement.status;
            answer.body.clone_from(&erasure.replacement.body);
            answer.is_existing = false;
            taken = true;
        }
    }
    taken
}

fn messages(state: &mut Unowned, erasure: &Erasure, removal: &mut Removal) -> bool {
    let checkouts = checkouts(erasure);
    let mut taken = false;
    for row in &mut state.inbox {
        let body = &row.message.body;
        let is_about = holds(body, &erasure.names) || holds(body, &checkouts);
        if !is_about || row.message.received_at < erasure.since {
            continue;
        }
        if row.state == InboxState::Handled {
            row.message.body.clear();
            taken = true;
        } else {
            removal.unhandled = removal.unhandled.saturating_add(1);
        }
    }
    taken
}

fn unclaimed(state: &mut Unowned, erasure: &Erasure) -> bool {
    let before = state.unclaimed.len();
    state
        .unclaimed
        .retain(|(tracking, _)| !erasure.shipments.contains(tracking));
    state.unclaimed.len() < before
}

#[async_trait]
impl PersonalDataStore for Memory {
    async fn erase(&mut self, scope: Scope, erasure: &Erasure) -> Result<Removal, StoreError> {
        let mut removal = Removal::default();
        let state = self.change_of(scope.organization_id)?;
        let mut tables = BTreeSet::new();
        let mut note = |table, taken: bool| {
            if taken {
                tables.insert(table);
            }
        };
        note(PersonalTable::CheckoutTransitions, history(state, erasure));
        note(PersonalTable::TrackingEvents, tracking(state, erasure));
        note(PersonalTable::Jobs, jobs(state, erasure));
        note(PersonalTable::Qualifications, decisions(state, erasure));
        let (documents, events) = agreements(state, erasure);
        note(PersonalTable::Agreements, documents);
        note(PersonalTable::AgreementEvents, events);
        let told = answered_deliveries(state, erasure);
        note(PersonalTable::Deliveries, told);
        let (mailed, suppressed) = super::mails::forget(state, erasure);
        note(PersonalTable::Mails, mailed);
        note(PersonalTable::MailSuppressions, suppressed);
        let answered = answers(state, scope, erasure);
        note(PersonalTable::IdempotencyAnswers, answered);
        let state = self.change_unowned()?;
        let taken = messages(state, erasure, &mut removal);
        note(PersonalTable::InboxMessages, taken);
        note(
            PersonalTable::UnclaimedTrackingEvents,
            unclaimed(state, erasure),
        );
        removal.tables = tables.into_iter().collect();
        Ok(removal)
    }
}
