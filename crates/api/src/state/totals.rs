//! How many there are of what there are many of.
//!
//! To count 100,000 records takes as long as to read a hundred pages of them. Few are counted whenever somebody asks; of more is
//! told what was counted a moment ago.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lessor_domain::access::Mode;
use lessor_domain::ids::OrganizationId;
use lessor_domain::ports::{AuditFilter, CheckoutFilter, CustomerFilter};
use lessor_domain::services::checkouts::CheckoutSummary;
use lessor_domain::services::products::{CountProducts, CountedProducts};
use quick_cache::sync::Cache;

use crate::http::error::ApiError;
use crate::http::mutation::Mutations;

/// How long a total is told of what is much.
const TOLD_FOR: Duration = Duration::from_secs(30);
/// The most totals of a kind that are kept.
pub(crate) const TOTALS: usize = 1024;

/// Whose products are counted, and which.
pub(crate) type ProductsAsked = (OrganizationId, CountProducts);
/// How many products lists have that are much.
pub(crate) type ProductTotals = Totals<ProductsAsked, u64>;
/// How many products other lists had: true until the catalog changes.
pub(crate) type ProductCounts = Arc<Cache<ProductsAsked, CountedProducts>>;
/// Whose checkouts are counted, and of which mode.
pub(crate) type CheckoutTotals = Totals<(OrganizationId, Mode), CheckoutSummary>;

/// Which lists were found to be longer than is counted with a page.
pub(crate) type LongLists = Totals<(OrganizationId, Mode, LongList), ()>;

/// A list that may be long.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LongList {
    Audit(AuditFilter),
    /// None where no checkout can be meant.
    Checkouts(Option<CheckoutFilter>),
    Customers(CustomerFilter),
}

/// Totals that were counted a moment ago.
pub(crate) struct Totals<K, T>(Arc<Cache<K, Counted<T>>>);

/// A total, and until when it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<T> {
    pub(crate) total: T,
    pub(crate) until: Instant,
}

impl<T> Counted<T> {
    fn now(total: T) -> Self {
        let until = Instant::now() + TOLD_FOR;
        Self { total, until }
    }

    fn is_told(&self) -> bool {
        Instant::now() < self.until
    }
}

impl<K: Eq + Hash, T: Clone> Default for Totals<K, T> {
    fn default() -> Self {
        Self(Arc::new(Cache::new(TOTALS)))
    }
}

impl<K, T> Clone for Totals<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, T> Totals<K, T>
where
    K: Eq + Hash + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// The total, where it was counted a moment ago.
    pub(crate) fn told(&self, key: &K) -> Option<Counted<T>> {
        self.0.get(key).filter(Counted::is_told)
    }

    /// Tells the total from now on, for a while.
    pub(crate) fn note(&self, key: K, total: T) {
        self.0.insert(key, Counted::now(total));
    }

    /// The total, counted anew when it was last counted a while ago: by one of those who ask for it, while the others wait, and to
    /// its end also where it takes longer than a request may, for whoever asks again. For what is known to be much.
    pub(crate) async fn total(
        &self,
        key: K,
        mutations: &Mutations,
        count: impl Future<Output = Result<T, ApiError>> + Send + 'static,
    ) -> Result<Counted<T>, ApiError> {
        let Self(kept) = self;
        kept.remove_if(&key, |counted| !counted.is_told());
        let kept = Arc::clone(kept);
        let counting = async move {
            let counting = async { Ok::<_, ApiError>(Counted::now(count.await?)) };
            kept.get_or_insert_async(&key, counting).await
        };
        mutations.run(counting).await
    }

    /// The total; when it is not much, as it is now. Nobody waits for what somebody else counts: that would be from
    /// before they asked.
    pub(crate) async fn total_if(
        &self,
        key: &K,
        is_much: impl FnOnce(&T) -> bool,
        count: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        if let Some(told) = self.told(key) {
            return Ok(told.total);
        }
        let Self(kept) = self;
        let total = count.await?;
        if is_much(&total) {
            self.note(key.clone(), total.clone());
        } else {
            kept.remove(key);
        }
        Ok(total)
    }
}

impl<K, T> fmt::Debug for Totals<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Totals").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::poll;
    use lessor_domain::services::products::COUNTED;
    use tokio::runtime::Handle;
    use tokio::sync::oneshot;

    use super::*;

    #[actix_web::test]
    async fn what_is_much_is_told_for_a_while_and_what_is_not_is_counted() {
        let totals = Totals::<u8, u64>::default();
        let counts = Cell::new(0);
        let ask = async |key: u8, total: u64| {
            let count = async {
                counts.set(counts.get() + 1);
                Ok(total)
            };
            let is_much = |total: &u64| *total > COUNTED;
            totals.total_if(&key, is_much, count).await.ok()
        };
        for (key, total, told, counted) in [
            (1, COUNTED, COUNTED, 1),
            (1, COUNTED + 1, COUNTED + 1, 2),
            (1, COUNTED + 2, COUNTED + 1, 2),
            (2, 5, 5, 3),
            (2, 6, 6, 4),
        ] {
            assert_eq!(ask(key, total).await, Some(told), "{key}: {total}");
            assert_eq!(counts.get(), counted, "{key}: {total}");
        }
        let failed = async { Err(ApiError::not_found("path")) };
        assert!(totals.total_if(&3, |_| true, failed).await.is_err());
        assert_eq!(ask(3, 7).await, Some(7), "what failed is not kept");
    }

    #[tokio::test]
    async fn who_asks_again_is_told_what_took_longer_than_the_first_could_wait() {
        let totals = Totals::<u8, u64>::default();
        let mutations = Mutations::new(Handle::current());
        let (counted, told) = oneshot::channel();
        let late = async { told.await.map_err(ApiError::internal) };
        let mut first = Box::pin(totals.total(1, &mutations, late));
        assert!(poll!(&mut first).is_pending());
        drop(first);
        let again = async { Err(ApiError::internal("it is counted already")) };
        let mut second = Box::pin(totals.total(1, &mutations, again));
        assert!(poll!(&mut second).is_pending());
        counted.send(7).unwrap();
        assert_eq!(second.await.unwrap().total, 7);
        assert_eq!(totals.told(&1).map(|counted| counted.total), Some(7));
        assert_eq!(mutations.under_way(), 0);
    }
}
