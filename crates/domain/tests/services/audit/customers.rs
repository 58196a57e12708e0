//! What customers did themselves, and what was found out about them.

use lessor_domain::access::Mode;
use lessor_domain::audit::{AuditEvent, Origin};
use lessor_domain::checkout::{Applied, Checkout, Lifecycle};
use lessor_domain::customer::Profile;
use lessor_domain::ids::{CheckoutPubId, CustomerPubId, IdRef};
use lessor_domain::metadata::MetadataPatch;
use lessor_domain::ports::{Clock as _, IdentityResult, OurIds, ProcessorEvent, ProcessorFact};
use lessor_domain::services::customers::{CustomerChanges, UpdateCustomer};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::payments::{self, Findings};
use lessor_domain::services::{Error, Patch};

use super::{all, heads, is_quiet, is_refused, keys_of, members, term_of, text, told, watched};
use crate::world::World;

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
