//! Deciding about customers' credit.

use std::cmp::Ordering;

use async_trait::async_trait;
use chrono::TimeDelta;

use super::audit::{self, Entry};
use super::checkouts::{lock_visible, quotes_of};
use super::{Context, Error, UseCase, moving, person};
use crate::access::Permission;
use crate::audit::Origin;
use crate::checkout::{Actor, AttentionReason, Checkout, Circumstances, Event, Lifecycle};
use crate::credit::{
    AdverseReason, Applicant, CreditDecision, CreditRules, MOST_REASONS, Qualification,
    QualificationSource, Reliance, RulesVerdict, covering,
};
use crate::customer::{CreditStatus, Customer, PersonChange};
use crate::ids::{ApiKeyPubId, CheckoutPubId};
use crate::money::Money;
use crate::ports::{IdGenerator, UnitOfWork};
use crate::pricing::{PricingError, Quote};
use crate::services::moving::Due;
use crate::text::Line;
use crate::time::Timestamp;

/// Decides whether the organization leases to the customer, for this checkout. The same decision again
/// changes nothing.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Forbidden`]; [`Error::Invalid`] of reasons with an approval, of more
/// than [`MOST_REASONS`], of one named twice, and of an end in the past or of a refusal;
/// [`Error::Rule`] unless the checkout waits for the decision, or when the other one was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QualifyCheckout {
    /// Which one.
    pub id: CheckoutPubId,
    /// What is decided.
    pub decision: CreditDecision,
    /// Why it is declined.
    pub reasons: Vec<AdverseReason>,
    /// What the organization knows the decision by.
    pub reference: Option<Line>,
    /// When an approval ceases to hold.
    pub expires_at: Option<Timestamp>,
    /// How long an approval holds of which nobody says so.
    pub holds_for: TimeDelta,
}

impl QualifyCheckout {
    fn check(&self, now: Timestamp) -> Result<(), Error> {
        check_reasons(self.decision, &self.reasons)
            .map_err(|problem| Error::invalid("reasons", problem))?;
        match (self.decision, self.expires_at) {
            (CreditDecision::Declined, Some(_)) => Err(Error::invalid(
                "expiresAt",
                "is for an approval: a refusal holds for its checkout",
            )),
            (CreditDecision::Approved, Some(end)) if end <= now => {
                Err(Error::invalid("expiresAt", "is in the past"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a decision may name these reasons.
///
/// # Errors
/// What is wrong with them.
pub fn check_reasons(
    decision: CreditDecision,
    reasons: &[AdverseReason],
) -> Result<(), &'static str> {
    let mut known = reasons.to_vec();
    known.sort_unstable();
    known.dedup();
    if decision == CreditDecision::Approved && !reasons.is_empty() {
        Err("are those of a refusal: an approval has none")
    } else if reasons.len() > MOST_REASONS {
        Err("must be at most 4")
    } else if known.len() < reasons.len() {
        Err("must name each reason once")
    } else {
        Ok(())
    }
}

#[async_trait]
impl UseCase for QualifyCheckout {
    type Output = Checkout;

    fn permission(&self) -> Permission {
        Permission::CheckoutQualify
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Checkout, Error> {
        let mut checkout = lock_visible(uow, ctx, self.id).await?;
        ctx.access.require(self.permission())?;
        self.check(ctx.now)?;
        if checkout.lifecycle() != Lifecycle::QualificationPending {
            let decided = uow.qualifications().latest(&[checkout.id]).await?;
            let is_same = decided
                .iter()
                .any(|it| it.counts() && it.decision == self.decision);
            let was_sent_back = checkout.lifecycle().rank()
                < Lifecycle::QualificationPending.rank()
                && !checkout.lifecycle().is_ended();
            if is_same && !was_sent_back {
                return Ok(checkout);
            }
            return Err(Error::rule(format!(
                "the checkout is {} and waits for no decision: only while it is {} is one taken",
                checkout.lifecycle(),
                Lifecycle::QualificationPending
            )));
        }
        let customer = moving::lock_customer_of(uow, &checkout).await?;
        if customer.erased_at.is_some() {
            return Err(Error::rule("the customer was erased"));
        }
        let quote = quote_of(uow, &checkout).await?;
        // A question that was put off is not asked any more, and keeps nothing waiting.
        person::overtake(uow, checkout.id, ctx.now).await?;
        let found = Finding {
            decision: self.decision,
            source: QualificationSource::Organization,
            reasons: self.reasons,
            reference: self.reference,
            amount: amount_of(&checkout, quote)?,
            rests_on: None,
            expires_at: match self.decision {
                CreditDecision::Approved => self
                    .expires_at
                    .or_else(|| ctx.now.checked_add_signed(self.holds_for)),
                CreditDecision::Declined => None,
            },
        };
        let by = ctx.circumstances(Actor::Operator);
        take(
            uow,
            ctx.ids,
            ctx.origin,
            &mut checkout,
            customer,
            found,
            &by,
            Due::Now,
        )
        .await?;
        Ok(checkout)
    }
}

async fn quote_of(uow: &mut dyn UnitOfWork, checkout: &Checkout) -> Result<Option<Quote>, Error> {
    super::checkouts::quote_of(uow, checkout).await
}

/// What a lease comes to: all of its payments, and what is authorized at signing. None while no term is
/// chosen.
///
/// # Errors
/// [`Error::Pricing`] when it is more than can be counted.
pub(crate) fn amount_of(checkout: &Checkout, quote: Option<Quote>) -> Result<Option<Money>, Error> {
    let Some(quote) = quote else { return Ok(None) };
    let sum = checkout
        .purchase_total(Money::zero(quote.currency))
        .and_then(|bought| bought.checked_add(quote.deposit))
        .and_then(|signing| signing.checked_add(quote.total_of_payments));
    Ok(Some(sum.map_err(PricingError::from)?))
}

/// What was found out about a customer's credit.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub decision: CreditDecision,
    pub source: QualificationSource,
    pub reasons: Vec<AdverseReason>,
    pub reference: Option<Line>,
    pub amount: Option<Money>,
    pub rests_on: Option<uuid::Uuid>,
    pub expires_at: Option<Timestamp>,
}

/// Keeps what was found out, for the locked checkout and of the locked customer, and moves the
/// checkout.
///
/// # Errors
/// [`Error::Rule`] when the checkout waits for no decision; [`Error::Store`].
#[expect(
    clippy::too_many_arguments,
    reason = "who decides, of whom, what, and when what follows is due"
)]
pub(crate) async fn take(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    origin: &Origin,
    checkout: &mut Checkout,
    mut customer: Customer,
    found: Finding,
    by: &Circumstances,
    due: Due,
) -> Result<(), Error> {
    let before = customer.clone();
    let (status, event) = match found.decision {
        CreditDecision::Approved => (CreditStatus::Passed, Event::Qualified),
        CreditDecision::Declined => (CreditStatus::Failed, Event::QualificationRefused),
    };
    customer.screening.credit = status;
    customer.screening.credit_at = Some(by.at);
    customer.updated_at = by.at;
    uow.customers().update(&mut customer).await?;
    let screened = Entry::screened(&before, &customer);
    audit::record(uow, ids, by.at, origin, customer.organization_id, screened).await?;
    let kept = Qualification {
        id: ids.next(),
        checkout: checkout.id,
        customer: customer.id,
        decision: found.decision,
        source: found.source,
        key: by.key.filter(|key: &ApiKeyPubId| !key.as_uuid().is_nil()),
        reasons: found.reasons,
        reference: found.reference,
        amount: found.amount,
        rests_on: found.rests_on,
        decided_at: by.at,
        expires_at: found.expires_at,
        ended_at: None,
    };
    uow.qualifications().insert(&kept).await?;
    moving::apply_due(uow, ids, checkout, event, by, due).await?;
    Ok(())
}

/// What of an earlier decision lets the checkout go on; none when somebody has to decide.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn covered(
    uow: &mut dyn UnitOfWork,
    checkout: &Checkout,
    amount: Option<Money>,
    at: Timestamp,
) -> Result<Option<Finding>, Error> {
    let kept = uow
        .qualifications()
        .of_customer(checkout.customer_id)
        .await?;
    let mut over = Vec::with_capacity(kept.len());
    for it in &kept {
        let made_for = uow.checkouts().get(it.checkout).await?;
        over.push(made_for.is_none_or(|made_for| {
            made_for.lifecycle().is_ended() && !made_for.lifecycle().is_leased()
        }));
    }
    let known: Vec<Reliance<'_>> = kept
        .iter()
        .zip(over)
        .map(|(qualification, is_over)| Reliance {
            qualification,
            is_over,
        })
        .collect();
    let found = covering(checkout.id, amount, &known, at);
    Ok(found.map(|made| Finding {
        decision: CreditDecision::Approved,
        source: made.source,
        reasons: Vec::new(),
        reference: made.reference.clone(),
        amount,
        rests_on: made
            .rests_on
            .or_else(|| (made.checkout != checkout.id).then_some(made.id)),
        expires_at: made.expires_at,
    }))
}

/// Another term was chosen: the credit of a checkout that is past its check is looked at again where the
/// lease comes to more than what was decided.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub(crate) async fn of_the_new_amount(
    uow: &mut dyn UnitOfWork,
    ids: &dyn IdGenerator,
    now: Timestamp,
    checkout: &mut Checkout,
) -> Result<(), Error> {
    let is_past = checkout.lifecycle().rank() > Lifecycle::QualificationPending.rank();
    let decided = uow.qualifications().latest(&[checkout.id]).await?;
    // What nobody decided nobody looks at again, and what was decided before anybody chose a term was
    // decided for whatever they would choose.
    let Some(decided) = decided.first().filter(|it| is_past && it.amount.is_some()) else {
        return Ok(());
    };
    let looks_at_amounts =
        decided.source.holds_for_others() || decided.source == QualificationSource::Rules;
    let quote = quote_of(uow, checkout).await?;
    let (Some(amount), Some(made_for)) = (amount_of(checkout, quote)?, decided.amount) else {
        return Ok(());
    };
    let is_more = !matches!(
        amount.checked_cmp(made_for),
        Ok(Ordering::Less | Ordering::Equal)
    );
    if looks_at_amounts && is_more {
        let by = Circumstances::new(now, Actor::System);
        person::send_back(uow, ids, checkout, PersonChange::Address, &by).await?;
    }
    Ok(())
}

/// What the organization's limits say of the checkout and its locked customer.
///
/// # Errors
/// [`Error::Pricing`], [`Error::Store`].
pub(crate) async fn judge(
    uow: &mut dyn UnitOfWork,
    rules: &CreditRules,
    checkout: &Checkout,
    customer: &Customer,
    quote: Option<Quote>,
) -> Result<RulesVerdict, Error> {
    let states = Lifecycle::those(|state| {
        let has_begun = state.rank() > Lifecycle::QualificationPending.rank()
            || state == Lifecycle::WaitlistedAfterDeposit;
        !state.is_ended() && has_begun
    });
    let ids = uow
        .checkouts()
        .of_customer(checkout.mode, customer.id, &states)
        .await?;
    let mut others = Vec::new();
    for id in ids.into_iter().filter(|id| *id != checkout.id) {
        others.extend(uow.checkouts().get(id).await?);
    }
    let quotes = quotes_of(uow, &others).await?;
    let mut exposure = quote.map(|quote| quote.total_of_payments);
    for (other, quote) in others.iter().zip(quotes) {
        let left = quote.and_then(|quote| {
            let months = u32::from(quote.term.get()).saturating_sub(other.recurring.paid_cycles);
            quote.total_monthly_payment.checked_mul(months).ok()
        });
        exposure = match (exposure, left) {
            (Some(sum), Some(left)) => sum.checked_add(left).ok(),
            _ => None,
        };
    }
    let open_leases = u32::try_from(others.len().saturating_add(1)).unwrap_or(u32::MAX);
    Ok(rules.judge(&Applicant {
        monthly_payment: quote.map(|quote| quote.total_monthly_payment),
        open_leases,
        exposure,
        country: customer.profile.country,
    }))
}

/// A person has to decide about the locked checkout.
///
/// # Errors
/// [`Error::Store`].
pub(crate) async fn call_for_a_person(
    uow: &mut dyn UnitOfWork,
    checkout: &mut Checkout,
    why: Option<String>,
    at: Timestamp,
) -> Result<(), Error> {
    if checkout.lifecycle() == Lifecycle::QualificationPending
        && checkout.raise(AttentionReason::QualificationRequired, why, at)
    {
        uow.checkouts().update(checkout).await?;
    }
    Ok(())
}
