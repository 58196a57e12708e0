//! How many products long lists have.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lessor_domain::ids::OrganizationId;
use lessor_domain::services::products::CountProducts;
use quick_cache::sync::Cache;

use crate::http::error::ApiError;

/// How long the total of a list is told that has more than are counted with each page.
const TOLD_FOR: Duration = Duration::from_secs(30);
/// The most totals that are kept.
const TOTALS: usize = 1024;

/// Whose products are counted, and which.
pub(crate) type TotalKey = (OrganizationId, CountProducts);

/// Totals that were counted a moment ago.
#[derive(Clone)]
pub struct ProductTotals(Arc<Cache<TotalKey, Counted>>);

#[derive(Clone, Copy)]
struct Counted {
    total: u64,
    until: Instant,
}

impl Default for ProductTotals {
    fn default() -> Self {
        Self(Arc::new(Cache::new(TOTALS)))
    }
}

impl ProductTotals {
    /// The total, counted anew when it was last counted a while ago: by one of those who ask for it, while
    /// the others wait.
    pub(crate) async fn total(
        &self,
        key: &TotalKey,
        count: impl Future<Output = Result<u64, ApiError>>,
    ) -> Result<u64, ApiError> {
        let Self(kept) = self;
        kept.remove_if(key, |counted| Instant::now() >= counted.until);
        let counting = async {
            Ok(Counted {
                total: count.await?,
                until: Instant::now() + TOLD_FOR,
            })
        };
        let counted = kept.get_or_insert_async(key, counting).await;
        counted.map(|counted: Counted| counted.total)
    }
}

impl fmt::Debug for ProductTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProductTotals").finish_non_exhaustive()
    }
}
