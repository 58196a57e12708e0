//! Terms are found however many texts have them, each in the way that suits that.

use lessor_domain::catalog::ProductStatus;
use lessor_domain::ports::{Page, ProductFilter, ProductSort, SortOrder, Start};

use super::support::Shop;

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
    shop.test
        .execute(&format!(
            "INSERT INTO products SELECT organization_id, gen_random_uuid(), name, description, \
             options, price, currency, discount, source, product_type, review_status, review_notes, \
             reviewed_at, reviewed_by, status, is_waitlisted, ignore_upstream_updates, external_id, \
             sku, main_image, category_id, metadata, search_text, search_grams, \
             created_at - n * interval '1 ms', updated_at, version \
             FROM products, generate_series(1, {COPIES}) n WHERE name = 'Road bike'"
        ))
        .await;
    let many = u64::from(COPIES);
    for (term, expected) in [
        // Of one piece, which many have.
        ("oad", many + 2),
        ("o", many + 2),
        // Of several, each of which many have.
        ("road b", many + 2),
        ("bike-", 1),
        // Of pieces that few have, or nobody.
        ("kayak", 1),
        ("trailer", 1),
        ("e-7", 1),
        ("e-8", 0),
        ("dbi", 0),
        ("road kayak", 0),
    ] {
        let filter = ProductFilter {
            search: Some(term.parse().unwrap()),
            ..ProductFilter::default()
        };
        let page = Page {
            start: Start::Offset(0),
            limit: 5,
        };
        let mut view = shop.view().await;
        let organization = shop.organization.id;
        let (sort, order) = (ProductSort::CreatedAt, SortOrder::Ascending);
        let found = view
            .products()
            .list(organization, &filter, sort, order, page)
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
