//! Product categories.

use async_trait::async_trait;

use super::Memory;
use super::paging::{directed, page};
use crate::catalog::Category;
use crate::ids::{IdRef, OrganizationId, ProductCategoryId, ProductCategoryRef};
use crate::ports::{CategoryStore, NewCategory, Page, SortOrder, StoreError, UniqueField};

#[async_trait]
impl CategoryStore for Memory {
    async fn insert(&mut self, new: &NewCategory) -> Result<Category, StoreError> {
        let state = self.change_of(new.organization_id)?;
        let folded = new.name.as_str().to_lowercase();
        let taken = state.categories.values().any(|other| {
            other.organization_id == new.organization_id
                && other.name.as_str().to_lowercase() == folded
        });
        if taken {
            return Err(StoreError::Conflict(UniqueField::Name));
        }
        let category_id =
            ProductCategoryId::new(self.next_number()?).map_err(StoreError::internal)?;
        let category = Category {
            id: new.id,
            category_id,
            organization_id: new.organization_id,
            name: new.name.clone(),
            created_at: new.created_at,
            updated_at: new.created_at,
        };
        let state = self.change_own()?;
        state.categories.insert(category.id, category.clone());
        Ok(category)
    }

    async fn find(
        &mut self,
        organization: OrganizationId,
        id: ProductCategoryRef,
    ) -> Result<Option<Category>, StoreError> {
        let state = self.own();
        Ok(state
            .categories
            .values()
            .find(|category| {
                category.organization_id == organization
                    && match id {
                        IdRef::Public(id) => category.id == id,
                        IdRef::Number(id) => category.category_id == id,
                    }
            })
            .cloned())
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        wanted: Page,
    ) -> Result<Vec<Category>, StoreError> {
        let key = |category: &Category| (category.created_at, category.id.as_uuid());
        Ok(page(
            self.own().categories.values().cloned(),
            |category| category.id.as_uuid(),
            |category| category.organization_id == organization,
            |a, b| directed(&key(a), &key(b), SortOrder::Descending),
            wanted,
        ))
    }

    async fn count(&mut self, organization: OrganizationId) -> Result<u64, StoreError> {
        let state = self.own();
        let all = state.categories.values();
        let count = all.filter(|category| category.organization_id == organization);
        Ok(u64::try_from(count.count()).unwrap_or(u64::MAX))
    }
}
