//! Hearing what other processes do.

use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{Reach, Scope, StoreError};
use tokio::sync::Notify;

use super::PgDatabase;
use super::error::store_error;
use super::events::{self, feed_of};
use super::pooling::Pooling;

/// Where it is told that there are jobs to be done, whose they are not.
const JOBS: &str = "lessor_jobs";
/// Where the database tells whose prices have changed: the organization's number.
const PRICES: &str = "lessor_prices";

/// What is heard of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It is listened from here on: of what was done before nobody has heard.
    Nothing,
    /// The feed has events with numbers that it had not.
    Feed(Scope),
    /// There are jobs to be done that there were not.
    Jobs,
    /// The organization's prices have changed. On a cluster nobody hears of that: other nodes say it than the one that
    /// is listened to.
    Prices(OrganizationId),
}

impl PgDatabase {
    /// Whether others can be heard: it takes a session that stays ours.
    #[must_use]
    pub fn can_listen(&self) -> bool {
        self.pool.pooling() == Pooling::Session
    }

    /// Whether its tables are, or may any moment be, spread over a cluster's nodes.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it does not answer.
    pub async fn is_cluster(&self) -> Result<bool, StoreError> {
        let mut connection = self.pool.get(Reach::Server).await?;
        connection.is_of_a_cluster().await.map_err(store_error)
    }

    /// Listens to whoever numbers events and has something to be done, this process among them, by a
    /// connection of its own, until that ends. Tells others by it that there are jobs, whenever `left` says
    /// so: what was said since it was last told is told once.
    ///
    /// It is not told with the commit that leaves the jobs. Commits that tell something wait for each
    /// other, to the end of their writing; and who is killed between the two is not missed for long, since
    /// workers look for themselves too.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the connection cannot be had, or breaks.
    pub async fn listen(
        &self,
        left: Option<&Notify>,
        mut heard: impl FnMut(Heard) + Send,
    ) -> Result<(), StoreError> {
        let told = |message: Option<(&str, &str)>| {
            let said = match message {
                None => Some(Heard::Nothing),
                Some((events::CHANNEL, payload)) => feed_of(payload).map(Heard::Feed),
                Some((JOBS, _)) => Some(Heard::Jobs),
                Some((PRICES, owner)) => {
                    let owner = owner
                        .parse()
                        .ok()
                        .and_then(|it| OrganizationId::new(it).ok());
                    owner.map(Heard::Prices)
                }
                Some(_) => None,
            };
            if let Some(said) = said {
                heard(said);
            }
        };
        self.pool
            .listen(
                &[events::CHANNEL, JOBS, PRICES],
                left.map(|left| (JOBS, left)),
                told,
            )
            .await
            .map_err(StoreError::unavailable)
    }
}
