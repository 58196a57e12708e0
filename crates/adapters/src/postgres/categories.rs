//! Product categories.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::catalog::Category;
use lessor_domain::ids::{IdRef, OrganizationId, ProductCategoryPubId, ProductCategoryRef};
use lessor_domain::ports::{CategoryStore, NewCategory, Page, SortOrder, Start, StoreError};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::{Place, row_count};
use super::encode::text;
use super::error::store_error;
use super::paging::{Mark, after};
use super::schema::product_categories;

#[derive(Queryable, Selectable)]
#[diesel(table_name = product_categories, check_for_backend(diesel::pg::Pg))]
struct Row {
    id: Uuid,
    category_id: i64,
    organization_id: i64,
    name: String,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl TryFrom<Row> for Category {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let place = Place::new("product_categories", &row.id);
        Ok(Self {
            id: ProductCategoryPubId::from_uuid(row.id),
            category_id: place.number("category_id", row.category_id)?,
            organization_id: place.number("organization_id", row.organization_id)?,
            name: place.parse("name", &row.name)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

#[async_trait]
impl CategoryStore for PgUnitOfWork {
    async fn insert(&mut self, new: &NewCategory) -> Result<Category, StoreError> {
        diesel::insert_into(product_categories::table)
            .values((
                product_categories::id.eq(new.id.as_uuid()),
                product_categories::organization_id.eq(new.organization_id.get()),
                product_categories::name.eq(text(&new.name)),
                product_categories::name_folded.eq(new.name.as_str().to_lowercase()),
                product_categories::created_at.eq(new.created_at),
                product_categories::updated_at.eq(new.created_at),
            ))
            .returning(Row::as_returning())
            .get_result(self.connection()?)
            .await
            .map_err(store_error)?
            .try_into()
    }

    async fn find(
        &mut self,
        organization: OrganizationId,
        id: ProductCategoryRef,
    ) -> Result<Option<Category>, StoreError> {
        let own = product_categories::table
            .filter(product_categories::organization_id.eq(organization.get()))
            .select(Row::as_select());
        let connection = self.connection()?;
        match id {
            IdRef::Public(id) => {
                own.filter(product_categories::id.eq(id.as_uuid()))
                    .first(connection)
                    .await
            }
            IdRef::Number(id) => {
                own.filter(product_categories::category_id.eq(id.get()))
                    .first(connection)
                    .await
            }
        }
        .optional()
        .map_err(store_error)?
        .map(Category::try_from)
        .transpose()
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<Vec<Category>, StoreError> {
        let newest_first = product_categories::table
            .filter(product_categories::organization_id.eq(organization.get()))
            .order((
                product_categories::created_at.desc(),
                product_categories::id.desc(),
            ))
            .limit(page.limit.into())
            .select(Row::as_select());
        let connection = self.connection()?;
        match page.start {
            Start::Offset(offset) => newest_first.offset(offset.into()).load(connection).await,
            Start::After(id) => {
                let mark = Mark {
                    table: "product_categories",
                    key: "created_at",
                    organization,
                    id,
                };
                newest_first
                    .filter(after(&mark, SortOrder::Descending))
                    .load(connection)
                    .await
            }
        }
        .map_err(store_error)?
        .into_iter()
        .map(Category::try_from)
        .collect()
    }

    async fn count(&mut self, organization: OrganizationId) -> Result<u64, StoreError> {
        product_categories::table
            .filter(product_categories::organization_id.eq(organization.get()))
            .count()
            .get_result(self.connection()?)
            .await
            .map(row_count)
            .map_err(store_error)
    }
}
