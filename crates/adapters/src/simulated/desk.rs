//! Where calls come in: who may call, what was answered before, new ids.

use std::fmt::Write as _;
use std::sync::Arc;

use diesel::prelude::*;
use diesel::result::Error as DieselError;
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use lessor_domain::access::Mode;
use lessor_domain::cause::tried;
use lessor_domain::checkout::Refusal;
use lessor_domain::ids::{BASE62, CheckoutPubId, OrganizationId};
use lessor_domain::money::{Currency, CurrencyError, Money};
use lessor_domain::ports::{Attempt, Doubt, Entropy, Reach, StoreError, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::postgres::kept::Keep as _;
use crate::postgres::schema::{simulated_attempts, simulated_calls};
use crate::postgres::{PgDatabase, PgUnitOfWork, hash};

/// Characters of an id behind its prefix: 142 bits.
const ID_LENGTH: usize = 24;

/// What all simulated providers share.
#[derive(Clone)]
pub(super) struct Desk {
    database: PgDatabase,
    entropy: Arc<dyn Entropy>,
}

/// A call that came in.
#[expect(
    clippy::large_enum_variant,
    reason = "held for the length of one call, never in a collection"
)]
pub(super) enum Opening {
    /// It was answered before; the answer names what came of it.
    Answered(Verdict<String>),
    /// It is new: work on it, and close it with the answer.
    New(Entry),
}

/// A call that is being worked on. Dropped without being closed, nothing of it has
/// happened.
pub(super) struct Entry {
    work: PgUnitOfWork,
    operation: &'static str,
    key: String,
}

/// An answer as it is kept: a refusal, or the id of what was done.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kept {
    Done(String),
    Refused { code: String, message: String },
}

pub(super) fn doubt(error: StoreError) -> Doubt {
    match error {
        StoreError::Unavailable(_) | StoreError::Contended => Doubt::unreachable(error),
        _ => Doubt::failed(error),
    }
}

pub(super) fn query_doubt(error: DieselError) -> Doubt {
    doubt(crate::postgres::error::store_error(error))
}

/// Whose row it is.
pub(super) fn owner(number: i64) -> Result<OrganizationId, Doubt> {
    OrganizationId::new(number).map_err(Doubt::failed)
}

/// The amount of a row.
pub(super) fn money(id: &str, minor: i64, currency: &str) -> Result<Money, Doubt> {
    let unreadable =
        |error: CurrencyError| Doubt::failed(tried(format!("{id} cannot be read"), error));
    let currency: Currency = currency.parse().map_err(unreadable)?;
    Ok(Money::from_minor(minor, currency))
}

/// Refuses calls of live mode: what is simulated must never open a real lease.
pub(super) fn sandbox_only(mode: Mode) -> Result<(), Doubt> {
    match mode {
        Mode::Sandbox => Ok(()),
        Mode::Live => Err(Doubt::unconfigured(
            "the simulated providers serve sandbox mode alone",
        )),
    }
}

impl Desk {
    pub(super) fn new(database: PgDatabase, entropy: Arc<dyn Entropy>) -> Self {
        Self { database, entropy }
    }

    /// A new id that nobody can guess, such as `pi_3kTMd8…`.
    pub(super) fn id(&self, prefix: &str) -> String {
        let mut id = format!("{prefix}_");
        let mut missing = ID_LENGTH;
        while missing > 0 {
            let mut bytes = [0; 32];
            self.entropy.fill(&mut bytes);
            // Six bits each; the two values without a character are drawn again, so
            // that all characters are equally likely.
            for byte in bytes {
                if let Some(character) = BASE62.get(usize::from(byte & 63))
                    && missing > 0
                {
                    let _ = id.write_char(char::from(*character));
                    missing = missing.saturating_sub(1);
                }
            }
        }
        id
    }

    /// Begins work in the organization's name that no key recognizes.
    ///
    /// Row security alone would do. But whatever is asked of the organization's rows names it as
    /// well, by [`PgUnitOfWork::owner`]: on a cluster that says on which node they lie.
    pub(super) async fn begin(&self, organization: OrganizationId) -> Result<PgUnitOfWork, Doubt> {
        let reach = Reach::Organization(organization);
        self.database.begin_work(reach).await.map_err(doubt)
    }

    /// Begins to ask for whom there is something to do: what such questions are about can be
    /// read of all organizations, and nothing of it can be changed.
    pub(super) async fn begin_errand(&self) -> Result<PgUnitOfWork, Doubt> {
        let begun = self.database.begin_work(Reach::Server).await;
        let mut work = begun.map_err(doubt)?;
        connection(&mut work)?
            .batch_execute("SET LOCAL lessor.door = 'errands'")
            .await
            .map_err(query_doubt)?;
        Ok(work)
    }

    /// Takes the call in. The same key is the same work: who comes second waits for
    /// the first and gets its answer. Keys are kept for each organization and operation, and
    /// for ever.
    ///
    /// # Errors
    /// [`Doubt::Failed`] when the key came before with other parameters.
    pub(super) async fn open(
        &self,
        attempt: &Attempt,
        operation: &'static str,
        parameters: &[String],
    ) -> Result<Opening, Doubt> {
        sandbox_only(attempt.mode)?;
        let parameters: Vec<&[u8]> = parameters.iter().map(String::as_bytes).collect();
        let request = hash::of_parts(operation, &parameters);
        let mut work = self.begin(attempt.organization_id).await?;
        let new = diesel::insert_into(simulated_calls::table)
            .values((
                simulated_calls::operation.eq(operation),
                simulated_calls::idempotency_key.eq(&attempt.idempotency_key),
                simulated_calls::request_hash.eq(request.as_slice()),
                simulated_calls::created_at.eq(attempt.now),
            ))
            .on_conflict_do_nothing()
            .kept()
            .execute(connection(&mut work)?)
            .await
            .map_err(query_doubt)?;
        if new == 1 {
            return Ok(Opening::New(Entry {
                work,
                operation,
                key: attempt.idempotency_key.clone(),
            }));
        }
        let (known, answer): (Vec<u8>, Option<Value>) = simulated_calls::table
            .find((work.owner(), operation, &attempt.idempotency_key))
            .select((simulated_calls::request_hash, simulated_calls::answer))
            .first(connection(&mut work)?)
            .await
            .map_err(query_doubt)?;
        close(work).await?;
        if known != request {
            return Err(Doubt::failed(format!(
                "the idempotency key {} came before with other parameters",
                attempt.idempotency_key
            )));
        }
        let kept = answer.map(serde_json::from_value::<Kept>).transpose();
        match kept {
            Ok(Some(Kept::Done(id))) => Ok(Opening::Answered(Verdict::Done(id))),
            Ok(Some(Kept::Refused { code, message })) => {
                Ok(Opening::Answered(Verdict::Refused(Refusal {
                    code,
                    message,
                })))
            }
            unreadable => {
                let what = format!(
                    "what was answered to {} cannot be read",
                    attempt.idempotency_key
                );
                Err(match unreadable.err() {
                    Some(error) => Doubt::failed(tried(what, error)),
                    None => Doubt::failed(what),
                })
            }
        }
    }
}

/// The connection of the work.
pub(super) fn connection(work: &mut PgUnitOfWork) -> Result<&mut AsyncPgConnection, Doubt> {
    work.connection().map_err(doubt)
}

/// Ends the work.
pub(super) async fn close(work: PgUnitOfWork) -> Result<(), Doubt> {
    work.finish().await.map_err(doubt)
}

impl Entry {
    /// The work, for what others know to ask of it.
    pub(super) fn work(&mut self) -> &mut PgUnitOfWork {
        &mut self.work
    }

    /// The number of whose call it is.
    pub(super) fn owner(&self) -> i64 {
        self.work.owner()
    }

    pub(super) fn connection(&mut self) -> Result<&mut AsyncPgConnection, Doubt> {
        connection(&mut self.work)
    }

    /// Keeps the answer with the work, and hands it on.
    pub(super) async fn close(mut self, answer: Verdict<String>) -> Result<Verdict<String>, Doubt> {
        let kept = match &answer {
            Verdict::Done(id) => Kept::Done(id.clone()),
            Verdict::Refused(Refusal { code, message }) => Kept::Refused {
                code: code.clone(),
                message: message.clone(),
            },
        };
        let kept = serde_json::to_value(kept).map_err(Doubt::failed)?;
        let call = (self.owner(), self.operation, self.key.clone());
        diesel::update(simulated_calls::table.find(call))
            .set(simulated_calls::answer.eq(kept))
            .kept()
            .execute(self.connection()?)
            .await
            .map_err(query_doubt)?;
        close(self.work).await?;
        Ok(answer)
    }

    /// Counts this attempt of the operation for the checkout, from 1.
    pub(super) async fn nth_try(&mut self, checkout: CheckoutPubId) -> Result<i32, Doubt> {
        let operation = self.operation;
        diesel::insert_into(simulated_attempts::table)
            .values((
                simulated_attempts::operation.eq(operation),
                simulated_attempts::checkout_id.eq(checkout.as_uuid()),
                simulated_attempts::attempts.eq(1),
            ))
            .on_conflict((
                simulated_attempts::organization_id,
                simulated_attempts::operation,
                simulated_attempts::checkout_id,
            ))
            .do_update()
            .set(simulated_attempts::attempts.eq(simulated_attempts::attempts + 1))
            .returning(simulated_attempts::attempts)
            .kept()
            .get_result(self.connection()?)
            .await
            .map_err(query_doubt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_mode_is_refused() {
        assert_eq!(sandbox_only(Mode::Sandbox), Ok(()));
        assert!(matches!(
            sandbox_only(Mode::Live),
            Err(Doubt::Unconfigured(_))
        ));
    }

    #[test]
    fn what_is_kept_comes_back() {
        for kept in [
            Kept::Done("pi_1".to_owned()),
            Kept::Refused {
                code: "card_declined".to_owned(),
                message: "no".to_owned(),
            },
        ] {
            let text = serde_json::to_string(&kept).unwrap();
            let again: Kept = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&again).unwrap(), text);
        }
    }
}
