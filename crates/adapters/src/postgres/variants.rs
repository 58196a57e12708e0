//! Variants and their stock.

use async_trait::async_trait;
use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use lessor_domain::catalog::{Inventory, OptionSelection, ProductVariant};
use lessor_domain::checkout::StockTaken;
use lessor_domain::ids::{OrganizationId, ProductPubId, ProductVariantPubId};
use lessor_domain::ports::{Page, SortOrder, Start, StoreError, VariantStore};
use lessor_domain::text::{ExternalId, Sku};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::{Place, counted, json};
use super::encode::{percentage, text, text_if, texts};
use super::error::store_error;
use super::paging::{Mark, after};
use super::schema::{checkout_items, product_variants};
use super::version;

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = product_variants, check_for_backend(Pg), treat_none_as_null = true)]
struct Row {
    id: Uuid,
    product_id: Uuid,
    organization_id: i64,
    name: String,
    description: String,
    options: serde_json::Value,
    combination: Vec<u8>,
    price: i64,
    currency: String,
    discount: Option<BigDecimal>,
    images: Vec<String>,
    sku: String,
    external_id: Option<String>,
    status: String,
    is_waitlisted: bool,
    inventory: Option<i32>,
    product_year: Option<i32>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    version: i64,
}

/// What selections have in common that are the same combination: equal hashes,
/// whatever their order and case.
fn combination(selections: &[OptionSelection]) -> Vec<u8> {
    let mut folded: Vec<(String, String)> = selections
        .iter()
        .map(|chosen| {
            (
                chosen.name.as_str().to_lowercase(),
                chosen.value.as_str().to_lowercase(),
            )
        })
        .collect();
    folded.sort_unstable();
    let mut hash = Sha256::new();
    for (name, value) in &folded {
        for part in [name, value] {
            hash.update(part.as_bytes());
            // No text holds a NUL, so that no two lists run together alike.
            hash.update([0]);
        }
    }
    hash.finalize().to_vec()
}

impl TryFrom<&ProductVariant> for Row {
    type Error = StoreError;

    fn try_from(variant: &ProductVariant) -> Result<Self, StoreError> {
        let inventory = variant.inventory.quantity().map(counted).transpose()?;
        Ok(Self {
            id: variant.id.as_uuid(),
            product_id: variant.product_id.as_uuid(),
            organization_id: variant.organization_id.get(),
            name: text(&variant.name),
            description: text(&variant.description),
            options: json(&variant.options)?,
            combination: combination(&variant.options),
            price: variant.price.minor(),
            currency: text(&variant.price.currency()),
            discount: variant.discount.map(percentage),
            images: texts(&variant.images),
            sku: text(&variant.sku),
            external_id: text_if(variant.external_id.as_ref()),
            status: text(&variant.status),
            is_waitlisted: variant.is_waitlisted,
            inventory,
            product_year: variant.product_year,
            created_at: variant.created_at,
            updated_at: variant.updated_at,
            version: variant.version,
        })
    }
}

impl TryFrom<Row> for ProductVariant {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let place = Place::new("product_variants", &row.id);
        let inventory = match row.inventory {
            None => Inventory::Untracked,
            Some(quantity) => Inventory::Tracked(place.count("inventory", quantity)?),
        };
        Ok(Self {
            id: ProductVariantPubId::from_uuid(row.id),
            product_id: ProductPubId::from_uuid(row.product_id),
            organization_id: place.number("organization_id", row.organization_id)?,
            name: place.parse("name", &row.name)?,
            description: place.parse("description", &row.description)?,
            options: place.json("options", row.options)?,
            price: place.money(row.price, &row.currency)?,
            discount: place.rate_if("discount", row.discount)?,
            images: place.parse_all("images", &row.images)?,
            sku: place.parse("sku", &row.sku)?,
            external_id: place.parse_if("external_id", row.external_id)?,
            status: place.parse("status", &row.status)?,
            is_waitlisted: row.is_waitlisted,
            inventory,
            product_year: row.product_year,
            created_at: row.created_at,
            updated_at: row.updated_at,
            version: row.version,
        })
    }
}

/// Whether a variant is not archived. Written out, for a value that is bound keeps
/// the planner from the partial indexes.
fn is_live() -> diesel::expression::SqlLiteral<diesel::sql_types::Bool> {
    diesel::dsl::sql("product_variants.status <> 'archived'")
}

/// Reads at most one variant of the organization that fits the condition.
macro_rules! first {
    ($work:expr, $organization:expr, $condition:expr $(, $lock:ident)?) => {
        product_variants::table
            .filter(product_variants::organization_id.eq($organization.get()))
            .filter($condition)
            .select(Row::as_select())
            $(.$lock())?
            .first($work.connection()?)
            .await
            .optional()
            .map_err(store_error)?
            .map(ProductVariant::try_from)
            .transpose()
    };
}

/// Reads the variants of the organization that fit the condition.
macro_rules! all {
    ($work:expr, $organization:expr, $condition:expr) => {
        product_variants::table
            .filter(product_variants::organization_id.eq($organization.get()))
            .filter($condition)
            .order((
                product_variants::product_id,
                product_variants::created_at,
                product_variants::id,
            ))
            .select(Row::as_select())
            .load($work.connection()?)
            .await
            .map_err(store_error)?
            .into_iter()
            .map(ProductVariant::try_from)
            .collect()
    };
}

fn uuids(ids: &[ProductVariantPubId]) -> Vec<Uuid> {
    ids.iter().map(ProductVariantPubId::as_uuid).collect()
}

#[async_trait]
impl VariantStore for PgUnitOfWork {
    async fn insert(&mut self, variant: &ProductVariant) -> Result<(), StoreError> {
        diesel::insert_into(product_variants::table)
            .values(Row::try_from(variant)?)
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        first!(self, organization, product_variants::id.eq(id.as_uuid()))
    }

    async fn find_by_sku(
        &mut self,
        organization: OrganizationId,
        sku: &Sku,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let own = || {
            product_variants::table
                .filter(product_variants::organization_id.eq(organization.get()))
                .filter(product_variants::sku.eq(sku.as_str().to_owned()))
                .select(Row::as_select())
        };
        let connection = self.connection()?;
        let live: Option<Row> = own()
            .filter(is_live())
            .first(connection)
            .await
            .optional()
            .map_err(store_error)?;
        let found = match live {
            Some(row) => Some(row),
            None => own()
                .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
                    "product_variants.status = 'archived'",
                ))
                .order((
                    product_variants::updated_at.desc(),
                    product_variants::id.desc(),
                ))
                .first(connection)
                .await
                .optional()
                .map_err(store_error)?,
        };
        found.map(ProductVariant::try_from).transpose()
    }

    async fn find_by_external_id(
        &mut self,
        organization: OrganizationId,
        id: &ExternalId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        first!(
            self,
            organization,
            is_live().and(product_variants::external_id.eq(id.as_str().to_owned()))
        )
    }

    async fn get_many(
        &mut self,
        organization: OrganizationId,
        ids: &[ProductVariantPubId],
    ) -> Result<Vec<ProductVariant>, StoreError> {
        all!(
            self,
            organization,
            is_live().and(product_variants::id.eq_any(uuids(ids)))
        )
    }

    async fn get_many_with_archived(
        &mut self,
        organization: OrganizationId,
        ids: &[ProductVariantPubId],
    ) -> Result<Vec<ProductVariant>, StoreError> {
        all!(self, organization, product_variants::id.eq_any(uuids(ids)))
    }

    async fn of_products(
        &mut self,
        organization: OrganizationId,
        products: &[ProductPubId],
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let products: Vec<Uuid> = products.iter().map(ProductPubId::as_uuid).collect();
        all!(
            self,
            organization,
            is_live().and(product_variants::product_id.eq_any(products))
        )
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
        page: Page,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let oldest_first = product_variants::table
            .filter(product_variants::organization_id.eq(organization.get()))
            .filter(product_variants::product_id.eq(product.as_uuid()))
            .filter(is_live())
            .order((product_variants::created_at, product_variants::id))
            .limit(page.limit.into())
            .select(Row::as_select());
        let connection = self.connection()?;
        match page.start {
            Start::Offset(offset) => oldest_first.offset(offset.into()).load(connection).await,
            Start::After(id) => {
                let mark = Mark {
                    table: "product_variants",
                    key: "created_at",
                    organization,
                    id,
                };
                oldest_first
                    .filter(after(&mark, SortOrder::Ascending))
                    .load(connection)
                    .await
            }
        }
        .map_err(store_error)?
        .into_iter()
        .map(ProductVariant::try_from)
        .collect()
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let condition = product_variants::id.eq(id.as_uuid());
        first!(self, organization, condition, for_update)
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let condition = product_variants::id.eq(id.as_uuid());
        first!(self, organization, condition, for_share)
    }

    async fn update(&mut self, variant: &mut ProductVariant) -> Result<(), StoreError> {
        let id = variant.id.as_uuid();
        let version = version::next(variant.version);
        let row = Row {
            version,
            ..Row::try_from(&*variant)?
        };
        let connection = self.connection()?;
        let written = diesel::update(product_variants::table)
            .filter(product_variants::id.eq(id))
            .filter(product_variants::organization_id.eq(variant.organization_id.get()))
            .filter(product_variants::version.eq(variant.version))
            .set(&row)
            .execute(connection)
            .await
            .map_err(store_error)?;
        if written == 0 {
            let exists = diesel::select(diesel::dsl::exists(product_variants::table.find(id)))
                .get_result(connection)
                .await
                .map_err(store_error)?;
            return Err(version::stale_or_missing(exists, "variant"));
        }
        variant.version = version;
        Ok(())
    }

    async fn delete(&mut self, id: ProductVariantPubId) -> Result<(), StoreError> {
        let deleted = diesel::delete(product_variants::table.find(id.as_uuid()))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if deleted == 0 {
            return Err(StoreError::Missing("variant"));
        }
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductVariantPubId) -> Result<bool, StoreError> {
        diesel::select(diesel::dsl::exists(
            checkout_items::table.filter(checkout_items::variant_id.eq(id.as_uuid())),
        ))
        .get_result(self.connection()?)
        .await
        .map_err(store_error)
    }

    async fn take_stock(&mut self, id: ProductVariantPubId) -> Result<StockTaken, StoreError> {
        let connection = self.connection()?;
        // Two statements, so that the row is locked when there is nothing to take as well.
        let inventory: Option<Option<i32>> = product_variants::table
            .find(id.as_uuid())
            .select(product_variants::inventory)
            .for_update()
            .first(connection)
            .await
            .optional()
            .map_err(store_error)?;
        if let None | Some(None) = inventory {
            return inventory
                .map(|_| StockTaken::Untracked)
                .ok_or(StoreError::Missing("variant"));
        }
        let taken = diesel::update(product_variants::table.find(id.as_uuid()))
            .filter(product_variants::inventory.gt(0))
            .set((
                product_variants::inventory.eq(product_variants::inventory - 1),
                product_variants::version.eq(product_variants::version + 1),
            ))
            .execute(connection)
            .await
            .map_err(store_error)?;
        if taken == 0 {
            Ok(StockTaken::NoneLeft)
        } else {
            Ok(StockTaken::Taken)
        }
    }

    async fn return_stock(&mut self, id: ProductVariantPubId) -> Result<(), StoreError> {
        let connection = self.connection()?;
        let returned = diesel::update(product_variants::table.find(id.as_uuid()))
            .filter(product_variants::inventory.lt(i32::MAX))
            .set((
                product_variants::inventory.eq(product_variants::inventory + 1),
                product_variants::version.eq(product_variants::version + 1),
            ))
            .execute(connection)
            .await
            .map_err(store_error)?;
        if returned == 0 {
            let exists: bool = diesel::select(diesel::dsl::exists(
                product_variants::table.find(id.as_uuid()),
            ))
            .get_result(connection)
            .await
            .map_err(store_error)?;
            if !exists {
                return Err(StoreError::Missing("variant"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lessor_domain::catalog::is_same_combination;
    use lessor_domain::text::Name;

    use super::*;

    fn picks(pairs: &[(&str, &str)]) -> Vec<OptionSelection> {
        pairs
            .iter()
            .map(|(name, value)| OptionSelection {
                name: Name::parse(name).unwrap(),
                value: Name::parse(value).unwrap(),
            })
            .collect()
    }

    #[test]
    fn hashes_agree_with_the_domain_on_what_is_the_same() {
        let lists = [
            picks(&[]),
            picks(&[("Size", "M")]),
            picks(&[("SIZE", "m")]),
            picks(&[("Size", "L")]),
            picks(&[("Size", "M"), ("Color", "Red")]),
            picks(&[("color", "RED"), ("size", "m")]),
            picks(&[("Size", "MColor"), ("Red", "x")]),
            picks(&[("ÄRMEL", "lang")]),
            picks(&[("ärmel", "LANG")]),
        ];
        for a in &lists {
            for b in &lists {
                assert_eq!(
                    combination(a) == combination(b),
                    is_same_combination(a, b),
                    "{a:?} {b:?}"
                );
            }
        }
    }
}
