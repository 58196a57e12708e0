//! Customers on the processor's and the verifier's own pages: sent there, and asked about when they
//! come back.
//!
//! What a page does for the customer is done while they wait: where it sends them back to holds the
//! secret of their own page, which is written down nowhere. Dying anywhere in between has the same
//! session opened again under the same key.

use super::attempt::person;
use super::{Change, CrashPoint, JobRunner, Setback};
use crate::access::Mode;
use crate::checkout::{Actor, Checkout, Circumstances, Effect, Event, Lifecycle, Refusal};
use crate::customer::Customer;
use crate::ids::OrganizationId;
use crate::ledger::{Entry, HostedSession, SessionPurpose, SessionState, Thing};
use crate::money::Money;
use crate::ports::{
    Attempt, IdentityResult, Scope, SessionItem, SessionRequest, SessionWanted, UnitOfWork, Verdict,
};
use crate::services::identity::{self, Decision};
use crate::services::moving::{self, Due};
use crate::services::{Error, ledger, sessions};

/// Where the processor's own pages send a customer back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayBack {
    /// When they have done what they came for.
    pub done: String,
    /// When they go back instead.
    pub left: String,
}

impl From<Setback> for Error {
    fn from(setback: Setback) -> Self {
        match setback {
            Setback::Doubt(doubt) => doubt.into(),
            Setback::Refused(refusal) => Self::rule(refusal.message),
            Setback::Failed(error) => error,
            Setback::NotYet(_) => Self::rule("the provider has not decided yet"),
        }
    }
}

impl JobRunner {
    /// Whether customers of the organization pay, leave their card and prove who they are on the providers'
    /// own pages. In live mode nobody does any of it for them.
    ///
    /// # Errors
    /// [`Error::Provider`] when it cannot be told whether the organization has an account of its own.
    pub async fn hosts(&self, scope: Scope) -> Result<bool, Error> {
        if scope.mode == Mode::Live {
            return Ok(true);
        }
        Ok(self
            .providers
            .of(scope.mode)
            .processor
            .has_pages(scope)
            .await?)
    }

    fn attempt_under(&self, checkout: &Checkout, key: String) -> Attempt {
        let now = self.clock.now();
        Attempt {
            organization_id: checkout.organization_id,
            mode: checkout.mode,
            idempotency_key: key,
            first_tried_at: now,
            now,
        }
    }

    async fn again(&self, checkout: &Checkout) -> Result<(Checkout, Customer, Vec<Entry>), Error> {
        let mut view = self.database.read(checkout.organization_id.into()).await?;
        let found = view.checkouts().get(checkout.id).await?;
        let checkout = found.ok_or(Error::not_found("checkout"))?;
        let customer = moving::customer_of(view.as_mut(), &checkout).await?;
        let rows = view.ledger().of(checkout.id).await?;
        Ok((checkout, customer, rows))
    }

    /// Makes the customer known to the processor: where that cannot be done nobody is sent there.
    ///
    /// # Errors
    /// [`Error::Provider`] in doubt, or where there is no processor; [`Error::Rule`] with the processor's
    /// words when it refuses.
    pub async fn introduce(&self, checkout: &Checkout) -> Result<(), Error> {
        let (checkout, customer, _) = self.again(checkout).await?;
        let key = format!("page-{}", customer.id);
        let attempt = self.attempt_under(&checkout, key);
        self.known_customer(&attempt, &customer).await?;
        Ok(())
    }

    /// Where the customer goes on with the session of this purpose that was asked for, which is opened
    /// if it was not yet. None when nothing is open any more: what came of it is taken in.
    ///
    /// # Errors
    /// [`Error::Provider`] in doubt: the same call opens the same session. [`Error::Rule`] with the
    /// processor's words when it refuses.
    pub async fn open_session(
        &self,
        checkout: &Checkout,
        purpose: SessionPurpose,
        back: &WayBack,
    ) -> Result<Option<String>, Error> {
        let (checkout, customer, rows) = self.again(checkout).await?;
        let mut open = rows.iter().rev().filter(|row| row.is_open_session(purpose));
        let Some(row) = open.next() else {
            return Ok(None);
        };
        let processor = &self.providers.of(checkout.mode).processor;
        if let Some(id) = row.session_id() {
            let told = processor.session((&checkout).into(), id).await?;
            if let Some(HostedSession {
                state: SessionState::Open,
                url: Some(url),
                ..
            }) = told
            {
                return Ok(Some(url));
            }
            self.write_sessions(&checkout, vec![(row.clone(), told)])
                .await?;
            return Ok(None);
        }
        let attempt = Attempt {
            first_tried_at: row.at,
            ..self.attempt_under(&checkout, row.id.clone())
        };
        let request = self
            .session_of(&attempt, &checkout, &customer, row, back)
            .await?;
        self.probe.reached(CrashPoint::Taken, Effect::CheckSessions);
        let opened = processor.open_session(&attempt, &request).await?;
        self.probe
            .reached(CrashPoint::Answered, Effect::CheckSessions);
        match opened {
            Verdict::Done(session) => self.keep_session(&checkout, row, session).await,
            Verdict::Refused(refusal) => {
                self.session_refused(&checkout, row, refusal).await?;
                Ok(None)
            }
        }
    }

    async fn session_of(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
        row: &Entry,
        back: &WayBack,
    ) -> Result<SessionRequest, Error> {
        let purpose = row.session().map(|(purpose, _)| purpose);
        let wanted = if purpose == Some(SessionPurpose::Deposit) {
            SessionWanted::Deposit {
                amount: row.amount,
                items: self.items_of(checkout).await?,
            }
        } else {
            SessionWanted::Method {
                currency: row.amount.currency(),
            }
        };
        let Thing::Session { ends_at, .. } = row.thing else {
            return Err(Error::rule("this is no session"));
        };
        Ok(SessionRequest {
            checkout: checkout.id,
            organization: self.organization_pub_id(checkout).await?,
            customer: self.known_customer(attempt, customer).await?,
            wanted,
            ends_at,
            done_url: back.done.clone(),
            left_url: back.left.clone(),
        })
    }

    /// What is paid along with the deposit, and the deposit itself, as the processor's page lists them.
    async fn items_of(&self, checkout: &Checkout) -> Result<Vec<SessionItem>, Error> {
        let quote = self.quote(checkout).await?;
        let deposit = quote.map(|quote| quote.deposit);
        let leased = checkout.items.first().map(|item| item.name.as_str());
        let deposit = deposit.map(|amount| SessionItem {
            name: match leased {
                Some(name) if checkout.quantity().is_several() => {
                    format!("Refundable deposit: {} × {name}", checkout.quantity())
                }
                Some(name) => format!("Refundable deposit: {name}"),
                None => "Refundable deposit".to_owned(),
            },
            amount,
            quantity: 1,
        });
        let bought = checkout.purchase_items.iter().map(|item| SessionItem {
            name: item.name.as_str().to_owned(),
            amount: item.amount,
            quantity: item.quantity,
        });
        let due = |item: &SessionItem| item.amount > Money::zero(item.amount.currency());
        Ok(deposit.into_iter().chain(bought).filter(due).collect())
    }

    /// Writes the session down that was opened. None when nobody is to be sent there any more.
    async fn keep_session(
        &self,
        checkout: &Checkout,
        row: &Entry,
        session: HostedSession,
    ) -> Result<Option<String>, Error> {
        let mut uow = self.database.begin(checkout.organization_id.into()).await?;
        let locked = moving::lock(uow.as_mut(), checkout.id).await?;
        let now = self.clock.now();
        let is_kept = sessions::opened(uow.as_mut(), now, &locked, row, &session.id).await?;
        self.probe
            .reached(CrashPoint::Uncommitted, Effect::CheckSessions);
        uow.commit().await?;
        self.probe
            .reached(CrashPoint::Committed, Effect::CheckSessions);
        if is_kept {
            return Ok(session.url);
        }
        let attempt = self.attempt_under(checkout, expiry_of(row));
        let processor = &self.providers.of(checkout.mode).processor;
        processor.expire_session(&attempt, &session.id).await?;
        Ok(None)
    }

    /// The processor opens no session: the deposit has failed, and of a card the customer is told.
    async fn session_refused(
        &self,
        checkout: &Checkout,
        row: &Entry,
        refusal: Refusal,
    ) -> Result<(), Error> {
        let mut uow = self.database.begin(checkout.organization_id.into()).await?;
        let mut locked = moving::lock(uow.as_mut(), checkout.id).await?;
        let now = self.clock.now();
        let over = row.with_session(None, SessionState::Expired, now);
        let is_news = ledger::note(uow.as_mut(), checkout.mode, &over).await?;
        let said = refusal.message.clone();
        let fails = row.is_open_session(SessionPurpose::Deposit)
            && locked.lifecycle() == Lifecycle::DepositProcessing;
        if is_news && fails {
            let by = Circumstances::new(now, Actor::Provider);
            let refused = Event::DepositRefused { refusal };
            let ids = self.ids.as_ref();
            moving::apply(uow.as_mut(), ids, &mut locked, refused, &by).await?;
        }
        uow.commit().await?;
        if fails {
            Ok(())
        } else {
            Err(Error::rule(said))
        }
    }

    /// How the checkout's open sessions stand, asked of the processor.
    async fn told_of_sessions(
        &self,
        checkout: &Checkout,
        rows: &[Entry],
    ) -> Result<Vec<(Entry, Option<HostedSession>)>, Setback> {
        let processor = &self.providers.of(checkout.mode).processor;
        let mut told = Vec::new();
        for row in rows {
            if let (Some((_, state)), Some(id)) = (row.session(), row.session_id())
                && !state.is_over()
            {
                let session = processor.session(checkout.into(), id).await?;
                told.push((row.clone(), session));
            }
        }
        Ok(told)
    }

    pub(super) async fn check_sessions(&self, checkout: &Checkout) -> Result<Change, Setback> {
        let rows = {
            let mut view = self.database.read(checkout.organization_id.into()).await?;
            view.ledger().of(checkout.id).await?
        };
        Ok(Change::Sessions(
            self.told_of_sessions(checkout, &rows).await?,
        ))
    }

    /// The customer is back from a page: what came of it is asked and taken in, of the verifier's page
    /// as of the processor's.
    ///
    /// # Errors
    /// [`Error::Provider`] in doubt: the providers' messages tell of it too.
    pub async fn customer_is_back(&self, checkout: &Checkout) -> Result<(), Error> {
        let (checkout, customer, rows) = self.again(checkout).await?;
        let told = self.told_of_sessions(&checkout, &rows).await?;
        self.write_sessions(&checkout, told).await?;
        if checkout.lifecycle().is_identifying()
            && let Some(session) = &customer.screening.verification_session_id
        {
            let verifier = &self.providers.of(checkout.mode).identity;
            let told = verifier.progress((&checkout).into(), session).await?;
            self.write_identity(&checkout, session, told.result).await?;
        }
        Ok(())
    }

    /// The customer gives up paying on the processor's page: it is closed there first, so that nobody
    /// pays later in another tab. One that was paid meanwhile counts.
    ///
    /// # Errors
    /// [`Error::Provider`] in doubt: it is open still.
    pub async fn leave_sessions(
        &self,
        checkout: &Checkout,
        purpose: SessionPurpose,
    ) -> Result<(), Error> {
        let (checkout, _, rows) = self.again(checkout).await?;
        let mut told = Vec::new();
        for row in rows.iter().filter(|row| row.is_open_session(purpose)) {
            told.push((row.clone(), self.close_session(&checkout, row).await?));
        }
        self.write_sessions(&checkout, told).await
    }

    /// Closes every session of a checkout that has ended: nobody pays for it any more.
    pub(super) async fn close_sessions(
        &self,
        checkout: &Checkout,
        rows: &mut [Entry],
    ) -> Result<(), Setback> {
        for row in rows {
            let Some((_, state)) = row.session().filter(|(_, state)| !state.is_over()) else {
                continue;
            };
            let closed = self.close_session(checkout, row).await?;
            let state = closed.map_or(SessionState::Expired, |closed| {
                if closed.state.is_over() {
                    closed.state
                } else {
                    state
                }
            });
            *row = row.with_session(None, state, self.clock.now());
        }
        Ok(())
    }

    /// None when it was never opened.
    async fn close_session(
        &self,
        checkout: &Checkout,
        row: &Entry,
    ) -> Result<Option<HostedSession>, Setback> {
        let Some(id) = row.session_id() else {
            return Ok(None);
        };
        let attempt = self.attempt_under(checkout, expiry_of(row));
        let processor = &self.providers.of(checkout.mode).processor;
        match processor.expire_session(&attempt, id).await? {
            Verdict::Done(session) => Ok(Some(session)),
            // It knows of none.
            Verdict::Refused(_) => Ok(None),
        }
    }

    async fn write_sessions(
        &self,
        checkout: &Checkout,
        told: Vec<(Entry, Option<HostedSession>)>,
    ) -> Result<(), Error> {
        if told.is_empty() {
            return Ok(());
        }
        let mut uow = self.database.begin(checkout.organization_id.into()).await?;
        let mut locked = moving::lock(uow.as_mut(), checkout.id).await?;
        let by = Circumstances::new(self.clock.now(), Actor::Provider);
        let ids = self.ids.as_ref();
        for (row, session) in &told {
            let session = session.as_ref();
            sessions::take_in(uow.as_mut(), ids, &by, &mut locked, row, session).await?;
        }
        Ok(uow.commit().await?)
    }

    /// Where the customer proves who they are: a session of the verifier's, opened if none is, or the
    /// one that is open. None when there is nothing for them to do: it was decided, or is being.
    ///
    /// # Errors
    /// [`Error::Provider`] in doubt: the same call opens the same session. [`Error::Rule`] with the
    /// verifier's words when it refuses, or where no identity is asked for.
    pub async fn open_identity(
        &self,
        checkout: &Checkout,
        return_url: &str,
    ) -> Result<Option<String>, Error> {
        let (mut checkout, mut customer, _) = self.again(checkout).await?;
        let verifier = &self.providers.of(checkout.mode).identity;
        if checkout.lifecycle() == Lifecycle::IdentityVerifying
            && let Some(session) = customer.screening.verification_session_id.clone()
        {
            let told = verifier.progress((&checkout).into(), &session).await?;
            if told.result == IdentityResult::AwaitingCustomer && told.url.is_some() {
                return Ok(told.url);
            }
            self.write_identity(&checkout, &session, told.result)
                .await?;
            (checkout, customer, _) = self.again(&checkout).await?;
        }
        match checkout.lifecycle() {
            Lifecycle::IdentityRequired => {}
            state if state > Lifecycle::IdentityRequired && !state.is_ended() => return Ok(None),
            state => {
                return Err(Error::rule(format!(
                    "the checkout is {state} and asks for no identity"
                )));
            }
        }
        // Each round has a key of its own, and whoever changed is another: both are written into the customer.
        let key = format!("identity-{}-{}", checkout.id, customer.version);
        let attempt = self.attempt_under(&checkout, key);
        self.probe
            .reached(CrashPoint::Taken, Effect::StartIdentityVerification);
        let back = Some(return_url.to_owned());
        let started = verifier
            .start(&attempt, checkout.id, &person(&customer), back)
            .await?;
        self.probe
            .reached(CrashPoint::Answered, Effect::StartIdentityVerification);
        let session = match started {
            Verdict::Done(session) => session,
            Verdict::Refused(refusal) => return Err(Error::rule(refusal.message)),
        };
        let mut uow = self.begin_for(checkout.organization_id).await?;
        let mut locked = moving::lock(uow.as_mut(), checkout.id).await?;
        if locked.lifecycle() == Lifecycle::IdentityRequired {
            let by = Circumstances::new(self.clock.now(), Actor::Provider);
            let (ids, id, about) = (self.ids.as_ref(), session.id, &customer.profile);
            let due = Due::Now;
            if !identity::started(uow.as_mut(), ids, &by, &mut locked, id, about, due).await? {
                return Ok(None);
            }
            uow.commit().await?;
        }
        self.probe
            .reached(CrashPoint::Committed, Effect::StartIdentityVerification);
        Ok(session.url)
    }

    async fn begin_for(&self, organization: OrganizationId) -> Result<Box<dyn UnitOfWork>, Error> {
        Ok(self.database.begin(organization.into()).await?)
    }

    /// Takes in what the verifier says of the session by now.
    async fn write_identity(
        &self,
        checkout: &Checkout,
        session: &str,
        result: IdentityResult,
    ) -> Result<(), Error> {
        let mut uow = self.begin_for(checkout.organization_id).await?;
        let mut locked = moving::lock(uow.as_mut(), checkout.id).await?;
        let by = Circumstances::new(self.clock.now(), Actor::Provider);
        let origin = identity::verifier();
        let decision = Decision {
            session_id: session,
            result,
            origin: &origin,
        };
        let ids = self.ids.as_ref();
        if identity::decide(uow.as_mut(), ids, &by, &mut locked, &decision, Due::Now).await? {
            identity::ask_for_others(uow.as_mut(), ids, by.at, &locked).await?;
        }
        Ok(uow.commit().await?)
    }
}

/// The key under which the session is closed.
fn expiry_of(row: &Entry) -> String {
    format!("{}:expire", row.id)
}
