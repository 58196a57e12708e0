//! What is known to have changed of an organization's records, and what an answer shows of them.

use std::collections::{HashMap, HashSet};

use actix_web::HttpResponse;
use lessor_domain::events::{EventSubject, EventSubjectKind};
use lessor_domain::ids::EventPubId;
use lessor_domain::ports::{Changes, Edition};

/// Of how many records of an organization it is known when they changed. Where more do, any may have.
const RECORDS_MAX: usize = 512;

/// What an answer shows: where nothing of that changes, nor the organization, it would be the same again. An extension of answers; one
/// without it may show anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shows {
    records: Box<[EventSubject]>,
    kinds: &'static [EventSubjectKind],
}

impl Shows {
    /// These records.
    pub(crate) fn records(records: impl IntoIterator<Item = EventSubject>) -> Self {
        Self {
            records: records.into_iter().collect(),
            kinds: &[],
        }
    }

    /// The answer, which shows that.
    pub(crate) fn told_of(self, mut answer: HttpResponse) -> HttpResponse {
        answer.extensions_mut().insert(self);
        answer
    }

    /// How many records it names.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// These records, and any of these kinds.
    pub(crate) const fn and_any(mut self, kinds: &'static [EventSubjectKind]) -> Self {
        self.kinds = kinds;
        self
    }
}

impl Default for Shows {
    /// Anything.
    fn default() -> Self {
        Self::records([]).and_any(EventSubjectKind::ALL)
    }
}

/// What changed when, as far as somebody asked: times are numbers that grow with each answer of the database, of whichever
/// organization.
#[derive(Debug)]
pub(super) struct Journal {
    edition: Edition,
    /// Before that anything may have changed.
    since: u64,
    records: HashMap<EventSubject, u64>,
    kinds: HashMap<EventSubjectKind, u64>,
    /// The events that the last changes were told by. One that has no number yet is told of again until it has, and once with it.
    entered: HashSet<EventPubId>,
}

impl Journal {
    /// One that begins then.
    pub(super) fn new(edition: Edition, now: u64) -> Self {
        Self {
            edition,
            since: now,
            records: HashMap::new(),
            kinds: HashMap::new(),
            entered: HashSet::new(),
        }
    }

    /// Since when changes are to be asked for.
    pub(super) const fn edition(&self) -> Edition {
        self.edition
    }

    /// These are the changes since some edition that it had.
    pub(super) fn enter(&mut self, changes: &Changes, now: u64) {
        let events = changes.events.as_deref();
        match events.filter(|new| self.records.len().saturating_add(new.len()) <= RECORDS_MAX) {
            Some(events) => {
                let entered = events.iter().map(|told| told.event).collect();
                let before = std::mem::replace(&mut self.entered, entered);
                for told in events.iter().filter(|told| !before.contains(&told.event)) {
                    self.records.insert(told.record, now);
                    self.kinds.insert(told.record.kind(), now);
                }
            }
            None => *self = Self::new(changes.edition, now),
        }
        // Of answers that overtook each other the last may be of before: then some is told of once more.
        self.edition = changes.edition;
    }

    /// Whether nothing of it has changed since then.
    pub(super) fn is_still(&self, shown: &Shows, then: u64) -> bool {
        let changed = |when: Option<&u64>| when.is_some_and(|when| *when > then);
        let (records, kinds) = (shown.records.iter(), shown.kinds.iter());
        self.since <= then
            && !records.map(|record| self.records.get(record)).any(changed)
            && !kinds.map(|kind| self.kinds.get(kind)).any(changed)
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::ids::{CheckoutPubId, ProductPubId};
    use lessor_domain::ports::Told;
    use uuid::Uuid;

    use super::*;

    fn product(number: u128) -> EventSubject {
        EventSubject::Product(ProductPubId::from_uuid(Uuid::from_u128(number)))
    }

    fn checkout(number: u128) -> EventSubject {
        EventSubject::Checkout(CheckoutPubId::from_uuid(Uuid::from_u128(number)))
    }

    /// Changes of these records, each told of by an event of its own.
    fn changes(live: u64, records: Option<Vec<EventSubject>>) -> Changes {
        let told = |(number, record)| Told {
            event: EventPubId::from_uuid(Uuid::from_u64_pair(live, number)),
            record,
        };
        Changes {
            edition: Edition {
                live,
                sandbox: 0,
                organization: 1,
            },
            is_behind: false,
            events: records.map(|records| (0..).zip(records).map(told).collect()),
        }
    }

    #[test]
    fn what_did_not_change_is_still_the_same() {
        let mut journal = Journal::new(Edition::default(), 1);
        journal.enter(&changes(2, Some(vec![product(1), checkout(1)])), 2);
        let products = Shows::records([]).and_any(&[EventSubjectKind::Product]);
        let customers = Shows::records([product(2)]).and_any(&[EventSubjectKind::Customer]);
        for (shown, is_still) in [
            (Shows::records([product(1)]), false),
            (Shows::records([product(2), checkout(1)]), false),
            (Shows::records([product(2), checkout(2)]), true),
            (products, false),
            (customers, true),
            (Shows::default(), false),
        ] {
            assert_eq!(journal.is_still(&shown, 1), is_still, "{shown:?}");
            assert!(journal.is_still(&shown, 2), "{shown:?}: read since");
            assert!(
                !journal.is_still(&shown, 0),
                "{shown:?}: of before it began"
            );
        }
        assert_eq!(journal.edition().live, 2);
    }

    #[test]
    fn where_nobody_knows_anything_may_have_changed() {
        let mut journal = Journal::new(Edition::default(), 1);
        let shown = Shows::records([product(1)]);
        journal.enter(&changes(9, None), 2);
        assert!(!journal.is_still(&shown, 1));
        assert!(journal.is_still(&shown, 2));
        let many = 2..2 + RECORDS_MAX as u128;
        journal.enter(&changes(10, Some(many.map(product).collect())), 3);
        assert!(journal.is_still(&shown, 2), "as many as fit");
        journal.enter(&changes(11, Some(vec![checkout(1)])), 4);
        assert!(!journal.is_still(&shown, 3), "more than fit");
        assert!(journal.is_still(&shown, 4));
    }

    #[test]
    fn an_event_counts_once() {
        let mut journal = Journal::new(Edition::default(), 1);
        let shown = Shows::records([product(1)]);
        let waiting = changes(0, Some(vec![product(1)]));
        let mut both = changes(1, Some(vec![checkout(1)]));
        let again = waiting.events.iter().flatten().copied();
        both.events
            .iter_mut()
            .for_each(|all| all.extend(again.clone()));
        for (changes, now) in [(&waiting, 2), (&waiting, 3), (&both, 4)] {
            journal.enter(changes, now);
            assert!(!journal.is_still(&shown, 1), "{now}");
            assert!(journal.is_still(&shown, 2), "{now}");
        }
        journal.enter(&changes(2, Some(vec![product(1)])), 5);
        assert!(!journal.is_still(&shown, 4), "another event");
    }

    #[test]
    fn an_answer_that_was_overtaken_takes_nothing_back() {
        let mut journal = Journal::new(Edition::default(), 1);
        journal.enter(&changes(5, Some(vec![product(1)])), 2);
        journal.enter(&changes(3, Some(vec![checkout(1)])), 3);
        assert_eq!(journal.edition().live, 3, "some is told of once more");
        assert!(!journal.is_still(&Shows::records([product(1)]), 1));
        assert!(!journal.is_still(&Shows::records([checkout(1)]), 2));
    }
}
