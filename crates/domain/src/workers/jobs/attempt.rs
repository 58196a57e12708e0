//! Calling whom a job asks for, outside of any unit of work.

use crate::checkout::{Billing, Checkout, Effect, Lifecycle, PaymentMethod};
use crate::customer::{Customer, IdentityStatus};
use crate::ids::AgreementPubId;
use crate::ports::{
    Attempt, Doubt, IdentityResult, Job, JobSubject, Person, ProcessorCustomer, StoreError, Verdict,
};
use crate::services::{Error, agreements, moving};
use chrono::TimeDelta;

use super::{Change, CrashPoint, JobRunner, Prepared, Setback};

/// The pause before a verifier that has not decided is asked again.
const ASK_AGAIN: TimeDelta = TimeDelta::minutes(1);

fn text(line: Option<&crate::text::Line>) -> Option<String> {
    line.map(|line| line.as_str().to_owned())
}

/// The customer, as the processor is told of it.
pub(super) fn processor_customer(customer: &Customer) -> ProcessorCustomer {
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
        processor_id: customer.screening.processor_id.clone(),
    }
}

pub(super) fn person(customer: &Customer) -> Person {
    Person {
        id: customer.id,
        email: customer.email.as_str().to_owned(),
        first_name: text(customer.profile.first_name.as_ref()),
        last_name: text(customer.profile.last_name.as_ref()),
        birth_date: customer.profile.birth_date,
        address: customer.profile.address(),
    }
}

/// The call of a part of the job's work: a key of its own, the same for every try.
pub(super) fn part(attempt: &Attempt, name: &str) -> Attempt {
    Attempt {
        idempotency_key: format!("{}:{name}", attempt.idempotency_key),
        ..attempt.clone()
    }
}

pub(super) fn must<T>(answer: Verdict<T>) -> Result<T, Setback> {
    match answer {
        Verdict::Done(value) => Ok(value),
        Verdict::Refused(refusal) => Err(Setback::Refused(refusal)),
    }
}

impl JobRunner {
    /// The method that is to pay every month, as the processor knows it: the one that the deposit
    /// was authorized with, else one that the customer is to name, which a simulated processor and
    /// the processor's sandbox choose themselves. Asked outside of any unit of work, under a key
    /// for each card.
    ///
    /// # Errors
    /// [`Error::Rule`] with the processor's words when it refuses; [`Error::Provider`] in doubt.
    pub async fn payment_method(&self, checkout: &Checkout) -> Result<PaymentMethod, Error> {
        let known = checkout.recurring.method.as_ref();
        let known = known.map(|method| method.id.clone());
        self.set_up(checkout, known).await
    }

    /// The method of this id, set up to pay every month: one of the customer's own at the processor,
    /// or in the sandbox one of its cards by name.
    ///
    /// # Errors
    /// As of [`payment_method`](Self::payment_method).
    pub async fn named_method(
        &self,
        checkout: &Checkout,
        id: &str,
    ) -> Result<PaymentMethod, Error> {
        self.set_up(checkout, Some(id.to_owned())).await
    }

    async fn set_up(
        &self,
        checkout: &Checkout,
        known: Option<String>,
    ) -> Result<PaymentMethod, Error> {
        let mut view = self.database.read(checkout.organization_id.into()).await?;
        let customer = moving::customer_of(view.as_mut(), checkout).await?;
        drop(view);
        let card = known.as_deref().unwrap_or("new");
        let now = self.clock.now();
        let attempt = Attempt {
            organization_id: checkout.organization_id,
            mode: checkout.mode,
            idempotency_key: format!("paymentMethod-{}-{card}", checkout.id),
            first_tried_at: now,
            now,
        };
        let processor = &self.providers.of(checkout.mode).processor;
        let customer = processor_customer(&customer);
        match processor.payment_method(&attempt, &customer, known).await? {
            Verdict::Done(method) => Ok(method),
            Verdict::Refused(refusal) => Err(Error::rule(refusal.message)),
        }
    }

    /// Calls whom the job asks for, outside of any unit of work.
    pub(super) async fn perform(&self, job: &Job) -> Result<Change, Setback> {
        match job.new.subject {
            JobSubject::Checkout(id) => {
                let mut uow = self.view(job).await?;
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
        let attempt = self.attempt_of(job);
        let providers = self.providers.of(checkout.mode);
        let state = checkout.lifecycle();
        let screening = &customer.screening;
        let at = |states: &[Lifecycle]| states.contains(&state);
        match job.new.effect {
            Effect::StartIdentityVerification if at(&[Lifecycle::IdentityRequired]) => {
                let session = must(
                    providers
                        .identity
                        .start(&attempt, checkout.id, &person(customer), None)
                        .await?,
                )?;
                let profile = Box::new(customer.profile.clone());
                Ok(Change::IdentityStarted(session.id, profile))
            }
            Effect::FetchIdentityResult if state.is_identifying() => {
                let Some(session) = screening.verification_session_id.clone() else {
                    return Ok(Change::Nothing);
                };
                if screening.identity == IdentityStatus::Verified {
                    return Ok(Change::Identity(session, IdentityResult::Verified));
                }
                match providers.identity.result(checkout.into(), &session).await? {
                    IdentityResult::AwaitingCustomer | IdentityResult::Processing => {
                        Err(Setback::NotYet(ASK_AGAIN))
                    }
                    decided => Ok(Change::Identity(session, decided)),
                }
            }
            Effect::CheckCredit if at(&[Lifecycle::QualificationPending]) => {
                self.check_credit(&attempt, checkout, customer).await
            }
            // One that was called off, or went back to a check, while it was authorized is asked for
            // once more under its key, which tells what was made, so that it is let go of.
            Effect::AuthorizeDeposit
                if at(&[Lifecycle::DepositProcessing])
                    || (state.is_ended() || state.rank() < Lifecycle::DepositPending.rank())
                        && job.attempts > 1 =>
            {
                self.authorize(&attempt, checkout, customer).await
            }
            Effect::RenewDeposit
                if checkout.deposit.open_hold().is_some() && !state.is_ended()
                    || job.attempts > 1 =>
            {
                self.renew_deposit(&attempt, checkout, customer).await
            }
            Effect::CheckDeposit if !state.is_ended() => {
                self.check_deposit(&attempt, checkout).await
            }
            Effect::CheckSessions => self.check_sessions(checkout).await,
            Effect::VoidDeposit | Effect::RefundDeposit => {
                self.settle_deposits(&attempt, checkout, customer).await
            }
            Effect::PrepareDocuments
                if at(&[Lifecycle::DocumentsPending]) && checkout.lease_document_id.is_none() =>
            {
                self.prepare_documents(checkout, customer).await
            }
            Effect::RequestSignature
                if at(&[Lifecycle::DocumentsPending]) && checkout.signed_at.is_none() =>
            {
                self.request_signature(&attempt, checkout, customer).await
            }
            Effect::CaptureDeposit
                // Nothing is captured of a lease that was to be signed anew meanwhile.
                if at(&[Lifecycle::DocumentsPending, Lifecycle::CaptureFailed])
                    && checkout.signed_at.is_some() =>
            {
                self.capture(&attempt, checkout).await
            }
            Effect::CreateSubscription
                if matches!(checkout.recurring.billing, Billing::Requested { .. }) =>
            {
                if !state.is_ended() {
                    self.subscribe(&attempt, checkout, customer).await
                } else if job.attempts > 1 {
                    self.find_subscription(&attempt, checkout, customer).await
                } else {
                    Ok(Change::Nothing)
                }
            }
            Effect::CheckSubscription => self.check_subscription(&attempt, checkout).await,
            Effect::PayInvoices if !state.is_ended() => self.pay_invoices(&attempt, checkout).await,
            Effect::CancelSubscription if state.is_ended() => {
                self.unsubscribe(&attempt, checkout, customer).await
            }
            Effect::RefundPayments if state.is_ended() && !state.is_leased() => {
                self.refund_payments(&attempt, checkout, customer).await
            }
            // The state has moved on, or the work is another subject's.
            Effect::StartIdentityVerification
            | Effect::FetchIdentityResult
            | Effect::CheckCredit
            | Effect::AuthorizeDeposit
            | Effect::RenewDeposit
            | Effect::CheckDeposit
            | Effect::PrepareDocuments
            | Effect::RequestSignature
            | Effect::CaptureDeposit
            | Effect::CreateSubscription
            | Effect::PayInvoices
            | Effect::CancelSubscription
            | Effect::RefundPayments
            | Effect::PushProduct
            | Effect::PushVariant
            | Effect::PushCustomer
            | Effect::PromoteWaiting => Ok(Change::Nothing),
        }
    }

    /// Makes the document that is to be signed. Nobody outside is asked; it is kept with the mark that the job is
    /// done.
    async fn prepare_documents(
        &self,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let id = AgreementPubId::from_uuid(self.ids.next());
        let now = self.clock.now();
        let mut view = self.database.read(checkout.organization_id.into()).await?;
        let content = agreements::content_of(view.as_mut(), checkout, customer, id, now).await?;
        drop(view);
        let Some(content) = content else {
            return Ok(Change::Nothing);
        };
        let renderer = self.providers.agreements.as_ref();
        let document = agreements::document_of(renderer, checkout, &content)
            .await
            .map_err(Doubt::failed)?;
        Ok(Change::Document(Box::new(Prepared {
            document,
            quote: content.figures.quote,
            profile: customer.profile.clone(),
        })))
    }

    pub(super) async fn quote(
        &self,
        checkout: &Checkout,
    ) -> Result<Option<crate::pricing::Quote>, Setback> {
        let mut uow = self.database.read(checkout.organization_id.into()).await?;
        Ok(crate::services::checkouts::quote_of(uow.as_mut(), checkout).await?)
    }

    pub(super) async fn organization_pub_id(
        &self,
        checkout: &Checkout,
    ) -> Result<crate::ids::OrganizationPubId, Setback> {
        let mut uow = self.database.read(checkout.organization_id.into()).await?;
        let organization = uow.organizations().get(checkout.organization_id).await?;
        Ok(organization
            .ok_or(StoreError::Missing("organization"))?
            .pub_id)
    }

    /// The customer with the id that the processor of their mode has for them, which is asked for when
    /// it is not known.
    pub(super) async fn known_customer(
        &self,
        attempt: &Attempt,
        customer: &Customer,
    ) -> Result<ProcessorCustomer, Setback> {
        let mut known = processor_customer(customer);
        if known.processor_id.is_none() {
            let id = must(
                self.providers
                    .of(customer.mode)
                    .processor
                    .push_customer(&part(attempt, "customer"), &known)
                    .await?,
            )?;
            let mut uow = self.database.begin(customer.organization_id.into()).await?;
            if let Some(mut customer) = uow.customers().lock(customer.id).await? {
                let screening = &mut customer.screening;
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
}
