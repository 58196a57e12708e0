//! Who did what: each use case leaves the events that tell of it, and no others.

mod catalog;
mod checkouts;
mod customers;
mod organizations;
mod viewers;

use chrono::SecondsFormat;
use lessor_domain::access::{KeyHash, KeyKind, Mode, Permission};
use lessor_domain::audit::{AuditEvent, AuditMembers, AuditViewer, Origin};
use lessor_domain::checkout::Redirects;
use lessor_domain::customer::Profile;
use lessor_domain::ids::{ApiKeyPubId, CheckoutPubId, CustomerPubId, IdRef, OrganizationId};
use lessor_domain::lease_term::LeaseTerm;
use lessor_domain::ports::{AuditFilter, Page, Start, UnitOfWork};
use lessor_domain::services::checkouts::{
    CreateCheckout, CustomerInput, PurchaseItemInput, VariantRef,
};
use lessor_domain::services::keys::{CreateKey, KeyUser, create_key};
use lessor_domain::services::{Context, Error, UseCase};
use lessor_domain::testing::metadata;
use lessor_domain::time::Timestamp;

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

/// The organization's own term of so many months.
async fn term_of(world: &World, months: u16) -> LeaseTerm {
    let mut view = world.view().await;
    let terms = view.lease_terms().list(world.organization.id).await;
    let of_months = |term: &LeaseTerm| term.card.term.get() == months;
    terms.unwrap().into_iter().find(of_months).unwrap()
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

/// With which keys the checkout was moved, oldest move first.
async fn keys_of(world: &World, id: CheckoutPubId) -> Vec<Option<ApiKeyPubId>> {
    let mut view = world.view().await;
    let history = view.checkouts().history(id).await.unwrap();
    history.iter().map(|entry| entry.transition.key).collect()
}
