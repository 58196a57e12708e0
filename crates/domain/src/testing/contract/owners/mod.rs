//! Whose records are whose: what one organization has is not there for another, nor for nobody.

mod catalog;
mod estate;
mod leases;
mod notices;
mod work;

use std::collections::BTreeSet;
use std::fmt::{self, Debug};

use chrono::TimeDelta;

use self::estate::Estate;
use super::shop::must;
use crate::catalog::StockTaken;
use crate::ids::OrganizationId;
use crate::ports::{
    Changes, Database, DeletedTerm, ProductPage, Reach, Removal, StoreError, UnitOfWork,
};
use crate::time::Timestamp;

/// What every statement of every store does about the records of an organization when it is asked
/// for them in nobody's name and in another organization's: nothing, and it tells of none. Its own
/// name shows that each is asked for what there is.
///
/// # Panics
/// With the statement that reaches another's records.
pub async fn owners(database: &dyn Database) {
    ask_all(database).await;
}

/// Asks every statement. Answers which were asked, as `store.statement`.
async fn ask_all(database: &dyn Database) -> BTreeSet<&'static str> {
    let estate = Estate::open(database).await;
    let neighbour = Estate::open(database).await.shop.organization.id;
    let mut asked = BTreeSet::new();
    for who in [Who::Owner, Who::Nobody, Who::Neighbour(neighbour)] {
        let mut inquiry = Inquiry::new(&estate, who).await;
        catalog::ask(&mut inquiry).await;
        leases::ask(&mut inquiry).await;
        work::ask(&mut inquiry).await;
        notices::ask(&mut inquiry).await;
        asked.append(&mut inquiry.asked);
    }
    asked
}

/// Who asks for an organization's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// The organization.
    Owner,
    Nobody,
    /// Another organization, which has as much.
    Neighbour(OrganizationId),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "the owner",
            Self::Nobody => "nobody",
            Self::Neighbour(_) => "a neighbour",
        })
    }
}

/// An answer that tells whether there are records.
trait Tells: Debug {
    /// Whether it tells of one.
    fn is_something(&self) -> bool;
    /// Whether it tells of none.
    fn is_nothing(&self) -> bool {
        !self.is_something()
    }
}

impl<T: Debug> Tells for Option<T> {
    fn is_something(&self) -> bool {
        self.is_some()
    }
}

impl<T: Debug> Tells for Vec<T> {
    fn is_something(&self) -> bool {
        !self.is_empty()
    }
}

impl Tells for bool {
    fn is_something(&self) -> bool {
        *self
    }
}

impl Tells for u64 {
    fn is_something(&self) -> bool {
        *self > 0
    }
}

impl Tells for i64 {
    fn is_something(&self) -> bool {
        *self > 0
    }
}

/// The revision too is the organization's own.
impl Tells for ProductPage {
    fn is_something(&self) -> bool {
        self.products.is_something() && self.revision.is_something()
    }

    fn is_nothing(&self) -> bool {
        self.products.is_nothing() && self.revision.is_nothing()
    }
}

/// The organization itself is nobody's.
impl Tells for Changes {
    fn is_something(&self) -> bool {
        self.edition.told().is_something() && self.events.is_something()
    }

    fn is_nothing(&self) -> bool {
        let events = self.events.iter().flatten();
        self.edition.told().is_nothing() && self.is_behind.is_nothing() && events.count() == 0
    }
}

/// What is told by no more than that the statement did not fail.
impl Tells for () {
    fn is_something(&self) -> bool {
        true
    }
    fn is_nothing(&self) -> bool {
        true
    }
}

impl Tells for StockTaken {
    fn is_something(&self) -> bool {
        true
    }
}

impl Tells for DeletedTerm {
    fn is_something(&self) -> bool {
        true
    }
}

impl Tells for Removal {
    fn is_something(&self) -> bool {
        !self.tables.is_empty()
    }
}

/// One asks about the estate.
struct Inquiry<'e, 'd> {
    estate: &'e Estate<'d>,
    who: Who,
    /// What the estate has.
    records: Vec<String>,
    asked: BTreeSet<&'static str>,
}

impl<'e, 'd> Inquiry<'e, 'd> {
    async fn new(estate: &'e Estate<'d>, who: Who) -> Self {
        Self {
            estate,
            who,
            records: estate.records().await,
            asked: BTreeSet::new(),
        }
    }

    /// The organization that would have the estate's records for its own.
    const fn thief(&self) -> Option<OrganizationId> {
        match self.who {
            Who::Owner | Who::Nobody => None,
            Who::Neighbour(id) => Some(id),
        }
    }

    /// Opens a unit of work in the name of who asks.
    async fn begin(&self) -> Box<dyn UnitOfWork> {
        let reach = match self.who {
            Who::Owner => self.estate.shop.reach(),
            Who::Nobody => Reach::Server,
            Who::Neighbour(id) => id.into(),
        };
        must(
            self.estate.shop.database.begin(reach).await,
            "begin: opens a unit of work",
        )
    }

    /// What reads tells the owner of records, and others of none.
    async fn sees<T: Tells>(
        &mut self,
        statement: &'static str,
        look: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) {
        let who = self.who;
        self.asked.insert(statement);
        let mut uow = self.begin().await;
        let told = must(look(uow.as_mut()).await, statement);
        must(uow.roll_back().await, "roll_back: ends a unit of work");
        if who == Who::Owner {
            assert!(
                told.is_something(),
                "{statement}: the owner's records are there for the owner"
            );
        } else {
            assert!(
                told.is_nothing(),
                "{statement}: another's records are not there for {who}, but: {told:?}"
            );
        }
    }

    /// What keeps a record does so for the owner, and fails for others.
    async fn keeps<T: Debug>(
        &mut self,
        statement: &'static str,
        keep: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) {
        if let Some(done) = self.tries(statement, keep, |_| true).await {
            let who = self.who;
            panic!("{statement}: {who} keeps no record of another's, but: {done:?}");
        }
    }

    /// What changes records changes the owner's, and fails for others, or tells them of none.
    async fn changes<T: Tells>(
        &mut self,
        statement: &'static str,
        change: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
    ) {
        let who = self.who;
        if let Some(told) = self.tries(statement, change, T::is_something).await {
            assert!(
                told.is_nothing(),
                "{statement}: another's records are not there for {who}, but: {told:?}"
            );
        }
    }

    /// What the statement did for somebody else than the owner, whose records are as they were. For
    /// the owner it does what it is to do, and that is undone.
    async fn tries<T>(
        &mut self,
        statement: &'static str,
        change: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<T, StoreError>,
        is_something: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let who = self.who;
        self.asked.insert(statement);
        let mut uow = self.begin().await;
        let done = change(uow.as_mut()).await;
        if who == Who::Owner {
            assert!(
                is_something(&must(done, statement)),
                "{statement}: the owner's records are there for the owner"
            );
            must(uow.roll_back().await, "roll_back: ends a unit of work");
            return None;
        }
        let done = match done {
            // What is refused at the end is refused.
            Ok(done) => uow.commit().await.ok().map(|()| done),
            Err(_) => {
                must(uow.roll_back().await, "roll_back: ends a unit of work");
                None
            }
        };
        assert_eq!(
            self.estate.records().await,
            self.records,
            "{statement}: changes nothing of another's for {who}"
        );
        done
    }
}

/// Later than anything that the estate has.
fn late(inquiry: &Inquiry<'_, '_>) -> Timestamp {
    let now = inquiry.estate.shop.make.tick();
    now.checked_add_signed(TimeDelta::days(1_000))
        .unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemoryDatabase;

    /// Where the stores are.
    const PORTS: &[&str] = &[
        include_str!("../../../ports/agreements.rs"),
        include_str!("../../../ports/audit.rs"),
        include_str!("../../../ports/categories.rs"),
        include_str!("../../../ports/checkouts.rs"),
        include_str!("../../../ports/credit.rs"),
        include_str!("../../../ports/cursors.rs"),
        include_str!("../../../ports/customers.rs"),
        include_str!("../../../ports/deliveries.rs"),
        include_str!("../../../ports/doors.rs"),
        include_str!("../../../ports/events.rs"),
        include_str!("../../../ports/idempotency.rs"),
        include_str!("../../../ports/inbox.rs"),
        include_str!("../../../ports/jobs.rs"),
        include_str!("../../../ports/keys.rs"),
        include_str!("../../../ports/lease_terms.rs"),
        include_str!("../../../ports/ledger.rs"),
        include_str!("../../../ports/mails.rs"),
        include_str!("../../../ports/organizations.rs"),
        include_str!("../../../ports/personal_data.rs"),
        include_str!("../../../ports/processor_accounts.rs"),
        include_str!("../../../ports/products.rs"),
        include_str!("../../../ports/shipments.rs"),
        include_str!("../../../ports/variants.rs"),
        include_str!("../../../ports/webhook_endpoints.rs"),
    ];

    /// What is about nobody's records, and why.
    const NOBODYS: &[(&str, &[&str])] = &[
        (
            "who the organizations are is nobody's secret, and is asked before one is known",
            &[
                "organizations.insert",
                "organizations.get",
                "organizations.find",
                "organizations.list",
                "organizations.lock",
                "organizations.update",
            ],
        ),
        (
            "a key tells whose a request is, so that it is asked for before that is known",
            &[
                "keys.insert",
                "keys.find_by_hash",
                "keys.get",
                "keys.list",
                "keys.close",
                "keys.touch",
            ],
        ),
        (
            "a message is kept before it is known whom it is about",
            &[
                "inbox.insert",
                "inbox.lock_waiting",
                "inbox.lock_one",
                "inbox.mark_handled",
                "inbox.mark_failed",
                "inbox.postpone",
                "inbox.list",
                "inbox.requeue",
                "inbox.backlog",
            ],
        ),
        (
            "a shipment that no checkout has is nobody's",
            &[
                "shipments.keep_unclaimed",
                "shipments.unclaimed",
                "shipments.purge_unclaimed",
            ],
        ),
        (
            "a walk goes through somebody else's records",
            &["cursors.position", "cursors.set_position"],
        ),
        (
            "a door's answers are owners and counts",
            &[
                "doors.owner_of_checkout",
                "doors.owner_of_page",
                "doors.owner_of_ended_page",
                "doors.owner_of_payment",
                "doors.owner_of_verification",
                "doors.owner_of_job",
                "doors.owner_of_mail",
                "doors.owners_of_shipment",
                "doors.owners_with",
                "doors.attention",
                "doors.states",
                "doors.backlog",
                "doors.mail_backlog",
                "doors.held",
            ],
        ),
    ];

    macro_rules! stores {
        ($($accessor:ident: $store:ident,)*) => {
            [$((stringify!($accessor), stringify!($store)),)*]
        };
    }

    /// The names of the methods of a trait, as its source has them.
    fn methods(store: &str) -> Vec<&'static str> {
        let head = format!("pub trait {store}: Send {{");
        let body = PORTS
            .iter()
            .find_map(|source| source.split_once(&head))
            .and_then(|(_, rest)| rest.split_once("\n}\n"))
            .map(|(body, _)| body)
            .unwrap_or_else(|| panic!("{store} is in none of the files"));
        body.lines()
            .filter_map(|line| {
                let line = line.trim_start();
                let name = line.strip_prefix("async ").unwrap_or(line);
                let name = name.strip_prefix("fn ")?;
                name.split(['(', '<']).next()
            })
            .collect()
    }

    #[tokio::test]
    async fn every_statement_is_asked_or_about_nobodys_records() {
        let asked = ask_all(&MemoryDatabase::new()).await;
        let nobodys: BTreeSet<&str> = NOBODYS
            .iter()
            .flat_map(|(_, statements)| statements.iter().copied())
            .collect();
        let mut there = BTreeSet::new();
        for (accessor, store) in crate::for_each_store!(stores) {
            for method in methods(store) {
                there.insert(format!("{accessor}.{method}"));
            }
        }
        for statement in &there {
            let is_asked = asked.contains(statement.as_str());
            assert_ne!(
                is_asked,
                nobodys.contains(statement.as_str()),
                "{statement} is either asked for another's records, or is about nobody's"
            );
        }
        for statement in asked.iter().chain(&nobodys) {
            assert!(there.contains(*statement), "{statement} is no statement");
        }
    }
}
