//! Products.

use async_trait::async_trait;
use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use diesel::dsl::{exists, select, sql};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Integer};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::join;
use lessor_domain::catalog::{Product, Review};
use lessor_domain::ids::{OrganizationId, ProductPubId};
use lessor_domain::ports::{
    Page, ProductFilter, ProductPage, ProductSort, ProductStore, SortOrder, Start, StoreError,
};
use uuid::Uuid;

use super::PgUnitOfWork;
use super::decode::Place;
use super::encode::{percentage, text, text_if, texts};
use super::error::store_error;
use super::json::{Json, json};
use super::kept::{Keep as _, Text};
use super::metadata::{OF_PRODUCTS, has_each};
use super::paging::{self, Mark, after, within};
use super::schema::{catalog_revisions, product_variants, products};
use super::search::{self, Sought};
use super::version::{self, compare_and_set};

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = products, primary_key(organization_id, id))]
#[diesel(check_for_backend(Pg), treat_none_as_null = true)]
pub(super) struct Row {
    id: Uuid,
    organization_id: i64,
    name: String,
    description: String,
    options: Json,
    price: i64,
    currency: String,
    discount: Option<BigDecimal>,
    source: String,
    product_type: String,
    review_status: String,
    review_notes: Option<String>,
    reviewed_at: Option<DateTime<Utc>>,
    reviewed_by: Option<i64>,
    status: String,
    is_waitlisted: bool,
    ignore_upstream_updates: bool,
    external_id: Option<String>,
    sku: Option<String>,
    main_image: Option<String>,
    category_id: Option<i64>,
    metadata: Json,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    version: i64,
}

/// What the product is found by: written, and never read back.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = products)]
struct Searched {
    search_text: String,
    search_grams: Vec<i32>,
}

impl From<&Product> for Searched {
    fn from(product: &Product) -> Self {
        let search_text = product.searchable();
        Self {
            search_grams: search::grams(&search_text),
            search_text,
        }
    }
}

impl TryFrom<&Product> for Row {
    type Error = StoreError;

    fn try_from(product: &Product) -> Result<Self, StoreError> {
        Ok(Self {
            id: product.id.as_uuid(),
            organization_id: product.organization_id.get(),
            name: text(&product.name),
            description: text(&product.description),
            options: json(&product.options)?,
            price: product.price.minor(),
            currency: text(&product.price.currency()),
            discount: product.discount.map(percentage),
            source: text(&product.source),
            product_type: text(&product.product_type),
            review_status: text(&product.review.status),
            review_notes: text_if(product.review.notes.as_ref()),
            reviewed_at: product.review.reviewed_at,
            reviewed_by: product.review.reviewed_by.map(i64::from),
            status: text(&product.status),
            is_waitlisted: product.is_waitlisted,
            ignore_upstream_updates: product.ignore_upstream_updates,
            external_id: text_if(product.external_id.as_ref()),
            sku: text_if(product.sku.as_ref()),
            main_image: text_if(product.main_image.as_ref()),
            category_id: product.category_id.map(i64::from),
            metadata: json(&product.metadata)?,
            created_at: product.created_at,
            updated_at: product.updated_at,
            version: product.version,
        })
    }
}

impl TryFrom<Row> for Product {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let place = Place::new("products", &row.id);
        Ok(Self {
            id: ProductPubId::from_uuid(row.id),
            organization_id: place.number("organization_id", row.organization_id)?,
            name: place.parse("name", &row.name)?,
            description: place.parse("description", &row.description)?,
            options: place.json("options", row.options)?,
            price: place.money(row.price, &row.currency)?,
            discount: place.rate_if("discount", row.discount)?,
            source: place.parse("source", &row.source)?,
            product_type: place.parse("product_type", &row.product_type)?,
            review: Review {
                status: place.parse("review_status", &row.review_status)?,
                notes: place.parse_if("review_notes", row.review_notes)?,
                reviewed_at: row.reviewed_at,
                reviewed_by: place.number_if("reviewed_by", row.reviewed_by)?,
            },
            status: place.parse("status", &row.status)?,
            is_waitlisted: row.is_waitlisted,
            ignore_upstream_updates: row.ignore_upstream_updates,
            external_id: place.parse_if("external_id", row.external_id)?,
            sku: place.parse_if("sku", row.sku)?,
            main_image: place.parse_if("main_image", row.main_image)?,
            category_id: place.number_if("category_id", row.category_id)?,
            metadata: place.json("metadata", row.metadata)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
            version: row.version,
        })
    }
}

/// Narrows a query to the rows with one of these values. One alone is a range of an index, in its order; of
/// several the rows are sorted.
macro_rules! is_any {
    ($query:ident, $column:expr, $values:expr) => {
        match $values.as_slice() {
            [value] => $query.filter($column.eq(text(value))),
            values => $query.filter($column.eq_any(texts(values))),
        }
    };
}

/// The organization's products that the filter shows.
fn filtered(
    organization: OrganizationId,
    filter: &ProductFilter,
    sought: Option<Sought>,
) -> products::BoxedQuery<'static, Pg> {
    let mut query = products::table
        .filter(products::organization_id.eq(organization.get()))
        .into_boxed();
    if filter.statuses.is_empty() {
        // Written out: a bound value keeps the planner from the partial indexes.
        query = query.filter(sql::<Bool>("products.status <> 'archived'"));
    } else {
        query = is_any!(query, products::status, filter.statuses);
    }
    if !filter.types.is_empty() {
        query = is_any!(query, products::product_type, filter.types);
    }
    if let Some(waitlisted) = filter.is_waitlisted {
        query = query.filter(products::is_waitlisted.eq(waitlisted));
    }
    if !filter.external_ids.is_empty() {
        query = query.filter(products::external_id.eq_any(texts(&filter.external_ids)));
    }
    query = match filter.categories.as_slice() {
        [] => query,
        [category] => query.filter(products::category_id.eq(category.get())),
        several => {
            let ids: Vec<i64> = several.iter().map(|id| id.get()).collect();
            query.filter(products::category_id.eq_any(ids))
        }
    };
    if !filter.skus.is_empty() {
        query = query.filter(products::sku.eq_any(texts(&filter.skus)));
    }
    within!(query, products::created_at, filter.created);
    within!(query, products::updated_at, filter.updated);
    for has in has_each(&OF_PRODUCTS, organization, &filter.metadata) {
        query = query.filter(has);
    }
    match sought {
        Some(sought) => sought.of(query),
        None => query,
    }
}

/// The column that a list is sorted by.
const fn sort_key(sort: ProductSort) -> &'static str {
    match sort {
        ProductSort::CreatedAt => "created_at",
        ProductSort::UpdatedAt => "updated_at",
        ProductSort::Name => "name",
    }
}

fn sorted(
    query: products::BoxedQuery<'static, Pg>,
    sort: ProductSort,
    order: SortOrder,
) -> products::BoxedQuery<'static, Pg> {
    use products::{created_at, id, name, updated_at};
    match (sort, order) {
        (ProductSort::CreatedAt, SortOrder::Ascending) => query.order((created_at, id)),
        (ProductSort::CreatedAt, SortOrder::Descending) => {
            query.order((created_at.desc(), id.desc()))
        }
        (ProductSort::UpdatedAt, SortOrder::Ascending) => query.order((updated_at, id)),
        (ProductSort::UpdatedAt, SortOrder::Descending) => {
            query.order((updated_at.desc(), id.desc()))
        }
        (ProductSort::Name, SortOrder::Ascending) => query.order((name, id)),
        (ProductSort::Name, SortOrder::Descending) => query.order((name.desc(), id.desc())),
    }
}

/// A page of the products that the filter shows.
fn listed(
    organization: OrganizationId,
    filter: &ProductFilter,
    sought: Option<Sought>,
    (sort, order): (ProductSort, SortOrder),
    page: Page,
) -> products::BoxedQuery<'static, Pg> {
    let query = filtered(organization, filter, sought);
    let query = sorted(query, sort, order).limit(page.limit.into());
    match page.start {
        Start::Offset(offset) => query.offset(offset.into()),
        Start::After(id) => {
            let mark = Mark {
                table: "products",
                key: sort_key(sort),
                organization,
                id,
            };
            query.filter(after(&mark, order))
        }
    }
}

/// The products that the query finds, in its order. Every read of whole products is
/// of this one type: to the compiler each new type of statement over this many columns
/// costs seconds.
async fn load(
    connection: &AsyncPgConnection,
    query: products::BoxedQuery<'static, Pg>,
) -> Result<Vec<Product>, StoreError> {
    read(connection, query, None).await
}

/// The products that the query finds, in its order; its text, where it has a single one.
async fn read(
    mut connection: &AsyncPgConnection,
    query: products::BoxedQuery<'static, Pg>,
    text: Option<&'static Text>,
) -> Result<Vec<Product>, StoreError> {
    let query = query.select(Row::as_select());
    let rows: Vec<Row> = query
        .kept_as(text)
        .load(&mut connection)
        .await
        .map_err(store_error)?;
    rows.into_iter().map(Product::try_from).collect()
}

/// The revision of the organization's catalog.
async fn revision(
    mut connection: &AsyncPgConnection,
    organization: OrganizationId,
) -> Result<i64, StoreError> {
    static TEXT: Text = Text::new();
    catalog_revisions::table
        .find(organization.get())
        .select(catalog_revisions::revision)
        .kept_as(&TEXT)
        .get_result(&mut connection)
        .await
        .optional()
        .map_err(store_error)
        .map(Option::unwrap_or_default)
}

/// The product of the organization with this id.
async fn load_one(
    connection: &AsyncPgConnection,
    organization: OrganizationId,
    id: Uuid,
) -> Result<Option<Product>, StoreError> {
    static TEXT: Text = Text::new();
    let one = products::table
        .filter(products::organization_id.eq(organization.get()))
        .filter(products::id.eq(id));
    let found = read(connection, one.into_boxed(), Some(&TEXT)).await?;
    Ok(found.into_iter().next())
}

/// Locks a product of the organization and reads it by a statement of its own, which
/// sees what the holder before committed.
macro_rules! locked {
    ($work:expr, $organization:expr, $id:expr, $lock:ident) => {{
        let connection: &AsyncPgConnection = $work.connection()?;
        let mut first = connection;
        let held = products::table
            .filter(products::organization_id.eq($organization.get()))
            .filter(products::id.eq($id.as_uuid()))
            .select(products::id)
            .$lock()
            .first::<Uuid>(&mut first);
        // Behind the other on the line: it sees what the holder before committed.
        let locked = load_one(connection, $organization, $id.as_uuid());
        let (held, locked) = join(held, locked).await;
        let held = held.optional().map_err(store_error)?;
        Ok(locked?.filter(|_| held.is_some()))
    }};
}

impl PgUnitOfWork {
    /// How the filter's term is looked for. It is asked once: a page is counted as it was read.
    async fn sought(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
    ) -> Result<Option<Sought>, StoreError> {
        let Some(term) = &filter.search else {
            return Ok(None);
        };
        let known = self.sought.take();
        let sought = match known.filter(|known| known.is(organization, term)) {
            Some(known) => known,
            None => Sought::new(self.connection()?, organization, term).await?,
        };
        self.sought = Some(sought.clone());
        Ok(Some(sought))
    }
}

#[async_trait]
impl ProductStore for PgUnitOfWork {
    async fn insert(&mut self, product: &Product) -> Result<(), StoreError> {
        diesel::insert_into(products::table)
            .values((Row::try_from(product)?, Searched::from(product)))
            .execute(self.connection()?)
            .await
            .map(|_| ())
            .map_err(store_error)
    }

    async fn get(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        load_one(self.connection()?, organization, id.as_uuid()).await
    }

    async fn list(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<Vec<Product>, StoreError> {
        let sought = self.sought(organization, filter).await?;
        let query = listed(organization, filter, sought, (sort, order), page);
        load(self.connection()?, query).await
    }

    async fn list_with_revision(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        sort: ProductSort,
        order: SortOrder,
        page: Page,
    ) -> Result<ProductPage, StoreError> {
        let sought = self.sought(organization, filter).await?;
        let query = listed(organization, filter, sought, (sort, order), page);
        let connection = self.connection()?;
        // On the line before the page.
        let (revision, products) =
            join(revision(connection, organization), load(connection, query)).await;
        Ok(ProductPage {
            products: products?,
            revision: revision?,
        })
    }

    async fn revision(&mut self, organization: OrganizationId) -> Result<i64, StoreError> {
        revision(self.connection()?, organization).await
    }

    async fn count(
        &mut self,
        organization: OrganizationId,
        filter: &ProductFilter,
        most: u64,
    ) -> Result<u64, StoreError> {
        let sought = self.sought(organization, filter).await?;
        let sought = sought.map(Sought::counted);
        let rows = filtered(organization, filter, sought).select(1.into_sql::<Integer>());
        paging::count(rows, most, self.connection()?).await
    }

    async fn lock(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        locked!(self, organization, id, for_update)
    }

    async fn lock_shared(
        &mut self,
        organization: OrganizationId,
        id: ProductPubId,
    ) -> Result<Option<Product>, StoreError> {
        locked!(self, organization, id, for_share)
    }

    async fn update(&mut self, product: &mut Product) -> Result<(), StoreError> {
        let id = product.id.as_uuid();
        let version = version::next(product.version);
        let row = Row {
            version,
            ..Row::try_from(&*product)?
        };
        let connection = self.connection()?;
        compare_and_set(
            connection,
            "product",
            diesel::update(products::table)
                .filter(products::id.eq(id))
                .filter(products::organization_id.eq(product.organization_id.get()))
                .filter(products::version.eq(product.version))
                .set((&row, Searched::from(&*product))),
            select(exists(
                products::table.find((product.organization_id.get(), id)),
            )),
        )
        .await?;
        product.version = version;
        Ok(())
    }

    async fn delete(&mut self, id: ProductPubId) -> Result<(), StoreError> {
        // Its variants and terms go with it, by their foreign keys.
        let key = (self.owner(), id.as_uuid());
        let deleted = diesel::delete(products::table.find(key))
            .execute(self.connection()?)
            .await
            .map_err(store_error)?;
        if deleted == 0 {
            return Err(StoreError::Missing("product"));
        }
        Ok(())
    }

    async fn has_checkout_items(&mut self, id: ProductPubId) -> Result<bool, StoreError> {
        let variants = product_variants::table
            .filter(product_variants::organization_id.eq(self.owner()))
            .filter(product_variants::product_id.eq(id.as_uuid()));
        let connection = self.connection()?;
        super::sales::sold(connection, variants.into_boxed()).await
    }
}
