//! The version before: for a time its worker runs beside the new one's.

use std::sync::Arc;
use std::time::Duration;

use lessor_domain::checkout::Effect;
use lessor_domain::ports::{
    InboxMessage, Job, MessageReader, ProcessorEvent, ProcessorFact, StoreError,
};
use lessor_domain::workers::jobs::JOB_LEASE;

use crate::choices::Choices;

/// What a version does not know yet, and how it is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// Work that came after it.
    unknown_effect: Effect,
    /// A kind of message that came after it.
    unknown_fact: &'static str,
    /// How long it keeps a job to itself.
    pub(crate) lease: Duration,
}

/// The kinds of messages that somebody has a use for.
const FACTS: [&str; 8] = [
    "deposit",
    "invoice",
    "subscription",
    "refund",
    "disputed",
    "identity",
    "paymentRefused",
    "sessionOver",
];

const fn name(fact: &ProcessorFact) -> &'static str {
    match fact {
        ProcessorFact::Deposit(_) => "deposit",
        ProcessorFact::Invoice(_) => "invoice",
        ProcessorFact::Subscription { .. } => "subscription",
        ProcessorFact::Refund(_) => "refund",
        ProcessorFact::Disputed { .. } => "disputed",
        ProcessorFact::Identity { .. } => "identity",
        ProcessorFact::PaymentRefused { .. } => "paymentRefused",
        ProcessorFact::SessionOver { .. } => "sessionOver",
        ProcessorFact::Unknown { .. } => "unknown",
    }
}

fn one_of<T: Copy>(choices: &mut Choices, all: &[T]) -> Option<T> {
    let count = u32::try_from(all.len()).unwrap_or(0);
    let at = usize::try_from(choices.below(count)).unwrap_or(0);
    all.get(at).copied()
}

impl Version {
    /// One that came before: none in most lives.
    pub(crate) fn before(choices: &mut Choices) -> Option<Self> {
        if choices.weighted(&[75, 25]) == 0 {
            return None;
        }
        Some(Self {
            unknown_effect: one_of(choices, Effect::ALL)?,
            unknown_fact: one_of(choices, &FACTS)?,
            lease: JOB_LEASE / 2,
        })
    }

    /// How the story tells of it.
    pub(crate) fn describe(self) -> String {
        let Self {
            unknown_effect,
            unknown_fact,
            ..
        } = self;
        format!(
            "Worker two is of the version before, which knows neither the job {unknown_effect} nor \
             messages of the kind {unknown_fact}."
        )
    }

    /// Reads jobs as this version does: a word that it does not know is an error, and what it
    /// claimed together with it is not claimed.
    pub(crate) fn read(self, jobs: &[Job]) -> Result<(), StoreError> {
        match jobs
            .iter()
            .find(|job| job.new.effect == self.unknown_effect)
        {
            Some(_) => Err(StoreError::unavailable(format!(
                "{} is no effect of this version",
                self.unknown_effect
            ))),
            None => Ok(()),
        }
    }
}

/// Reads messages as a version does: it has no use for those that it does not know.
pub(crate) struct Before {
    pub(crate) reader: Arc<dyn MessageReader>,
    pub(crate) version: Version,
}

impl MessageReader for Before {
    fn read(&self, message: &InboxMessage) -> Result<ProcessorEvent, String> {
        let mut event = self.reader.read(message)?;
        if name(&event.fact) == self.version.unknown_fact {
            event.fact = ProcessorFact::Unknown {
                kind: self.version.unknown_fact.to_owned(),
            };
        }
        Ok(event)
    }
}
