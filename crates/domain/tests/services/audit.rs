//! Who did what: each use case leaves the events that tell of it, and no others.

use chrono::{SecondsFormat, TimeDelta};
use lessor_domain::access::{Access, KeyHash, KeyKind, Mode, Permission};
use lessor_domain::audit::{AuditEvent, AuditMembers, AuditViewer, Origin};
use lessor_domain::catalog::{
    Inventory, OptionSelection, Product, ProductSource, ProductStatus, ProductType, ReviewStatus,
};
use lessor_domain::checkout::{Applied, Checkout, InsuranceStatus, Lifecycle, Redirects};
use lessor_domain::customer::Profile;
use lessor_domain::ids::{
    ApiKeyPubId, CheckoutPubId, CustomerPubId, IdRef, LeaseTermRef, OrganizationId,
};
use lessor_domain::lease_term::{LeaseTerm, LeaseTermStatus};
use lessor_domain::metadata::{Metadata, MetadataPatch};
use lessor_domain::ports::{
    AuditFilter, Clock as _, Database as _, IdentityResult, OurIds, Page, ProcessorEvent,
    ProcessorFact, Start, UnitOfWork,
};
use lessor_domain::pricing::{Rate, RateCard};
use lessor_domain::services::audit::ListAudit;
use lessor_domain::services::billing::{self, RetryPayments};
use lessor_domain::services::categories::CreateCategory;
use lessor_domain::services::checkouts::{
    Annotate, CancelCheckout, ChooseTerm, CreateCheckout, CustomerInput, MoveCheckout,
    PurchaseItemInput, SetInsurance, VariantRef,
};
use lessor_domain::services::customers::{CustomerChanges, UpdateCustomer};
use lessor_domain::services::generation::GenerateVariants;
use lessor_domain::services::journey::Journey;
use lessor_domain::services::keys::{
    CreateKey, KeyUser, RollKey, create_key, revoke_key, roll_key,
};
use lessor_domain::services::lease_terms::{
    CreateLeaseTerm, DeleteLeaseTerm, LeaseTermChanges, UpdateLeaseTerm,
};
use lessor_domain::services::organizations::{
    CreateOrganization, UpdateOrganization, create_organization, update_organization,
};
use lessor_domain::services::payments::{self, Findings};
use lessor_domain::services::pickup_locations::{
    CreatePickupLocation, UpdatePickupLocation, create_pickup_location, update_pickup_location,
};
use lessor_domain::services::products::{
    CreateProduct, DeleteProduct, OptionInput, ProductChanges, UpdateProduct, review_product,
};
use lessor_domain::services::shipments::{FulfillCheckout, Fulfillment, SetTracking};
use lessor_domain::services::variants::{
    CreateVariant, DeleteVariant, UpdateVariant, VariantChanges,
};
use lessor_domain::services::{Context, Error, Patch, UseCase};
use lessor_domain::shipments::{CarrierReport, TrackingNumber, TrackingStatus};
use lessor_domain::testing::{card, metadata};
use lessor_domain::time::Timestamp;
use lessor_domain::workers::sandbox::PlayTrackingEvent;

use crate::world::World;

/// All of the organization's audit, oldest first.
async fn all(uow: &mut dyn UnitOfWork, organization: OrganizationId) -> Vec<AuditEvent> {
    let page = Page {
        start: Start::Offset(0),
        limit: 10_000,
    };
    let (viewer, filter) = (AuditViewer::Live, AuditFilter::default());
    let listed = uow.audit().list(organization, viewer, &filter, page).await;
    let mut events = listed.unwrap();
    events.reverse();
    events
}

/// The instant as it is told.
fn text(at: Timestamp) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn members(members: &AuditMembers) -> String {
    let each = members.entries().iter();
    let each = each.map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(" | ")
}

/// The event without who did it and when.
fn line(event: &AuditEvent) -> String {
    let AuditEvent {
        area,
        action,
        subject,
        change,
        ..
    } = event;
    let (before, after) = (members(&change.before), members(&change.after));
    format!("{action} {subject} {area}: [{before}] -> [{after}]")
}

/// What of each event comes before its change.
fn heads(lines: &[String]) -> Vec<String> {
    let head = |line: &String| line.split_once(": ").unwrap().0.to_owned();
    lines.iter().map(head).collect()
}

/// What comes of the work, and what its audit tells, each event as a line. It is this origin's, and
/// whose personal data it is, is said of what tells of persons.
async fn watched<T>(
    world: &World,
    origin: &Origin,
    work: impl AsyncFnOnce(&mut dyn UnitOfWork, &Context<'_>) -> Result<T, Error>,
) -> (Result<T, Error>, Vec<String>) {
    let mut uow = world.begin().await;
    let organization = world.organization.id;
    let known = all(uow.as_mut(), organization).await.len();
    let ctx = Context {
        origin,
        ..world.ctx()
    };
    let done = work(uow.as_mut(), &ctx).await;
    let events = all(uow.as_mut(), organization).await.split_off(known);
    for event in &events {
        assert_eq!(&event.origin, origin, "{event:?}");
        assert_eq!(event.at, ctx.now, "{event:?}");
        let subject = event.subject.as_str();
        let is_personal = subject.starts_with("usr_") || subject.starts_with("chk_");
        assert_eq!(event.customer.is_some(), is_personal, "{event:?}");
    }
    if done.is_ok() {
        uow.commit().await.unwrap();
    }
    (done, events.iter().map(line).collect())
}

/// What comes of the use case for the key, and what the audit tells of it.
async fn told<U: UseCase>(world: &World, asked: U) -> (U::Output, Vec<String>) {
    let (done, lines) = watched(world, &world.origin, async move |uow, ctx| {
        asked.run(uow, ctx).await
    })
    .await;
    (done.unwrap(), lines)
}

/// The use case changes nothing, and the audit tells of nothing.
async fn is_quiet<U: UseCase>(world: &World, asked: U) {
    let (_, lines) = told(world, asked).await;
    assert!(lines.is_empty(), "{lines:?}");
}

/// The use case is refused, and the audit tells of nothing, not even in work that is given up.
async fn is_refused<U: UseCase>(world: &World, asked: U) {
    let (done, lines) = watched(world, &world.origin, async move |uow, ctx| {
        asked.run(uow, ctx).await
    })
    .await;
    assert!(done.is_err());
    assert!(lines.is_empty(), "{lines:?}");
}

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

/// The organization's own term of so many months.
async fn term_of(world: &World, months: u16) -> LeaseTerm {
    let mut view = world.view().await;
    let terms = view.lease_terms().list(world.organization.id).await;
    let of_months = |term: &LeaseTerm| term.card.term.get() == months;
    terms.unwrap().into_iter().find(of_months).unwrap()
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

#[tokio::test]
async fn of_organizations() {
    let world = World::new().await;
    let (id, named) = (
        world.organization.pub_id,
        IdRef::Public(world.organization.pub_id),
    );
    let update = UpdateOrganization {
        name: Some("Bikes and more".parse().unwrap()),
        discount: Some("5".parse().unwrap()),
        sandbox_writes_catalog: Patch::Set(true),
        ..UpdateOrganization::default()
    };
    let expected = format!(
        "organization.updated {id} organization: [discountPercentage=0 | name=Bikes | \
         sandboxWritesCatalogSetting=default] -> [discountPercentage=5 | name=Bikes and more | \
         sandboxWritesCatalogSetting=on]"
    );
    for expected in [vec![expected], Vec::new()] {
        let update = update.clone();
        let (done, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
            update_organization(uow, ctx.ids, ctx.now, ctx.origin, named, update).await
        })
        .await;
        done.unwrap();
        assert_eq!(lines, expected);
    }
}

/// A new organization's audit begins with itself.
#[tokio::test]
async fn of_new_organizations() {
    let world = World::new().await;
    let (ids, now, operator) = (world.ids.as_ref(), world.clock.now(), world.operator());
    let mut uow = world.begin_for_server().await;
    let input = CreateOrganization {
        name: "Elsewhere".parse().unwrap(),
        currency: "EUR".parse().unwrap(),
        discount: "0".parse().unwrap(),
        service_area: "DE".parse().unwrap(),
        requires_product_review: false,
        oftake_partner_id: None,
    };
    let made = create_organization(uow.as_mut(), ids, now, &operator, input).await;
    let made = made.unwrap();
    uow.commit().await.unwrap();
    let mut view = world.database.read(made.id.into()).await.unwrap();
    let events = all(view.as_mut(), made.id).await;
    assert!(events.iter().all(|event| event.origin == operator));
    let lines: Vec<String> = events.iter().map(line).collect();
    let expected = format!(
        "organization.created {} organization: [] -> [currency=EUR | discountPercentage=0 | name=Elsewhere | \
         offtakePartnerId=1 | requiresProductReview=false | sandboxWritesCatalog=true | \
         sandboxWritesCatalogSetting=default | serviceArea=DE]",
        made.pub_id
    );
    assert_eq!(lines[0], expected);
    let months: Vec<_> = events[1..]
        .iter()
        .map(|event| event.change.after.get("termInMonths").unwrap())
        .collect();
    assert_eq!(months, ["12", "24", "36"]);
}

#[tokio::test]
async fn of_pickup_locations() {
    let world = World::new().await;
    let organization_id = world.organization.id;
    let input = CreatePickupLocation {
        organization_id,
        name: "Market Street".parse().unwrap(),
        address: world.fixtures.address(),
    };
    let again = input.clone();
    let (made, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        create_pickup_location(uow, ctx.ids, ctx.now, ctx.origin, ctx.phones, input).await
    })
    .await;
    let id = made.unwrap().id;
    let expected = format!(
        "pickup_location.created {id} organization: [] -> [active=true | address.address1=1 Market St | \
         address.city=San Francisco | address.country=US | address.firstName=Ada | address.lastName=Lovelace | \
         address.state=CA | address.zip=94105 | name=Market Street]"
    );
    assert_eq!(lines, [expected]);
    let (refused, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        create_pickup_location(uow, ctx.ids, ctx.now, ctx.origin, ctx.phones, again).await
    })
    .await;
    assert!(matches!(refused, Err(Error::Taken { .. })), "{refused:?}");
    assert!(lines.is_empty(), "{lines:?}");

    let update = UpdatePickupLocation {
        organization_id,
        id,
        name: None,
        address: None,
        active: Some(false),
    };
    let expected =
        format!("pickup_location.updated {id} organization: [active=true] -> [active=false]");
    for expected in [vec![expected], Vec::new()] {
        let update = update.clone();
        let (done, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
            update_pickup_location(uow, ctx.ids, ctx.now, ctx.origin, ctx.phones, update).await
        })
        .await;
        done.unwrap();
        assert_eq!(lines, expected);
    }
}

/// A key of the mode for the shop's user, and what is told of it.
async fn key(world: &World, mode: Mode) -> (ApiKeyPubId, CustomerPubId, Vec<String>) {
    let number = match mode {
        Mode::Live => 1,
        Mode::Sandbox => 2,
    };
    let input = CreateKey {
        organization: IdRef::Public(world.organization.pub_id),
        user: KeyUser::Email("shop@example.com".parse().unwrap()),
        kind: KeyKind::Secret,
        mode,
        permissions: [Permission::ProductRead].into_iter().collect(),
        name: "Shop".parse().ok(),
        expires_at: None,
        hash: KeyHash([number; 32]),
        hint: "a1B2".to_owned(),
    };
    let (made, lines) = watched(world, &world.operator(), async move |uow, ctx| {
        create_key(uow, ctx.ids, ctx.now, ctx.origin, input).await
    })
    .await;
    let (holder, user) = made.unwrap();
    (holder.key.id, user.id, lines)
}

#[tokio::test]
async fn of_keys() {
    let world = World::new().await;
    let now = text(world.clock.now());
    let organization = world.organization.pub_id;
    let (live, user, lines) = key(&world, Mode::Live).await;
    // The first live key takes the catalog from the sandbox.
    let expected = [
        format!(
            "organization.updated {organization} organization: [sandboxWritesCatalog=true] -> [firstLiveKeyAt={now} | \
             sandboxWritesCatalog=false]"
        ),
        format!("customer.created {user} live: [] -> [email=shop@example.com]"),
        format!(
            "key.created {live} live: [] -> [hint=a1B2 | kind=secret | mode=live | name=Shop | \
             permissions=ProductRead | userPublicId={user}]"
        ),
    ];
    assert_eq!(lines, expected);

    let expected = format!("key.revoked {live} live: [] -> [revokedAt={now}]");
    for expected in [vec![expected], Vec::new()] {
        let (done, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
            revoke_key(uow, ctx.ids, ctx.now, ctx.origin, live).await
        })
        .await;
        done.unwrap();
        assert_eq!(lines, expected);
    }

    let (old, user, _) = key(&world, Mode::Sandbox).await;
    let roll = |id, number: u8| RollKey {
        id,
        overlap: std::time::Duration::from_secs(60),
        hash: KeyHash([number; 32]),
        hint: "c3D4".to_owned(),
    };
    let input = roll(old, 3);
    let (rolled, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        roll_key(uow, ctx.ids, ctx.now, ctx.origin, input).await
    })
    .await;
    let new = rolled.unwrap().key.id;
    let end = text(world.clock.now() + TimeDelta::seconds(60));
    let expected = [
        format!("key.rolled {old} sandbox: [] -> [expiresAt={end} | newKeyId={new}]"),
        format!(
            "key.created {new} sandbox: [] -> [hint=c3D4 | kind=secret | mode=sandbox | name=Shop | \
             permissions=ProductRead | userPublicId={user}]"
        ),
    ];
    assert_eq!(lines, expected);
    // A key that is revoked is not replaced.
    let input = roll(live, 4);
    let (refused, lines) = watched(&world, &world.operator(), async move |uow, ctx| {
        roll_key(uow, ctx.ids, ctx.now, ctx.origin, input).await
    })
    .await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
    assert!(lines.is_empty(), "{lines:?}");
}

fn order(world: &World, profile: Profile) -> CreateCheckout {
    let helmets = PurchaseItemInput {
        name: "Helmet".parse().ok(),
        amount: "49".parse().ok(),
        quantity: 2,
        variant_id: None,
    };
    CreateCheckout {
        variant: VariantRef::Id(world.variant.id),
        quantity: lessor_domain::quantity::Quantity::ONE,
        term: "12".parse().ok(),
        customer: Some(CustomerInput {
            email: "ada@example.com".parse().unwrap(),
            profile,
        }),
        billing_address: None,
        shipping_address: Some(world.fixtures.address()),
        purchase_items: vec![helmets],
        external_order_id: "A-1".parse().ok(),
        redirects: Redirects {
            success: "https://shop.example/thanks".parse().ok(),
            ..Redirects::default()
        },
        metadata: metadata(&[("gift", "yes")]),
        page: None,
    }
}

#[tokio::test]
async fn of_checkouts() {
    let world = World::new().await;
    let ((order_made, _), lines) = told(&world, order(&world, Profile::default())).await;
    let (id, customer) = (order_made.id, order_made.customer_id);
    let (year, two_years) = (term_of(&world, 12).await, term_of(&world, 24).await);
    let (year, two_years) = (year.lease_term_id, two_years.lease_term_id);
    let expected = [
        format!("customer.created {customer} sandbox: [] -> [email=ada@example.com]"),
        format!(
            "checkout.created {id} sandbox: [] -> [customerId={customer} | externalOrderId=A-1 | \
             insuranceStatus=pending | leaseTermId={year} | metadata.gift=yes | productVariantId={} | \
             purchaseItems=2 x Helmet at 49.00 | quantity=1 | shippingAddress.address1=1 Market St | \
             shippingAddress.city=San Francisco | shippingAddress.country=US | shippingAddress.firstName=Ada | \
             shippingAddress.lastName=Lovelace | shippingAddress.state=CA | shippingAddress.zip=94105 | \
             successUrl=https://shop.example/thanks]",
            world.variant.id
        ),
    ];
    assert_eq!(lines, expected);
    // The same order again is the same checkout; what it says of the customer is taken in.
    is_quiet(&world, order(&world, Profile::default())).await;
    let named = Profile {
        first_name: "Ada".parse().ok(),
        ..Profile::default()
    };
    let (_, lines) = told(&world, order(&world, named)).await;
    let expected = format!("customer.updated {customer} sandbox: [] -> [firstName=Ada]");
    assert_eq!(lines, [expected]);

    let choose = ChooseTerm {
        id,
        term: IdRef::Number(two_years),
    };
    let (_, lines) = told(&world, choose.clone()).await;
    let expected =
        format!("checkout.updated {id} sandbox: [leaseTermId={year}] -> [leaseTermId={two_years}]");
    assert_eq!(lines, [expected]);
    is_quiet(&world, choose).await;
    let term = IdRef::Public(world.fixtures.id());
    is_refused(&world, ChooseTerm { id, term }).await;

    let changes = MetadataPatch::Merge(
        [
            ("gift".parse().unwrap(), None),
            ("note".parse().unwrap(), "fragile".parse().ok()),
        ]
        .into(),
    );
    let annotate = Annotate { id, changes };
    let (_, lines) = told(&world, annotate.clone()).await;
    let expected =
        format!("checkout.updated {id} sandbox: [metadata.gift=yes] -> [metadata.note=fragile]");
    assert_eq!(lines, [expected]);
    is_quiet(&world, annotate).await;

    let status = InsuranceStatus::Denied;
    let (_, lines) = told(&world, SetInsurance { id, status }).await;
    let expected = format!(
        "checkout.updated {id} sandbox: [insuranceStatus=pending] -> [insuranceStatus=denied]"
    );
    assert_eq!(lines, [expected]);
    is_quiet(&world, SetInsurance { id, status }).await;
}

/// With which keys the checkout was moved, oldest move first.
async fn keys_of(world: &World, id: CheckoutPubId) -> Vec<Option<ApiKeyPubId>> {
    let mut view = world.view().await;
    let history = view.checkouts().history(id).await.unwrap();
    history.iter().map(|entry| entry.transition.key).collect()
}

/// What moves a checkout is in its history, which names the key.
#[tokio::test]
async fn a_move_names_its_key() {
    let world = World::new().await;
    let own = Some(world.access.key_id);
    let confirmed = world.order("ada@example.com").await;
    let id = confirmed.id;
    world.advance(&confirmed, Lifecycle::OrderConfirmed).await;
    let number = |text: &str| TrackingNumber::parse(text).unwrap();
    let fulfillment = Fulfillment {
        tracking_number: Some(number("1Z999AA10123456784")),
        ..Fulfillment::default()
    };
    let fulfill = FulfillCheckout { id, fulfillment };
    is_quiet(&world, fulfill.clone()).await;
    is_quiet(&world, fulfill).await;
    assert_eq!(keys_of(&world, id).await.last(), Some(&own));

    let set = SetTracking {
        id,
        number: number("612345678901"),
        carrier: None,
    };
    let (_, lines) = told(&world, set.clone()).await;
    let expected = format!(
        "checkout.tracking_set {id} sandbox: [trackingCarrier=ups | trackingNumber=1Z999AA10123456784] -> \
         [trackingCarrier=fedex | trackingNumber=612345678901]"
    );
    assert_eq!(lines, [expected]);
    is_quiet(&world, set).await;

    let play = |status| PlayTrackingEvent {
        id,
        reported: CarrierReport {
            at: world.clock.now(),
            status,
            description: None,
            location: "Oakland".parse().ok(),
            signed_by: None,
            estimated_delivery: None,
        },
    };
    let at = text(world.clock.now());
    for status in [TrackingStatus::InTransit, TrackingStatus::Delivered] {
        let (_, lines) = told(&world, play(status)).await;
        let expected = format!(
            "checkout.tracking_played {id} sandbox: [] -> [location=Oakland | status={status} | timestamp={at}]"
        );
        assert_eq!(lines, [expected]);
        is_quiet(&world, play(status)).await;
    }
    assert_eq!(keys_of(&world, id).await.last(), Some(&own), "delivered");
    // What follows from it is Lessor's and the processor's.
    world.work().await;
    assert_eq!(world.read(id).await.lifecycle(), Lifecycle::LeaseActive);
    assert_eq!(keys_of(&world, id).await.last(), Some(&None));

    let target = Lifecycle::ReturnPending;
    is_quiet(&world, MoveCheckout { id, target }).await;
    assert_eq!(keys_of(&world, id).await.last(), Some(&own), "moved");

    let (called_off, _) = world.try_order("grace@example.com", |_| {}).await.unwrap();
    let cancel = CancelCheckout {
        id: called_off.id,
        reason: None,
    };
    is_quiet(&world, cancel.clone()).await;
    is_quiet(&world, cancel).await;
    assert_eq!(keys_of(&world, called_off.id).await, [own]);
}

#[tokio::test]
async fn of_payments_that_are_tried_again() {
    let world = World::new().await;
    let lease = world.order("ada@example.com").await;
    let id = lease.id;
    is_refused(&world, RetryPayments { id, method: None }).await;
    let lease = world.advance(&lease, Lifecycle::LeaseActive).await;
    is_refused(&world, RetryPayments { id, method: None }).await;
    let mut known = lease.recurring.method.clone().unwrap().id;
    let own = Origin::customer(lease.customer_id);
    // The key, then the customer on the page.
    for (origin, method) in [(world.origin.clone(), "pm_8"), (own, "pm_9")] {
        let mut named = card();
        named.id = method.to_owned();
        let is_key = origin == world.origin;
        let (done, lines) = watched(&world, &origin, async move |uow, ctx| {
            if is_key {
                let method = Some(named);
                return RetryPayments { id, method }.run(uow, ctx).await.map(drop);
            }
            let mut lease = uow.checkouts().lock(id).await?.unwrap();
            let (ids, now, origin) = (ctx.ids, ctx.now, ctx.origin);
            billing::try_again(uow, ids, now, origin, &mut lease, Some(named)).await
        })
        .await;
        done.unwrap();
        let expected = format!(
            "checkout.payments_retried {id} sandbox: [recurringPaymentMethodId={known}] -> \
             [recurringPaymentMethodId={method}]"
        );
        assert_eq!(lines, [expected]);
        known = method.to_owned();
    }
}

#[tokio::test]
async fn of_customers() {
    let world = World::new().await;
    let id = world.order("ada@example.com").await.customer_id;
    let changes = CustomerChanges {
        last_name: Patch::Set("Lovelace".parse().unwrap()),
        metadata: MetadataPatch::Merge([("tier".parse().unwrap(), "gold".parse().ok())].into()),
        ..CustomerChanges::default()
    };
    let update = UpdateCustomer { id, changes };
    let (_, lines) = told(&world, update.clone()).await;
    let expected =
        format!("customer.updated {id} sandbox: [] -> [lastName=Lovelace | metadata.tier=gold]");
    assert_eq!(lines, [expected]);
    is_quiet(&world, update).await;
    let changes = CustomerChanges {
        phone: Patch::Set("12".parse().unwrap()),
        ..CustomerChanges::default()
    };
    is_refused(&world, UpdateCustomer { id, changes }).await;
}

/// A profile that a key completes moves what waits for it, by the key.
#[tokio::test]
async fn what_waits_for_a_profile_goes_on_by_the_key() {
    let world = World::new().await;
    let waits = world.order("ada@example.com").await;
    world.advance(&waits, Lifecycle::ProfilePending).await;
    let address = world.fixtures.address();
    let changes = CustomerChanges {
        first_name: Patch::Set("Ada".parse().unwrap()),
        last_name: Patch::Set("Lovelace".parse().unwrap()),
        address1: Patch::Set(address.address1),
        city: Patch::Set(address.city),
        state: Patch::from(Some(address.state)),
        zip: Patch::Set(address.zip),
        country: Patch::Set(address.country),
        ..CustomerChanges::default()
    };
    let id = waits.customer_id;
    let (_, lines) = told(&world, UpdateCustomer { id, changes }).await;
    assert_eq!(heads(&lines), [format!("customer.updated {id} sandbox")]);
    let moved = world.read(waits.id).await;
    assert_eq!(moved.lifecycle(), Lifecycle::IdentityRequired);
    let keys = keys_of(&world, waits.id).await;
    assert_eq!(keys.last(), Some(&Some(world.access.key_id)));
}

/// The customer opens the page and gives a profile.
async fn give(
    world: &World,
    origin: &Origin,
    id: CheckoutPubId,
    profile: Profile,
) -> (Result<Applied, Error>, Vec<String>) {
    watched(world, origin, async move |uow, ctx| {
        let mut checkout = uow.checkouts().lock(id).await?.unwrap();
        let journey = Journey::new(ctx.now, ctx.ids, ctx.origin);
        journey.open(uow, &mut checkout).await?;
        journey
            .give_profile(uow, ctx.phones, &mut checkout, profile)
            .await
    })
    .await
}

/// The customer's own doings are the customer's, with the address that they came from.
#[tokio::test]
async fn of_the_checkout_page() {
    let world = World::new().await;
    let made = world.order("ada@example.com").await;
    let (id, customer) = (made.id, made.customer_id);
    let origin = Origin {
        request_id: Some("r-1".to_owned()),
        address: "192.0.2.7".parse().ok(),
        ..Origin::customer(customer)
    };
    let (year, two_years) = (term_of(&world, 12).await, term_of(&world, 24).await);
    let chosen = IdRef::Public(two_years.id);
    let (done, lines) = watched(&world, &origin, async move |uow, ctx| {
        let mut checkout = uow.checkouts().lock(id).await?.unwrap();
        let journey = Journey::new(ctx.now, ctx.ids, ctx.origin);
        journey.choose_term(uow, &mut checkout, chosen).await
    })
    .await;
    done.unwrap();
    let expected = format!(
        "checkout.updated {id} sandbox: [leaseTermId={}] -> [leaseTermId={}]",
        year.lease_term_id, two_years.lease_term_id
    );
    assert_eq!(lines, [expected]);

    let address = world.fixtures.address();
    let profile = Profile {
        first_name: address.first_name,
        last_name: address.last_name,
        address1: Some(address.address1),
        city: Some(address.city),
        state: address.state,
        zip: Some(address.zip),
        country: Some(address.country),
        ..Profile::default()
    };
    let undialable = Profile {
        phone: "12".parse().ok(),
        ..profile.clone()
    };
    let (refused, lines) = give(&world, &origin, id, undialable).await;
    assert!(refused.is_err());
    assert!(lines.is_empty(), "{lines:?}");
    let (done, lines) = give(&world, &origin, id, profile).await;
    done.unwrap();
    let expected = format!(
        "customer.updated {customer} sandbox: [] -> [address1=1 Market St | city=San Francisco | country=US | \
         firstName=Ada | lastName=Lovelace | state=CA | zip=94105]"
    );
    assert_eq!(lines, [expected]);
    let keys = keys_of(&world, id).await;
    assert!(keys.iter().all(Option::is_none), "{keys:?}");
}

/// What was found out about the customer, and by whom.
async fn findings(world: &World, customer: CustomerPubId) -> Vec<String> {
    let mut view = world.view().await;
    let events = all(view.as_mut(), world.organization.id).await;
    let of_customer = |event: &&AuditEvent| event.subject == customer.into();
    let told = events.iter().filter(of_customer).map(|event| {
        let (before, after) = (members(&event.change.before), members(&event.change.after));
        format!(
            "{} {}: [{before}] -> [{after}]",
            event.origin.actor.id(),
            event.action
        )
    });
    told.collect()
}

/// A sandbox key plays the customer; what providers decide is the providers', and what moves is moved
/// by the key.
#[tokio::test]
async fn of_what_is_played() {
    let world = World::new().await;
    let key = world.access.key_id;
    let made = world.order("ada@example.com").await;
    world
        .advance(&made, Lifecycle::ShippingAddressPending)
        .await;
    let status = "identityVerificationStatus";
    let expected = [
        format!("{key} customer.created: [] -> [email=ada@example.com]"),
        format!(
            "{key} customer.updated: [] -> [address1=1 Sandbox Street | city=San Francisco | country=US | \
             firstName=Sandbox | lastName=Customer | state=CA | zip=94105]"
        ),
        format!("identityVerifier customer.screened: [{status}=none] -> [{status}=pending]"),
        format!("{key} customer.screened: [{status}=pending] -> [{status}=processing]"),
        format!("identityVerifier customer.screened: [{status}=processing] -> [{status}=verified]"),
        format!(
            "creditChecker customer.screened: [creditStatus=unknown] -> [creditStatus=passed | creditTimestamp={}]",
            text(world.clock.now())
        ),
    ];
    assert_eq!(findings(&world, made.customer_id).await, expected);
    let keys = keys_of(&world, made.id).await;
    assert!(keys.len() > 4, "{keys:?}");
    assert!(keys.iter().all(|moved| *moved == Some(key)), "{keys:?}");
}

/// A sandbox key that moves a checkout says what the provider found.
#[tokio::test]
async fn of_what_is_moved_by_hand() {
    let world = World::new().await;
    let key = world.access.key_id;
    let made = world.order("ada@example.com").await;
    world.advance(&made, Lifecycle::IdentityProcessing).await;
    let known = findings(&world, made.customer_id).await.len();
    let moved = world
        .sandbox()
        .move_to(&world.ctx(), made.id, Lifecycle::IdentityFailed)
        .await;
    assert_eq!(moved.unwrap().lifecycle(), Lifecycle::IdentityFailed);
    let expected = format!(
        "{key} customer.screened: [identityVerificationStatus=processing] -> [identityVerificationStatus=failed]"
    );
    let news = findings(&world, made.customer_id).await.split_off(known);
    assert_eq!(news, [expected]);
    assert_eq!(keys_of(&world, made.id).await.last(), Some(&Some(key)));
}

/// What a verifier tells by itself is the verifier's, once.
#[tokio::test]
async fn of_what_verifiers_tell() {
    let world = World::new().await;
    let made = world.order("ada@example.com").await;
    world.advance(&made, Lifecycle::IdentityProcessing).await;
    let session = {
        let mut view = world.view().await;
        let customer = view.customers().get(made.customer_id).await.unwrap();
        customer.unwrap().screening.verification_session_id.unwrap()
    };
    let known = findings(&world, made.customer_id).await.len();
    let event = ProcessorEvent {
        id: "evt_1".to_owned(),
        at: world.clock.now(),
        mode: Mode::Sandbox,
        about: OurIds::default(),
        fact: ProcessorFact::Identity {
            session_id: session,
            result: IdentityResult::Refused,
        },
    };
    for _ in 0..2 {
        let mut uow = world.begin_for_server().await;
        let (ids, now) = (world.ids.as_ref(), world.clock.now());
        let handled =
            payments::handle(uow.as_mut(), ids, now, &event, Findings::default(), None).await;
        handled.unwrap();
        uow.commit().await.unwrap();
    }
    let expected = "identityVerifier customer.screened: [identityVerificationStatus=processing] -> \
                    [identityVerificationStatus=failed]";
    let news = findings(&world, made.customer_id).await.split_off(known);
    assert_eq!(news, [expected]);
    let failed: Checkout = world.read(made.id).await;
    assert_eq!(failed.lifecycle(), Lifecycle::IdentityFailed);
    assert_eq!(keys_of(&world, made.id).await.last(), Some(&None));
}

/// A page of what the holder of a key of the mode sees.
async fn listed(
    world: &World,
    mode: Mode,
    filter: AuditFilter,
    start: Start,
) -> Result<Vec<String>, Error> {
    let access = Access {
        mode,
        ..world.access.clone()
    };
    let ctx = Context {
        access: &access,
        ..world.ctx()
    };
    let page = Page { start, limit: 100 };
    let mut view = world.view().await;
    let slice = ListAudit {
        filter,
        page,
        is_long: false,
    }
    .run(view.as_mut(), &ctx)
    .await?;
    assert!(!slice.has_more);
    if start == Start::Offset(0) {
        assert_eq!(slice.total, Some(slice.items.len() as u64));
    }
    let name = |event: &AuditEvent| format!("{} {}", event.action, event.subject);
    Ok(slice.items.iter().map(name).collect())
}

/// A sandbox key sees its mode and the catalog, and nothing that the command line did; a live key sees
/// everything.
#[tokio::test]
async fn a_key_sees_its_mode_and_the_catalog() {
    let mut world = World::new().await;
    let sandbox = world.order("ada@example.com").await;
    let (key, ..) = key(&world, Mode::Sandbox).await;
    world.access.mode = Mode::Live;
    let live = world.order("ada@example.com").await;
    let (first, everything) = (Start::Offset(0), AuditFilter::default());
    let of_live = listed(&world, Mode::Live, everything.clone(), first).await;
    let of_sandbox = listed(&world, Mode::Sandbox, everything.clone(), first).await;
    let (of_live, of_sandbox) = (of_live.unwrap(), of_sandbox.unwrap());
    for (seen, by_live, by_sandbox) in [
        (format!("checkout.created {}", sandbox.id), true, true),
        (format!("checkout.created {}", live.id), true, false),
        (format!("product.created {}", world.product.id), true, true),
        (format!("key.created {key}"), true, false),
    ] {
        assert_eq!(of_live.contains(&seen), by_live, "{seen}");
        assert_eq!(of_sandbox.contains(&seen), by_sandbox, "{seen}");
    }
    let newest = format!("checkout.created {}", live.id);
    assert_eq!(of_live.first(), Some(&newest));

    let of_order = AuditFilter {
        subject: Some(live.id.into()),
        ..AuditFilter::default()
    };
    let found = listed(&world, Mode::Live, of_order, first).await;
    assert_eq!(found.unwrap(), [newest]);
    let by_operator = AuditFilter {
        actor: Some("cli:ada".to_owned()),
        ..AuditFilter::default()
    };
    let found = listed(&world, Mode::Live, by_operator.clone(), first).await;
    assert!(found.unwrap().contains(&format!("key.created {key}")));
    let found = listed(&world, Mode::Sandbox, by_operator, first).await;
    assert!(found.unwrap().is_empty());

    // A list goes on after what its reader sees, and after nothing else.
    let events = all(world.view().await.as_mut(), world.organization.id).await;
    let of_live_order = |event: &&AuditEvent| event.subject == live.id.into();
    let unseen = events.iter().find(of_live_order).unwrap().id;
    let after = Start::After(unseen.as_uuid());
    let rest = listed(&world, Mode::Live, everything.clone(), after).await;
    assert_eq!(rest.unwrap(), of_live[1..]);
    let refused = listed(&world, Mode::Sandbox, everything, after).await;
    assert!(
        matches!(&refused, Err(Error::Invalid { param, .. }) if param == "startingAfter"),
        "{refused:?}"
    );
    world.access.permissions = [Permission::CustomerErase].into_iter().collect();
    let refused = listed(&world, Mode::Live, AuditFilter::default(), first).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
}
