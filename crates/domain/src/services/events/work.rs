//! A database whose units of work tell of what they change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;

use super::names::{self, Booked, CheckoutChange, Names};
use super::seen::{AllWritten, Seen, Written};
use crate::access::Mode;
use crate::catalog::ProductVariant;
use crate::checkout::Checkout;
use crate::credit::Qualification;
use crate::events::{Contents, EventSubject, EventType, NewEvent};
use crate::ids::{CheckoutPubId, CustomerPubId, EventPubId, OrganizationId, ProductVariantPubId};
use crate::ledger::{Entry, HoldState, Thing};
use crate::mail::MailModes;
use crate::organization::Organization;
use crate::ports::{
    AgreementStore, AuditStore, CategoryStore, CheckoutStore, Clock, CreditPolicyStore,
    CursorStore, CustomerStore, Database, DeliveryStore, Doors, EventListener, EventRecords,
    EventStore, EventView, IdGenerator, IdempotencyStore, InboxStore, JobStore, KeyStore,
    LeaseTermStore, LedgerStore, MailStore, OrganizationStore, PersonalDataStore,
    PickupLocationStore, ProcessorAccountStore, ProductStore, QualificationStore, Reach, Scope,
    ShipmentStore, StoreError, UnitOfWork, VariantStore, WebhookEndpointStore,
};
use crate::pricing::Quote;
use crate::services::checkouts::{CheckoutView, Rates, quotes_by, view_with};
use crate::services::{Error, mails};

/// What events are made with.
struct Teller {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    records: Arc<dyn EventRecords>,
    listener: Arc<dyn EventListener>,
    mail: MailModes,
}

/// A database whose units of work write an [event](crate::events) for whatever they change that a GET
/// shows.
///
/// No use case tells of what it does: its unit of work sees each record as it was read or locked
/// first and as it was written last, and the moves of checkouts. With the commit it renders both, and
/// what differs is an event in the same transaction. So there is no change without its event, and no
/// event without its change, whoever writes.
pub struct TellingDatabase {
    inner: Arc<dyn Database>,
    teller: Arc<Teller>,
}

impl TellingDatabase {
    /// Wraps the database.
    #[must_use]
    pub fn new(
        inner: Arc<dyn Database>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        records: Arc<dyn EventRecords>,
        listener: Arc<dyn EventListener>,
    ) -> Self {
        let teller = Teller {
            clock,
            ids,
            records,
            listener,
            mail: MailModes::default(),
        };
        Self {
            inner,
            teller: Arc::new(teller),
        }
    }

    /// The same, which queues the [mails](crate::mail) that events are causes of, in the modes in which mails
    /// are sent: in the same transaction, so that there is one for each cause, whoever dies when.
    #[must_use]
    pub fn with_mail(self, modes: MailModes) -> Self {
        let Teller {
            clock,
            ids,
            records,
            listener,
            mail: _,
        } = &*self.teller;
        let teller = Teller {
            clock: Arc::clone(clock),
            ids: Arc::clone(ids),
            records: Arc::clone(records),
            listener: Arc::clone(listener),
            mail: modes,
        };
        Self {
            inner: self.inner,
            teller: Arc::new(teller),
        }
    }

    /// The same around another database, such as one that notes its commits.
    #[must_use]
    pub fn around(&self, inner: Arc<dyn Database>) -> Self {
        Self {
            inner,
            teller: Arc::clone(&self.teller),
        }
    }
}

#[async_trait]
impl Database for TellingDatabase {
    async fn begin(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        Ok(Box::new(TellingWork {
            inner: self.inner.begin(reach).await?,
            teller: Arc::clone(&self.teller),
            organization: match reach {
                Reach::Organization(id) => Some(id),
                Reach::Server => None,
            },
            request_id: None,
            seen: Seen::default(),
            told: BTreeSet::new(),
        }))
    }

    async fn read(&self, reach: Reach) -> Result<Box<dyn UnitOfWork>, StoreError> {
        self.inner.read(reach).await
    }
}

/// A unit of work that tells of what it changes. Its stores are in `stores/`.
pub(super) struct TellingWork {
    pub(super) inner: Box<dyn UnitOfWork>,
    teller: Arc<Teller>,
    /// In whose name it works now.
    pub(super) organization: Option<OrganizationId>,
    request_id: Option<String>,
    pub(super) seen: Seen,
    /// Whose feeds have something to be numbered.
    told: BTreeSet<(OrganizationId, Mode)>,
}

/// What happened to a record, in one feed.
struct Told {
    turn: usize,
    mode: Mode,
    names: Names,
    subject: EventSubject,
    customer: Option<CustomerPubId>,
    contents: Contents,
}

/// What written checkouts are shown with.
struct ShownWith {
    /// What counts of their credit.
    counts: BTreeMap<CheckoutPubId, Option<Qualification>>,
    /// What each costs as it was, where it was there, and as it is.
    quotes: Vec<Option<Quote>>,
}

/// What is rendered of a record before and after.
struct Rendered {
    contents: Contents,
    differs: bool,
}

impl Teller {
    /// A record and what differs of it; none for one that is in neither view.
    fn render(
        &self,
        before: Option<&EventView<'_>>,
        after: Option<&EventView<'_>>,
    ) -> Result<Option<Rendered>, StoreError> {
        let before = before.map(|view| self.records.render(view)).transpose()?;
        let after = after.map(|view| self.records.render(view)).transpose()?;
        Ok(match (before, after) {
            (Some(before), Some(after)) => {
                let previous = before.previous(&after);
                Some(Rendered {
                    differs: previous.is_some(),
                    contents: Contents {
                        object: after.json,
                        previous,
                    },
                })
            }
            // What is gone is shown as it was.
            (Some(record), None) | (None, Some(record)) => Some(Rendered {
                differs: true,
                contents: Contents {
                    object: record.json,
                    previous: None,
                },
            }),
            (None, None) => None,
        })
    }
}

impl TellingWork {
    /// Writes the events of what was changed in the organization's name since it was entered.
    async fn tell(&mut self) -> Result<(), StoreError> {
        // What is kept across a wait is moved with the future, at each of its callers: what is large is apart.
        let mut seen = Box::new(std::mem::take(&mut self.seen));
        let Some(organization_id) = self.organization.filter(|_| !seen.is_quiet()) else {
            return Ok(());
        };
        let mut told = self.changes(organization_id, &mut seen).await?;
        told.sort_by_key(|told| told.turn);
        let now = self.teller.clock.now();
        let events: Vec<NewEvent> = told
            .iter()
            .flat_map(|told| told.names.iter().map(move |name| (told, *name)))
            .map(|(told, event_type)| NewEvent {
                id: EventPubId::from_uuid(self.teller.ids.next()),
                organization_id,
                mode: told.mode,
                event_type,
                subject: told.subject,
                created_at: now,
                request_id: self.request_id.clone(),
                customer: told.customer,
                contents: Some(told.contents.clone()),
            })
            .collect();
        if !events.is_empty() {
            self.inner.events().append(&events).await?;
            let feeds = told.iter().map(|told| (organization_id, told.mode));
            self.told.extend(feeds);
            let (modes, ids) = (self.teller.mail, Arc::clone(&self.teller.ids));
            Box::pin(mails::queue_of(&mut *self.inner, &*ids, modes, &events)).await?;
        }
        Ok(())
    }

    async fn changes(
        &mut self,
        organization_id: OrganizationId,
        seen: &mut Seen,
    ) -> Result<Vec<Told>, StoreError> {
        let mut told = Vec::new();
        self.tell_of_catalog(seen, &mut told)?;
        self.tell_of_customers(seen, &mut told)?;
        self.tell_of_endpoints(seen, &mut told)?;
        let variants = self.changed_variants(organization_id, seen).await?;
        let checkouts = self.changed_checkouts(seen).await?;
        if variants.is_empty() && checkouts.is_empty() {
            return Ok(told);
        }
        let organization = Arc::new(match seen.organization.take() {
            Some(organization) => organization,
            None => self
                .inner
                .organizations()
                .get(organization_id)
                .await?
                .ok_or(StoreError::Missing("organization"))?,
        });
        for (id, written) in &variants {
            self.tell_of_variant(&organization, *id, written, &mut told)?;
        }
        if !checkouts.is_empty() {
            let counts = self.qualifications_of(seen, &checkouts).await?;
            let quotes = self.quotes_of(seen, &checkouts).await?;
            for (id, (_, booked)) in &mut seen.booked {
                self.tell_deposits(*id, booked).await?;
            }
            let with = ShownWith { counts, quotes };
            self.tell_of_checkouts(&organization, seen, checkouts, with, &mut told)?;
        }
        Ok(told)
    }

    /// Products and lease terms, which are in both feeds.
    fn tell_of_catalog(&self, seen: &mut Seen, told: &mut Vec<Told>) -> Result<(), StoreError> {
        let mut tell = |turn, name, subject, rendered: Option<Rendered>| {
            let Some(rendered) = rendered.filter(|rendered| rendered.differs) else {
                return;
            };
            told.extend(Mode::ALL.map(|mode| Told {
                turn,
                mode,
                names: Names::from([name]),
                subject,
                customer: None,
                contents: rendered.contents.clone(),
            }));
        };
        for (id, written) in std::mem::take(&mut seen.products).into_written() {
            let (before, after) = (written.before.as_ref(), written.after.as_ref());
            let rendered = self.teller.render(
                before.map(EventView::Product).as_ref(),
                after.map(EventView::Product).as_ref(),
            )?;
            let name = names::of_product(before, after);
            tell(written.turn, name, EventSubject::Product(id), rendered);
        }
        for (id, written) in std::mem::take(&mut seen.terms).into_written() {
            let (before, after) = (written.before.as_ref(), written.after.as_ref());
            let rendered = self.teller.render(
                before.map(EventView::LeaseTerm).as_ref(),
                after.map(EventView::LeaseTerm).as_ref(),
            )?;
            let name = names::of_term(before.is_none(), after.is_none());
            tell(written.turn, name, EventSubject::LeaseTerm(id), rendered);
        }
        Ok(())
    }

    fn tell_of_customers(&self, seen: &mut Seen, told: &mut Vec<Told>) -> Result<(), StoreError> {
        for (id, written) in std::mem::take(&mut seen.customers).into_written() {
            let Some(after) = &written.after else {
                continue;
            };
            let before = written.before.as_ref();
            let rendered = self.teller.render(
                before.map(EventView::Customer).as_ref(),
                Some(&EventView::Customer(after)),
            )?;
            if let Some(rendered) = rendered.filter(|rendered| rendered.differs) {
                told.push(Told {
                    turn: written.turn,
                    mode: after.mode,
                    names: Names::from([names::of_customer(before, after)]),
                    subject: EventSubject::Customer(id),
                    customer: Some(id),
                    contents: rendered.contents,
                });
            }
        }
        Ok(())
    }

    /// Endpoints that Lessor disabled by itself: what their organization does with them it knows.
    fn tell_of_endpoints(&self, seen: &mut Seen, told: &mut Vec<Told>) -> Result<(), StoreError> {
        for (id, written) in std::mem::take(&mut seen.endpoints).into_written() {
            let (Some(before), Some(after)) = (&written.before, &written.after) else {
                continue;
            };
            if before.disabled_reason.is_some() || after.disabled_reason.is_none() {
                continue;
            }
            let rendered = self.teller.render(
                Some(&EventView::WebhookEndpoint(before)),
                Some(&EventView::WebhookEndpoint(after)),
            )?;
            if let Some(rendered) = rendered {
                told.push(Told {
                    turn: written.turn,
                    mode: after.mode,
                    names: Names::from([EventType::WebhookEndpointDisabled]),
                    subject: EventSubject::WebhookEndpoint(id),
                    customer: None,
                    contents: rendered.contents,
                });
            }
        }
        Ok(())
    }

    /// The variants that were written, and those of which stock was taken or put back.
    async fn changed_variants(
        &mut self,
        organization: OrganizationId,
        seen: &mut Seen,
    ) -> Result<AllWritten<ProductVariantPubId, ProductVariant>, StoreError> {
        let mut written = std::mem::take(&mut seen.variants).into_written();
        for (id, (turn, moved)) in std::mem::take(&mut seen.stock) {
            if written.get(&id).is_some_and(|known| known.after.is_none()) {
                continue;
            }
            // It is locked since: nobody else has written it.
            let Some(after) = self.inner.variants().get(organization, id).await? else {
                continue;
            };
            match written.get_mut(&id) {
                Some(known) => known.after = Some(after),
                None => {
                    let before = moved.undone(after.clone());
                    let (before, after) = (Some(before), Some(after));
                    written.insert(
                        id,
                        Box::new(Written {
                            turn,
                            before,
                            after,
                        }),
                    );
                }
            }
        }
        Ok(written)
    }

    /// Stock is of one mode, all else of both.
    fn tell_of_variant(
        &self,
        organization: &Organization,
        id: ProductVariantPubId,
        written: &Written<ProductVariant>,
        told: &mut Vec<Told>,
    ) -> Result<(), StoreError> {
        let (before, after) = (written.before.as_ref(), written.after.as_ref());
        for mode in Mode::ALL {
            if let (Some(before), Some(after)) = (before, after)
                && is_the_others_stock(before, after, mode)
            {
                continue;
            }
            let view = |variant| EventView::ProductVariant {
                variant,
                mode,
                organization: organization.pub_id,
            };
            let rendered = self
                .teller
                .render(before.map(view).as_ref(), after.map(view).as_ref())?;
            if let Some(rendered) = rendered.filter(|rendered| rendered.differs) {
                told.push(Told {
                    turn: written.turn,
                    mode,
                    names: names::of_variant(before, after, mode),
                    subject: EventSubject::ProductVariant(id),
                    customer: None,
                    contents: rendered.contents,
                });
            }
        }
        Ok(())
    }

    /// The checkouts that were written, and those whose record shows something else that was.
    async fn changed_checkouts(
        &mut self,
        seen: &mut Seen,
    ) -> Result<AllWritten<CheckoutPubId, Checkout>, StoreError> {
        let mut written = std::mem::take(&mut seen.checkouts).into_written();
        let decided = seen.decided.iter().map(|(id, (turn, _))| (*id, *turn));
        let booked = seen.booked.iter().map(|(id, (turn, _))| (*id, *turn));
        let others: Vec<(CheckoutPubId, usize)> = decided.chain(booked).collect();
        for (id, turn) in others {
            if written.contains_key(&id) {
                continue;
            }
            if let Some(checkout) = self.inner.checkouts().get(id).await? {
                let (before, after) = (Some(checkout.clone()), Some(checkout));
                written.insert(
                    id,
                    Box::new(Written {
                        turn,
                        before,
                        after,
                    }),
                );
            }
        }
        Ok(written)
    }

    /// What the checkouts cost, as they were and as they are, one after the other.
    async fn quotes_of(
        &mut self,
        seen: &mut Seen,
        written: &AllWritten<CheckoutPubId, Checkout>,
    ) -> Result<Vec<Option<Quote>>, StoreError> {
        let all: Vec<&Checkout> = written
            .values()
            .flat_map(|written| [&written.before, &written.after])
            .flatten()
            .collect();
        let cover = |rates: &Rates| rates.cover(all.iter().copied());
        let known = seen.rates.take().filter(cover);
        let rates = match known {
            Some(known) => Ok(Some(known)),
            None => Box::pin(Rates::of(&mut *self.inner, &all)).await,
        };
        match rates.and_then(|rates| quotes_by(rates.as_ref(), all.iter().copied())) {
            Ok(quotes) => Ok(quotes),
            Err(Error::Store(error)) => Err(error),
            // What cannot be priced is not priced on GET either; what was frozen is known.
            Err(_) => Ok(all.iter().map(|checkout| checkout.quote).collect()),
        }
    }

    fn tell_of_checkouts(
        &self,
        organization: &Arc<Organization>,
        seen: &mut Seen,
        written: AllWritten<CheckoutPubId, Checkout>,
        with: ShownWith,
        told: &mut Vec<Told>,
    ) -> Result<(), StoreError> {
        let ShownWith { mut counts, quotes } = with;
        let mut quotes = quotes.into_iter();
        for (id, written) in written {
            let mut view = |checkout: Option<Checkout>,
                            qualification: Option<Qualification>|
             -> Result<Option<CheckoutView>, StoreError> {
                let Some(checkout) = checkout else {
                    return Ok(None);
                };
                let quote = quotes.next().flatten();
                view_with(checkout, organization, quote, qualification)
                    .map(Some)
                    .map_err(|error| StoreError::internal(error.to_string()))
            };
            let now = counts.remove(&id).flatten();
            let earlier = match seen.decided.remove(&id) {
                Some((_, earlier)) => earlier,
                None => now.clone(),
            };
            let before = view(written.before, earlier)?;
            let Some(after) = view(written.after, now)? else {
                continue;
            };
            let rendered = self.teller.render(
                before.as_ref().map(EventView::Checkout).as_ref(),
                Some(&EventView::Checkout(&after)),
            )?;
            let Some(rendered) = rendered else { continue };
            let moves = seen.moves.remove(&id).unwrap_or_default();
            let booked = seen.booked.remove(&id).map(|(_, rows)| rows);
            let change = CheckoutChange {
                before: before.as_ref().map(|view| &view.checkout),
                after: &after.checkout,
                moves: &moves,
                booked: booked.as_deref().unwrap_or_default(),
            };
            let mut names = change.names();
            if names.is_empty() && rendered.differs {
                names.insert(EventType::CheckoutUpdated);
            }
            told.push(Told {
                turn: written.turn,
                mode: after.checkout.mode,
                names,
                subject: EventSubject::Checkout(id),
                customer: Some(after.checkout.customer_id),
                contents: rendered.contents,
            });
        }
        Ok(())
    }

    /// What counts of the checkouts' credit now.
    async fn qualifications_of(
        &mut self,
        seen: &mut Seen,
        written: &AllWritten<CheckoutPubId, Checkout>,
    ) -> Result<BTreeMap<CheckoutPubId, Option<Qualification>>, StoreError> {
        let mut latest = std::mem::take(&mut seen.latest);
        let unknown: Vec<CheckoutPubId> = written
            .keys()
            .filter(|id| !latest.contains_key(id))
            .copied()
            .collect();
        if !unknown.is_empty() {
            let found = self.inner.qualifications().latest(&unknown).await?;
            latest.extend(found.into_iter().map(|it| (it.checkout, Some(it))));
        }
        let counting = |latest: Option<Qualification>| latest.filter(Qualification::counts);
        Ok(latest
            .into_iter()
            .map(|(id, latest)| (id, counting(latest)))
            .collect())
    }

    /// Says of refunds whether they are of the deposit: the row of what was paid tells.
    async fn tell_deposits(
        &mut self,
        id: CheckoutPubId,
        booked: &mut [Booked],
    ) -> Result<(), StoreError> {
        let is_refund = |row: &Booked| matches!(row.after.thing, Thing::Refund { .. });
        if !booked.iter().any(is_refund) {
            return Ok(());
        }
        let rows = self.inner.ledger().of(id).await?;
        let is_hold = |id: &str| {
            let row = rows.iter().find(|row| row.id == id);
            row.and_then(Entry::hold_state)
                .is_some_and(|state| state == HoldState::Captured)
        };
        for row in booked {
            if let Thing::Refund {
                payment_intent_id, ..
            } = &row.after.thing
            {
                row.is_of_deposit = is_hold(payment_intent_id);
            }
        }
        Ok(())
    }
}

/// Whether nothing changed but how many there are in the other mode. When that was is of no news in this
/// one.
fn is_the_others_stock(before: &ProductVariant, after: &ProductVariant, mode: Mode) -> bool {
    let mut as_now = before.clone();
    as_now.updated_at = after.updated_at;
    as_now.version = after.version;
    for other in Mode::ALL.into_iter().filter(|other| *other != mode) {
        *as_now.stock.of_mut(other) = after.stock.of(other);
    }
    before.stock != after.stock && as_now == *after
}

macro_rules! passed_on {
    ($($name:ident: $store:ident,)*) => {
        $(fn $name(&mut self) -> &mut dyn $store {
            self.inner.$name()
        })*
    };
}

macro_rules! told {
    ($($name:ident: $store:ident,)*) => {
        $(fn $name(&mut self) -> &mut dyn $store {
            self
        })*
    };
}

#[async_trait]
impl UnitOfWork for TellingWork {
    told! {
        organizations: OrganizationStore,
        customers: CustomerStore,
        lease_terms: LeaseTermStore,
        products: ProductStore,
        variants: VariantStore,
        checkouts: CheckoutStore,
        ledger: LedgerStore,
        qualifications: QualificationStore,
        webhook_endpoints: WebhookEndpointStore,
    }

    passed_on! {
        pickup_locations: PickupLocationStore,
        keys: KeyStore,
        categories: CategoryStore,
        agreements: AgreementStore,
        shipments: ShipmentStore,
        jobs: JobStore,
        inbox: InboxStore,
        processor_accounts: ProcessorAccountStore,
        cursors: CursorStore,
        idempotency: IdempotencyStore,
        credit_policies: CreditPolicyStore,
        audit: AuditStore,
        events: EventStore,
        deliveries: DeliveryStore,
        mails: MailStore,
        doors: Doors,
    }

    fn personal_data(&mut self) -> &mut dyn PersonalDataStore {
        // It takes what is personal out of every record of a customer.
        self.seen.is_outdated = true;
        self.inner.personal_data()
    }

    fn asked_by(&mut self, request_id: &str) {
        self.request_id = Some(request_id.to_owned());
        self.inner.asked_by(request_id);
    }

    async fn enter(&mut self, organization: OrganizationId) -> Result<(), StoreError> {
        if self.organization != Some(organization) {
            // Nobody else sees the records.
            self.tell().await?;
            self.inner.enter(organization).await?;
            self.organization = Some(organization);
        }
        Ok(())
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.tell().await?;
        let Self {
            inner,
            teller,
            told,
            ..
        } = *self;
        inner.commit().await?;
        for (organization_id, mode) in told {
            teller.listener.written(Scope {
                organization_id,
                mode,
            });
        }
        Ok(())
    }

    async fn roll_back(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.roll_back().await
    }
}
