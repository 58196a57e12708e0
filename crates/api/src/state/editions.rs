//! The editions of organizations' records, asked for by many together.
//!
//! To ask the database takes several times what an answer does that is remembered. So nobody asks alone while others do: whoever comes
//! while a question is under way waits for the next one, with all who come meanwhile. Each is told of a question that began after they
//! came.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Database, Edition};
use tokio::task::yield_now;

use crate::http::error::ApiError;

/// A question, and who waits for its answer.
type Question = BoxFuture<'static, Result<Edition, ApiError>>;

/// The questions of those who share a database. Cloning it shares them.
#[derive(Clone, Default)]
pub(crate) struct Editions(Arc<Mutex<HashMap<OrganizationId, Asked>>>);

/// What is asked about an organization.
#[derive(Default)]
struct Asked {
    under_way: Option<WeakShared<Question>>,
    /// Has not begun.
    next: Option<WeakShared<Question>>,
}

impl Editions {
    fn all(&self) -> MutexGuard<'_, HashMap<OrganizationId, Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The edition of the organization's records, now.
    ///
    /// # Errors
    /// The database's.
    pub(crate) async fn now(
        &self,
        database: &Arc<dyn Database>,
        organization: OrganizationId,
    ) -> Result<Edition, ApiError> {
        self.question(database, organization).await
    }

    /// The question that begins next.
    fn question(
        &self,
        database: &Arc<dyn Database>,
        organization: OrganizationId,
    ) -> Shared<Question> {
        let mut all = self.all();
        let asked = all.entry(organization).or_default();
        if let Some(next) = asked.next.as_ref().and_then(WeakShared::upgrade) {
            return next;
        }
        let before = asked.under_way.as_ref().and_then(WeakShared::upgrade);
        let question = self
            .clone()
            .ask(Arc::clone(database), organization, before)
            .boxed()
            .shared();
        asked.next = question.downgrade();
        question
    }

    async fn ask(
        self,
        database: Arc<dyn Database>,
        organization: OrganizationId,
        before: Option<Shared<Question>>,
    ) -> Result<Edition, ApiError> {
        if let Some(before) = before {
            // Its answer is of before whoever waits for this one came.
            drop(before.await);
        }
        // Who has come already asks with us.
        yield_now().await;
        if let Some(asked) = self.all().get_mut(&organization) {
            asked.under_way = asked.next.take();
        }
        let edition = async {
            let mut view = database.read(organization.into()).await?;
            Ok(view.events().edition(organization).await?)
        };
        let edition = edition.await;
        let mut all = self.all();
        if all
            .get(&organization)
            .is_some_and(|asked| asked.next.is_none())
        {
            all.remove(&organization);
        }
        edition
    }
}

impl fmt::Debug for Editions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editions").finish_non_exhaustive()
    }
}
