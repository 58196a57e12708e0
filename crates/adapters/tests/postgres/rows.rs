//! Rows that hold what they must not, as if somebody had written them by hand.

use lessor_domain::ids::IdRef;
use lessor_domain::ports::StoreError;

use super::support::{Shop, run};

#[tokio::test]
async fn impossible_values_are_named_by_table_column_and_row() {
    for (column, value) in [
        ("status", "'gone'"),
        ("currency", "'XXX'"),
        ("name", "''"),
        ("options", "'[{\"name\": 1}]'"),
        ("discount", "100.5"),
        ("product_type", "'rented'"),
        ("main_image", "'ftp://example.com'"),
    ] {
        let shop = Shop::open().await;
        let product = shop.product().await;
        shop.test
            .execute(&format!(
                "ALTER TABLE products DROP CONSTRAINT IF EXISTS products_{column}_check; \
                 UPDATE products SET {column} = {value}"
            ))
            .await;
        let mut view = shop.view().await;
        match view.products().get(shop.organization.id, product.id).await {
            Err(StoreError::Corrupt {
                table,
                column: named,
                row,
                ..
            }) => assert_eq!(
                (table, named, row),
                ("products", column, product.id.as_uuid().to_string())
            ),
            other => panic!("{column}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_term_without_a_rate_is_corrupt() {
    let shop = Shop::open().await;
    let new = shop.make.lease_term(&shop.organization).new_record();
    let term = shop
        .run(async |uow| uow.lease_terms().insert(&new).await)
        .await
        .unwrap();
    shop.test
        .execute(
            "ALTER TABLE lease_terms DROP CONSTRAINT lease_terms_rate_check; \
             UPDATE lease_terms SET money_factor = NULL, annual_rate = NULL",
        )
        .await;
    let mut view = shop.view().await;
    let found = view
        .lease_terms()
        .find(shop.organization.id, IdRef::Public(term.id))
        .await;
    assert!(
        matches!(
            &found,
            Err(StoreError::Corrupt {
                table: "lease_terms",
                column: "money_factor",
                ..
            })
        ),
        "{found:?}"
    );
}

/// No row may point into another organization, whatever the code above does.
#[tokio::test]
async fn references_across_organizations_are_refused() {
    let shop = Shop::open().await;
    let product = shop.product().await;
    let neighbour = shop.neighbour().await;
    let stray = shop
        .make
        .variant(&product)
        .with(|variant| variant.organization_id = neighbour.id)
        .build();
    let refused = run(shop.database(), neighbour.id, async |uow| {
        uow.variants().insert(&stray).await
    })
    .await;
    assert!(
        matches!(refused, Err(StoreError::Missing("product"))),
        "{refused:?}"
    );
}
