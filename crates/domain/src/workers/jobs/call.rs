//! Calling whom a job asks for, outside of any unit of work.

use crate::access::Mode;
use crate::checkout::{Checkout, Deposit, Effect, Event, Hold, Lifecycle, PaymentMethod};
use crate::customer::{Customer, IdentityStatus};
use crate::money::Money;
use crate::ports::{
    Answer, Call, DepositRequest, IdentityResult, Job, JobSubject, LeaseDocument, Person,
    ProcessorCustomer, StoreError, SubscriptionRequest, Voided,
};
use crate::services::Error;
use crate::services::moving;
use chrono::TimeDelta;

use super::{Change, CrashPoint, Deliverer, Setback};

/// The pause before a verifier that has not decided is asked again.
const ASK_AGAIN: TimeDelta = TimeDelta::minutes(1);

fn text(line: Option<&crate::text::Line>) -> Option<String> {
    line.map(|line| line.as_str().to_owned())
}

/// The customer, as the processor is told of it.
fn processor_customer(customer: &Customer, mode: Mode) -> ProcessorCustomer {
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
pub(super) fn part(call: &Call, name: &str) -> Call {
    Call {
        idempotency_key: format!("{}:{name}", call.idempotency_key),
        ..call.clone()
    }
}

pub(super) fn must<T>(answer: Answer<T>) -> Result<T, Setback> {
    match answer {
        Answer::Done(value) => Ok(value),
        Answer::Refused(refusal) => Err(Setback::Refused(refusal)),
    }
}

impl Deliverer {
    /// The method that is to pay every month, as the processor knows it: the one that the deposit
    /// was authorized with, else one that the customer is to name, which a simulated processor and
    /// the processor's sandbox choose themselves. Asked outside of any unit of work, under a key
    /// for each card.
    ///
    /// # Errors
    /// [`Error::Rule`] with the processor's words when it refuses; [`Error::Provider`] in doubt.
    pub async fn payment_method(&self, checkout: &Checkout) -> Result<PaymentMethod, Error> {
        let mut view = self.database.read().await?;
        let customer = moving::customer_of(view.as_mut(), checkout).await?;
        drop(view);
        let known = checkout.recurring.method.as_ref();
        let known = known.map(|method| method.id.clone());
        let card = known.as_deref().unwrap_or("new");
        let now = self.clock.now();
        let call = Call {
            mode: checkout.mode,
            idempotency_key: format!("paymentMethod-{}-{card}", checkout.id),
            first_tried_at: now,
            now,
        };
        let processor = &self.providers.of(checkout.mode).processor;
        let customer = processor_customer(&customer, checkout.mode);
        match processor.payment_method(&call, &customer, known).await? {
            Answer::Done(method) => Ok(method),
            Answer::Refused(refusal) => Err(Error::rule(refusal.message)),
        }
    }

    /// Calls whom the job asks for, outside of any unit of work.
    pub(super) async fn perform(&self, job: &Job) -> Result<Change, Setback> {
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
            // Nobody outside is asked: all of it is written at once.
            JobSubject::Waitlist(variant) => Ok(Change::Promoted(variant)),
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
            Effect::FetchIdentityResult if state.is_identifying() => {
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
            Effect::RenewDeposit if !state.is_ended() => {
                let Some(old) = checkout.deposit.open_hold() else {
                    return Ok(Change::Nothing);
                };
                match self.authorize(&call, checkout, customer, true).await? {
                    Change::Authorized {
                        hold: Some(new), ..
                    } => {
                        let old = &old.payment_intent_id;
                        if *old != new.payment_intent_id {
                            let call = part(&call, "void");
                            must(providers.processor.void_deposit(&call, old).await?)?;
                        }
                        Ok(Change::Renewed(new))
                    }
                    // The old authorization holds until it lapses.
                    _ => Ok(Change::Nothing),
                }
            }
            Effect::VoidDeposit => self.void(&call, checkout).await,
            Effect::RefundDeposit => {
                let Some(intent) = checkout.deposit.payment_intent_id() else {
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
                if checkout.recurring.billing.subscription_id().is_none()
                    && (!state.is_ended() || job.attempts > 1) =>
            {
                self.subscribe(&call, checkout, customer).await
            }
            Effect::CancelSubscription => {
                let Some(id) = checkout.recurring.billing.subscription_id() else {
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
            | Effect::PushCustomer
            | Effect::PromoteWaiting => Ok(Change::Nothing),
        }
    }

    async fn quote(&self, checkout: &Checkout) -> Result<Option<crate::pricing::Quote>, Setback> {
        let mut uow = self.database.read().await?;
        Ok(crate::services::checkouts::quote_of(uow.as_mut(), checkout).await?)
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
            return Ok(Change::Authorized {
                hold: None,
                method: None,
            });
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
            payment_method: method.or_else(|| checkout.deposit_method_id.clone()),
            off_session: renewal,
        };
        match self
            .providers
            .of(checkout.mode)
            .processor
            .authorize_deposit(call, &request)
            .await?
        {
            Answer::Done(authorization) => Ok(Change::Authorized {
                hold: Some(Hold {
                    payment_intent_id: authorization.payment_intent_id,
                    expires_at: authorization.expires_at,
                }),
                method: authorization.method,
            }),
            Answer::Refused(refusal) => Ok(Change::Happened(Event::DepositRefused { refusal })),
        }
    }

    async fn void(&self, call: &Call, checkout: &Checkout) -> Result<Change, Setback> {
        let Some(intent) = checkout.deposit.payment_intent_id() else {
            return Ok(Change::Nothing);
        };
        let processor = &self.providers.of(checkout.mode).processor;
        let captured = checkout.deposit.captured_at().is_some()
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
        let hold = match &checkout.deposit {
            Deposit::Authorized { hold } => hold,
            Deposit::Waived => {
                return Ok(Change::Happened(Event::DepositCaptured {
                    invoice_id: None,
                    at: call.now,
                }));
            }
            Deposit::Open | Deposit::Captured { .. } => return Ok(Change::Nothing),
        };
        match self
            .providers
            .of(checkout.mode)
            .processor
            .capture_deposit(call, &hold.payment_intent_id)
            .await?
        {
            Answer::Done(capture) => Ok(Change::Happened(Event::DepositCaptured {
                invoice_id: Some(capture.invoice_id),
                at: capture.at,
            })),
            Answer::Refused(_) if hold.expires_at <= call.now => {
                Ok(Change::Happened(Event::AuthorizationLapsed))
            }
            Answer::Refused(refusal) => Ok(Change::Happened(Event::CaptureRefused { refusal })),
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
}
