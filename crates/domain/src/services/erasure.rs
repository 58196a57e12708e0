//! Erasing and exporting what is known of a person.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use super::audit::{self, Entry as AuditEntry};
use super::checkouts::{CheckoutView, scope_of, views_of};
use super::{Context, Error, UseCase, customers, moving};
use crate::access::{Mode, Permission};
use crate::agreement::{AgreementEvent, AgreementRecord};
use crate::audit::{
    AuditAction, AuditArea, AuditChange, AuditEvent, AuditMembers, AuditSubject, AuditViewer,
};
use crate::checkout::{
    Actor, Billing, CANCELLED_BY_ERASURE, Checkout, Effect, Event, Lifecycle, Snapshot, Tracking,
};
use crate::customer::Customer;
use crate::ids::{CheckoutPubId, CustomerPubId};
use crate::ledger::Entry;
use crate::ports::{
    AuditFilter, CheckoutFilter, CheckoutSort, Erasure, HistoryEntry, JobSubject, NewJob, Page,
    PersonalTable, Removal, ReplacementAnswer, SortOrder, Start, StoreError, UnitOfWork,
};
use crate::shipments::TrackingEvent;
use crate::text::Line;
use crate::time::Day;

/// How many records are read at a time.
const BATCH: u32 = 100;

/// Takes what is known of the customer's person out of every record that no lease needs. Checkouts
/// on their way are called off first; of those that cannot be, the lease's own records stay, and the
/// answer says so. Asked again it takes what was left then, and otherwise changes nothing.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EraseCustomer {
    /// Who.
    pub id: CustomerPubId,
    /// What repetitions of requests are answered from then on whose kept answers told of the person.
    pub replacement: ReplacementAnswer,
}

/// What became of an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureReport {
    /// The customer as it is left.
    pub customer: Customer,
    /// The tables that something was taken out of this time, each once, in the order of their names.
    pub erased: Vec<PersonalTable>,
    /// What stays.
    pub kept: Vec<Kept>,
}

/// Something that an erasure leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The table.
    pub what: PersonalTable,
    /// What of it stays and why, for people.
    pub why: String,
    /// The last day on which it is needed, where that is known.
    pub until: Option<Day>,
}

#[async_trait]
impl UseCase for EraseCustomer {
    type Output = ErasureReport;

    fn permission(&self) -> Permission {
        Permission::CustomerErase
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<ErasureReport, Error> {
        customers::known(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let ids = checkouts_of(uow, ctx, self.id).await?;
        let mut erased = BTreeSet::new();
        let mut leases = Leases::default();
        for id in &ids {
            let mut checkout = moving::lock(uow, *id).await?;
            call_off(uow, ctx, &mut checkout).await?;
            let before = checkout.clone();
            if checkout.forget_person(ctx.now) {
                uow.checkouts().update(&mut checkout).await?;
                erased.extend(told_in(&before, &checkout));
            }
            leases.take_in(checkout);
        }
        let mut customer = uow
            .customers()
            .lock(self.id)
            .await?
            .ok_or(Error::not_found("customer"))?;
        // Whoever was about to order has done so by now, or is about to find the customer erased.
        if checkouts_of(uow, ctx, self.id).await? != ids {
            return Err(Error::Store(StoreError::Contended));
        }
        let before = customer.clone();
        if customer.forget_person(!leases.running.is_empty(), ctx.now) {
            uow.customers().update(&mut customer).await?;
            erased.extend(told_of(&before, &customer));
        }
        let erasure = leases.erasure(&before, self.replacement);
        let removal = uow
            .personal_data()
            .erase(scope_of(ctx.access), &erasure)
            .await?;
        erased.extend(removal.tables.iter().copied());
        let is_told = before.profile == customer.profile && before.email == customer.email;
        if !is_told && customer.screening.processor_id.is_some() {
            let job = overwrite_at_processor(&customer, ctx);
            uow.jobs().push(&[job]).await?;
        }
        if !erased.is_empty() || before.erased_at.is_none() {
            audit::note(uow, ctx, erasure_of(&customer, &erased)).await?;
        }
        Ok(ErasureReport {
            kept: leases.kept(&customer, &removal),
            erased: erased.into_iter().collect(),
            customer,
        })
    }
}

/// All of the customer's checkouts, oldest first.
async fn checkouts_of(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CustomerPubId,
) -> Result<Vec<CheckoutPubId>, Error> {
    let found = uow
        .checkouts()
        .of_customer(ctx.access.mode, id, Lifecycle::ALL)
        .await;
    Ok(found?)
}

/// Calls the checkout off where it can be: goods on their way or in use come back by a return.
async fn call_off(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    checkout: &mut Checkout,
) -> Result<(), Error> {
    if checkout.lifecycle().is_ended() {
        return Ok(());
    }
    let reason = Line::parse(CANCELLED_BY_ERASURE).ok();
    let mut by = ctx.circumstances(Actor::Operator);
    by.reason.clone_from(&reason);
    let event = Event::Cancelled { reason };
    match moving::apply(uow, ctx.ids, checkout, event, &by).await {
        Ok(_) | Err(Error::Rule { .. }) => Ok(()),
        Err(other) => Err(other),
    }
}

/// What the audit tells of the erasure: nothing of the person.
fn erasure_of(customer: &Customer, erased: &BTreeSet<PersonalTable>) -> AuditEntry {
    let tables: Vec<&str> = erased.iter().map(|table| table.as_str()).collect();
    let mut after = AuditMembers::new();
    after.set("erased", tables.join(", "));
    AuditEntry {
        area: AuditArea::from(customer.mode),
        action: AuditAction::CustomerErased,
        subject: AuditSubject::from(customer.id),
        change: AuditChange::created(after),
        customer: None,
    }
}

/// The processor's own record of the customer is written over.
fn overwrite_at_processor(customer: &Customer, ctx: &Context<'_>) -> NewJob {
    NewJob {
        id: ctx.ids.next(),
        effect: Effect::PushCustomer,
        subject: JobSubject::Customer(customer.id),
        organization_id: customer.organization_id,
        mode: customer.mode,
        created_at: ctx.now,
        available_at: ctx.now,
        is_held: false,
        units: None,
    }
}

/// The tables in which something of the customer differs.
fn told_of(before: &Customer, after: &Customer) -> impl Iterator<Item = PersonalTable> + use<> {
    let differs = (&before.email, &before.profile, &before.screening)
        != (&after.email, &after.profile, &after.screening);
    let is_annotated = before.metadata != after.metadata;
    [
        (PersonalTable::CustomerMetadata, is_annotated),
        (PersonalTable::Customers, differs || is_annotated),
    ]
    .into_iter()
    .filter_map(|(table, differs)| differs.then_some(table))
}

/// The tables in which something of the checkout differs.
fn told_in(before: &Snapshot, after: &Snapshot) -> impl Iterator<Item = PersonalTable> + use<> {
    let is_annotated = before.metadata != after.metadata;
    let person = |of: &Snapshot| {
        let addresses = (
            of.given_profile.clone(),
            of.billing.clone(),
            of.shipping.clone(),
        );
        (of.redirects.clone(), addresses)
    };
    let application = person(before) != person(after);
    let checkout =
        (&before.cancel_reason, &before.attention) != (&after.cancel_reason, &after.attention);
    [
        (
            PersonalTable::CheckoutApplications,
            application || is_annotated,
        ),
        (
            PersonalTable::CheckoutBilling,
            before.recurring != after.recurring,
        ),
        (
            PersonalTable::CheckoutDeposits,
            before.deposit_method_id != after.deposit_method_id,
        ),
        (PersonalTable::CheckoutMetadata, is_annotated),
        (
            PersonalTable::CheckoutReturns,
            before.return_ != after.return_,
        ),
        (
            PersonalTable::CheckoutShipments,
            before.shipment != after.shipment,
        ),
        (
            PersonalTable::CheckoutWaits,
            before.waitlist != after.waitlist,
        ),
        (PersonalTable::Checkouts, checkout),
    ]
    .into_iter()
    .filter_map(|(table, differs)| differs.then_some(table))
}

/// A customer's checkouts, after those that could be were called off.
#[derive(Default)]
struct Leases {
    ended: Vec<Checkout>,
    /// Those that go on, and need what they know.
    running: Vec<Checkout>,
}

impl Leases {
    fn take_in(&mut self, checkout: Checkout) {
        if checkout.lifecycle().is_ended() {
            self.ended.push(checkout);
        } else {
            self.running.push(checkout);
        }
    }

    /// What is to be taken away of the customer, as they were known.
    fn erasure(&self, known: &Customer, replacement: ReplacementAnswer) -> Erasure {
        let all = self.ended.iter().chain(&self.running);
        let shipments: Vec<Tracking> = all
            .filter_map(|checkout| checkout.shipment.tracking.clone())
            .collect();
        let screening = &known.screening;
        // As members of documents, so that no part of another's is taken for it.
        let quoted = |text: &str| format!("\"{text}\"");
        let mut names = vec![known.id.to_string(), quoted(known.email.as_str())];
        names.extend(screening.processor_id.as_deref().map(quoted));
        names.extend(screening.verification_session_id.as_deref().map(quoted));
        let numbers = shipments.iter().map(|tracking| tracking.number.as_str());
        names.extend(numbers.map(quoted));
        Erasure {
            customer: known.id,
            names,
            ended: ids(&self.ended),
            running: ids(&self.running),
            never_leased: self
                .ended
                .iter()
                .filter(|checkout| !was_leased(checkout))
                .map(|checkout| checkout.id)
                .collect(),
            shipments,
            email: known.email.clone(),
            since: known.created_at,
            replacement,
        }
    }

    /// What stays, why, and until when.
    fn kept(&self, customer: &Customer, removal: &Removal) -> Vec<Kept> {
        let mut kept = self.needed(customer.mode);
        let mut keep = |what, why: String| {
            kept.push(Kept {
                what,
                why,
                until: None,
            });
        };
        if customer.screening.processor_id.is_some() {
            let why =
                "the payment processor's number of the customer: refunds and disputes name it";
            keep(PersonalTable::Customers, why.to_owned());
        }
        let all = || self.ended.iter().chain(&self.running);
        if all().next().is_some() {
            let why =
                "what was ordered, when, for how much and under which order number: for the books";
            keep(PersonalTable::Checkouts, why.to_owned());
        }
        if all().any(|checkout| was_leased(checkout) && checkout.lease_document_id.is_some()) {
            let why = "the agreements of leases, which are kept by law, and who signed them when";
            keep(PersonalTable::Agreements, why.to_owned());
            let why = "from where agreements of leases were opened and signed: the proof of it";
            keep(PersonalTable::AgreementEvents, why.to_owned());
        }
        if all().any(has_paid) {
            let why = "amounts, times and the payment processor's numbers: for the books";
            keep(PersonalTable::LedgerEntries, why.to_owned());
        }
        let why = "who did what and when: what it told of the person nobody can read any more";
        keep(PersonalTable::AuditEvents, why.to_owned());
        let why = "what happened and when: what it showed of the person nobody can read any more";
        keep(PersonalTable::Events, why.to_owned());
        if removal.unhandled > 0 {
            let why = format!(
                "{} messages of providers that are not handled: erase the customer again when they are",
                removal.unhandled
            );
            keep(PersonalTable::InboxMessages, why);
        }
        kept
    }

    /// What leases that go on need.
    fn needed(&self, mode: Mode) -> Vec<Kept> {
        if self.running.is_empty() {
            return Vec::new();
        }
        let leases: Vec<String> = self.running.iter().map(|it| it.id.to_string()).collect();
        let leases = leases.join(", ");
        let ends: Option<Vec<Day>> = self.running.iter().map(|it| it.lease.end).collect();
        let until = ends.and_then(|ends| ends.into_iter().max());
        let mut tables = BTreeMap::from([
            (
                PersonalTable::Customers,
                "name, address and e-mail address, and what screening found",
            ),
            (PersonalTable::CheckoutTransitions, "why it moved"),
            (
                PersonalTable::Qualifications,
                "what the decision about credit is known by",
            ),
            (
                PersonalTable::Jobs,
                "why providers did not do what they were asked for",
            ),
        ]);
        for checkout in &self.running {
            let told = told_in(checkout, &checkout.without_person());
            tables.extend(told.filter_map(|table| Some((table, what_of_a_lease(table)?))));
            if checkout.shipment.tracking.is_some() {
                tables.insert(PersonalTable::TrackingEvents, "where its goods were");
            }
        }
        if mode == Mode::Sandbox {
            tables.extend([
                (PersonalTable::SimulatedCustomers, "name and e-mail address"),
                (PersonalTable::SimulatedPaymentIntents, "the e-mail address"),
                (PersonalTable::SimulatedSubscriptions, "the e-mail address"),
            ]);
        }
        tables
            .into_iter()
            .map(|(what, which)| Kept {
                what,
                why: format!("{which}: {leases} has not ended"),
                until,
            })
            .collect()
    }
}

fn ids(checkouts: &[Checkout]) -> Vec<CheckoutPubId> {
    checkouts.iter().map(|checkout| checkout.id).collect()
}

/// Whether a lease came of it, or may: goods were handed over, or are about to be.
fn was_leased(checkout: &Checkout) -> bool {
    !checkout.lifecycle().is_ended()
        || checkout.lifecycle().is_leased()
        || checkout.milestones.active_at.is_some()
}

/// Whether anything was made at the payment processor for it.
fn has_paid(checkout: &Checkout) -> bool {
    checkout.deposit_submitted_at.is_some()
        || checkout.deposit.hold().is_some()
        || checkout.recurring.billing != Billing::NotRequested
}

/// What a lease that goes on needs of a table of its checkout.
const fn what_of_a_lease(table: PersonalTable) -> Option<&'static str> {
    match table {
        PersonalTable::CheckoutApplications => Some("addresses, and what is kept beside it"),
        PersonalTable::CheckoutBilling => Some("what pays"),
        PersonalTable::CheckoutDeposits => Some("what paid the deposit"),
        PersonalTable::CheckoutMetadata => Some("what is kept beside it"),
        PersonalTable::CheckoutReturns => Some("why the goods come back"),
        PersonalTable::CheckoutShipments => Some("who signed for the goods"),
        PersonalTable::CheckoutWaits => Some("the address that was not served"),
        PersonalTable::Checkouts => Some("why somebody has to look"),
        _ => None,
    }
}

/// All that is known of the customer, their leases and what was done to either.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`]; [`Error::Pricing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportCustomer {
    /// Who.
    pub id: CustomerPubId,
}

/// What is known of a customer.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomerExport {
    /// The customer.
    pub customer: Customer,
    /// Their checkouts, oldest first.
    pub checkouts: Vec<CheckoutExport>,
    /// What was done to the customer and to their checkouts, as far as the caller may see it, oldest first.
    pub audit: Vec<AuditEvent>,
}

/// What is known of a checkout of a customer.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckoutExport {
    /// The checkout, and what it costs.
    pub view: CheckoutView,
    /// Its moves, oldest first.
    pub history: Vec<HistoryEntry>,
    /// The shipment that the events are of.
    pub tracking: Option<Tracking>,
    /// What the carrier reported, oldest first.
    pub tracking_events: Vec<TrackingEvent>,
    /// What was made at the payment processor for it, in the order in which it was first kept.
    pub payments: Vec<Entry>,
    /// The documents that were to be signed, oldest first, each with its record.
    pub agreements: Vec<(AgreementRecord, Vec<AgreementEvent>)>,
}

#[async_trait]
impl UseCase for ExportCustomer {
    type Output = CustomerExport;

    fn permission(&self) -> Permission {
        Permission::CustomerErase
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<CustomerExport, Error> {
        let customer = customers::known(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        let checkouts = exported_checkouts(uow, ctx, self.id).await?;
        let mut audit = events_about(uow, ctx, AuditSubject::from(self.id)).await?;
        for checkout in &checkouts {
            let subject = AuditSubject::from(checkout.view.checkout.id);
            audit.append(&mut events_about(uow, ctx, subject).await?);
        }
        // Ids are made in the order of time.
        audit.sort_by_key(|event| event.id);
        Ok(CustomerExport {
            customer,
            checkouts,
            audit,
        })
    }
}

/// The customer's checkouts with all that is known of each.
async fn exported_checkouts(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    id: CustomerPubId,
) -> Result<Vec<CheckoutExport>, Error> {
    let scope = scope_of(ctx.access);
    let filter = CheckoutFilter {
        customer: Some(id),
        ..CheckoutFilter::default()
    };
    let (sort, order) = (CheckoutSort::CreatedAt, SortOrder::Ascending);
    let mut exported = Vec::new();
    let mut page = first_page();
    loop {
        let found = uow
            .checkouts()
            .list(scope, &filter, sort, order, page)
            .await?;
        let Some(last) = found.last() else {
            return Ok(exported);
        };
        page.start = Start::After(last.id.as_uuid());
        for view in views_of(uow, ctx, found).await? {
            exported.push(export_of(uow, view).await?);
        }
    }
}

async fn export_of(uow: &mut dyn UnitOfWork, view: CheckoutView) -> Result<CheckoutExport, Error> {
    let id = view.checkout.id;
    let tracking = view.checkout.shipment.tracking.clone();
    let tracking_events = match &tracking {
        Some(tracking) => uow.shipments().list(id, tracking).await?,
        None => Vec::new(),
    };
    let mut agreements = Vec::new();
    for record in uow.agreements().of(id).await? {
        let events = uow.agreements().events(record.id).await?;
        agreements.push((record, events));
    }
    Ok(CheckoutExport {
        agreements,
        history: uow.checkouts().history(id).await?,
        payments: uow.ledger().of(id).await?,
        tracking,
        tracking_events,
        view,
    })
}

/// What was done to the subject, as far as the key may see it.
async fn events_about(
    uow: &mut dyn UnitOfWork,
    ctx: &Context<'_>,
    subject: AuditSubject,
) -> Result<Vec<AuditEvent>, Error> {
    let organization = ctx.access.organization_id;
    let viewer = AuditViewer::from(ctx.access.mode);
    let filter = AuditFilter {
        subject: Some(subject),
        actor: None,
    };
    let mut events = Vec::new();
    let mut page = first_page();
    loop {
        let mut found = uow
            .audit()
            .list(organization, viewer, &filter, page)
            .await?;
        let Some(last) = found.last() else {
            return Ok(events);
        };
        page.start = Start::After(last.id.as_uuid());
        events.append(&mut found);
    }
}

const fn first_page() -> Page {
    Page {
        start: Start::Offset(0),
        limit: BATCH,
    }
}
