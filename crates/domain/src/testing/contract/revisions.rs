//! What the revisions that caches are kept under have in common.

use super::shop::{Shop, must};
use crate::access::Mode;
use crate::catalog::{Product, ProductVariant};
use crate::ports::{StoreError, UnitOfWork};
use crate::quantity::Quantity;

/// A revision of a shop, and what it is called.
pub(super) struct Revision<'s, 'd, R> {
    pub(super) shop: &'s Shop<'d>,
    pub(super) name: &'static str,
    pub(super) read: R,
}

impl<R: AsyncFn(&Shop<'_>) -> i64> Revision<'_, '_, R> {
    /// Whether the work moves it on.
    pub(super) async fn moves(
        &self,
        work: impl AsyncFnOnce(&mut dyn UnitOfWork) -> Result<(), StoreError>,
    ) -> bool {
        let before = (self.read)(self.shop).await;
        must(self.shop.run(work).await, "the suite changes a record");
        let after = (self.read)(self.shop).await;
        assert!(after >= before, "{}: never goes back", self.name);
        after > before
    }

    pub(super) async fn stock_does_not_count(&self, variant: &ProductVariant) {
        for mode in Mode::ALL {
            let stock = self.moves(async |uow| {
                let variants = uow.variants();
                (variants.take_stock(variant.id, mode, Quantity::ONE)).await?;
                (variants.return_stock(variant.id, mode, Quantity::ONE)).await
            });
            assert!(!stock.await, "{}: stock does not count", self.name);
        }
    }

    pub(super) async fn what_was_dropped_does_not_count(&self, product: &Product) {
        let before = (self.read)(self.shop).await;
        let mut uow = self.shop.begin().await;
        let another = self.shop.make.variant(product).choose("Size", "L").build();
        must(
            uow.variants().insert(&another).await,
            "variants.insert: keeps a variant",
        );
        drop(uow);
        assert_eq!(
            (self.read)(self.shop).await,
            before,
            "{}: a change that was dropped does not count",
            self.name
        );
    }
}
