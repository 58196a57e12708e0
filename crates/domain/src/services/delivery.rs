//! Carrying out what the outbox holds.
//!
//! A job is taken in a short unit of work of its own, the provider is called
//! outside of any, and the answer is written in a third together with the mark
//! that the job is done. Dying anywhere in between repeats the call under the same
//! key. Doubt is retried with a growing pause; a refusal is an answer.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use super::moving::{self, Due};
use super::{Error, payments};
use crate::access::Mode;
use crate::checkout::{
    Actor, Checkout, Circumstances, Effect, Event, Lifecycle, RecurringPaymentStatus, Refusal,
    StockTaken,
};
use crate::customer::{CreditStatus, Customer, IdentityStatus};
use crate::money::Money;
use crate::names::named_enum;
use crate::ports::{
    Answer, Authorization, Call, Clock, Database, DepositRequest, Doubt, Entropy, IdGenerator,
    IdentityResult, InvoiceNews, InvoiceOutcome, Job, JobSubject, LeaseDocument, Person,
    ProcessorCustomer, ProcessorProduct, ProcessorVariant, ProviderSet, StoreError, Subscription,
    SubscriptionRequest, UnitOfWork, Voided,
};
use crate::time::Timestamp;

/// How long a worker keeps a job to itself.
pub const JOB_LEASE: Duration = Duration::from_secs(90);
/// How often a job is tried before it is put aside for a person.
pub const MAX_ATTEMPTS: u32 = 25;
/// The longest pause between two tries.
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(6);
/// The pause before a verifier that has not decided is asked again.
const ASK_AGAIN: TimeDelta = TimeDelta::minutes(1);
/// Stands for an authorization of nothing: a deposit of zero needs no processor.
const WAIVED: &str = "waived_";
/// How long an authorization of nothing lasts.
const WAIVED_FOR: TimeDelta = TimeDelta::days(7);

named_enum! {
    /// Where the process may die while a job is carried out; each is safe, and each
    /// is tried by a test that dies there.
    pub enum CrashPoint {
        /// The job is taken, nobody was called.
        Taken = "taken",
        /// The customer is known to the processor, the work is not begun.
        CustomerKnown = "customerKnown",
        /// The provider has answered, nothing is written.
        Answered = "answered",
        /// The answer is written, not committed.
        Uncommitted = "uncommitted",
        /// Everything is committed.
        Committed = "committed",
    }
}

/// Watches jobs being carried out. Tests abort the process in it.
pub trait Probe: Send + Sync {
    /// The job of the effect has come to the point.
    fn reached(&self, point: CrashPoint, effect: Effect);
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn reached(&self, _: CrashPoint, _: Effect) {}
}

/// Carries jobs out.
#[derive(Clone)]
pub struct Deliverer {
    /// Where jobs and checkouts are.
    pub database: Arc<dyn Database>,
    /// Who does the work.
    pub providers: ProviderSet,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
    /// Where the jitter of pauses comes from.
    pub entropy: Arc<dyn Entropy>,
    /// Who watches; [`NoProbe`] outside of tests.
    pub probe: Arc<dyn Probe>,
}

/// What became of one try of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// It is done.
    Done,
    /// It is to be tried again at this time.
    Later(Timestamp),
    /// It is put aside for a person.
    Buried,
}

/// What a provider's answer is to change.
enum Change {
    /// Nothing is left to do.
    Nothing,
    /// The answer of the identity verifier's start.
    IdentityStarted(String),
    /// What the verifier decided of the session.
    Identity(String, IdentityResult),
    /// Whether the credit check passed.
    Credit(bool),
    /// The deposit is authorized.
    Authorized(Authorization),
    /// The deposit is authorized anew.
    Renewed(Authorization),
    /// The document is prepared.
    Document(String),
    /// The subscription runs.
    Subscribed(Subscription),
    /// The subscription is ended.
    Unsubscribed,
    /// Something else happened.
    Happened(Event),
}

/// Why a try came to nothing.
enum Setback {
    Doubt(Doubt),
    /// The provider has not decided: ask again then.
    NotYet(TimeDelta),
    /// The provider refused what must not be refused: a person has to see to it.
    Refused(Refusal),
    Failed(Error),
}

impl From<Doubt> for Setback {
    fn from(doubt: Doubt) -> Self {
        Self::Doubt(doubt)
    }
}

impl From<Error> for Setback {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Setback {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

fn text(line: Option<&crate::text::Line>) -> Option<String> {
    line.map(|line| line.as_str().to_owned())
}

/// The customer, as the processor is told of it.
#[must_use]
pub fn processor_customer(customer: &Customer, mode: Mode) -> ProcessorCustomer {
    let profile = &customer.profile;
    let name: Vec<String> = [
        text(profile.first_name.as_ref()),
        text(profile.last_name.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect();
    ProcessorCustomer {
        id: customer.id,
        email: customer.email.as_str().to_owned(),
        name: (!name.is_empty()).then(|| name.join(" ")),
        phone: text(profile.phone.as_ref()),
        processor_id: customer.screening(mode).processor_id.clone(),
    }
}

fn person(customer: &Customer) -> Person {
    Person {
        id: customer.id,
        email: customer.email.as_str().to_owned(),
        first_name: text(customer.profile.first_name.as_ref()),
        last_name: text(customer.profile.last_name.as_ref()),
        address: customer.profile.address(),
    }
}

/// The call of a part of the job's work: a key of its own, the same for every try.
fn part(call: &Call, name: &str) -> Call {
    Call {
        idempotency_key: format!("{}:{name}", call.idempotency_key),
        ..call.clone()
    }
}

fn must<T>(answer: Answer<T>) -> Result<T, Setback> {
    match answer {
        Answer::Done(value) => Ok(value),
        Answer::Refused(refusal) => Err(Setback::Refused(refusal)),
    }
}

impl Deliverer {
    /// Delivers up to so many due jobs. Answers how many it took.
    ///
    /// # Errors
    /// [`Error::Store`] when the jobs cannot be taken.
    pub async fn run_due(&self, limit: u32) -> Result<usize, Error> {
        let mut uow = self.database.begin().await?;
        let jobs = uow
            .outbox()
            .claim(self.clock.now(), JOB_LEASE, limit)
            .await?;
        uow.commit().await?;
        let taken = jobs.len();
        for job in jobs {
            self.deliver(&job).await?;
        }
        Ok(taken)
    }

    /// Delivers the next job of the subject, due or not. None when there is none,
    /// or somebody else is at it.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn deliver_next(&self, subject: JobSubject) -> Result<Option<Delivered>, Error> {
        let mut uow = self.database.begin().await?;
        let job = uow
            .outbox()
            .claim_of(subject, self.clock.now(), JOB_LEASE)
            .await?;
        uow.commit().await?;
        match job {
            Some(job) => self.deliver(&job).await.map(Some),
            None => Ok(None),
        }
    }

    /// Delivers the subject's jobs until none is left, or one has to wait.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn drain(&self, subject: JobSubject) -> Result<(), Error> {
        while let Some(Delivered::Done) = self.deliver_next(subject).await? {}
        Ok(())
    }

    /// Delivers the next job of a checkout whose deposit is being authorized, as if
    /// no stock were left.
    pub(super) async fn deliver_out_of_stock(
        &self,
        id: crate::ids::CheckoutPubId,
    ) -> Result<(), Error> {
        let mut uow = self.database.begin().await?;
        let job = uow
            .outbox()
            .claim_of(JobSubject::Checkout(id), self.clock.now(), JOB_LEASE)
            .await?;
        uow.commit().await?;
        let Some(job) = job else { return Ok(()) };
        let change = match self.perform(&job).await {
            Ok(Change::Authorized(Authorization {
                payment_intent_id,
                expires_at,
                method,
            })) => Change::Happened(Event::DepositAuthorized {
                payment_intent_id,
                expires_at,
                method,
                stock: StockTaken::NoneLeft,
            }),
            Ok(other) => other,
            Err(Setback::Failed(error)) => return Err(error),
            Err(Setback::Doubt(doubt)) => return Err(doubt.into()),
            Err(Setback::NotYet(_) | Setback::Refused(_)) => return Ok(()),
        };
        match self.write(&job, change).await {
            Ok(()) => Ok(()),
            Err(Setback::Failed(error)) => Err(error),
            Err(Setback::Doubt(_) | Setback::NotYet(_) | Setback::Refused(_)) => Ok(()),
        }
    }

    /// Tries one job that was taken.
    async fn deliver(&self, job: &Job) -> Result<Delivered, Error> {
        self.probe.reached(CrashPoint::Taken, job.new.effect);
        let tried = match self.perform(job).await {
            Ok(change) => {
                self.probe.reached(CrashPoint::Answered, job.new.effect);
                self.write(job, change).await
            }
            Err(setback) => Err(setback),
        };
        let now = self.clock.now();
        let (again, why) = match tried {
            Ok(()) => return Ok(Delivered::Done),
            Err(Setback::NotYet(pause)) => (
                now.checked_add_signed(pause),
                "the provider has not decided yet".to_owned(),
            ),
            Err(Setback::Doubt(doubt)) if job.attempts < MAX_ATTEMPTS => (
                now.checked_add_signed(self.pause(job.attempts)),
                doubt.to_string(),
            ),
            Err(Setback::Doubt(doubt)) => (None, doubt.to_string()),
            Err(Setback::Refused(refusal)) => (
                None,
                format!("refused: {} ({})", refusal.message, refusal.code),
            ),
            Err(Setback::Failed(Error::Store(
                StoreError::Stale(_) | StoreError::Contended | StoreError::Unavailable(_),
            ))) => (
                now.checked_add_signed(TimeDelta::seconds(1)),
                "the store was contended".to_owned(),
            ),
            Err(Setback::Failed(error)) if job.attempts < MAX_ATTEMPTS => (
                now.checked_add_signed(self.pause(job.attempts)),
                error.to_string(),
            ),
            Err(Setback::Failed(error)) => (None, error.to_string()),
        };
        let mut uow = self.database.begin().await?;
        let outcome = match again {
            Some(at) => {
                uow.outbox().retry(job, at, &why).await?;
                Delivered::Later(at)
            }
            None => {
                uow.outbox().bury(job, &why).await?;
                Delivered::Buried
            }
        };
        uow.commit().await?;
        Ok(outcome)
    }

    /// One second, doubled with each try up to six hours, plus up to a quarter of
    /// itself so that many do not come back at once.
    fn pause(&self, attempts: u32) -> TimeDelta {
        let mut byte = [0_u8; 1];
        self.entropy.fill(&mut byte);
        let [jitter] = byte;
        let seconds = 1_i64
            .checked_shl(attempts.saturating_sub(1))
            .filter(|seconds| *seconds > 0);
        let pause = seconds
            .and_then(TimeDelta::try_seconds)
            .unwrap_or(LONGEST_PAUSE)
            .min(LONGEST_PAUSE);
        let extra = pause
            .num_milliseconds()
            .saturating_mul(i64::from(jitter))
            .checked_div(1024)
            .unwrap_or(0);
        pause
            .checked_add(&TimeDelta::milliseconds(extra))
            .unwrap_or(pause)
    }

    fn call(&self, job: &Job) -> Call {
        let now = self.clock.now();
        Call {
            mode: job.new.mode,
            idempotency_key: job.idempotency_key(),
            first_tried_at: job.first_attempt_at.unwrap_or(now),
            now,
        }
    }

    /// Calls whom the job asks for, outside of any unit of work.
    async fn perform(&self, job: &Job) -> Result<Change, Setback> {
        match job.new.subject {
            JobSubject::Checkout(id) => {
                let mut uow = self.database.read().await?;
                let Some(checkout) = uow.checkouts().get(id).await? else {
                    return Ok(Change::Nothing);
                };
                let customer = moving::customer_of(uow.as_mut(), &checkout).await?;
                drop(uow);
                self.perform_for(job, &checkout, &customer).await
            }
            JobSubject::Product(_) | JobSubject::Variant(_) | JobSubject::Customer(_) => {
                self.push(job).await
            }
        }
    }

    async fn perform_for(
        &self,
        job: &Job,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let call = self.call(job);
        let providers = self.providers.of(checkout.mode);
        let state = checkout.lifecycle();
        let screening = customer.screening(checkout.mode);
        let at = |states: &[Lifecycle]| states.contains(&state);
        match job.new.effect {
            Effect::StartIdentityVerification if at(&[Lifecycle::IdentityRequired]) => {
                let session = must(
                    providers
                        .identity
                        .start(&call, checkout.id, &person(customer))
                        .await?,
                )?;
                Ok(Change::IdentityStarted(session.id))
            }
            Effect::FetchIdentityResult
                if at(&[
                    Lifecycle::IdentityRequired,
                    Lifecycle::IdentityVerifying,
                    Lifecycle::IdentityProcessing,
                ]) =>
            {
                let Some(session) = screening.verification_session_id.clone() else {
                    return Ok(Change::Nothing);
                };
                if screening.identity == IdentityStatus::Verified {
                    return Ok(Change::Identity(session, IdentityResult::Verified));
                }
                match providers.identity.result(checkout.mode, &session).await? {
                    IdentityResult::AwaitingCustomer | IdentityResult::Processing => {
                        Err(Setback::NotYet(ASK_AGAIN))
                    }
                    decided => Ok(Change::Identity(session, decided)),
                }
            }
            Effect::CheckCredit if at(&[Lifecycle::QualificationPending]) => {
                let quote = self.quote(checkout).await?;
                let answer = providers
                    .credit
                    .check(&call, &person(customer), quote)
                    .await?;
                Ok(Change::Credit(matches!(answer, Answer::Done(()))))
            }
            // One that was called off while it was authorized is authorized or found
            // all the same, so that the void that follows knows what to let go.
            Effect::AuthorizeDeposit
                if at(&[Lifecycle::DepositProcessing]) || state.is_ended() && job.attempts > 1 =>
            {
                self.authorize(&call, checkout, customer, false).await
            }
            Effect::RenewDeposit if !state.is_ended() && checkout.deposit.captured_at.is_none() => {
                let Some(old) = checkout.deposit.payment_intent_id.clone() else {
                    return Ok(Change::Nothing);
                };
                match self.authorize(&call, checkout, customer, true).await? {
                    Change::Authorized(new) => {
                        if !old.starts_with(WAIVED) && old != new.payment_intent_id {
                            must(
                                providers
                                    .processor
                                    .void_deposit(&part(&call, "void"), &old)
                                    .await?,
                            )?;
                        }
                        Ok(Change::Renewed(new))
                    }
                    // The old authorization holds until it lapses.
                    _ => Ok(Change::Nothing),
                }
            }
            Effect::VoidDeposit => self.void(&call, checkout).await,
            Effect::RefundDeposit => {
                let Some(intent) = checkout
                    .deposit
                    .payment_intent_id
                    .as_deref()
                    .filter(|id| !id.starts_with(WAIVED))
                else {
                    return Ok(Change::Nothing);
                };
                // Returned goods give the deposit back; what was bought along stays sold.
                let part_of_it = (state == Lifecycle::Returned
                    && !checkout.purchase_items.is_empty())
                .then(|| checkout.quote.map(|quote| quote.deposit))
                .flatten();
                must(
                    providers
                        .processor
                        .refund_deposit(&call, intent, part_of_it)
                        .await?,
                )?;
                Ok(Change::Nothing)
            }
            Effect::PrepareDocuments
                if at(&[Lifecycle::DocumentsPending]) && checkout.lease_document_id.is_none() =>
            {
                let Some(quote) = self.quote(checkout).await? else {
                    return Ok(Change::Nothing);
                };
                let document = LeaseDocument {
                    checkout: checkout.id,
                    person: person(customer),
                    quote,
                };
                Ok(Change::Document(must(
                    providers.signer.prepare(&call, &document).await?,
                )?))
            }
            Effect::CaptureDeposit
                if at(&[Lifecycle::DocumentsPending, Lifecycle::CaptureFailed]) =>
            {
                self.capture(&call, checkout).await
            }
            Effect::CreateSubscription
                if checkout.recurring.subscription_id.is_none()
                    && (!state.is_ended() || job.attempts > 1) =>
            {
                self.subscribe(&call, checkout, customer).await
            }
            Effect::CancelSubscription => {
                let Some(id) = &checkout.recurring.subscription_id else {
                    return Ok(Change::Nothing);
                };
                must(providers.processor.cancel_subscription(&call, id).await?)?;
                Ok(Change::Unsubscribed)
            }
            // The state has moved on, or the work is another subject's.
            Effect::StartIdentityVerification
            | Effect::FetchIdentityResult
            | Effect::CheckCredit
            | Effect::AuthorizeDeposit
            | Effect::RenewDeposit
            | Effect::PrepareDocuments
            | Effect::CaptureDeposit
            | Effect::CreateSubscription
            | Effect::PushProduct
            | Effect::PushVariant
            | Effect::PushCustomer => Ok(Change::Nothing),
        }
    }

    async fn quote(&self, checkout: &Checkout) -> Result<Option<crate::pricing::Quote>, Setback> {
        let mut uow = self.database.read().await?;
        Ok(super::checkouts::quote_of(uow.as_mut(), checkout).await?)
    }

    async fn organization_pub_id(
        &self,
        checkout: &Checkout,
    ) -> Result<crate::ids::OrganizationPubId, Setback> {
        let mut uow = self.database.read().await?;
        let organization = uow.organizations().get(checkout.organization_id).await?;
        Ok(organization
            .ok_or(StoreError::Missing("organization"))?
            .pub_id)
    }

    /// The customer with the processor's id, which is asked for when it is not known.
    async fn known_customer(
        &self,
        call: &Call,
        customer: &Customer,
        mode: Mode,
    ) -> Result<ProcessorCustomer, Setback> {
        let mut known = processor_customer(customer, mode);
        if known.processor_id.is_none() {
            let id = must(
                self.providers
                    .of(mode)
                    .processor
                    .push_customer(&part(call, "customer"), &known)
                    .await?,
            )?;
            let mut uow = self.database.begin().await?;
            if let Some(mut customer) = uow.customers().lock(customer.id).await? {
                let screening = customer.screening_mut(mode);
                // Two jobs may have asked at once: the first answer stays.
                let id = screening.processor_id.get_or_insert(id).clone();
                uow.customers().update(&mut customer).await?;
                uow.commit().await?;
                known.processor_id = Some(id);
                self.probe
                    .reached(CrashPoint::CustomerKnown, Effect::PushCustomer);
            }
        }
        Ok(known)
    }

    async fn authorize(
        &self,
        call: &Call,
        checkout: &Checkout,
        customer: &Customer,
        renewal: bool,
    ) -> Result<Change, Setback> {
        let Some(quote) = self.quote(checkout).await? else {
            return Ok(Change::Nothing);
        };
        let amount = checkout
            .purchase_total(Money::zero(quote.currency))
            .and_then(|items| items.checked_add(quote.deposit))
            .map_err(|error| Error::rule(error.to_string()))?;
        if amount.is_zero() {
            let expires_at = call.now.checked_add_signed(WAIVED_FOR).unwrap_or(call.now);
            let payment_intent_id = format!("{WAIVED}{}", checkout.id);
            return Ok(Change::Authorized(Authorization {
                payment_intent_id,
                expires_at,
                method: None,
            }));
        }
        let method = if renewal {
            checkout
                .recurring
                .method
                .as_ref()
                .map(|method| method.id.clone())
        } else {
            None
        };
        let request = DepositRequest {
            checkout: checkout.id,
            organization: self.organization_pub_id(checkout).await?,
            customer: self.known_customer(call, customer, checkout.mode).await?,
            amount,
            payment_method: method.or_else(|| checkout.deposit.method_id.clone()),
            off_session: renewal,
        };
        match self
            .providers
            .of(checkout.mode)
            .processor
            .authorize_deposit(call, &request)
            .await?
        {
            Answer::Done(authorization) => Ok(Change::Authorized(authorization)),
            Answer::Refused(refusal) => Ok(Change::Happened(Event::DepositRefused(refusal))),
        }
    }

    async fn void(&self, call: &Call, checkout: &Checkout) -> Result<Change, Setback> {
        let Some(intent) = checkout
            .deposit
            .payment_intent_id
            .as_deref()
            .filter(|id| !id.starts_with(WAIVED))
        else {
            return Ok(Change::Nothing);
        };
        let processor = &self.providers.of(checkout.mode).processor;
        let captured = checkout.deposit.captured_at.is_some()
            || matches!(
                must(processor.void_deposit(call, intent).await?)?,
                Voided::AlreadyCaptured(_)
            );
        if captured {
            must(
                processor
                    .refund_deposit(&part(call, "refund"), intent, None)
                    .await?,
            )?;
        }
        Ok(Change::Nothing)
    }

    async fn capture(&self, call: &Call, checkout: &Checkout) -> Result<Change, Setback> {
        let Some(intent) = checkout.deposit.payment_intent_id.as_deref() else {
            return Ok(Change::Nothing);
        };
        if intent.starts_with(WAIVED) {
            return Ok(Change::Happened(Event::DepositCaptured {
                invoice_id: intent.to_owned(),
                at: call.now,
            }));
        }
        match self
            .providers
            .of(checkout.mode)
            .processor
            .capture_deposit(call, intent)
            .await?
        {
            Answer::Done(capture) => Ok(Change::Happened(Event::DepositCaptured {
                invoice_id: capture.invoice_id,
                at: capture.at,
            })),
            Answer::Refused(_)
                if checkout
                    .deposit
                    .preauth_expires_at
                    .is_some_and(|ends| ends <= call.now) =>
            {
                Ok(Change::Happened(Event::AuthorizationLapsed))
            }
            Answer::Refused(refusal) => Ok(Change::Happened(Event::CaptureRefused(refusal))),
        }
    }

    async fn subscribe(
        &self,
        call: &Call,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let (Some(quote), Some(term)) = (self.quote(checkout).await?, checkout.term) else {
            return Err(Setback::Failed(Error::rule(
                "the checkout has no lease term to bill",
            )));
        };
        let name = checkout
            .items
            .first()
            .map(|item| item.name.as_str().to_owned())
            .unwrap_or_default();
        let request = SubscriptionRequest {
            checkout: checkout.id,
            organization: self.organization_pub_id(checkout).await?,
            customer: self.known_customer(call, customer, checkout.mode).await?,
            payment_method: checkout
                .recurring
                .method
                .as_ref()
                .map(|method| method.id.clone()),
            variant_processor_id: checkout.variant_id.to_string(),
            description: name,
            monthly: quote.total_monthly_payment,
            months: term.months,
        };
        let answer = self
            .providers
            .of(checkout.mode)
            .processor
            .create_subscription(call, &request)
            .await?;
        Ok(Change::Subscribed(must(answer)?))
    }

    /// Tells the processor of the catalog or of a customer, in each mode that has a
    /// processor of its own.
    async fn push(&self, job: &Job) -> Result<Change, Setback> {
        for mode in Mode::ALL {
            let call = Call {
                mode,
                ..part(&self.call(job), mode.as_str())
            };
            let answered = match job.new.subject {
                JobSubject::Product(id) => self.push_product(&call, job, id).await,
                JobSubject::Variant(id) => self.push_variant(&call, job, id).await,
                JobSubject::Customer(_) | JobSubject::Checkout(_) => Ok(()),
            };
            match answered {
                // Nobody to tell: whoever needs the record at the processor pushes it first.
                Ok(()) | Err(Setback::Doubt(Doubt::Unconfigured(_))) => {}
                Err(setback) => return Err(setback),
            }
        }
        Ok(Change::Nothing)
    }

    async fn push_product(
        &self,
        call: &Call,
        job: &Job,
        id: crate::ids::ProductPubId,
    ) -> Result<(), Setback> {
        let mut uow = self.database.read().await?;
        let Some(product) = uow.products().get(job.new.organization_id, id).await? else {
            return Ok(());
        };
        let organization = uow
            .organizations()
            .get(job.new.organization_id)
            .await?
            .ok_or(StoreError::Missing("organization"))?;
        drop(uow);
        let product = ProcessorProduct {
            id: product.processor_id(),
            name: product.name.as_str().to_owned(),
            description: product.description.as_str().to_owned(),
            active: product.status == crate::catalog::ProductStatus::Active,
            organization: organization.pub_id,
        };
        must(
            self.providers
                .of(call.mode)
                .processor
                .push_product(call, &product)
                .await?,
        )
    }

    async fn push_variant(
        &self,
        call: &Call,
        job: &Job,
        id: crate::ids::ProductVariantPubId,
    ) -> Result<(), Setback> {
        let mut uow = self.database.read().await?;
        let organization_id = job.new.organization_id;
        let Some(variant) = uow.variants().get(organization_id, id).await? else {
            return Ok(());
        };
        let Some(product) = uow
            .products()
            .get(organization_id, variant.product_id)
            .await?
        else {
            return Ok(());
        };
        let organization = uow
            .organizations()
            .get(organization_id)
            .await?
            .ok_or(StoreError::Missing("organization"))?;
        let terms = uow.lease_terms().list(organization_id).await?;
        drop(uow);
        let prices = super::pricing::price_table(&organization, &product, &variant, &terms)?;
        let pushed = ProcessorVariant {
            product: ProcessorProduct {
                id: variant.processor_id(),
                name: variant.name.as_str().to_owned(),
                description: variant.description.as_str().to_owned(),
                active: variant.status == crate::catalog::ProductStatus::Active,
                organization: organization.pub_id,
            },
            monthly: prices
                .iter()
                .map(|(months, price)| (*months, price.quote.total_monthly_payment))
                .collect(),
        };
        must(
            self.providers
                .of(call.mode)
                .processor
                .push_variant(call, &pushed)
                .await?,
        )
    }

    /// Writes the answer and marks the job done, in one unit of work.
    async fn write(&self, job: &Job, change: Change) -> Result<(), Setback> {
        let mut uow = self.database.begin().await?;
        let now = self.clock.now();
        if let JobSubject::Checkout(id) = job.new.subject {
            let mut checkout = moving::lock(uow.as_mut(), id).await?;
            self.change(
                uow.as_mut(),
                now,
                &mut checkout,
                change,
                moving::due_like(job),
            )
            .await?;
        }
        if uow.outbox().complete(job, now).await? {
            self.probe.reached(CrashPoint::Uncommitted, job.new.effect);
            uow.commit().await?;
            self.probe.reached(CrashPoint::Committed, job.new.effect);
        }
        // Otherwise somebody else has the job now: nothing of this try is written, and
        // theirs gets the same answer under the same key.
        Ok(())
    }

    async fn change(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        checkout: &mut Checkout,
        change: Change,
        due: Due,
    ) -> Result<(), Setback> {
        let ids = self.ids.as_ref();
        let by = Circumstances::new(now, Actor::Provider);
        let event = match change {
            Change::Nothing => return Ok(()),
            Change::Happened(event) => event,
            Change::IdentityStarted(session) => {
                let mut customer = uow
                    .customers()
                    .lock(checkout.customer_id)
                    .await?
                    .ok_or(StoreError::Missing("customer"))?;
                let screening = customer.screening_mut(checkout.mode);
                screening.identity = IdentityStatus::Pending;
                screening.verification_session_id = Some(session);
                customer.updated_at = now;
                uow.customers().update(&mut customer).await?;
                Event::IdentityStarted
            }
            Change::Identity(session, result) => {
                payments::decide(uow, ids, now, checkout, &session, result, due).await?;
                payments::ask_for_others(uow, ids, now, checkout).await?;
                return Ok(());
            }
            Change::Credit(passed) => {
                let mut customer = uow
                    .customers()
                    .lock(checkout.customer_id)
                    .await?
                    .ok_or(StoreError::Missing("customer"))?;
                let screening = customer.screening_mut(checkout.mode);
                screening.credit = if passed {
                    CreditStatus::Passed
                } else {
                    CreditStatus::Failed
                };
                screening.credit_at = Some(now);
                customer.updated_at = now;
                uow.customers().update(&mut customer).await?;
                if passed {
                    Event::Qualified
                } else {
                    Event::QualificationRefused
                }
            }
            Change::Authorized(authorization) => {
                self.authorized(uow, checkout, authorization).await?
            }
            Change::Renewed(authorization) => {
                checkout.deposit.payment_intent_id = Some(authorization.payment_intent_id);
                checkout.deposit.preauth_expires_at = Some(authorization.expires_at);
                return self.touch(uow, now, checkout).await;
            }
            Change::Document(id) => {
                checkout.lease_document_id = Some(id);
                return self.touch(uow, now, checkout).await;
            }
            Change::Unsubscribed => {
                checkout.recurring.status = RecurringPaymentStatus::Cancelled;
                return self.touch(uow, now, checkout).await;
            }
            Change::Subscribed(subscription) => {
                let start = subscription.start;
                let first = first_invoice(&subscription, now);
                let event = Event::SubscriptionStarted {
                    subscription_id: subscription.id,
                    start,
                };
                moving::apply(uow, ids, checkout, event, &by).await?;
                if let Some(news) = first {
                    payments::tally(uow, checkout, &news).await?;
                    self.touch(uow, now, checkout).await?;
                }
                return Ok(());
            }
        };
        moving::apply_due(uow, ids, checkout, event, &by, due).await?;
        Ok(())
    }

    async fn touch(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        checkout: &mut Checkout,
    ) -> Result<(), Setback> {
        checkout.updated_at = now;
        Ok(uow.checkouts().update(checkout).await?)
    }

    /// Takes the stock in the same unit of work in which the deposit counts.
    async fn authorized(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &Checkout,
        authorization: Authorization,
    ) -> Result<Event, Setback> {
        let stock = if checkout.lifecycle() == Lifecycle::DepositProcessing {
            uow.variants().take_stock(checkout.variant_id).await?
        } else {
            StockTaken::Untracked
        };
        let Authorization {
            payment_intent_id,
            expires_at,
            method,
        } = authorization;
        Ok(Event::DepositAuthorized {
            payment_intent_id,
            expires_at,
            method,
            stock,
        })
    }
}

/// What the subscription's own answer says of its first payment.
fn first_invoice(subscription: &Subscription, now: Timestamp) -> Option<InvoiceNews> {
    let invoice_id = subscription.first_invoice_id.clone()?;
    let outcome = match (
        &subscription.first_payment_failure,
        subscription.first_payment_paid,
    ) {
        (_, true) => InvoiceOutcome::Paid,
        (Some(refusal), false) => InvoiceOutcome::Failed {
            attempts: 1,
            refusal: refusal.clone(),
        },
        (None, false) => return None,
    };
    Some(InvoiceNews {
        invoice_id,
        outcome,
        at: now,
    })
}
