//! Use cases as values.

use async_trait::async_trait;

use super::{Context, Error};
use crate::access::Permission;
use crate::ports::UnitOfWork;

/// Something that a caller may ask for, as a value: what it is about, who may ask for it, and what it
/// does.
///
/// ```
/// # use lessor_domain::access::Permission;
/// # use lessor_domain::ids::ProductPubId;
/// # use lessor_domain::services::UseCase as _;
/// # use lessor_domain::services::products::DeleteProduct;
/// # fn delete(id: ProductPubId) {
/// let delete = DeleteProduct { id };
/// assert_eq!(delete.permission(), Permission::ProductDelete);
/// # }
/// ```
///
/// It can be run again from a clone when the unit of work met another's, and it never commits.
#[async_trait]
pub trait UseCase: Clone + Send + Sync + 'static {
    /// What comes of it.
    type Output: Send;

    /// What it takes, also to see again what came of it. The one place that says so: [`run`](Self::run)
    /// asks for it after what is not there is refused.
    fn permission(&self) -> Permission;

    /// Does it.
    ///
    /// # Errors
    /// [`Error`], in the order of the [module](super)'s documentation.
    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Self::Output, Error>;
}
