//! The simulated identity verifier and credit checker.

use std::sync::Arc;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::ids::CheckoutPubId;
use lessor_domain::ports::{
    Attempt, CreditChecker, Doubt, Entropy, IdentityResult, IdentitySession, IdentityVerifier,
    Person, Scope, Verdict,
};
use lessor_domain::pricing::Quote;

use super::desk::{Desk, Opening, close, connection, query_doubt, sandbox_only};
use super::email_tags::{EmailTags, refusal};
use crate::postgres::PgDatabase;
use crate::postgres::kept::Keep as _;
use crate::postgres::schema::simulated_identity_sessions as sessions;

/// Verifies everybody but those who ask to be refused. The checkout page plays the
/// verifier's own page.
#[derive(Clone)]
pub struct SimulatedIdentity {
    desk: Desk,
}

/// Passes everybody but those who ask to be refused.
#[derive(Clone)]
pub struct SimulatedCredit {
    desk: Desk,
}

macro_rules! of_a_database {
    ($($name:ident),*) => {$(
        impl $name {
            /// The provider of this database.
            #[must_use]
            pub fn new(database: PgDatabase, entropy: Arc<dyn Entropy>) -> Self {
                Self { desk: Desk::new(database, entropy) }
            }
        }
    )*};
}

of_a_database!(SimulatedIdentity, SimulatedCredit);

#[async_trait]
impl IdentityVerifier for SimulatedIdentity {
    async fn start(
        &self,
        attempt: &Attempt,
        checkout: CheckoutPubId,
        person: &Person,
        _: Option<String>,
    ) -> Result<Verdict<IdentitySession>, Doubt> {
        let parameters = [checkout.to_string(), person.id.to_string()];
        let answer = match self
            .desk
            .open(attempt, "startIdentity", &parameters)
            .await?
        {
            Opening::Answered(answer) => answer,
            Opening::New(mut entry) => {
                let id = self.desk.id("vs");
                diesel::insert_into(sessions::table)
                    .values((
                        sessions::id.eq(&id),
                        sessions::checkout_id.eq(checkout.as_uuid()),
                        sessions::customer_id.eq(person.id.as_uuid()),
                        sessions::email.eq(&person.email),
                        sessions::created_at.eq(attempt.now),
                    ))
                    .kept()
                    .execute(entry.connection()?)
                    .await
                    .map_err(query_doubt)?;
                entry.close(Verdict::Done(id)).await?
            }
        };
        Ok(match answer {
            Verdict::Done(id) => Verdict::Done(IdentitySession { id, url: None }),
            Verdict::Refused(refusal) => Verdict::Refused(refusal),
        })
    }

    /// A session that nobody opened ended without an answer: another can be opened.
    async fn result(&self, scope: Scope, session_id: &str) -> Result<IdentityResult, Doubt> {
        sandbox_only(scope.mode)?;
        let mut work = self.desk.begin(scope.organization_id).await?;
        let email: Option<String> = sessions::table
            .find((work.owner(), session_id))
            .select(sessions::email)
            .first(connection(&mut work)?)
            .await
            .optional()
            .map_err(query_doubt)?;
        close(work).await?;
        Ok(match email {
            None => IdentityResult::Abandoned,
            Some(email) if EmailTags::of(&email).identity_fails() => IdentityResult::Refused,
            Some(_) => IdentityResult::Verified,
        })
    }
}

#[async_trait]
impl CreditChecker for SimulatedCredit {
    /// The quote is no part of what a key stands for: a price that is not frozen
    /// may change between two tries of the same check.
    async fn check(
        &self,
        attempt: &Attempt,
        person: &Person,
        _quote: Option<Quote>,
    ) -> Result<Verdict<()>, Doubt> {
        let parameters = [person.id.to_string()];
        let answer = match self.desk.open(attempt, "checkCredit", &parameters).await? {
            Opening::Answered(answer) => answer,
            Opening::New(entry) => {
                let answer = if EmailTags::of(&person.email).credit_fails() {
                    Verdict::Refused(refusal("credit_declined", "The credit check failed."))
                } else {
                    Verdict::Done("passed".to_owned())
                };
                entry.close(answer).await?
            }
        };
        Ok(match answer {
            Verdict::Done(_) => Verdict::Done(()),
            Verdict::Refused(refusal) => Verdict::Refused(refusal),
        })
    }
}
