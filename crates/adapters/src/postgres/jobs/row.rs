//! The rows of jobs.

use diesel::pg::Pg;
use diesel::prelude::*;
use lessor_domain::ids::{CheckoutPubId, CustomerPubId, ProductPubId, ProductVariantPubId};
use lessor_domain::ports::{Job, JobState, JobSubject, NewJob, StoreError};
use lessor_domain::time::Timestamp;
use uuid::Uuid;

use crate::postgres::decode::{Place, counted};
use crate::postgres::schema::jobs;

#[derive(Queryable, Selectable, QueryableByName)]
#[diesel(table_name = jobs, check_for_backend(Pg))]
pub(super) struct JobRow {
    id: Uuid,
    pub(super) sequence: i64,
    effect: String,
    subject_kind: String,
    subject_id: Uuid,
    organization_id: i64,
    mode: String,
    created_at: Timestamp,
    available_at: Timestamp,
    state: String,
    units: Option<i32>,
    pub(super) attempts: i32,
    pub(super) first_attempt_at: Option<Timestamp>,
    last_error: Option<String>,
}

#[derive(Insertable)]
#[diesel(table_name = jobs, treat_none_as_default_value = false)]
pub(super) struct NewJobRow {
    id: Uuid,
    effect: &'static str,
    subject_kind: &'static str,
    subject_id: Uuid,
    organization_id: i64,
    mode: &'static str,
    created_at: Timestamp,
    available_at: Timestamp,
    state: &'static str,
    units: Option<i32>,
}

impl TryFrom<&NewJob> for NewJobRow {
    type Error = StoreError;

    fn try_from(new: &NewJob) -> Result<Self, StoreError> {
        let (subject_kind, subject_id) = columns_of(new.subject);
        let state = if new.is_held {
            JobState::Held
        } else {
            JobState::Pending
        };
        Ok(Self {
            id: new.id,
            effect: new.effect.as_str(),
            subject_kind,
            subject_id,
            organization_id: new.organization_id.get(),
            mode: new.mode.as_str(),
            created_at: new.created_at,
            available_at: new.available_at,
            state: state.as_str(),
            units: new.units.map(counted).transpose()?,
        })
    }
}

/// What the subject is found by.
pub(super) const fn columns_of(subject: JobSubject) -> (&'static str, Uuid) {
    match subject {
        JobSubject::Checkout(id) => ("checkout", id.as_uuid()),
        JobSubject::Product(id) => ("product", id.as_uuid()),
        JobSubject::Variant(id) => ("variant", id.as_uuid()),
        JobSubject::Customer(id) => ("customer", id.as_uuid()),
        JobSubject::Waitlist(id) => ("waitlist", id.as_uuid()),
    }
}

impl JobRow {
    /// What it is found by.
    pub(super) const fn key(&self) -> (i64, Uuid) {
        (self.organization_id, self.id)
    }

    /// Counts a try that begins at the time.
    pub(super) fn count_try(&mut self, now: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        self.first_attempt_at.get_or_insert(now);
    }

    pub(super) fn into_job(self) -> Result<Job, StoreError> {
        let at = Place::new("jobs", &self.id);
        let state = at.parse("state", &self.state)?;
        let subject = match self.subject_kind.as_str() {
            "checkout" => JobSubject::Checkout(CheckoutPubId::from_uuid(self.subject_id)),
            "product" => JobSubject::Product(ProductPubId::from_uuid(self.subject_id)),
            "variant" => JobSubject::Variant(ProductVariantPubId::from_uuid(self.subject_id)),
            "customer" => JobSubject::Customer(CustomerPubId::from_uuid(self.subject_id)),
            "waitlist" => JobSubject::Waitlist(ProductVariantPubId::from_uuid(self.subject_id)),
            _ => return Err(at.corrupt("subject_kind", "is no kind of subject")),
        };
        Ok(Job {
            new: NewJob {
                id: self.id,
                effect: at.parse("effect", &self.effect)?,
                subject,
                organization_id: at.number("organization_id", self.organization_id)?,
                mode: at.parse("mode", &self.mode)?,
                created_at: self.created_at,
                available_at: self.available_at,
                is_held: state == JobState::Held,
                units: self
                    .units
                    .map(|units| at.count("units", units))
                    .transpose()?,
            },
            state,
            attempts: at.count("attempts", self.attempts)?,
            first_attempt_at: self.first_attempt_at,
            last_error: self.last_error,
        })
    }
}
