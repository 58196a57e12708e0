//! Terms are found however many texts have them, each in the way that suits that.

use lessor_domain::catalog::ProductStatus;
use lessor_domain::ports::{Database as _, Page, ProductFilter, ProductSort, SortOrder, Start};

use super::scans::read_whole;
use super::support::{Shop, skipped_on_a_cluster};

/// More than are read one by one.
const COPIES: u32 = 1_200;

/// The organization's products of which the term is in some text, by comparing every text with it.
fn compared(term: &str) -> String {
    format!(
        "SELECT id FROM products WHERE status <> 'archived' AND (position('{term}' IN search_text) > 0 \
         OR EXISTS (SELECT FROM product_variants AS sold \
         WHERE sold.organization_id = products.organization_id AND sold.product_id = products.id \
         AND sold.status <> 'archived' AND position('{term}' IN sold.search_text) > 0)) \
         ORDER BY created_at, id"
    )
}

/// More than are counted at first, and fewer than are many.
const SOME: u32 = 100;

/// Copies the product so often, each copy a moment older.
async fn copy(shop: &Shop, name: &str, copies: u32) {
    let sql = format!(
        "INSERT INTO products SELECT organization_id, gen_random_uuid(), name, description, \
         options, price, currency, discount, source, product_type, review_status, review_notes, \
         reviewed_at, reviewed_by, status, is_waitlisted, ignore_upstream_updates, external_id, \
         sku, main_image, category_id, metadata, search_text, search_grams, \
         created_at - n * interval '1 ms', updated_at, version \
         FROM products, generate_series(1, {copies}) n WHERE name = '{name}'"
    );
    shop.test.execute(&sql).await;
}

fn having(term: &str) -> ProductFilter {
    ProductFilter {
        search: Some(term.parse().unwrap()),
        ..ProductFilter::default()
    }
}

const PAGE: Page = Page {
    start: Start::Offset(0),
    limit: 5,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terms_are_found_however_many_have_them() {
    let shop = Shop::open().await;
    let build = |name: &str| shop.make.product(&shop.organization).name(name);
    let bike = build("Road bike").build();
    let kayak = build("Kayak").build();
    let trailer = build("Trailer").build();
    let old = build("Old kayak").status(ProductStatus::Archived).build();
    let variants = [
        shop.make.variant(&trailer).sku("ROAD BIKE-7").build(),
        shop.make
            .variant(&kayak)
            .sku("ROAD BIKE-8")
            .status(ProductStatus::Archived)
            .build(),
    ];
    shop.run(async |uow| {
        for product in [&bike, &kayak, &trailer, &old] {
            uow.products().insert(product).await?;
        }
        for variant in &variants {
            uow.variants().insert(variant).await?;
        }
        Ok(())
    })
    .await
    .unwrap();
    copy(&shop, "Road bike", COPIES).await;
    copy(&shop, "Trailer", SOME).await;
    let (many, some) = (u64::from(COPIES), u64::from(SOME));
    for (term, expected) in [
        // Of one piece, which many have.
        ("oad", many + 2),
        ("o", many + 2),
        // Of several, each of which many have.
        ("road b", many + 2),
        ("bike-", 1),
        // Of pieces that few have, or nobody.
        ("kayak", 1),
        ("trailer", some + 1),
        ("trailer road", 0),
        ("e-7", 1),
        ("e-8", 0),
        ("dbi", 0),
        ("road kayak", 0),
    ] {
        let filter = having(term);
        let mut view = shop.view().await;
        let organization = shop.organization.id;
        let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
        let found = view
            .products()
            .list(organization, &filter, sort, order, PAGE)
            .await
            .unwrap();
        let counted = view
            .products()
            .count(organization, &filter, u64::MAX)
            .await
            .unwrap();
        let found: Vec<String> = found.iter().map(|it| it.id.as_uuid().to_string()).collect();
        let compared = shop.test.query(&compared(term)).await;
        assert_eq!(compared.len() as u64, expected, "{term}: what was made");
        assert_eq!(counted, expected, "{term}: count");
        assert_eq!(found, compared[..compared.len().min(5)], "{term}: page");
    }
}

#[tokio::test]
async fn a_page_of_a_term_that_many_have_reads_variants_of_its_products_alone() {
    if skipped_on_a_cluster("plans of one server") {
        return;
    }
    let shop = Shop::open().await;
    let build = |name: &str| shop.make.product(&shop.organization).name(name);
    let bike = build("Road bike").build();
    // The first of the page: it is looked whether its variants have the term.
    let kayak = build("Kayak").build();
    shop.run(async |uow| {
        uow.products().insert(&bike).await?;
        uow.products().insert(&kayak).await
    })
    .await
    .unwrap();
    copy(&shop, "Road bike", COPIES).await;
    shop.test
        .execute(
            "INSERT INTO product_variants (organization_id, id, product_id, name, description, options, \
             combination, price, currency, images, sku, status, is_waitlisted, search_text, \
             search_grams, created_at, updated_at, version) \
             SELECT organization_id, gen_random_uuid(), id, name, '', '[]', sha256(id::text::bytea), 1, \
             'USD', '{}', id, 'active', false, 'red', '{}', created_at, updated_at, 1 FROM products; \
             ANALYZE",
        )
        .await;
    let whole = read_whole(&shop.test, "product_variants", async |database| {
        let mut uow = database.begin(shop.reach()).await.unwrap();
        let (sort, order) = (ProductSort::CreatedAt, SortOrder::Descending);
        let (organization, filter) = (shop.organization.id, having("oad"));
        let listed = uow
            .products()
            .list(organization, &filter, sort, order, PAGE);
        assert_eq!(listed.await.unwrap().len(), 5);
        uow.commit().await.unwrap();
    });
    assert_eq!(whole.await, 0, "all variants are read");
}
