//! Comparing leases with the processor's subscriptions.
//!
//! Nothing here makes a subscription: that is its job's alone. What can be mended
//! without money changing hands twice is mended, the rest is reported.

use std::fmt;
use std::sync::Arc;

use crate::access::Mode;
use crate::checkout::{Billing, Checkout, Effect};
use crate::ids::CheckoutPubId;
use crate::ports::{
    Answer, Call, Clock, Database, Doubt, IdGenerator, JobFilter, JobState, JobSubject,
    ProviderSet, Subscription,
};
use crate::services::{Error, moving};

/// What differs between a lease and the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The lease is billed by a subscription that the processor does not have.
    Lost {
        /// The subscription that the lease names.
        subscription_id: String,
    },
    /// The processor bills for a lease that has no subscription yet: its job is to
    /// take the answer in.
    Unrecorded {
        /// The processor's subscription.
        subscription_id: String,
    },
    /// Another subscription bills for the same lease.
    Double {
        /// The one too many.
        subscription_id: String,
    },
    /// The subscription ended at the processor, the lease does not know.
    Ended {
        /// The subscription.
        subscription_id: String,
    },
    /// The checkout has ended, its subscription has not.
    StillBilled {
        /// The subscription.
        subscription_id: String,
    },
    /// The subscription was asked for and neither is there nor on its way.
    NotBilled,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { subscription_id } => {
                write!(f, "the processor has no subscription {subscription_id}")
            }
            Self::Unrecorded { subscription_id } => {
                write!(
                    f,
                    "the lease does not know its subscription {subscription_id}"
                )
            }
            Self::Double { subscription_id } => {
                write!(f, "the subscription {subscription_id} bills a second time")
            }
            Self::Ended { subscription_id } => {
                write!(
                    f,
                    "the subscription {subscription_id} has ended, the lease does not know"
                )
            }
            Self::StillBilled { subscription_id } => {
                write!(
                    f,
                    "the subscription {subscription_id} bills a lease that has ended"
                )
            }
            Self::NotBilled => f.write_str("nothing bills the lease"),
        }
    }
}

impl Difference {
    /// Its name for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Lost { .. } => "lost",
            Self::Unrecorded { .. } => "unrecorded",
            Self::Double { .. } => "double",
            Self::Ended { .. } => "ended",
            Self::StillBilled { .. } => "stillBilled",
            Self::NotBilled => "notBilled",
        }
    }
}

/// A difference, where it is, and whether it was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The checkout.
    pub checkout: CheckoutPubId,
    /// What differs.
    pub difference: Difference,
    /// Whether it was mended.
    pub mended: bool,
}

/// Compares leases with the processor.
#[derive(Clone)]
pub struct Reconciler {
    /// Where leases are.
    pub database: Arc<dyn Database>,
    /// Who bills them.
    pub providers: ProviderSet,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn IdGenerator>,
}

/// A page of leases that were compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// How many.
    pub leases: usize,
    /// What differs.
    pub findings: Vec<Finding>,
    /// Where to go on; none at the end.
    pub next: Option<CheckoutPubId>,
}

impl Reconciler {
    /// Compares the mode's next leases, and mends what it may when asked to.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Provider`] when the processor does not answer.
    pub async fn compare(
        &self,
        mode: Mode,
        after: Option<CheckoutPubId>,
        limit: u32,
        mend: bool,
    ) -> Result<Compared, Error> {
        let mut view = self.database.read().await?;
        let leases = view.checkouts().billed(mode, after, limit).await?;
        drop(view);
        let mut findings = Vec::new();
        for id in &leases {
            findings.extend(self.compare_one(mode, *id, mend).await?);
        }
        Ok(Compared {
            leases: leases.len(),
            findings,
            next: leases.last().copied(),
        })
    }

    async fn compare_one(
        &self,
        mode: Mode,
        id: CheckoutPubId,
        mend: bool,
    ) -> Result<Vec<Finding>, Error> {
        // Asked before the lease is read: a subscription that is made in between is
        // then known to the lease, not taken for one too many.
        let theirs = self
            .providers
            .of(mode)
            .processor
            .subscriptions_of(mode, id)
            .await?;
        let mut view = self.database.read().await?;
        let Some(checkout) = view.checkouts().get(id).await? else {
            return Ok(Vec::new());
        };
        let filter = JobFilter {
            state: Some(JobState::Pending),
            subject: Some(JobSubject::Checkout(id)),
        };
        let on_its_way = view.outbox().list(&filter, 100).await?.iter().any(|job| {
            matches!(
                job.new.effect,
                Effect::CreateSubscription | Effect::CancelSubscription
            )
        });
        drop(view);
        let mut findings = Vec::new();
        for difference in differences(&checkout, &theirs, on_its_way) {
            let mended = mend && self.mend(&checkout, &difference).await?;
            findings.push(Finding {
                checkout: id,
                difference,
                mended,
            });
        }
        Ok(findings)
    }

    async fn mend(&self, checkout: &Checkout, difference: &Difference) -> Result<bool, Error> {
        match difference {
            Difference::Ended { .. } => {
                let mut uow = self.database.begin().await?;
                let mut checkout = moving::lock(uow.as_mut(), checkout.id).await?;
                if checkout.end_billing(self.clock.now()) {
                    uow.checkouts().update(&mut checkout).await?;
                    uow.commit().await?;
                }
                Ok(true)
            }
            Difference::Double { subscription_id } => self.cancel(checkout, subscription_id).await,
            Difference::Unrecorded { .. } | Difference::NotBilled => {
                self.ask_again(checkout, Effect::CreateSubscription).await
            }
            Difference::StillBilled { subscription_id } => {
                if checkout.recurring.billing.subscription_id() == Some(subscription_id.as_str()) {
                    self.ask_again(checkout, Effect::CancelSubscription).await
                } else {
                    self.cancel(checkout, subscription_id).await
                }
            }
            // A person has to see why it is gone before another is made.
            Difference::Lost { .. } => Ok(false),
        }
    }

    async fn cancel(&self, checkout: &Checkout, subscription_id: &str) -> Result<bool, Error> {
        let now = self.clock.now();
        let call = Call {
            mode: checkout.mode,
            idempotency_key: format!("reconcile-cancel-{subscription_id}"),
            first_tried_at: now,
            now,
        };
        let answer = self
            .providers
            .of(checkout.mode)
            .processor
            .cancel_subscription(&call, subscription_id)
            .await;
        match answer {
            Ok(Answer::Done(())) => Ok(true),
            Ok(Answer::Refused(_))
            | Err(Doubt::Unreachable(_) | Doubt::Failed(_) | Doubt::Unconfigured(_)) => Ok(false),
        }
    }

    async fn ask_again(&self, checkout: &Checkout, effect: Effect) -> Result<bool, Error> {
        let mut uow = self.database.begin().await?;
        let now = self.clock.now();
        // Locked, so that two reconcilers do not both ask.
        let checkout = moving::lock(uow.as_mut(), checkout.id).await?;
        let filter = JobFilter {
            state: None,
            subject: Some(JobSubject::Checkout(checkout.id)),
        };
        let waiting = uow.outbox().list(&filter, 100).await?;
        match waiting.iter().find(|job| job.new.effect == effect) {
            Some(job) => {
                uow.outbox().requeue(Some(job.new.id), now).await?;
            }
            None => {
                uow.outbox()
                    .push(&[moving::job(&checkout, effect, now, self.ids.as_ref())])
                    .await?;
            }
        }
        uow.commit().await?;
        Ok(true)
    }
}

/// What differs between the lease and the processor's subscriptions of it.
fn differences(checkout: &Checkout, theirs: &[Subscription], on_its_way: bool) -> Vec<Difference> {
    let running: Vec<&Subscription> = theirs
        .iter()
        .filter(|subscription| !subscription.ended)
        .collect();
    let ended = checkout.lifecycle().is_ended();
    let Some(ours) = checkout.recurring.billing.subscription_id() else {
        if on_its_way {
            return Vec::new();
        }
        if ended {
            return running.into_iter().map(still_billed).collect();
        }
        return match running.split_first() {
            Some((first, others)) => std::iter::once(Difference::Unrecorded {
                subscription_id: first.id.clone(),
            })
            .chain(others.iter().copied().map(double))
            .collect(),
            None => vec![Difference::NotBilled],
        };
    };
    let Some(known) = theirs.iter().find(|subscription| subscription.id == ours) else {
        // What else runs may be all that bills the lease: a person decides about both.
        return vec![Difference::Lost {
            subscription_id: ours.to_owned(),
        }];
    };
    let mut found = Vec::new();
    if known.ended {
        if matches!(checkout.recurring.billing, Billing::Active { .. }) {
            found.push(Difference::Ended {
                subscription_id: ours.to_owned(),
            });
        }
    } else if ended && !on_its_way {
        found.push(still_billed(known));
    }
    let others = running
        .into_iter()
        .filter(|subscription| subscription.id != ours);
    found.extend(others.map(double));
    found
}

fn double(subscription: &Subscription) -> Difference {
    Difference::Double {
        subscription_id: subscription.id.clone(),
    }
}

fn still_billed(subscription: &Subscription) -> Difference {
    Difference::StillBilled {
        subscription_id: subscription.id.clone(),
    }
}
