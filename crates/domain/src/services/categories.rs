//! Categories of products.

use async_trait::async_trait;

use super::audit::{self, Entry};
use super::slice::unknown_start;
use super::{Context, Error, Slice, UseCase};
use crate::access::Permission;
use crate::audit::AuditAction;
use crate::catalog::Category;
use crate::ids::{IdRef, ProductCategoryPubId};
use crate::ports::{NewCategory, Page, Start, UnitOfWork};
use crate::text::Name;

/// Creates a category.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Taken`] when the name is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateCategory {
    pub name: Name,
}

#[async_trait]
impl UseCase for CreateCategory {
    type Output = Category;

    fn permission(&self) -> Permission {
        Permission::ProductWrite
    }

    async fn run(self, uow: &mut dyn UnitOfWork, ctx: &Context<'_>) -> Result<Category, Error> {
        ctx.access.require(self.permission())?;
        let new = NewCategory {
            id: ProductCategoryPubId::from_uuid(ctx.ids.next()),
            organization_id: ctx.access.organization_id,
            name: self.name,
            created_at: ctx.now,
        };
        let category = uow.categories().insert(&new).await?;
        let made = Entry::created(AuditAction::CategoryCreated, &category);
        audit::note(uow, ctx, made).await?;
        Ok(category)
    }
}

/// A page of categories, newest first, and how many there are in all.
///
/// # Errors
/// [`Error::Forbidden`]; [`Error::Invalid`] of a page that begins after no category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCategories {
    /// Which part of the list.
    pub page: Page,
}

#[async_trait]
impl UseCase for ListCategories {
    type Output = Slice<Category>;

    fn permission(&self) -> Permission {
        Permission::ProductRead
    }

    async fn run(
        self,
        uow: &mut dyn UnitOfWork,
        ctx: &Context<'_>,
    ) -> Result<Slice<Category>, Error> {
        ctx.access.require(self.permission())?;
        let organization = ctx.access.organization_id;
        if let Start::After(id) = self.page.start {
            let start = IdRef::Public(ProductCategoryPubId::from_uuid(id));
            let start = uow.categories().find(organization, start).await?;
            start.ok_or_else(unknown_start)?;
        }
        let total = uow.categories().count(organization).await?;
        let page = self.page.and_one_more();
        let found = uow.categories().list(organization, page).await?;
        Ok(Slice::cut(found, self.page, Some(total)))
    }
}
