//! What is left of a customer who is erased, what a lease keeps, and what is exported.

use lessor_domain::access::{Mode, Permission};
use lessor_domain::audit::{AuditAction, AuditEvent, AuditSubject, AuditViewer};
use lessor_domain::checkout::{CANCELLED_BY_ERASURE, Checkout, Lifecycle};
use lessor_domain::customer::{Customer, Profile, Screening};
use lessor_domain::ids::{CheckoutPubId, CustomerPubId};
use lessor_domain::ports::{
    AuditFilter, HistoryEntry, JobFilter, JobSubject, Page, PersonalTable, ReplacementAnswer, Start,
};
use lessor_domain::services::checkouts::CancelCheckout;
use lessor_domain::services::customers::{CustomerChanges, UpdateCustomer};
use lessor_domain::services::erasure::{
    CustomerExport, EraseCustomer, ErasureReport, ExportCustomer, Kept,
};
use lessor_domain::services::{Error, Patch, UseCase as _};
use lessor_domain::testing::metadata;
use lessor_domain::text::Email;

use crate::world::World;

const ADA: &str = "ada@example.com";
/// What tells of Ada, whoever writes it down.
const TELLS: &[&str] = &[ADA, "Lovelace", "Market St", "4155550100", "gift for"];

fn erasing(id: CustomerPubId) -> EraseCustomer {
    EraseCustomer {
        id,
        replacement: ReplacementAnswer {
            status: 404,
            body: b"{}".to_vec(),
        },
    }
}

async fn try_erase(world: &World, id: CustomerPubId) -> Result<ErasureReport, Error> {
    let mut uow = world.begin().await;
    let report = erasing(id).run(uow.as_mut(), &world.ctx()).await?;
    uow.commit().await?;
    Ok(report)
}

async fn erase(world: &World, id: CustomerPubId) -> ErasureReport {
    try_erase(world, id).await.unwrap()
}

async fn export(world: &World, id: CustomerPubId) -> CustomerExport {
    let mut view = world.view().await;
    let export = ExportCustomer { id };
    export.run(view.as_mut(), &world.ctx()).await.unwrap()
}

async fn customer(world: &World, id: CustomerPubId) -> Customer {
    let mut view = world.view().await;
    view.customers().get(id).await.unwrap().unwrap()
}

async fn history(world: &World, id: CheckoutPubId) -> Vec<HistoryEntry> {
    let mut view = world.view().await;
    view.checkouts().history(id).await.unwrap()
}

/// What the audit tells of the customer, newest first.
async fn audit(world: &World, id: CustomerPubId) -> Vec<AuditEvent> {
    let filter = AuditFilter {
        subject: Some(AuditSubject::from(id)),
        actor: None,
    };
    let page = Page {
        start: Start::Offset(0),
        limit: 100,
    };
    let mut view = world.view().await;
    let audit = view.audit();
    let organization = world.organization.id;
    let events = audit.list(organization, AuditViewer::Live, &filter, page);
    events.await.unwrap()
}

/// Ada orders, and says all that can be said.
async fn order(world: &World) -> Checkout {
    let (checkout, is_new) = world
        .try_order(ADA, |input| {
            let address = world.fixtures.address();
            let customer = input.customer.as_mut().unwrap();
            customer.profile = Profile {
                first_name: address.first_name.clone(),
                last_name: address.last_name.clone(),
                address1: Some(address.address1.clone()),
                address2: None,
                city: Some(address.city.clone()),
                state: address.state.clone(),
                zip: Some(address.zip.clone()),
                country: Some(address.country),
                phone: "+14155550100".parse().ok(),
                birth_date: None,
            };
            input.shipping_address = Some(address.clone());
            input.billing_address = Some(address);
            input.metadata = metadata(&[("note", "a gift for Ada")]);
        })
        .await
        .unwrap();
    assert!(is_new);
    checkout
}

async fn annotate(world: &World, id: CustomerPubId) {
    let mut uow = world.begin().await;
    let mut customer = uow.customers().lock(id).await.unwrap().unwrap();
    customer.metadata = metadata(&[("note", "a gift for Ada")]);
    customer.screening.credit_ip_address = Some("192.0.2.7".to_owned());
    uow.customers().update(&mut customer).await.unwrap();
    uow.commit().await.unwrap();
}

/// What is kept of the table because of a lease that goes on.
fn because_of<'a>(
    report: &'a ErasureReport,
    lease: &Checkout,
    table: PersonalTable,
) -> Option<&'a Kept> {
    let lease = lease.id.to_string();
    let mut kept = report.kept.iter();
    kept.find(|kept| kept.what == table && kept.why.contains(&lease))
}

fn assert_tells_nothing(what: &impl std::fmt::Debug) {
    let text = format!("{what:?}");
    for told in TELLS {
        assert!(!text.contains(told), "{told} is left in {text}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_whoever_leases_nothing() {
    let world = World::new().await;
    let returned = order(&world).await;
    world.advance(&returned, Lifecycle::Returned).await;
    let cancelled = order(&world).await;
    let mut uow = world.begin().await;
    let cancel = CancelCheckout {
        id: cancelled.id,
        reason: "a gift for somebody else".parse().ok(),
    };
    cancel.run(uow.as_mut(), &world.ctx()).await.unwrap();
    uow.commit().await.unwrap();
    let begun = order(&world).await;
    world.advance(&begun, Lifecycle::DocumentsPending).await;
    world.work().await;
    let id = begun.customer_id;
    annotate(&world, id).await;
    let known = customer(&world, id).await;
    assert!(known.profile.is_complete());
    let pushed = world.calls("push_customer");

    let report = erase(&world, id).await;

    let left = customer(&world, id).await;
    assert_eq!(left, report.customer);
    assert_tells_nothing(&left);
    assert_eq!(left.erased_at, Some(world.ctx().now));
    assert_eq!(left.email, Email::of_nobody(id.as_uuid()));
    assert_eq!(left.email.as_str().parse::<Email>(), Ok(left.email.clone()));
    let screening = Screening {
        processor_id: known.screening.processor_id.clone(),
        ..Screening::default()
    };
    assert_eq!(left.screening, screening);
    for (checkout, state) in [
        (&returned, Lifecycle::Returned),
        (&cancelled, Lifecycle::Cancelled),
        (&begun, Lifecycle::Cancelled),
    ] {
        let left = world.read(checkout.id).await;
        assert_eq!(left.lifecycle(), state);
        assert_eq!(left.items, checkout.items, "what was ordered stays");
        assert_tells_nothing(&left);
        assert_tells_nothing(&history(&world, checkout.id).await);
    }
    let last = history(&world, begun.id).await.pop().unwrap().transition;
    assert_eq!(last.key, Some(world.access.key_id));
    let reason = last.reason.unwrap();
    assert_eq!(reason.as_str(), CANCELLED_BY_ERASURE);
    for table in [
        PersonalTable::CheckoutApplications,
        PersonalTable::CheckoutBilling,
        PersonalTable::CheckoutMetadata,
        PersonalTable::CheckoutTransitions,
        PersonalTable::Checkouts,
        PersonalTable::CustomerMetadata,
        PersonalTable::Customers,
    ] {
        assert!(report.erased.contains(&table), "{table}: {report:?}");
    }
    assert!(report.erased.is_sorted());
    let kept: Vec<PersonalTable> = report.kept.iter().map(|kept| kept.what).collect();
    let expected = [
        PersonalTable::Customers,
        PersonalTable::Checkouts,
        // What was signed of the lease that there was.
        PersonalTable::Agreements,
        PersonalTable::AgreementEvents,
        PersonalTable::LedgerEntries,
        PersonalTable::AuditEvents,
        PersonalTable::Events,
    ];
    assert_eq!(kept, expected);
    assert!(report.kept.iter().all(|kept| kept.until.is_none()));
    // What was held is let go, and the processor is told to forget too.
    world.assert_idle().await;
    assert_eq!(world.calls("push_customer"), pushed + 1);
}

#[tokio::test]
async fn a_lease_keeps_what_it_needs_until_it_ends() {
    let world = World::new().await;
    let lease = order(&world).await;
    let lease = world.advance(&lease, Lifecycle::LeaseActive).await;
    let id = lease.customer_id;
    annotate(&world, id).await;
    let known = customer(&world, id).await;

    let report = erase(&world, id).await;

    assert_eq!(world.read(lease.id).await, lease, "the lease is as it was");
    let left = customer(&world, id).await;
    let expected = Profile {
        phone: None,
        ..known.profile.clone()
    };
    assert_eq!((&left.email, &left.profile), (&known.email, &expected));
    assert!(left.metadata.is_empty() && left.screening.credit_ip_address.is_none());
    assert_eq!(left.screening.identity, known.screening.identity);
    for table in [
        PersonalTable::Customers,
        PersonalTable::CheckoutApplications,
        PersonalTable::CheckoutBilling,
    ] {
        let kept = because_of(&report, &lease, table).unwrap();
        assert_eq!(kept.until, lease.lease.end, "{table}");
    }

    let update = UpdateCustomer {
        id,
        changes: CustomerChanges {
            first_name: Patch::Set("Augusta".parse().unwrap()),
            ..CustomerChanges::default()
        },
    };
    let mut uow = world.begin().await;
    let refused = update.run(uow.as_mut(), &world.ctx()).await;
    drop(uow);
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
    let refused = world.try_order(ADA, |_| {}).await;
    assert!(
        matches!(&refused, Err(Error::Invalid { param, .. }) if param == "customer.email"),
        "{refused:?}"
    );

    let first = customer(&world, id).await.erased_at;
    world.advance(&lease, Lifecycle::Returned).await;
    world.clock.advance(chrono::TimeDelta::days(1));
    let report = erase(&world, id).await;
    assert!(report.erased.contains(&PersonalTable::Customers));
    assert!(because_of(&report, &lease, PersonalTable::Customers).is_none());
    let left = customer(&world, id).await;
    assert_tells_nothing(&left);
    assert_eq!(left.erased_at, first, "since when stays");
    assert_tells_nothing(&world.read(lease.id).await);
    // Who comes again is somebody else.
    assert_ne!(world.order(ADA).await.customer_id, id);
    world.assert_idle().await;
}

#[tokio::test]
async fn to_erase_again_changes_nothing() {
    let world = World::new().await;
    let begun = order(&world).await;
    let id = begun.customer_id;
    let report = erase(&world, id).await;
    let left = (customer(&world, id).await, world.read(begun.id).await);
    let told = audit(&world, id).await;
    world.clock.advance(chrono::TimeDelta::hours(1));
    let again = erase(&world, id).await;
    assert!(again.erased.is_empty(), "{again:?}");
    assert_eq!(again.kept, report.kept);
    let now = (customer(&world, id).await, world.read(begun.id).await);
    assert_eq!(now, left);
    assert_eq!(audit(&world, id).await, told);
    // The processor never heard of them, and is not told now.
    let filter = JobFilter {
        state: None,
        subject: Some(JobSubject::Customer(id)),
    };
    let mut view = world.view().await;
    let jobs = view.jobs().list(&filter, 9).await.unwrap();
    assert!(jobs.is_empty(), "{jobs:?}");
}

#[tokio::test]
async fn the_audit_tells_of_the_erasure_and_of_no_person() {
    let world = World::new().await;
    let id = order(&world).await.customer_id;
    let before = audit(&world, id).await;
    let created = before.last().unwrap();
    assert_eq!(created.action, AuditAction::CustomerCreated);
    assert!(!created.change.is_empty());
    erase(&world, id).await;
    let after = audit(&world, id).await;
    let [erased, rest @ ..] = after.as_slice() else {
        panic!("{after:?}")
    };
    assert_eq!(erased.action, AuditAction::CustomerErased);
    assert_eq!(erased.origin, world.origin);
    assert_eq!(erased.customer, None);
    assert!(erased.change.after.get("erased").is_some());
    let ids = |events: &[AuditEvent]| -> Vec<_> { events.iter().map(|it| it.id).collect() };
    assert_eq!(ids(rest), ids(&before), "what was done stays known");
    assert!(rest.iter().all(|event| event.change.is_empty()));
    assert_tells_nothing(&after);
}

#[tokio::test]
async fn others_are_as_they_were() {
    let mut world = World::new().await;
    let ada = order(&world).await;
    let grace = world.order("grace@example.com").await;
    world.access.mode = Mode::Live;
    let live = world.order(ADA).await;
    let unknown = try_erase(&world, ada.customer_id).await;
    assert!(
        matches!(unknown, Err(Error::NotFound { .. })),
        "{unknown:?}"
    );
    world.access.mode = Mode::Sandbox;
    let all = world.access.permissions;
    world.access.permissions = [Permission::CustomerWrite, Permission::CheckoutCancel]
        .into_iter()
        .collect();
    let refused = try_erase(&world, ada.customer_id).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    world.access.permissions = all;
    let others = [&grace, &live];
    let mut before = Vec::new();
    for other in others {
        before.push((
            customer(&world, other.customer_id).await,
            world.read(other.id).await,
        ));
    }
    erase(&world, ada.customer_id).await;
    for (other, before) in others.into_iter().zip(before) {
        let now = (
            customer(&world, other.customer_id).await,
            world.read(other.id).await,
        );
        assert_eq!(now, before);
    }
}

#[tokio::test]
async fn a_key_whose_own_user_was_erased_orders_for_others() {
    let world = World::new().await;
    erase(&world, world.access.user_pub_id).await;
    let refused = world.try_order(ADA, |input| input.customer = None).await;
    assert!(
        matches!(&refused, Err(Error::Invalid { param, .. }) if param == "customer"),
        "{refused:?}"
    );
    world.order(ADA).await;
}

#[tokio::test]
async fn all_that_is_known_is_exported() {
    let world = World::new().await;
    let returned = order(&world).await;
    world.advance(&returned, Lifecycle::Returned).await;
    let begun = order(&world).await;
    let other = world.order("grace@example.com").await;
    let id = begun.customer_id;
    let known = export(&world, id).await;
    assert_eq!(known.customer, customer(&world, id).await);
    let checkouts: Vec<_> = known
        .checkouts
        .iter()
        .map(|it| it.view.checkout.id)
        .collect();
    assert_eq!(checkouts, [returned.id, begun.id]);
    let [lease, wish] = known.checkouts.as_slice() else {
        panic!("{known:?}")
    };
    assert_eq!(lease.history, history(&world, returned.id).await);
    assert_eq!(lease.payments, world.rows(returned.id).await);
    assert!(!lease.payments.is_empty() && wish.payments.is_empty());
    assert_eq!(lease.view.checkout, world.read(returned.id).await);
    assert!(lease.view.cost.is_some());
    let subjects: Vec<&str> = known.audit.iter().map(|it| it.subject.as_str()).collect();
    for subject in [
        id.to_string(),
        returned.id.to_string(),
        begun.id.to_string(),
    ] {
        assert!(subjects.contains(&subject.as_str()), "{subjects:?}");
    }
    let foreign = [other.id.to_string(), other.customer_id.to_string()];
    assert!(!subjects.iter().any(|it| foreign.iter().any(|of| of == it)));
    assert!(known.audit.is_sorted_by_key(|event| event.id));

    erase(&world, id).await;
    let mut left = export(&world, id).await;
    // What was signed of the lease that there was stays, and the erasure says so.
    let mut signed = Vec::new();
    for checkout in &mut left.checkouts {
        signed.append(&mut checkout.agreements);
    }
    assert_eq!(signed.len(), 1, "{signed:?}");
    assert_tells_nothing(&left);
    assert_eq!(left.checkouts.len(), known.checkouts.len());
    assert_eq!(left.audit.len(), known.audit.len() + 1);
}
