//! A shop of any size: what the server itself made once, copied by the database.
//!
//! Rows are copied with every column that they have, those of a checkout's parts included, so that what is read is
//! what is really kept. No trigger fires meanwhile: what triggers keep is copied too.

use std::collections::HashMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use lessor_domain::ids::{CheckoutPubId, ProductPubId, ProductVariantPubId, PublicId};
use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::stage::Stage;

/// Whose ids are told apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Product = 0xa,
    Variant = 0xb,
    Customer = 0xc,
    Checkout = 0xd,
}

/// The id of the copy of a number. In the order of numbers, as real ids are in that of time.
pub(crate) fn id(kind: Kind, number: u32) -> Uuid {
    let high = u64::from(number) << 32 | (kind as u64) << 16 | 0x7000;
    Uuid::from_u64_pair(high, 0x8000_0000_0000_0000)
}

/// The same in SQL.
fn id_sql(kind: Kind, number: &str) -> String {
    format!(
        "(lpad(to_hex({number}), 8, '0') || '-{:04x}-7000-8000-000000000000')::uuid",
        kind as u16
    )
}

/// The sku of the variant of a number.
pub(crate) fn sku(number: u32) -> String {
    format!("sku{number:x}")
}

/// A tracking number of a carrier for each number below ten millions.
pub(crate) fn tracking_number(number: u32) -> String {
    let digits = format!("{:07}", number % 10_000_000);
    // What the characters before come to: every second counts twice.
    let sum = digits.bytes().enumerate().fold(39, |sum, (place, digit)| {
        let digit = u32::from(digit - b'0');
        sum + if place % 2 == 0 { digit } else { 2 * digit }
    });
    format!("1Z410E7W03{digits}{}", (10 - sum % 10) % 10)
}

/// The states that checkouts are copied in, and in how many of twenty.
const STATES: [(&str, u32); 6] = [
    ("created", 2),
    ("orderConfirmed", 1),
    ("shipped", 2),
    ("leaseActive", 9),
    ("returnPending", 1),
    ("cancelled", 5),
];

/// Where the numbers of those begin that writes are measured with.
const FIRST_TARGET: u32 = 2_000_000;

/// Tables and what their columns are.
type Tables = HashMap<String, Vec<Column>>;

#[derive(Clone, Debug)]
struct Column {
    name: String,
    is_uuid: bool,
}

/// What was made by requests, and how far it was copied.
#[derive(Debug)]
pub(crate) struct Shop {
    tables: Tables,
    product: Uuid,
    variant: Uuid,
    /// None where nothing was leased.
    customer: Option<Uuid>,
    category: i64,
    /// Checkouts by their states.
    checkouts: HashMap<&'static str, Uuid>,
    /// How many there are of each thing.
    pub(crate) size: u32,
    next_target: u32,
}

/// Where numbers are replaced in SQL of a copy.
const FUNCTIONS: &str = "
create or replace function pg_temp.grams(text text) returns integer[] language sql immutable as $$
    select array_agg(distinct ascii(substr(text, i, 1))
        + case when s > 1 then ascii(substr(text, i + 1, 1)) << bits else 0 end
        + case when s > 2 then ascii(substr(text, i + 2, 1)) << (2 * bits) else 0 end
        + case when s > 3 then (ascii(substr(text, i + 3, 1)) << (3 * bits)) + (1 << 30) else 0 end)
    from generate_series(1, 4) s, lateral (select case when s > 3 then 7 else 10 end) as size(bits),
        generate_series(1, length(text) - s + 1) i $$;
create or replace function pg_temp.tracking(number integer) returns text language sql immutable as $$
    select '1Z410E7W03' || digits || (10 - (39 + (select sum(substr(digits, i, 1)::integer * (2 - i % 2))
        from generate_series(1, 7) i)) % 10) % 10
    from lpad((number % 10000000)::text, 7, '0') digits $$;
set session_replication_role = replica";

/// Says that something was copied, as the triggers and events of other writes would have said it: or the server goes on with what it
/// counted and answered before.
const COPIED: &str = "\
reset session_replication_role;
update catalog_revisions set revision = revision + 1;
update event_feeds set last_sequence = last_sequence + 1";

/// The bits of a record's id.
fn uuid_of<P: PublicId>(record: &Value) -> anyhow::Result<Uuid> {
    let id = record["id"].as_str().context("no id")?;
    let id: P = id.parse()?;
    Ok(id.as_uuid())
}

impl Shop {
    /// Has the server make one of each thing, and a lease in each state.
    ///
    /// # Errors
    /// It refuses to.
    pub(crate) async fn open(stage: &Stage) -> anyhow::Result<Self> {
        let mut shop = Self::without_leases(stage).await?;
        for (state, _) in STATES {
            let made = lease(stage, state).await.context(state)?;
            shop.checkouts.insert(state, made);
        }
        let sql = "select customer_id::text from checkouts limit 1";
        let row = stage.sql.query_one(sql, &[]).await?;
        shop.customer = Some(row.get::<_, String>(0).parse()?);
        Ok(shop)
    }

    /// A shop of so many products, of which nothing was leased.
    ///
    /// # Errors
    /// The server or the database refuses.
    pub(crate) async fn of_catalog(stage: &Stage, size: u32) -> anyhow::Result<()> {
        let shop = Self::without_leases(stage).await?;
        stage.sql.batch_execute(FUNCTIONS).await?;
        let numbers = format!("generate_series(1, {size}) as n");
        shop.copy_catalog(&stage.sql, &numbers).await?;
        stage.sql.batch_execute(COPIED).await?;
        stage.sql.batch_execute("vacuum analyze").await?;
        Ok(())
    }

    async fn without_leases(stage: &Stage) -> anyhow::Result<Self> {
        stage
            .ask(
                "POST",
                "/v1/product-categories",
                &json!({ "name": "Bikes" }),
            )
            .await?;
        let organization = stage.ask("GET", "/v1/organization", &json!({})).await?;
        let body = json!({
            "name": "Road bike", "description": "A light bike for the road, with a carbon frame and disc brakes.",
            "organizationId": organization["publicId"].as_str().or(organization["id"].as_str()),
            "price": "1299.00", "productSource": "manual", "productType": "leasable", "options": []
        });
        let product = stage.ask("POST", "/v1/products", &body).await?;
        let body = json!({
            "productId": product["id"], "name": "Road bike", "description": "Carbon, size 56, in the colour of the sea.",
            "price": "1299.00", "sku": "model", "options": [], "productImages": []
        });
        let variant = stage.ask("POST", "/v1/product-variants", &body).await?;
        let row = stage
            .sql
            .query_one("select category_id from product_categories", &[])
            .await?;
        Ok(Self {
            tables: tables(&stage.sql).await?,
            product: uuid_of::<ProductPubId>(&product)?,
            variant: uuid_of::<ProductVariantPubId>(&variant)?,
            customer: None,
            category: row.get(0),
            checkouts: HashMap::new(),
            size: 0,
            next_target: FIRST_TARGET,
        })
    }

    /// Copies until there are so many of each thing.
    ///
    /// # Errors
    /// The database refuses.
    pub(crate) async fn grow(&mut self, sql: &Client, size: u32) -> anyhow::Result<()> {
        if size <= self.size {
            return Ok(());
        }
        sql.batch_execute(FUNCTIONS).await?;
        let numbers = format!("generate_series({}, {size}) as n", self.size + 1);
        self.copy_catalog(sql, &numbers).await?;
        self.copy_customers(sql, &numbers).await?;
        let mut first = 0;
        for (state, share) in STATES {
            let of_state = format!(
                "(select n from {numbers} where n % 20 >= {first} and n % 20 < {}) as numbers",
                first + share
            );
            first += share;
            self.copy_checkouts(sql, state, &of_state, "numbers.n")
                .await?;
        }
        sql.batch_execute(COPIED).await?;
        // Each alone: neither runs within a transaction.
        for settled in ["vacuum analyze", "checkpoint"] {
            sql.batch_execute(settled).await?;
        }
        self.size = size;
        Ok(())
    }

    /// Checkouts in a state, each of a customer of its own, for writes. Answers their numbers.
    ///
    /// # Errors
    /// The database refuses.
    pub(crate) async fn targets(
        &mut self,
        sql: &Client,
        state: &'static str,
        count: u32,
    ) -> anyhow::Result<std::ops::Range<u32>> {
        let first = self.next_target;
        self.next_target += count;
        let numbers = format!("generate_series({first}, {}) as n", self.next_target - 1);
        sql.batch_execute(FUNCTIONS).await?;
        self.copy_customers(sql, &numbers).await?;
        self.copy_checkouts(sql, state, &numbers, "n").await?;
        sql.batch_execute(COPIED).await?;
        Ok(first..self.next_target)
    }

    /// Numbers for writes that make something themselves.
    pub(crate) fn fresh(&mut self, count: u32) -> std::ops::Range<u32> {
        let first = self.next_target;
        self.next_target += count;
        first..self.next_target
    }

    /// The columns of a table that may be written.
    pub(crate) fn columns(&self, table: &str) -> impl Iterator<Item = &str> {
        let columns = self.tables.get(table).into_iter().flatten();
        columns.map(|column| column.name.as_str())
    }

    async fn copy_catalog(&self, sql: &Client, numbers: &str) -> anyhow::Result<()> {
        let at = "timestamptz '2021-01-01' + n * interval '1 minute'";
        let changed =
            "timestamptz '2023-01-01' + (n * 7919::bigint % 1000003) * interval '1 minute'";
        let product = id_sql(Kind::Product, "n");
        let category = format!("case when n % 10 = 1 then {} end", self.category);
        self.copy(
            sql,
            "products",
            &format!("m.id = '{}'", self.product),
            numbers,
            &[
                ("id", &product),
                ("name", "'Oak ' || to_hex(n)"),
                ("external_id", "'x' || n"),
                ("sku", "'p' || n"),
                (
                    "status",
                    "case n % 20 when 7 then 'inactive' when 8 then 'archived' else 'active' end",
                ),
                (
                    "product_type",
                    "case n % 10 when 3 then 'add-on' else 'leasable' end",
                ),
                ("is_waitlisted", "n % 20 = 9"),
                ("category_id", &category),
                ("search_text", "'oak ' || to_hex(n)"),
                ("search_grams", "pg_temp.grams('oak ' || to_hex(n))"),
                ("price", "50000 + n % 1000 * 100"),
                ("created_at", at),
                ("updated_at", changed),
            ],
        )
        .await?;
        let sku = "'sku' || to_hex(n)";
        self.copy(
            sql,
            "product_variants",
            &format!("m.id = '{}'", self.variant),
            numbers,
            &[
                ("id", &id_sql(Kind::Variant, "n")),
                ("product_id", &product),
                ("combination", "sha256(n::text::bytea)"),
                ("sku", sku),
                ("external_id", "'v' || n"),
                ("search_text", sku),
                ("search_grams", "pg_temp.grams('sku' || to_hex(n))"),
                ("price", "50000 + n % 1000 * 100"),
                ("created_at", at),
                ("updated_at", changed),
            ],
        )
        .await?;
        for (table, of, key) in [
            ("product_search_pieces", "products", Kind::Product),
            ("variant_search_pieces", "product_variants", Kind::Variant),
        ] {
            let column = if of == "products" {
                "product_id"
            } else {
                "variant_id"
            };
            let copied = format!(
                "insert into {table} (organization_id, piece, {column})
                 select it.organization_id, unnest(it.search_grams), it.id
                 from {numbers} join {of} as it on it.id = {}",
                id_sql(key, "n")
            );
            sql.batch_execute(&copied).await.context(copied)?;
        }
        Ok(())
    }

    async fn copy_customers(&self, sql: &Client, numbers: &str) -> anyhow::Result<()> {
        let model = self.customer.context("nobody leased")?;
        self.copy(
            sql,
            "customers",
            &format!("m.id = '{model}'"),
            numbers,
            &[
                ("id", &id_sql(Kind::Customer, "n")),
                ("email", "'c' || n || '@example.com'"),
                ("email_folded", "'c' || n || '@example.com'"),
                ("verification_session_id", "'vs_bench_' || n"),
                (
                    "created_at",
                    "timestamptz '2021-01-01' + n * interval '1 minute'",
                ),
            ],
        )
        .await
    }

    async fn copy_checkouts(
        &self,
        sql: &Client,
        state: &str,
        numbers: &str,
        n: &str,
    ) -> anyhow::Result<()> {
        let model = self.checkouts.get(state).context("no such state")?;
        let numbers = numbers.to_owned();
        let n = |text: &str| text.replace("{n}", n);
        let (checkout, customer) = (
            id_sql(Kind::Checkout, &n("{n}")),
            id_sql(Kind::Customer, &n("{n}")),
        );
        // Targets are of the first variants.
        let of_catalog = n("(case when {n} < 2000000 then {n} else 1 + {n} % 1000 end)");
        let variant = id_sql(Kind::Variant, &of_catalog);
        let product = id_sql(Kind::Product, &of_catalog);
        let user = format!(
            "(select user_id from customers c where c.organization_id = m.organization_id and c.id = {customer})"
        );
        let at = n("timestamptz '2021-01-01' + {n} * interval '1 minute'");
        let changed =
            n("timestamptz '2023-01-01' + ({n} * 7919::bigint % 1000003) * interval '1 minute'");
        // Statements that are replayed write it anew, and no two may have the same: targets have none.
        let order = n("case when {n} % 2 = 0 and {n} < 2000000 then 'o' || {n} end");
        let lease_start = n("m.lease_start - {n} % 1000");
        self.copy(
            sql,
            "checkouts",
            &format!("m.id = '{model}'"),
            &numbers,
            &[
                ("id", &checkout),
                ("customer_id", &customer),
                ("user_id", &user),
                ("product_id", &product),
                ("variant_id", &variant),
                ("external_order_id", &order),
                ("lease_start", &lease_start),
                ("acted_at", &at),
                ("created_at", &at),
                ("updated_at", &changed),
            ],
        )
        .await?;
        let mut parts: Vec<&String> = self
            .tables
            .iter()
            .filter(|(name, columns)| {
                columns.iter().any(|it| it.name == "checkout_id") && !name.starts_with("simulated")
            })
            .map(|(name, _)| name)
            .collect();
        parts.sort_unstable();
        let intent = n("m.payment_intent_id || {n}");
        let subscription = n("m.subscription_id || {n}");
        let tracking = n("case when m.tracking_number is not null then pg_temp.tracking({n}) end");
        let nonce = format!("uuid_send({checkout})");
        let text_id = n("m.id || ':' || {n}");
        let uuid_id = n("md5(m.id::text || ':' || {n})::uuid");
        let dedupe = n("sha256(m.dedupe_key || {n}::text::bytea)");
        for part in parts {
            let is_uuid = self
                .tables
                .get(part)
                .into_iter()
                .flatten()
                .any(|it| it.name == "id" && it.is_uuid);
            let own = match (part.as_str(), is_uuid) {
                // One for each checkout.
                ("checkout_items", _) => &checkout,
                (_, true) => &uuid_id,
                (_, false) => &text_id,
            };
            let is_of_catalog = part != "checkout_purchases";
            let variant = if is_of_catalog {
                variant.as_str()
            } else {
                "m.variant_id"
            };
            self.copy(
                sql,
                part,
                &format!("m.checkout_id = '{model}'"),
                &numbers,
                &[
                    ("checkout_id", &checkout),
                    ("id", own),
                    ("customer_id", &customer),
                    ("variant_id", variant),
                    ("payment_intent_id", &intent),
                    ("subscription_id", &subscription),
                    ("tracking_number", &tracking),
                    ("page_nonce", &nonce),
                    ("dedupe_key", &dedupe),
                    // No path that is measured reads documents, and they are five times the rest.
                    ("pdf", "null"),
                    ("page_token_hashes", "'{}'"),
                ],
            )
            .await?;
        }
        Ok(())
    }

    /// Copies the rows of a table once for each number, these columns written anew.
    async fn copy(
        &self,
        sql: &Client,
        table: &str,
        which: &str,
        numbers: &str,
        anew: &[(&str, &str)],
    ) -> anyhow::Result<()> {
        let columns = self.tables.get(table).context("no such table")?;
        let mut values = String::new();
        let mut names = String::new();
        for column in columns {
            let name = &column.name;
            let written = anew.iter().find(|(it, _)| it == name);
            let written =
                written.map_or_else(|| format!("m.{name}"), |(_, value)| (*value).to_owned());
            let comma = if names.is_empty() { "" } else { ", " };
            write!(names, "{comma}{name}")?;
            write!(values, "{comma}{written}")?;
        }
        let copied = format!(
            "insert into {table} ({names}) select {values} from {table} as m, {numbers} where {which}"
        );
        sql.batch_execute(&copied).await.context(copied)
    }
}

/// The columns of each table that may be written.
async fn tables(sql: &Client) -> anyhow::Result<Tables> {
    let rows = sql
        .query(
            "select table_name::text, column_name::text, data_type = 'uuid' from information_schema.columns \
             where table_schema = 'public' and is_identity = 'NO' and is_generated = 'NEVER' \
             order by table_name, ordinal_position",
            &[],
        )
        .await?;
    let mut tables = Tables::new();
    for row in rows {
        let column = Column {
            name: row.get(1),
            is_uuid: row.get(2),
        };
        tables.entry(row.get(0)).or_default().push(column);
    }
    Ok(tables)
}

/// A checkout of the variant, led to the state.
async fn lease(stage: &Stage, state: &str) -> anyhow::Result<Uuid> {
    let body = json!({
        "sku": "model", "selectedTermInMonths": 12,
        "customer": { "email": format!("{}@example.com", state.to_lowercase()), "firstName": "Grace", "lastName": "Hopper" },
        "metadata": { "line": "gravel" }
    });
    let made = stage.ask("POST", "/v1/checkouts", &body).await?;
    let path = format!("/v1/checkouts/{}", made["id"].as_str().context("no id")?);
    let advance = |to: &str| {
        let path = path.replace("/v1/", "/v1/sandbox/") + "/advance";
        (path, json!({ "to": to }))
    };
    let first = match state {
        "created" => None,
        "cancelled" => Some("leaseReviewPending"),
        "shipped" => Some("orderConfirmed"),
        "returnPending" => Some("leaseActive"),
        state => Some(state),
    };
    if let Some(to) = first {
        let (path, body) = advance(to);
        stage.ask("POST", &path, &body).await?;
    }
    match state {
        "shipped" => {
            let body = json!({ "trackingNumber": tracking_number(9_999_999) });
            stage.ask("POST", &format!("{path}/fulfill"), &body).await?;
        }
        "cancelled" => {
            stage
                .ask("POST", &format!("{path}/cancel"), &json!({}))
                .await?;
        }
        "returnPending" => {
            stage
                .ask("PUT", &path, &json!({ "lifecycle": state }))
                .await?;
        }
        _ => {}
    }
    let now = stage.ask("GET", &path, &json!({})).await?;
    anyhow::ensure!(now["lifecycle"] == state, "it came to {}", now["lifecycle"]);
    uuid_of::<CheckoutPubId>(&made)
}

#[cfg(test)]
mod tests {
    use super::{Kind, id, tracking_number};

    #[test]
    fn tracking_numbers_have_their_check_digit() {
        // A published one.
        assert_eq!(tracking_number(9_275_159), "1Z410E7W0392751591");
    }

    #[test]
    fn ids_are_in_the_order_of_numbers() {
        assert!(id(Kind::Checkout, 255) < id(Kind::Product, 256));
        let text = id(Kind::Variant, 0x12ab).to_string();
        assert_eq!(text, "000012ab-000b-7000-8000-000000000000");
    }
}
