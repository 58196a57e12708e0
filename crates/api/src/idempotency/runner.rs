//! Units of work: begun, tried again, committed.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use lessor_domain::access::Access;
use lessor_domain::ports::{StoreError, UnitOfWork};
use lessor_domain::services::{Context, Error};
use lessor_domain::time::Timestamp;

use crate::state::AppState;

/// What a unit of work does, as a future.
pub type Work<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// Runs units of work for somebody.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The application's state.
    pub state: AppState,
    /// Who asks.
    pub access: Arc<Access>,
}

impl Runner {
    /// The context of a use case at this time.
    #[must_use]
    pub fn context(&self, now: Timestamp) -> Context<'_> {
        Context {
            access: &self.access,
            now,
            ids: &*self.state.ports.ids,
        }
    }

    /// Does the work in a transaction of its own and commits it; again, when it met another's.
    ///
    /// # Errors
    /// The work's own; [`StoreError::Stale`] and [`StoreError::Contended`] when it met another's
    /// each time that it was tried.
    pub async fn once<I, T, W>(&self, input: &I, work: W) -> Result<T, Error>
    where
        I: Clone + Send + Sync,
        T: Send,
        W: for<'a> Fn(&'a mut dyn UnitOfWork, Context<'a>, I) -> Work<'a, T> + Send + Sync,
    {
        let mut tries = Tries::default();
        loop {
            match self.attempt(input.clone(), &work).await {
                Err(error) if tries.again(&error) => {}
                result => return result,
            }
        }
    }

    async fn attempt<I, T, W>(&self, input: I, work: &W) -> Result<T, Error>
    where
        I: Clone + Send + Sync,
        T: Send,
        W: for<'a> Fn(&'a mut dyn UnitOfWork, Context<'a>, I) -> Work<'a, T> + Send + Sync,
    {
        let mut uow = self.state.ports.database.begin().await?;
        let context = self.context(self.state.ports.clock.now());
        let done = work(&mut *uow, context, input).await?;
        uow.commit().await?;
        Ok(done)
    }
}

/// Counts how often work was tried.
pub(crate) struct Tries {
    left: u32,
}

impl Default for Tries {
    fn default() -> Self {
        Self { left: 3 }
    }
}

impl Tries {
    /// Whether the work is to be tried again after this error.
    pub(crate) fn again(&mut self, error: &Error) -> bool {
        let met_another = matches!(
            error,
            Error::Store(StoreError::Stale(_) | StoreError::Contended)
        );
        if !met_another || self.left == 0 {
            return false;
        }
        self.left -= 1;
        tracing::debug!(%error, left = self.left, "the work is done again");
        true
    }
}
