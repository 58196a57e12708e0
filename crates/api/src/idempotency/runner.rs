//! Units of work: begun, tried again, committed.

use std::sync::Arc;

use lessor_domain::access::Access;
use lessor_domain::ports::StoreError;
use lessor_domain::services::{Context, Error, UseCase};
use lessor_domain::time::Timestamp;

use crate::auth::links::CheckoutPageLinks;
use crate::state::AppState;

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
            ids: &*self.state.engine.ids,
            entropy: &*self.state.engine.entropy,
            carriers: &*self.state.engine.providers.carriers,
            phones: &*self.state.engine.providers.phones,
        }
    }

    /// Runs the use case in a transaction of its own and commits it; again, when it met another's.
    ///
    /// # Errors
    /// The use case's own; [`StoreError::Stale`] and [`StoreError::Contended`] when it met another's
    /// each time that it was tried.
    pub async fn once<U: UseCase>(&self, use_case: U) -> Result<U::Output, Error> {
        let mut tries = Tries::default();
        loop {
            match self.attempt(use_case.clone()).await {
                Err(error) if tries.again(&error) => {}
                result => return result,
            }
        }
    }

    async fn attempt<U: UseCase>(&self, use_case: U) -> Result<U::Output, Error> {
        let mut uow = self.state.engine.database.begin().await?;
        let ctx = self.context(self.state.engine.clock.now());
        let done = use_case.run(&mut *uow, &ctx).await?;
        uow.commit().await?;
        Ok(done)
    }

    /// Who sees what comes of it.
    #[must_use]
    pub fn viewer(&self) -> Viewer<'_> {
        Viewer {
            access: &self.access,
            links: &self.state.pages,
        }
    }
}

/// Who an answer is for, and what its records are made with.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    /// Who asked.
    pub access: &'a Access,
    /// The addresses of checkout pages.
    pub links: &'a CheckoutPageLinks,
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
