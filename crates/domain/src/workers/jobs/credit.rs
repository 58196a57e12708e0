//! Finding out whether the organization leases to the customer.

use chrono::TimeDelta;

use super::{Change, JobRunner, Setback};
use crate::audit::Origin;
use crate::checkout::{Actor, Checkout, Circumstances, Lifecycle};
use crate::credit::{CreditDecision, CreditPolicy, QualificationSource, RulesVerdict};
use crate::customer::{Customer, PersonChange, Profile};
use crate::money::Money;
use crate::ports::{Attempt, CreditAnswer, CreditRequest, StoreError, UnitOfWork, Verdict};
use crate::services::moving::{self, Due};
use crate::services::qualifications::{self, Finding};
use crate::services::{Error, checkouts, credit};
use crate::time::Timestamp;

/// What the audit calls whoever is asked about credit.
const CREDIT_CHECKER: &str = "creditChecker";

/// What was asked about credit outside of any unit of work, and of whom.
pub(super) struct Asked {
    /// The person whom it was asked about.
    profile: Profile,
    policy: CreditPolicy,
    /// What it was asked for.
    amount: Option<Money>,
    answer: Answer,
}

enum Answer {
    /// Nobody outside was asked.
    Nobody,
    /// The simulated checker passed them, or did not.
    Checker(bool),
    /// The organization's endpoint.
    Desk(CreditAnswer),
}

impl JobRunner {
    /// Asks whoever is to be asked outside of any unit of work.
    pub(super) async fn check_credit(
        &self,
        attempt: &Attempt,
        checkout: &Checkout,
        customer: &Customer,
    ) -> Result<Change, Setback> {
        let mut view = self.database.read(checkout.organization_id.into()).await?;
        let organization = checkout.organization_id;
        let policy = credit::policy_of(view.as_mut(), organization, checkout.mode).await?;
        let quote = checkouts::quote_of(view.as_mut(), checkout).await?;
        let amount = qualifications::amount_of(checkout, quote)?;
        let person = super::attempt::person(customer);
        let answer = match &policy {
            CreditPolicy::Manual | CreditPolicy::Rules(_) | CreditPolicy::None => Answer::Nobody,
            CreditPolicy::Simulated => {
                drop(view);
                let checker = &self.providers.of(checkout.mode).credit;
                let answer = checker.check(attempt, &person, quote).await?;
                Answer::Checker(matches!(answer, Verdict::Done(())))
            }
            CreditPolicy::Http(endpoint) => {
                let covered =
                    qualifications::covered(view.as_mut(), checkout, amount, attempt.now).await?;
                let found = view.organizations().get(organization).await?;
                drop(view);
                if covered.is_some() {
                    Answer::Nobody
                } else {
                    let request = CreditRequest {
                        checkout: checkout.id,
                        organization: found.ok_or(StoreError::Missing("organization"))?.pub_id,
                        person,
                        items: checkout.items.clone(),
                        quote,
                        amount,
                    };
                    let desk = &self.providers.desk;
                    Answer::Desk(desk.ask(attempt, endpoint, &request).await?)
                }
            }
        };
        Ok(Change::Credit(Box::new(Asked {
            profile: customer.profile.clone(),
            policy,
            amount,
            answer,
        })))
    }

    /// Takes in what was answered, or decides where nobody had to be asked: under the customer's lock,
    /// so that two checkouts do not use what is enough for one.
    pub(super) async fn decide_credit(
        &self,
        uow: &mut dyn UnitOfWork,
        now: Timestamp,
        checkout: &mut Checkout,
        asked: Asked,
        due: Due,
    ) -> Result<(), Setback> {
        if checkout.lifecycle() != Lifecycle::QualificationPending {
            return Ok(());
        }
        let customer = moving::lock_customer_of(uow, checkout).await?;
        // Of whoever was erased nothing more is found out; and whoever changed meanwhile is asked about
        // by the job that came with the change.
        let is_another = customer.profile.change_since(&asked.profile) != PersonChange::None;
        if customer.erased_at.is_some() || is_another {
            return Ok(());
        }
        let quote = checkouts::quote_of(uow, checkout).await?;
        if qualifications::amount_of(checkout, quote)? != asked.amount {
            return Err(Setback::NotYet(TimeDelta::zero()));
        }
        let approved = |source| Finding {
            decision: CreditDecision::Approved,
            source,
            reasons: Vec::new(),
            reference: None,
            amount: asked.amount,
            rests_on: None,
            expires_at: None,
        };
        let holds = matches!(asked.policy, CreditPolicy::Manual | CreditPolicy::Http(_));
        let covered = if holds {
            qualifications::covered(uow, checkout, asked.amount, now).await?
        } else {
            None
        };
        let found = match (asked.policy, asked.answer, covered) {
            (_, Answer::Nobody, Some(covered)) => covered,
            (CreditPolicy::None, ..) => approved(QualificationSource::None),
            (CreditPolicy::Rules(rules), ..) => {
                let verdict =
                    qualifications::judge(uow, &rules, checkout, &customer, quote).await?;
                match verdict {
                    RulesVerdict::Passed => approved(QualificationSource::Rules),
                    RulesVerdict::Manual(outside) => {
                        let outside: Vec<&str> =
                            outside.iter().map(|limit| limit.as_str()).collect();
                        let why = if outside.is_empty() {
                            "no limit is set".to_owned()
                        } else {
                            format!("outside {}", outside.join(", "))
                        };
                        qualifications::call_for_a_person(uow, checkout, Some(why), now).await?;
                        return Ok(());
                    }
                }
            }
            (_, Answer::Checker(true), _) => approved(QualificationSource::Simulated),
            (_, Answer::Checker(false), _) => Finding {
                decision: CreditDecision::Declined,
                ..approved(QualificationSource::Simulated)
            },
            (
                _,
                Answer::Desk(CreditAnswer::Decided {
                    decision,
                    reasons,
                    reference,
                }),
                _,
            ) => Finding {
                decision,
                reasons,
                reference,
                expires_at: match decision {
                    CreditDecision::Approved => now.checked_add_signed(self.credit_holds),
                    CreditDecision::Declined => None,
                },
                ..approved(QualificationSource::Http)
            },
            // It will say so at the endpoint for decisions: no person has to.
            (_, Answer::Desk(CreditAnswer::Pending), _) => return Ok(()),
            (CreditPolicy::Manual, Answer::Nobody, None) => {
                qualifications::call_for_a_person(uow, checkout, None, now).await?;
                return Ok(());
            }
            // What covered it a moment ago does not any more.
            (_, Answer::Nobody, None) => return Err(Setback::NotYet(TimeDelta::zero())),
        };
        let is_told = matches!(
            found.source,
            QualificationSource::Http | QualificationSource::Simulated
        ) && found.rests_on.is_none();
        let (actor, origin) = if is_told {
            (Actor::Provider, Origin::provider(CREDIT_CHECKER))
        } else {
            (Actor::System, Origin::SYSTEM)
        };
        let by = Circumstances {
            key: self.key,
            ..Circumstances::new(now, actor)
        };
        let ids = self.ids.as_ref();
        qualifications::take(uow, ids, &origin, checkout, customer, found, &by, due).await?;
        Ok(())
    }

    /// Nobody answered for two days and more: a person decides.
    pub(super) async fn call_for_a_person(
        &self,
        uow: &mut dyn UnitOfWork,
        checkout: &mut Checkout,
        why: String,
        now: Timestamp,
    ) -> Result<(), Error> {
        qualifications::call_for_a_person(uow, checkout, Some(why), now).await
    }
}
