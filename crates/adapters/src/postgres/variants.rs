//! Variants and their stock.

use async_trait::async_trait;
use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select, sql};
use diesel::expression::SqlLiteral;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{join, join4};
use lessor_domain::access::Mode;
use lessor_domain::catalog::{
    Inventory, OptionSelection, Product, ProductVariant, Stock, StockTaken, VariantFilter,
    folded_combination,
};
use lessor_domain::ids::{OrganizationId, ProductPubId, ProductVariantPubId};
use lessor_domain::ports::{
    Offer, Page, SortOrder, Start, StoreError, VariantSelection, VariantStore,
};
use lessor_domain::quantity::Quantity;
use lessor_domain::text::{ExternalId, Sku};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::{Place, counted};
use super::encode::{percentage, text, text_if, texts};
use super::error::store_error;
use super::json::{Json, json};
use super::kept::{Keep as _, Text};
use super::lease_terms::with_organization;
use super::metadata::is_of_variant;
use super::paging::{Mark, after, within};
use super::schema::{product_variants, products};
use super::search;
use super::version::{self, compare_and_set};

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = product_variants, primary_key(organization_id, id))]
#[diesel(check_for_backend(Pg), treat_none_as_null = true)]
struct Row {
    id: Uuid,
    product_id: Uuid,
    organization_id: i64,
    name: String,
    description: String,
    options: Json,
    combination: Vec<u8>,
    price: i64,
    currency: String,
    discount: Option<BigDecimal>,
    images: Vec<String>,
    sku: String,
    external_id: Option<String>,
    status: String,
    is_waitlisted: bool,
    live_inventory: Option<i32>,
    sandbox_inventory: Option<i32>,
    product_year: Option<i32>,
    metadata: Json,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    version: i64,
}

/// What its product is found by on its account: written, and never read back.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = product_variants)]
struct Searched {
    search_text: String,
    search_grams: Vec<i32>,
}

impl From<&ProductVariant> for Searched {
    fn from(variant: &ProductVariant) -> Self {
        let search_text = variant.searchable();
        Self {
            search_grams: search::grams(&search_text),
            search_text,
        }
    }
}

/// What is written of a new variant.
fn new_row(variant: &ProductVariant) -> Result<(Row, Searched), StoreError> {
    Ok((Row::try_from(variant)?, Searched::from(variant)))
}

/// The rows that one statement inserts at the most: a statement holds 65,535 values.
const ROWS_OF_A_STATEMENT: usize = 500;

/// What selections have in common that are the same combination: equal hashes,
/// whatever their order and case.
fn combination(selections: &[OptionSelection]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for (name, value) in &folded_combination(selections) {
        for part in [name, value] {
            hash.update(part.as_bytes());
            // No text holds a NUL, so that no two lists run together alike.
            hash.update([0]);
        }
    }
    hash.finalize().to_vec()
}

/// The stock as a column keeps it: nothing where it is not tracked.
fn tracked(inventory: Inventory) -> Result<Option<i32>, StoreError> {
    inventory.quantity().map(counted).transpose()
}

/// The stock that the column keeps.
fn inventory(
    place: &Place<'_>,
    column: &'static str,
    kept: Option<i32>,
) -> Result<Inventory, StoreError> {
    match kept {
        None => Ok(Inventory::Untracked),
        Some(quantity) => place.count(column, quantity).map(Inventory::Tracked),
    }
}

/// Does the same with the column that keeps the mode's stock.
macro_rules! with_stock_of {
    ($mode:expr, $column:ident => $work:expr) => {
        match $mode {
            Mode::Live => {
                let $column = product_variants::live_inventory;
                $work
            }
            Mode::Sandbox => {
                let $column = product_variants::sandbox_inventory;
                $work
            }
        }
    };
}

/// So many, as stock is kept.
fn units(quantity: Quantity) -> i32 {
    i32::try_from(quantity.get()).unwrap_or(i32::MAX)
}

impl TryFrom<&ProductVariant> for Row {
    type Error = StoreError;

    fn try_from(variant: &ProductVariant) -> Result<Self, StoreError> {
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
            live_inventory: tracked(variant.stock.live)?,
            sandbox_inventory: tracked(variant.stock.sandbox)?,
            product_year: variant.product_year,
            metadata: json(&variant.metadata)?,
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
            stock: Stock {
                live: inventory(&place, "live_inventory", row.live_inventory)?,
                sandbox: inventory(&place, "sandbox_inventory", row.sandbox_inventory)?,
            },
            product_year: row.product_year,
            metadata: place.json("metadata", row.metadata)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
            version: row.version,
        })
    }
}

/// Whether a variant is not archived. Written out, for a value that is bound keeps
/// the planner from the partial indexes.
fn is_live() -> SqlLiteral<Bool> {
    sql("product_variants.status <> 'archived'")
}

type Query = product_variants::BoxedQuery<'static, Pg>;

/// The variants of the organization, archived ones too.
fn all_of(organization: OrganizationId) -> Query {
    product_variants::table
        .filter(product_variants::organization_id.eq(organization.get()))
        .into_boxed()
}

/// The variants that the query finds, in its order. Every read of whole variants is of
/// this one type: to the compiler each new type of statement over this many columns
/// costs seconds.
async fn load(
    mut connection: &AsyncPgConnection,
    query: Query,
) -> Result<Vec<ProductVariant>, StoreError> {
    let rows: Vec<Row> = query
        .select(Row::as_select())
        .kept()
        .load(&mut connection)
        .await
        .map_err(store_error)?;
    rows.into_iter().map(ProductVariant::try_from).collect()
}

/// Looks for a variant by its id.
static BY_ID: Text = Text::new();

/// The first variant that the query, whose text is always this one, finds.
async fn load_one(
    mut connection: &AsyncPgConnection,
    query: Query,
    text: &'static Text,
) -> Result<Option<ProductVariant>, StoreError> {
    let row: Option<Row> = query
        .limit(1)
        .select(Row::as_select())
        .kept_as(text)
        .get_result(&mut connection)
        .await
        .optional()
        .map_err(store_error)?;
    row.map(ProductVariant::try_from).transpose()
}

/// Product by product, oldest first.
fn by_product(query: Query) -> Query {
    query.order((
        product_variants::product_id,
        product_variants::created_at,
        product_variants::id,
    ))
}

/// Locks a variant of the organization and reads it by a statement of its own, which
/// sees what the holder before committed.
macro_rules! locked {
    ($work:expr, $organization:expr, $id:expr, $lock:ident) => {{
        let connection: &AsyncPgConnection = $work.connection()?;
        let mut first = connection;
        let held = product_variants::table
            .filter(product_variants::organization_id.eq($organization.get()))
            .filter(product_variants::id.eq($id.as_uuid()))
            .select(product_variants::id)
            .$lock()
            .first::<Uuid>(&mut first);
        // Behind the other on the line: it sees what the holder before committed.
        let one = all_of($organization).filter(product_variants::id.eq($id.as_uuid()));
        let (held, locked) = join(held, load_one(connection, one, &BY_ID)).await;
        let held = held.optional().map_err(store_error)?;
        Ok(locked?.filter(|_| held.is_some()))
    }};
}

fn uuids(ids: &[ProductVariantPubId]) -> Vec<Uuid> {
    ids.iter().map(ProductVariantPubId::as_uuid).collect()
}

/// Those variants of the organization with their products.
pub(super) async fn with_products(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
    selected: &VariantSelection,
) -> Result<Vec<(ProductVariant, Product)>, StoreError> {
    let of_variant = products::organization_id
        .eq(product_variants::organization_id)
        .and(products::id.eq(product_variants::product_id));
    let all = product_variants::table
        .inner_join(products::table.on(of_variant))
        .filter(product_variants::organization_id.eq(organization.get()))
        .order((
            product_variants::product_id,
            product_variants::created_at,
            product_variants::id,
        ))
        .select((Row::as_select(), super::products::Row::as_select()))
        .into_boxed();
    static TEXTS: [Text; 4] = [const { Text::new() }; 4];
    let [live, one, with_archived, of_products] = &TEXTS;
    let (wanted, text) = match selected {
        VariantSelection::Ids(ids) => {
            let those = all.filter(is_live());
            (those.filter(product_variants::id.eq_any(uuids(ids))), live)
        }
        // By equality where there is one: the plan that is kept for a list reads all of a small table.
        VariantSelection::IdsWithArchived(ids) if let [id] = ids.as_slice() => {
            (all.filter(product_variants::id.eq(id.as_uuid())), one)
        }
        VariantSelection::IdsWithArchived(ids) => (
            all.filter(product_variants::id.eq_any(uuids(ids))),
            with_archived,
        ),
        VariantSelection::OfProducts { products, most } => {
            let products: Vec<Uuid> = products.iter().map(ProductPubId::as_uuid).collect();
            let those = all
                .filter(is_live())
                .filter(product_variants::product_id.eq_any(products))
                .limit(i64::from(*most));
            (those, of_products)
        }
    };
    let rows: Vec<(Row, super::products::Row)> = wanted
        .kept_as(text)
        .load(&mut connection)
        .await
        .map_err(store_error)?;
    rows.into_iter()
        .map(|(variant, product)| Ok((variant.try_into()?, product.try_into()?)))
        .collect()
}

#[async_trait]
impl VariantStore for PgUnitOfWork {
    async fn insert(&mut self, variant: &ProductVariant) -> Result<(), StoreError> {
        diesel::insert_into(product_variants::table)
            .values(new_row(variant)?)
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn insert_all(&mut self, variants: &[ProductVariant]) -> Result<(), StoreError> {
        for part in variants.chunks(ROWS_OF_A_STATEMENT) {
            let rows: Vec<_> = part.iter().map(new_row).collect::<Result<_, _>>()?;
            diesel::insert_into(product_variants::table)
                .values(&rows)
                .execute(self.connection()?)
                .await
                .map_err(store_error)?;
        }
        Ok(())
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        let one = all_of(organization).filter(product_variants::id.eq(id.as_uuid()));
        load_one(self.connection()?, one, &BY_ID).await
    }

    async fn find_by_sku(
        &mut self,
        organization: OrganizationId,
        sku: &Sku,
    ) -> Result<Option<ProductVariant>, StoreError> {
        static TEXT: Text = Text::new();
        let one = all_of(organization)
            .filter(is_live())
            .filter(product_variants::sku.eq(text(sku)));
        load_one(self.connection()?, one, &TEXT).await
    }

    async fn find_by_external_id(
        &mut self,
        organization: OrganizationId,
        id: &ExternalId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        static TEXT: Text = Text::new();
        let one = all_of(organization)
            .filter(is_live())
            .filter(product_variants::external_id.eq(text(id)));
        load_one(self.connection()?, one, &TEXT).await
    }

    async fn with_products(
        &mut self,
        organization: OrganizationId,
        selected: &VariantSelection,
    ) -> Result<Vec<(ProductVariant, Product)>, StoreError> {
        with_products(self.connection()?, organization, selected).await
    }

    async fn of_products(
        &mut self,
        organization: OrganizationId,
        products: &[ProductPubId],
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let products: Vec<Uuid> = products.iter().map(ProductPubId::as_uuid).collect();
        let those = all_of(organization)
            .filter(is_live())
            .filter(product_variants::product_id.eq_any(products));
        load(self.connection()?, by_product(those)).await
    }

    async fn of_product(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let those = all_of(organization).filter(product_variants::product_id.eq(product.as_uuid()));
        load(self.connection()?, by_product(those)).await
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        product: ProductPubId,
        filter: &VariantFilter,
        page: Page,
    ) -> Result<Vec<ProductVariant>, StoreError> {
        let mut newest_first = all_of(organization)
            .filter(product_variants::product_id.eq(product.as_uuid()))
            .filter(is_live())
            .order((
                product_variants::created_at.desc(),
                product_variants::id.desc(),
            ))
            .limit(page.limit.into());
        within!(newest_first, product_variants::created_at, filter.created);
        within!(newest_first, product_variants::updated_at, filter.updated);
        if !filter.metadata.is_empty() {
            newest_first = newest_first.filter(is_of_variant(&filter.metadata));
        }
        let query = match page.start {
            Start::Offset(offset) => newest_first.offset(offset.into()),
            Start::After(id) => {
                let mark = Mark {
                    table: "product_variants",
                    key: "created_at",
                    organization,
                    id,
                };
                newest_first.filter(after(&mark, SortOrder::Descending))
            }
        };
        load(self.connection()?, query).await
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        locked!(self, organization, id, for_update)
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
    ) -> Result<Option<ProductVariant>, StoreError> {
        locked!(self, organization, id, for_share)
    }

    async fn hold_offer(
        &mut self,
        organization: OrganizationId,
        id: ProductVariantPubId,
        product: ProductPubId,
    ) -> Result<Option<Offer>, StoreError> {
        let connection: &AsyncPgConnection = self.connection()?;
        let (mut first, mut second) = (connection, connection);
        let product_held = products::table
            .filter(products::organization_id.eq(organization.get()))
            .filter(products::id.eq(product.as_uuid()))
            .select(products::id)
            .for_share()
            .first::<Uuid>(&mut first);
        let held = product_variants::table
            .filter(product_variants::organization_id.eq(organization.get()))
            .filter(product_variants::id.eq(id.as_uuid()))
            .select(product_variants::id)
            .for_share()
            .first::<Uuid>(&mut second);
        // Behind the others on the line: it sees what the holders before committed.
        let both = VariantSelection::IdsWithArchived(vec![id]);
        let both = with_products(connection, organization, &both);
        let own = with_organization(connection, organization);
        let (product_held, held, both, own) = join4(product_held, held, both, own).await;
        let product_held = product_held.optional().map_err(store_error)?;
        let held = held.optional().map_err(store_error)?;
        let (mut both, own) = (both?, own?);
        if product_held.is_none() || held.is_none() {
            return Ok(None);
        }
        let is_it = |(_, of): &(ProductVariant, Product)| of.id == product;
        let offer = |((variant, product), (organization, terms))| Offer {
            variant,
            product,
            organization,
            terms,
        };
        Ok(both.pop().filter(is_it).zip(own).map(offer))
    }

    async fn update(&mut self, variant: &mut ProductVariant) -> Result<(), StoreError> {
        let id = variant.id.as_uuid();
        let version = version::next(variant.version);
        let row = Row {
            version,
            ..Row::try_from(&*variant)?
        };
        let connection = self.connection()?;
        compare_and_set(
            connection,
            "variant",
            diesel::update(product_variants::table)
                .filter(product_variants::id.eq(id))
                .filter(product_variants::organization_id.eq(variant.organization_id.get()))
                .filter(product_variants::version.eq(variant.version))
                .set((&row, Searched::from(&*variant))),
            select(exists(
                product_variants::table.find((variant.organization_id.get(), id)),
            )),
        )
        .await?;
        variant.version = version;
        Ok(())
    }

    async fn delete(&mut self, id: ProductVariantPubId) -> Result<(), StoreError> {
        let key = (self.owner(), id.as_uuid());
        let deleted = diesel::delete(product_variants::table.find(key))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if deleted == 0 {
            return Err(StoreError::Missing("variant"));
        }
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductVariantPubId) -> Result<bool, StoreError> {
        let variant = product_variants::table
            .filter(product_variants::organization_id.eq(self.owner()))
            .filter(product_variants::id.eq(id.as_uuid()));
        let connection = self.connection()?;
        super::sales::sold(connection, variant.into_boxed()).await
    }

    async fn take_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<StockTaken, StoreError> {
        let key = (self.owner(), id.as_uuid());
        let units = units(quantity);
        let connection = self.connection()?;
        // Two statements, so that the row is locked when there is nothing to take as well.
        let kept: Option<(Option<i32>, Option<i32>)> = product_variants::table
            .find(key)
            .select((
                product_variants::live_inventory,
                product_variants::sandbox_inventory,
            ))
            .for_update()
            .first(connection)
            .await
            .optional()
            .map_err(store_error)?;
        let (live, sandbox) = kept.ok_or(StoreError::Missing("variant"))?;
        let is_tracked = match mode {
            Mode::Live => live.is_some(),
            Mode::Sandbox => sandbox.is_some(),
        };
        if !is_tracked {
            return Ok(StockTaken::Untracked);
        }
        let taken = with_stock_of!(mode, stock => {
            diesel::update(product_variants::table.find(key))
                .filter(stock.ge(units))
                .set((
                    stock.eq(stock - units),
                    product_variants::version.eq(product_variants::version + 1),
                ))
                .kept().execute(connection)
                .await
        })
        .map_err(store_error)?;
        if taken == 0 {
            Ok(StockTaken::NoneLeft)
        } else {
            Ok(StockTaken::Taken)
        }
    }

    async fn return_stock(
        &mut self,
        id: ProductVariantPubId,
        mode: Mode,
        quantity: Quantity,
    ) -> Result<(), StoreError> {
        let key = (self.owner(), id.as_uuid());
        let units = units(quantity);
        let connection = self.connection()?;
        let returned = with_stock_of!(mode, stock => {
            diesel::update(product_variants::table.find(key))
                .filter(stock.le(i32::MAX - units))
                .set((
                    stock.eq(stock + units),
                    product_variants::version.eq(product_variants::version + 1),
                ))
                .kept().execute(connection)
                .await
        })
        .map_err(store_error)?;
        if returned == 0 {
            let exists: bool = select(exists(product_variants::table.find(key)))
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
