//! Who did what to the catalog.

use lessor_domain::catalog::{
    Inventory, OptionSelection, Product, ProductSource, ProductStatus, ProductType, ReviewStatus,
};
use lessor_domain::ids::{IdRef, LeaseTermRef};
use lessor_domain::lease_term::LeaseTermStatus;
use lessor_domain::metadata::{Metadata, MetadataPatch};
use lessor_domain::ports::Clock as _;
use lessor_domain::pricing::{Rate, RateCard};
use lessor_domain::services::Patch;
use lessor_domain::services::categories::CreateCategory;
use lessor_domain::services::generation::GenerateVariants;
use lessor_domain::services::lease_terms::{
    CreateLeaseTerm, DeleteLeaseTerm, LeaseTermChanges, UpdateLeaseTerm,
};
use lessor_domain::services::products::{
    CreateProduct, DeleteProduct, OptionInput, ProductChanges, UpdateProduct, review_product,
};
use lessor_domain::services::variants::{
    CreateVariant, DeleteVariant, UpdateVariant, VariantChanges,
};
use lessor_domain::testing::metadata;

use super::{heads, is_quiet, is_refused, term_of, text, told, watched};
use crate::world::World;

fn option(name: &str, values: &[&str]) -> OptionInput {
    OptionInput {
        id: None,
        name: name.parse().unwrap(),
        position: None,
        values: values.iter().map(|value| value.parse().unwrap()).collect(),
    }
}

fn gravel_bike(world: &World) -> CreateProduct {
    CreateProduct {
        organization: IdRef::Public(world.organization.pub_id),
        name: "Gravel bike".parse().unwrap(),
        description: "For any road.".parse().unwrap(),
        options: vec![option("Size", &["S", "M"])],
        price: "1000".parse().unwrap(),
        source: ProductSource::Manual,
        product_type: ProductType::Leasable,
        discount: None,
        external_id: None,
        category: None,
        sku: Some("GRAVEL".parse().unwrap()),
        metadata: metadata(&[("batch", "7")]),
    }
}

fn in_size(product: &Product, size: &str) -> CreateVariant {
    let chosen = OptionSelection {
        name: "Size".parse().unwrap(),
        value: size.parse().unwrap(),
    };
    CreateVariant {
        options: vec![chosen],
        inventory: Inventory::Tracked(3),
        ..CreateVariant::new(
            product.id,
            format!("Gravel bike {size}").parse().unwrap(),
            "For any road.".parse().unwrap(),
            "1000".parse().unwrap(),
            format!("GRAVEL-{size}").parse().unwrap(),
        )
    }
}

#[tokio::test]
async fn of_categories() {
    let world = World::new().await;
    let create = CreateCategory {
        name: "Bikes".parse().unwrap(),
    };
    let (category, lines) = told(&world, create.clone()).await;
    let expected = format!(
        "category.created {} catalog: [] -> [name=Bikes | productCategoryId={}]",
        category.id, category.category_id
    );
    assert_eq!(lines, [expected]);
    is_refused(&world, create).await;
}

#[tokio::test]
async fn of_products() {
    let world = World::new().await;
    let (product, lines) = told(&world, gravel_bike(&world)).await;
    let id = product.id;
    let expected = format!(
        "product.created {id} catalog: [] -> [description=For any road. | ignoreUpstreamUpdates=false | \
         isWaitlisted=false | metadata.batch=7 | name=Gravel bike | options=Size: S, M | price=1000.00 | \
         productSource=manual | productType=leasable | reviewStatus=approved | sku=GRAVEL | status=active]"
    );
    assert_eq!(lines, [expected]);

    let changes = ProductChanges {
        price: Some("1100".parse().unwrap()),
        discount: Patch::Set("5".parse().unwrap()),
        metadata: MetadataPatch::Merge([("batch".parse().unwrap(), None)].into()),
        ..ProductChanges::default()
    };
    let update = UpdateProduct { id, changes };
    let (_, lines) = told(&world, update.clone()).await;
    let expected = format!(
        "product.updated {id} catalog: [metadata.batch=7 | price=1000.00] -> [discountPercentage=5 | price=1100.00]"
    );
    assert_eq!(lines, [expected]);
    is_quiet(&world, update).await;
    let changes = ProductChanges {
        status: Some(ProductStatus::Active),
        is_active: Some(false),
        ..ProductChanges::default()
    };
    is_refused(&world, UpdateProduct { id, changes }).await;

    let notes = "Well made.".parse().ok();
    let (_, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        review_product(uow, ctx, id, ReviewStatus::Rejected, notes, None).await
    })
    .await;
    let expected = format!(
        "product.reviewed {id} catalog: [reviewStatus=approved] -> [reviewNotes=Well made. | reviewStatus=rejected | \
         reviewedAt={}]",
        text(world.clock.now())
    );
    assert_eq!(lines, [expected]);
}

/// What goes with a product is told of too.
#[tokio::test]
async fn of_products_that_go() {
    let world = World::new().await;
    let (product, _) = told(&world, gravel_bike(&world)).await;
    let (variant, _) = told(&world, in_size(&product, "S")).await;
    let create = CreateLeaseTerm {
        product_id: Some(product.id),
        card: card_of("24"),
        status: LeaseTermStatus::Active,
    };
    let (term, _) = told(&world, create).await;
    let (_, lines) = told(&world, DeleteProduct { id: product.id }).await;
    let expected = [
        format!("product.deleted {} catalog", product.id),
        format!("variant.deleted {} catalog", variant.id),
        format!("lease_term.deleted {} catalog", term.id),
    ];
    assert_eq!(heads(&lines), expected);
    assert!(
        lines.iter().all(|line| line.ends_with("-> []")),
        "{lines:?}"
    );

    // What somebody ordered stays, and is not offered any more.
    world.order("ada@example.com").await;
    let delete = DeleteProduct {
        id: world.product.id,
    };
    let (_, lines) = told(&world, delete.clone()).await;
    let (product, variant) = (world.product.id, world.variant.id);
    let expected = [
        format!("product.updated {product} catalog: [status=active] -> [status=archived]"),
        format!("variant.updated {variant} catalog: [status=active] -> [status=archived]"),
    ];
    assert_eq!(lines, expected);
    is_refused(&world, delete).await;
}

#[tokio::test]
async fn of_variants() {
    let world = World::new().await;
    let (product, _) = told(&world, gravel_bike(&world)).await;
    let (variant, lines) = told(&world, in_size(&product, "S")).await;
    let id = variant.id;
    let expected = format!(
        "variant.created {id} catalog: [] -> [description=For any road. | inventoryQuantity=3 | isWaitlisted=false | \
         name=Gravel bike S | options=Size: S | price=1000.00 | productId={} | sku=GRAVEL-S | status=active]",
        product.id
    );
    assert_eq!(lines, [expected]);
    is_refused(&world, in_size(&product, "S")).await;

    // A mode's stock is that mode's affair, whatever else is changed with it.
    let changes = VariantChanges {
        price: Some("1050".parse().unwrap()),
        inventory: Some(Inventory::Tracked(5)),
        ..VariantChanges::default()
    };
    let update = UpdateVariant { id, changes };
    let (_, lines) = told(&world, update.clone()).await;
    let expected = [
        format!("variant.updated {id} catalog: [price=1000.00] -> [price=1050.00]"),
        format!("variant.stock_set {id} sandbox: [inventoryQuantity=3] -> [inventoryQuantity=5]"),
    ];
    assert_eq!(lines, expected);
    is_quiet(&world, update).await;
    let changes = VariantChanges {
        inventory: Some(Inventory::Untracked),
        ..VariantChanges::default()
    };
    let (_, lines) = told(&world, UpdateVariant { id, changes }).await;
    let expected = format!("variant.stock_set {id} sandbox: [inventoryQuantity=5] -> []");
    assert_eq!(lines, [expected]);

    let generate = GenerateVariants {
        product_id: product.id,
        options: Vec::new(),
        price: None,
        price_additions: Vec::new(),
        sku: "{product}-{Size}".to_owned(),
        name: None,
        inventory: Inventory::Untracked,
        discount: None,
        product_year: None,
        metadata: Metadata::default(),
    };
    let (generated, lines) = told(&world, generate.clone()).await;
    let [medium] = &generated.created[..] else {
        panic!("one combination was missing: {generated:?}")
    };
    let medium_id = medium.id;
    let all_of_it = format!(
        "description=For any road. | isWaitlisted=false | name=Gravel bike M | options=Size: M | price=1000.00 | \
         productId={} | sku=GRAVEL-M | status=active",
        product.id
    );
    let expected = format!("variant.created {medium_id} catalog: [] -> [{all_of_it}]");
    assert_eq!(lines, [expected]);
    is_quiet(&world, generate).await;

    let delete = DeleteVariant { id: medium_id };
    let (_, lines) = told(&world, delete.clone()).await;
    let expected = format!("variant.deleted {medium_id} catalog: [{all_of_it}] -> []");
    assert_eq!(lines, [expected]);
    is_refused(&world, delete).await;

    world.order("ada@example.com").await;
    let id = world.variant.id;
    let (_, lines) = told(&world, DeleteVariant { id }).await;
    let expected = format!("variant.updated {id} catalog: [status=active] -> [status=archived]");
    assert_eq!(lines, [expected]);
}

fn card_of(months: &str) -> RateCard {
    let rate = Rate::AnnualRate("6".parse().unwrap());
    RateCard::new(months.parse().unwrap(), rate, "45".parse().unwrap())
}

#[tokio::test]
async fn of_lease_terms() {
    let world = World::new().await;
    let create = CreateLeaseTerm {
        product_id: None,
        card: card_of("18"),
        status: LeaseTermStatus::Active,
    };
    let (term, lines) = told(&world, create.clone()).await;
    let expected = format!(
        "lease_term.created {} catalog: [] -> [annualRate=6 | depositPercentage=0 | insurancePercentage=0 | \
         leaseTermId={} | method=annualRate | residualPercentage=45 | status=active | termInMonths=18]",
        term.id, term.lease_term_id
    );
    assert_eq!(lines, [expected]);
    is_refused(&world, create).await;

    let id = LeaseTermRef::Public(term.id);
    let changes = LeaseTermChanges {
        residual: Some("40".parse().unwrap()),
        ..LeaseTermChanges::default()
    };
    let update = UpdateLeaseTerm { id, changes };
    let (_, lines) = told(&world, update.clone()).await;
    let expected = format!(
        "lease_term.updated {} catalog: [residualPercentage=45] -> [residualPercentage=40]",
        term.id
    );
    assert_eq!(lines, [expected]);
    is_quiet(&world, update).await;

    let (_, lines) = told(&world, DeleteLeaseTerm { id }).await;
    let expected = format!("lease_term.deleted {} catalog", term.id);
    assert_eq!(heads(&lines), [expected]);
    is_refused(&world, DeleteLeaseTerm { id }).await;

    // One that a checkout has is not offered any more, and again changes nothing.
    world.order("ada@example.com").await;
    let year = term_of(&world, 12).await.id;
    let id = LeaseTermRef::Public(year);
    let (_, lines) = told(&world, DeleteLeaseTerm { id }).await;
    let expected =
        format!("lease_term.updated {year} catalog: [status=active] -> [status=inactive]");
    assert_eq!(lines, [expected]);
    is_quiet(&world, DeleteLeaseTerm { id }).await;
}
