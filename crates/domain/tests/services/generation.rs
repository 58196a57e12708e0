//! Variants made of a product's options.

use lessor_domain::catalog::{Inventory, MAX_VARIANTS_OF_PRODUCT, Product, ProductVariant, Stock};
use lessor_domain::checkout::Effect;
use lessor_domain::metadata::Metadata;
use lessor_domain::ports::JobFilter;
use lessor_domain::services::generation::{GenerateVariants, GeneratedVariants};
use lessor_domain::services::products::{
    DeleteProduct, OptionInput, ProductChanges, UpdateProduct,
};
use lessor_domain::services::variants::{DeleteVariant, UpdateVariant, VariantChanges};
use lessor_domain::services::{Error, UseCase as _};
use lessor_domain::services::{Patch, products};
use lessor_domain::testing::metadata;

use crate::world::World;

fn option(name: &str, values: &[&str]) -> OptionInput {
    OptionInput {
        id: None,
        name: name.parse().unwrap(),
        position: None,
        values: values.iter().map(|value| value.parse().unwrap()).collect(),
    }
}

/// A product with nothing of it made yet.
async fn product(world: &World, options: Vec<OptionInput>) -> Product {
    let mut uow = world.begin().await;
    let input = products::CreateProduct {
        organization: lessor_domain::ids::IdRef::Public(world.organization.pub_id),
        name: "Gravel bike".parse().unwrap(),
        description: "For any road.".parse().unwrap(),
        options,
        price: "1000".parse().unwrap(),
        source: lessor_domain::catalog::ProductSource::Manual,
        product_type: lessor_domain::catalog::ProductType::Leasable,
        discount: None,
        external_id: None,
        category: None,
        sku: Some("GRAVEL".parse().unwrap()),
        metadata: Metadata::default(),
    };
    let product = input.run(uow.as_mut(), &world.ctx()).await.unwrap();
    uow.commit().await.unwrap();
    product
}

async fn bike(world: &World) -> Product {
    let options = vec![
        option("Size", &["S", "M", "L"]),
        option("Colour", &["Red", "Blue"]),
    ];
    product(world, options).await
}

fn all_of(product: &Product) -> GenerateVariants {
    GenerateVariants {
        product_id: product.id,
        options: Vec::new(),
        price: None,
        price_additions: Vec::new(),
        sku: "{product}-{Size}-{Colour}".to_owned(),
        name: None,
        inventory: Inventory::Untracked,
        discount: None,
        product_year: None,
        metadata: Metadata::default(),
    }
}

async fn generate(world: &World, input: GenerateVariants) -> Result<GeneratedVariants, Error> {
    let mut uow = world.begin().await;
    let made = input.run(uow.as_mut(), &world.ctx()).await?;
    uow.commit().await?;
    Ok(made)
}

async fn variants(world: &World, product: &Product) -> Vec<ProductVariant> {
    let mut view = world.view().await;
    view.variants()
        .of_products(world.organization.id, &[product.id])
        .await
        .unwrap()
}

fn skus(variants: &[ProductVariant]) -> Vec<&str> {
    variants
        .iter()
        .map(|variant| variant.sku.as_str())
        .collect()
}

fn refusal(made: Result<GeneratedVariants, Error>) -> (String, String) {
    match made {
        Err(Error::Invalid { param, message } | Error::Taken { param, message }) => {
            (param, message)
        }
        other => panic!("no parameter is at fault: {other:?}"),
    }
}

#[tokio::test]
async fn the_whole_matrix_is_made_at_once() {
    let world = World::new().await;
    let product = bike(&world).await;
    let made = generate(
        &world,
        GenerateVariants {
            price: Some("1200".parse().unwrap()),
            price_additions: vec![(
                "size".parse().unwrap(),
                "L".parse().unwrap(),
                "99.50".parse().unwrap(),
            )],
            inventory: Inventory::Tracked(3),
            product_year: Some(2027),
            metadata: metadata(&[("line", "gravel")]),
            ..all_of(&product)
        },
    )
    .await
    .unwrap();
    assert_eq!(made.skipped, 0);
    assert_eq!(made.created, variants(&world, &product).await);
    let told: Vec<String> = made
        .created
        .iter()
        .map(|it| format!("{} {} {}", it.sku, it.name, it.price))
        .collect();
    assert_eq!(
        told,
        [
            "GRAVEL-S-Red Gravel bike S / Red 1200.00",
            "GRAVEL-S-Blue Gravel bike S / Blue 1200.00",
            "GRAVEL-M-Red Gravel bike M / Red 1200.00",
            "GRAVEL-M-Blue Gravel bike M / Blue 1200.00",
            "GRAVEL-L-Red Gravel bike L / Red 1299.50",
            "GRAVEL-L-Blue Gravel bike L / Blue 1299.50",
        ]
    );
    for variant in &made.created {
        assert_eq!(variant.description, product.description);
        assert_eq!(variant.stock, Stock::both(Inventory::Tracked(3)));
        assert_eq!(variant.product_year, Some(2027));
        assert_eq!(variant.metadata, metadata(&[("line", "gravel")]));
    }
    let reach = world.organization.id.into();
    let mut view = lessor_domain::ports::Database::read(&*world.database, reach)
        .await
        .unwrap();
    let jobs = view.jobs().list(&JobFilter::default(), 100).await.unwrap();
    let pushed = |variant: &ProductVariant| {
        jobs.iter().any(|job| {
            job.new.effect == Effect::PushVariant
                && job.new.subject == lessor_domain::ports::JobSubject::Variant(variant.id)
        })
    };
    assert!(
        made.created.iter().all(pushed),
        "each is told to the processor"
    );
}

#[tokio::test]
async fn what_there_is_already_stays() {
    let world = World::new().await;
    let product = bike(&world).await;
    let part = GenerateVariants {
        options: vec![("Size".parse().unwrap(), vec!["M".parse().unwrap()])],
        ..all_of(&product)
    };
    let first = generate(&world, part.clone()).await.unwrap();
    assert_eq!(skus(&first.created), ["GRAVEL-M-Red", "GRAVEL-M-Blue"]);
    assert_eq!(first.created[0].price, product.price);
    let again = generate(&world, part).await.unwrap();
    assert_eq!((again.created.len(), again.skipped), (0, 2));

    // One is sold otherwise by now, one is gone.
    let mut uow = world.begin().await;
    let dearer = VariantChanges {
        price: Some("5000".parse().unwrap()),
        discount: Patch::Set("5".parse().unwrap()),
        ..VariantChanges::default()
    };
    let kept = UpdateVariant {
        id: first.created[0].id,
        changes: dearer,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    DeleteVariant {
        id: first.created[1].id,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    let rest = generate(&world, all_of(&product)).await.unwrap();
    assert_eq!((rest.created.len(), rest.skipped), (5, 1));
    let now = variants(&world, &product).await;
    assert!(now.contains(&kept) && now.len() == 6);

    let another_year = GenerateVariants {
        product_year: Some(2028),
        sku: "{product}-28-{Size}-{Colour}".to_owned(),
        name: Some("{Product}, {colour}".to_owned()),
        ..all_of(&product)
    };
    let made = generate(&world, another_year).await.unwrap();
    assert_eq!((made.created.len(), made.skipped), (6, 0));
    assert_eq!(made.created[0].name.as_str(), "Gravel bike, Red");
}

#[tokio::test]
async fn one_fault_and_none_is_made() {
    let world = World::new().await;
    let product = bike(&world).await;
    let base = || all_of(&product);
    let name = |text: &str| text.parse::<lessor_domain::text::Name>().unwrap();
    let cases = [
        (
            GenerateVariants {
                options: vec![(name("Size"), vec![name("S"), name("XL")])],
                ..base()
            },
            "options.Size[1]",
        ),
        (
            GenerateVariants {
                sku: "{product}-{Size}".to_owned(),
                ..base()
            },
            "sku",
        ),
        (
            GenerateVariants {
                sku: "{product}-{Shape}".to_owned(),
                ..base()
            },
            "sku",
        ),
        (
            GenerateVariants {
                sku: format!("{}-{{Size}}-{{Colour}}", "x".repeat(250)),
                ..base()
            },
            "sku",
        ),
        (
            GenerateVariants {
                name: Some("x".repeat(256)),
                ..base()
            },
            "name",
        ),
        (
            GenerateVariants {
                name: Some("{Size".to_owned()),
                ..base()
            },
            "name",
        ),
        (
            GenerateVariants {
                price: Some("1.999".parse().unwrap()),
                ..base()
            },
            "price",
        ),
        (
            GenerateVariants {
                price_additions: vec![(name("Size"), name("S"), "0.001".parse().unwrap())],
                ..base()
            },
            "priceAdditions.Size.S",
        ),
        (
            GenerateVariants {
                price_additions: vec![(name("Size"), name("XL"), "1".parse().unwrap())],
                ..base()
            },
            "priceAdditions.Size.XL",
        ),
        (
            GenerateVariants {
                price: Some("999999999.99".parse().unwrap()),
                price_additions: vec![(name("Size"), name("L"), "1".parse().unwrap())],
                ..base()
            },
            "priceAdditions",
        ),
        // The last of them is the world's other variant's.
        (
            GenerateVariants {
                options: vec![
                    (name("Size"), vec![name("S")]),
                    (name("Colour"), vec![name("Red")]),
                ],
                sku: "BIKE".to_owned(),
                ..base()
            },
            "sku",
        ),
    ];
    for (input, param) in cases {
        let told = format!("{input:?}");
        let (at, message) = refusal(generate(&world, input).await);
        assert_eq!(at, param, "{told}: {message}");
        assert_eq!(variants(&world, &product).await, []);
    }
    let nameless = product_without_sku(&world).await;
    let (at, message) = refusal(generate(&world, all_of(&nameless)).await);
    assert!(at == "sku" && message.contains("has none"), "{message}");
}

async fn product_without_sku(world: &World) -> Product {
    let product = bike(world).await;
    let mut uow = world.begin().await;
    let update = ProductChanges {
        sku: Patch::Clear,
        ..ProductChanges::default()
    };
    let product = UpdateProduct {
        id: product.id,
        changes: update,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    product
}

#[tokio::test]
async fn a_product_has_so_many_variants_and_no_more() {
    let world = World::new().await;
    let numbers: Vec<String> = (0..250).map(|number| number.to_string()).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let options = vec![option("A", &numbers), option("B", &numbers[..8])];
    let product = product(&world, options).await;
    let all = GenerateVariants {
        sku: "{A}-{B}".to_owned(),
        ..all_of(&product)
    };
    let made = generate(&world, all.clone()).await.unwrap();
    assert_eq!(made.created.len(), usize::from(MAX_VARIANTS_OF_PRODUCT));
    let more = GenerateVariants {
        options: vec![
            ("A".parse().unwrap(), vec!["0".parse().unwrap()]),
            ("B".parse().unwrap(), vec!["0".parse().unwrap()]),
        ],
        sku: "another".to_owned(),
        product_year: Some(2027),
        ..all.clone()
    };
    let (at, message) = refusal(generate(&world, more).await);
    assert!(at == "options" && message.contains("2000"), "{message}");
    // What is there takes no place twice.
    let again = generate(&world, all).await.unwrap();
    assert_eq!((again.created.len(), again.skipped), (0, 2_000));
}

#[tokio::test]
async fn archived_and_foreign_products_take_none() {
    let mut world = World::new().await;
    let product = bike(&world).await;
    world.access.permissions = std::iter::empty().collect();
    assert!(matches!(
        generate(&world, all_of(&product)).await,
        Err(Error::Forbidden(_))
    ));
    world.access.permissions = lessor_domain::access::Permissions::all();
    let gone = GenerateVariants {
        product_id: world.fixtures.id(),
        ..all_of(&product)
    };
    assert!(matches!(
        generate(&world, gone).await,
        Err(Error::NotFound { .. })
    ));
    let mut uow = world.begin().await;
    let archive = ProductChanges {
        status: Some(lessor_domain::catalog::ProductStatus::Archived),
        ..ProductChanges::default()
    };
    UpdateProduct {
        id: product.id,
        changes: archive,
    }
    .run(uow.as_mut(), &world.ctx())
    .await
    .unwrap();
    uow.commit().await.unwrap();
    assert!(matches!(
        generate(&world, all_of(&product)).await,
        Err(Error::Rule { .. })
    ));
}

#[tokio::test]
async fn a_product_without_options_has_one_variant() {
    let world = World::new().await;
    let product = product(&world, Vec::new()).await;
    let one = GenerateVariants {
        sku: "{product}".to_owned(),
        ..all_of(&product)
    };
    let made = generate(&world, one).await.unwrap();
    assert_eq!(skus(&made.created), ["GRAVEL"]);
    assert_eq!(made.created[0].name.as_str(), "Gravel bike");
    let mut uow = world.begin().await;
    DeleteProduct { id: product.id }
        .run(uow.as_mut(), &world.ctx())
        .await
        .unwrap();
    uow.commit().await.unwrap();
}
