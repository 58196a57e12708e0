//! Units of work: begun, tried again, committed.

use std::sync::{Arc, OnceLock};

use lessor_domain::access::Access;
use lessor_domain::audit::Origin;
use lessor_domain::cause::chain;
use lessor_domain::checkout::Checkout;
use lessor_domain::ports::{StoreError, UnitOfWork};
use lessor_domain::services::{Context, Error, UseCase};
use lessor_domain::time::Timestamp;

use crate::auth::links::CheckoutPageLinks;
use crate::state::{AppState, Sender};

/// Runs units of work for somebody.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The application's state.
    pub state: AppState,
    /// Who asks.
    pub access: Arc<Access>,
    /// From where.
    sender: Sender,
    /// Both for the audit, once somebody asks: who only reads does not.
    origin: OnceLock<Origin>,
}

impl Runner {
    /// Runs them for whoever this key is.
    pub(super) const fn new(state: AppState, access: Arc<Access>, sender: Sender) -> Self {
        Self {
            state,
            access,
            sender,
            origin: OnceLock::new(),
        }
    }

    fn origin(&self) -> &Origin {
        let named = || self.sender.named(Origin::of_key(&self.access));
        self.origin.get_or_init(named)
    }

    /// The context of a use case at this time.
    #[must_use]
    pub fn context(&self, now: Timestamp) -> Context<'_> {
        Context {
            access: &self.access,
            origin: self.origin(),
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

    /// Begins work in the name of the organization that asks.
    pub(super) async fn begin(&self) -> Result<Box<dyn UnitOfWork>, StoreError> {
        let organization = self.access.organization_id;
        let mut uow = self
            .state
            .engine
            .database
            .begin(organization.into())
            .await?;
        if let Some(request_id) = self.sender.request_id() {
            uow.asked_by(request_id);
        }
        Ok(uow)
    }

    async fn attempt<U: UseCase>(&self, use_case: U) -> Result<U::Output, Error> {
        let mut uow = self.begin().await?;
        let ctx = self.context(self.state.engine.clock.now());
        let done = use_case.run(&mut *uow, &ctx).await;
        close(uow, done).await
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

impl Viewer<'_> {
    /// The address of the checkout's page, without its token for who is shown none.
    pub(crate) fn checkout_url(&self, checkout: &Checkout) -> String {
        if self.access.has_links() {
            self.links.url(checkout)
        } else {
            self.links.without_token()
        }
    }
}

/// Ends a unit of work: what was done is committed. What was refused is rolled back, and the connection
/// stands ready for the next; what failed is dropped, since nobody knows how its connection is.
///
/// # Errors
/// What there was; the commit's own.
pub(crate) async fn close<T>(uow: Box<dyn UnitOfWork>, done: Result<T, Error>) -> Result<T, Error> {
    match done {
        Ok(done) => {
            uow.commit().await?;
            Ok(done)
        }
        Err(error) => {
            if !matches!(error, Error::Store(_))
                && let Err(failure) = uow.roll_back().await
            {
                // Then its connection was closed, which ends the transaction too.
                tracing::debug!(error = %chain(&failure), "a refused unit of work was not rolled back");
            }
            Err(error)
        }
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
