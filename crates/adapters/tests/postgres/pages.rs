//! Pages that start after a record cost the same however deep they are.

use lessor_domain::ids::ProductPubId;
use lessor_domain::ports::{Database, Page, ProductFilter, ProductSort, SortOrder, Start};

use super::support::{Patience, Shop, pool, skipped_on_a_cluster};

const PRODUCTS: u32 = 3_000;
const DEPTH: u32 = 2_500;
const LIMIT: u32 = 20;

/// Scans of the products' indexes, and rows read from the table in any way. Sessions
/// tell of what they read when they end, so only the stores read this table: what is
/// expected is read from a copy.
async fn read_so_far(shop: &Shop) -> (u64, u64) {
    let numbers = shop
        .test
        .query(
            "SELECT unnest(ARRAY[idx_scan, idx_tup_fetch + seq_tup_read])::text \
             FROM pg_stat_user_tables WHERE relname = 'products'",
        )
        .await;
    (numbers[0].parse().unwrap(), numbers[1].parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deep_pages_read_no_more_rows_than_they_show() {
    if skipped_on_a_cluster("plans of one server") {
        return;
    }
    let shop = Shop::open().await;
    shop.product().await;
    shop.test
        .execute(&format!(
            "INSERT INTO products SELECT organization_id, gen_random_uuid(), name || n, description, \
             options, price, currency, discount, source, product_type, review_status, review_notes, \
             reviewed_at, reviewed_by, status, is_waitlisted, ignore_upstream_updates, external_id, \
             sku, main_image, category_id, metadata, search_text, search_grams, \
             created_at + n * interval '1 ms', updated_at + n * interval '1 ms', version \
             FROM products, generate_series(1, {PRODUCTS}) n; ANALYZE products; \
             CREATE TABLE copied AS TABLE products"
        ))
        .await;
    let mut patience = Patience::new();
    while read_so_far(&shop).await.1 < u64::from(PRODUCTS) {
        patience.spend("nothing is told");
    }
    for (sort, column) in [
        (ProductSort::CreatedAt, "created_at"),
        (ProductSort::UpdatedAt, "updated_at"),
        (ProductSort::Name, "name"),
    ] {
        for (order, direction) in [
            (SortOrder::Ascending, "asc"),
            (SortOrder::Descending, "desc"),
        ] {
            let ids = shop
                .test
                .query(&format!(
                    "SELECT id FROM copied ORDER BY {column} {direction}, id {direction} \
                     OFFSET {DEPTH} LIMIT {}",
                    LIMIT + 1
                ))
                .await;
            let (scans, rows) = read_so_far(&shop).await;
            let after: ProductPubId = ProductPubId::from_uuid(ids[0].parse().unwrap());
            let database = pool(&shop.test, |_| {});
            let page = database
                .read(shop.reach())
                .await
                .unwrap()
                .products()
                .list(
                    shop.organization.id,
                    &ProductFilter::default(),
                    sort,
                    order,
                    Page {
                        start: Start::After(after.as_uuid()),
                        limit: LIMIT,
                    },
                )
                .await
                .unwrap();
            let shown: Vec<String> = page
                .iter()
                .map(|product| product.id.as_uuid().to_string())
                .collect();
            assert_eq!(shown, ids[1..], "{column} {direction}");
            // A session that ends tells what it has read.
            drop(database);
            let mut patience = Patience::new();
            let read = loop {
                let (scans_now, rows_now) = read_so_far(&shop).await;
                if scans_now > scans {
                    break rows_now - rows;
                }
                patience.spend("no index was used");
            };
            assert!(
                read <= u64::from(LIMIT) + 2,
                "{column} {direction}: {read} rows were read for {LIMIT}"
            );
        }
    }
}
