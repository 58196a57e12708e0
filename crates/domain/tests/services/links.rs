//! The page of a checkout: who is let in, what is shown and changed, and where it leads.

use chrono::TimeDelta;
use lessor_domain::access::{Access, Denied, KeyKind, Mode, Permission};
use lessor_domain::audit::{AuditAction, AuditViewer, Origin};
use lessor_domain::checkout::{Applied, Checkout, Lifecycle, WaitlistReason, WayOut};
use lessor_domain::customer::{Customer, Profile};
use lessor_domain::ids::{CheckoutPubId, IdRef};
use lessor_domain::organization::NotServed;
use lessor_domain::ports::{AuditFilter, Page, PageToken, Start};
use lessor_domain::services::checkouts::{CancelCheckout, RelinkCheckout};
use lessor_domain::services::customers::{CustomerChanges, UpdateCustomer};
use lessor_domain::services::journey::Journey;
use lessor_domain::services::organizations::{
    ChangeOrganization, FaceChanges, GetOrganization, UpdateOrganization, update_organization,
};
use lessor_domain::services::visits::{self, SHOWN_AFTER_THE_END, Visit};
use lessor_domain::services::{Error, Patch, UseCase};
use lessor_domain::testing::FakeDialingPlan;

use crate::world::World;

const EMAIL: &str = "ada@example.com";

fn token(checkout: &Checkout) -> PageToken {
    PageToken::Proven {
        nonce: checkout.page_nonce,
    }
}

/// The customer's name and this street.
fn profile(world: &World, street: &str) -> Profile {
    let address = world.fixtures.address();
    Profile {
        first_name: address.first_name,
        last_name: address.last_name,
        address1: street.parse().ok(),
        address2: None,
        city: Some(address.city),
        state: address.state,
        zip: Some(address.zip),
        country: Some(address.country),
        phone: None,
        birth_date: None,
    }
}

async fn visit(world: &World, token: &PageToken) -> Result<Visit, Error> {
    let mut view = world.view_for_server().await;
    Visit::of(view.as_mut(), token, world.ctx().now).await
}

/// A use case of the key, committed.
async fn done<U: UseCase>(world: &World, use_case: U) -> Result<U::Output, Error> {
    let mut uow = world.begin().await;
    let done = use_case.run(uow.as_mut(), &world.ctx()).await?;
    uow.commit().await?;
    Ok(done)
}

/// The customer sends the form of name and address.
async fn send(world: &World, id: CheckoutPubId, profile: Profile) -> Result<Applied, Error> {
    let mut uow = world.begin().await;
    let mut checkout = uow.checkouts().lock(id).await?.unwrap();
    let origin = Origin::customer(checkout.customer_id);
    let ctx = world.ctx();
    let journey = Journey::new(ctx.now, ctx.ids, &origin);
    journey
        .open_for_profile(uow.as_mut(), &mut checkout)
        .await?;
    let applied = journey
        .give_profile(uow.as_mut(), &FakeDialingPlan, &mut checkout, profile)
        .await?;
    uow.commit().await?;
    Ok(applied)
}

async fn begin(world: &World, id: CheckoutPubId) -> Result<Applied, Error> {
    let mut uow = world.begin().await;
    let mut checkout = uow.checkouts().lock(id).await?.unwrap();
    let origin = Origin::customer(checkout.customer_id);
    let ctx = world.ctx();
    let journey = Journey::new(ctx.now, ctx.ids, &origin);
    let applied = journey.begin(uow.as_mut(), &mut checkout).await?;
    uow.commit().await?;
    Ok(applied)
}

async fn customer(world: &World, checkout: &Checkout) -> Customer {
    let mut view = world.view().await;
    let found = view.customers().get(checkout.customer_id).await;
    found.unwrap().unwrap()
}

/// The organization's record of the customer: somebody else's word than the page's.
async fn put_on_file(world: &World, checkout: &Checkout, profile: &Profile) {
    let set = |line: &Option<_>| Patch::from(Some(line.clone()));
    let changes = CustomerChanges {
        first_name: set(&profile.first_name),
        last_name: set(&profile.last_name),
        address1: set(&profile.address1),
        city: set(&profile.city),
        state: set(&profile.state),
        zip: set(&profile.zip),
        country: Patch::from(Some(profile.country)),
        ..CustomerChanges::default()
    };
    let id = checkout.customer_id;
    done(world, UpdateCustomer { id, changes }).await.unwrap();
}

#[tokio::test]
async fn a_new_link_ends_the_old_one() {
    let world = World::new().await;
    let before = world.order(EMAIL).await;
    let old = token(&before);
    assert_eq!(visit(&world, &old).await.unwrap().checkout.id, before.id);
    let after = done(&world, RelinkCheckout { id: before.id })
        .await
        .unwrap();
    assert_ne!(after.page_nonce, before.page_nonce);
    assert_eq!(visit(&world, &token(&after)).await.unwrap().checkout, after);
    assert!(matches!(
        visit(&world, &old).await,
        Err(Error::NotFound { .. })
    ));
    let mut view = world.view_for_server().await;
    let replaced = visits::replaced_by(view.as_mut(), &old).await.unwrap();
    assert_eq!(replaced.map(|it| it.id), Some(world.organization.id));
    let current = visits::replaced_by(view.as_mut(), &token(&after)).await;
    assert_eq!(current.unwrap(), None);
    drop(view);

    let filter = AuditFilter::default();
    let page = Page {
        start: Start::Offset(0),
        limit: 1,
    };
    let mut view = world.view().await;
    let told = view
        .audit()
        .list(
            world.organization.id,
            AuditViewer::from(Mode::Sandbox),
            &filter,
            page,
        )
        .await
        .unwrap();
    assert_eq!(told[0].action, AuditAction::CheckoutRelinked);
    assert!(told[0].change.is_empty(), "no address is told");
}

#[tokio::test]
async fn a_new_link_takes_the_permission_to_write() {
    let mut world = World::new().await;
    let made = world.order(EMAIL).await;
    world.access.permissions = Permission::ALL
        .iter()
        .copied()
        .filter(|permission| *permission != Permission::CheckoutWrite)
        .collect();
    let refused = done(&world, RelinkCheckout { id: made.id }).await;
    assert!(matches!(
        refused,
        Err(Error::Forbidden(Denied::Permission(
            Permission::CheckoutWrite
        )))
    ));
    assert_eq!(world.read(made.id).await, made);
}

/// Reading is less than acting as the customer, which is what a link is for.
#[tokio::test]
async fn who_may_make_checkouts_or_move_them_is_shown_links() {
    let world = World::new().await;
    for permission in Permission::ALL {
        let access = Access {
            permissions: [*permission].into_iter().collect(),
            ..world.access.clone()
        };
        let expected = matches!(
            permission,
            Permission::CheckoutWrite | Permission::CheckoutCreateWithCustomer
        );
        assert_eq!(access.has_links(), expected, "{permission}");
        let shown = Access {
            kind: KeyKind::Publishable,
            ..access
        };
        assert!(!shown.has_links(), "{permission}");
    }
}

#[tokio::test]
async fn what_is_given_in_the_checkout_is_shown_and_changed_by_its_page() {
    let world = World::new().await;
    let made = world.order(EMAIL).await;
    assert_eq!(made.given_profile, Some(Profile::default()));
    for street in ["1 Market St", "2 Market St"] {
        let given = profile(&world, street);
        send(&world, made.id, given.clone()).await.unwrap();
        let now = world.read(made.id).await;
        assert_ne!(now.lifecycle(), Lifecycle::ProfilePending);
        assert_eq!(customer(&world, &now).await.profile, given);
        let seen = visit(&world, &token(&now)).await.unwrap();
        assert_eq!(seen.checkout.given_profile, Some(given));
        assert!(!seen.is_on_file());
        // Back to where it is asked for.
        if now.lifecycle() != Lifecycle::ShippingAddressPending {
            world.advance(&now, Lifecycle::ShippingAddressPending).await;
        }
        let mut uow = world.begin().await;
        let mut checkout = uow.checkouts().lock(made.id).await.unwrap().unwrap();
        let origin = Origin::customer(checkout.customer_id);
        let ctx = world.ctx();
        let journey = Journey::new(ctx.now, ctx.ids, &origin);
        journey.go_back(uow.as_mut(), &mut checkout).await.unwrap();
        uow.commit().await.unwrap();
    }
}

/// Whoever guesses an address is told nothing of the person, and writes nothing over what is known of them.
#[tokio::test]
async fn an_older_record_is_passed_by_and_neither_shown_nor_changed() {
    let world = World::new().await;
    let first = world.order(EMAIL).await;
    let on_file = profile(&world, "1 Market St");
    put_on_file(&world, &first, &on_file).await;
    for sends_a_form in [true, false] {
        let (made, _) = world
            .try_order(EMAIL, |input| {
                input.term = Some(if sends_a_form { "24" } else { "36" }.parse().unwrap());
            })
            .await
            .unwrap();
        let seen = visit(&world, &token(&made)).await.unwrap();
        assert!(seen.is_on_file());
        assert_eq!(seen.checkout.given_profile, Some(Profile::default()));
        if sends_a_form {
            let mut other = profile(&world, "666 Other St");
            other.first_name = "Eve".parse().ok();
            send(&world, made.id, other).await.unwrap();
        } else {
            begin(&world, made.id).await.unwrap();
        }
        let now = world.read(made.id).await;
        assert_eq!(now.lifecycle(), Lifecycle::IdentityRequired);
        assert_eq!(customer(&world, &made).await.profile, on_file);
    }
    // Nothing is on file that could be begun with.
    let nobody = world.order("new@example.com").await;
    let refused = begin(&world, nobody.id).await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
}

#[tokio::test]
async fn what_is_missing_of_an_older_record_is_filled() {
    let world = World::new().await;
    let first = world.order(EMAIL).await;
    let named = Profile {
        first_name: "Ada".parse().ok(),
        last_name: "Lovelace".parse().ok(),
        ..Profile::default()
    };
    put_on_file(&world, &first, &named).await;
    let (made, _) = world
        .try_order(EMAIL, |input| input.term = "24".parse().ok())
        .await
        .unwrap();
    let mut given = profile(&world, "1 Market St");
    given.first_name = "Eve".parse().ok();
    send(&world, made.id, given.clone()).await.unwrap();
    let known = customer(&world, &made).await.profile;
    assert_eq!(known.first_name, named.first_name, "what is known stays");
    assert_eq!(known.address1, given.address1);
    assert!(visit(&world, &token(&made)).await.unwrap().is_on_file());
}

/// Who was checked is not renamed by a form that is sent late.
#[tokio::test]
async fn a_form_that_comes_late_changes_nothing() {
    let world = World::new().await;
    let made = world.order(EMAIL).await;
    let given = profile(&world, "1 Market St");
    send(&world, made.id, given.clone()).await.unwrap();
    let before = world.read(made.id).await;
    send(&world, made.id, profile(&world, "666 Other St"))
        .await
        .unwrap();
    assert_eq!(world.read(made.id).await, before);
    assert_eq!(customer(&world, &made).await.profile, given);
}

async fn serve(world: &World, area: &str) {
    let mut uow = world.begin_for_server().await;
    let update = UpdateOrganization {
        service_area: Some(area.parse().unwrap()),
        ..UpdateOrganization::default()
    };
    let named = IdRef::Public(world.organization.pub_id);
    let (ids, now) = (world.ids.as_ref(), world.ctx().now);
    update_organization(uow.as_mut(), ids, now, &world.operator(), named, update)
        .await
        .unwrap();
    uow.commit().await.unwrap();
}

#[tokio::test]
async fn an_address_outside_of_the_area_is_told_with_the_profile() {
    let world = World::new().await;
    let made = world.order(EMAIL).await;
    serve(&world, "US-NY").await;
    let given = profile(&world, "1 Market St");
    send(&world, made.id, given.clone()).await.unwrap();
    let waits = world.read(made.id).await;
    assert_eq!(waits.lifecycle(), Lifecycle::WaitlistedLocation);
    let waitlist = waits.waitlist.clone().unwrap();
    assert_eq!(waitlist.reason, WaitlistReason::Location);
    assert_eq!(waitlist.address, given.address());
    assert_eq!(waitlist.reason_code, Some(NotServed::State));
    world.work().await;
    assert_eq!(world.read(made.id).await, waits, "nobody checks anybody");
    serve(&world, "US").await;
    let freed = world.read(made.id).await;
    assert_eq!(freed.lifecycle(), Lifecycle::IdentityRequired);
}

#[tokio::test]
async fn the_area_is_told_of_whoever_completes_the_profile() {
    let world = World::new().await;
    let made = world.order(EMAIL).await;
    world.advance(&made, Lifecycle::ProfilePending).await;
    serve(&world, "US-NY").await;
    put_on_file(&world, &made, &profile(&world, "1 Market St")).await;
    let waits = world.read(made.id).await;
    assert_eq!(waits.lifecycle(), Lifecycle::WaitlistedLocation);

    // What is on file is asked of the area as it is when the customer begins.
    serve(&world, "US").await;
    let (later, _) = world
        .try_order(EMAIL, |input| input.term = "24".parse().ok())
        .await
        .unwrap();
    serve(&world, "US-NY").await;
    begin(&world, later.id).await.unwrap();
    let waits = world.read(later.id).await;
    assert_eq!(waits.lifecycle(), Lifecycle::WaitlistedLocation);
}

#[tokio::test]
async fn terms_are_offered_until_the_lease_is_accepted() {
    let world = World::new().await;
    let made = world.order(EMAIL).await;
    for (to, offered) in [
        (Lifecycle::Created, 3),
        (Lifecycle::ProfilePending, 3),
        (Lifecycle::IdentityRequired, 3),
        (Lifecycle::LeaseReviewPending, 3),
        (Lifecycle::DepositPending, 0),
        (Lifecycle::OrderConfirmed, 0),
    ] {
        if to != Lifecycle::Created {
            world.advance(&made, to).await;
        }
        let seen = visit(&world, &token(&made)).await.unwrap();
        assert_eq!(seen.checkout.lifecycle(), to);
        assert_eq!(seen.terms.len(), offered, "{to}");
        let months: Vec<u16> = seen.terms.iter().map(|(_, it)| it.term.get()).collect();
        assert!(months.is_sorted(), "{months:?}");
    }
}

#[tokio::test]
async fn long_after_the_end_the_page_shows_how_it_ended() {
    let world = World::new().await;
    let made = world.order(EMAIL).await;
    let id = made.id;
    let token = token(&made);
    let is_past = async || visit(&world, &token).await.unwrap().is_past;
    world.clock.advance(SHOWN_AFTER_THE_END);
    assert!(!is_past().await, "it goes on");
    done(&world, CancelCheckout { id, reason: None })
        .await
        .unwrap();
    world
        .clock
        .advance(SHOWN_AFTER_THE_END - TimeDelta::seconds(1));
    assert!(!is_past().await);
    // A later change is no later end.
    done(&world, RelinkCheckout { id }).await.unwrap();
    let token = self::token(&world.read(id).await);
    world.clock.advance(TimeDelta::seconds(1));
    assert!(visit(&world, &token).await.unwrap().is_past);
}

#[tokio::test]
async fn a_browser_is_sent_on_once_for_each_way_that_it_turns_out() {
    let world = World::new().await;
    let made = world.order(EMAIL).await;
    let token = token(&made);
    assert_eq!(made.way_out(), None);
    world.advance(&made, Lifecycle::OrderConfirmed).await;
    let confirmed = world.read(made.id).await;
    let note = async |way| {
        let mut uow = world.begin_for_server().await;
        let noted = visits::note_way_out(uow.as_mut(), &token, way).await;
        uow.commit().await.unwrap();
        noted.unwrap()
    };
    let sent_to = async || visit(&world, &token).await.unwrap().sent_to;
    assert_eq!(confirmed.way_out(), Some(WayOut::Success));
    assert_eq!(sent_to().await, None);
    assert!(note(WayOut::Success).await);
    assert!(!note(WayOut::Success).await);
    assert_eq!(sent_to().await, Some(WayOut::Success));
    assert_eq!(
        world.read(made.id).await,
        confirmed,
        "looking is no change of the checkout"
    );
    let id = made.id;
    let ended = done(&world, CancelCheckout { id, reason: None })
        .await
        .unwrap();
    assert_eq!(ended.way_out(), Some(WayOut::Cancel));
    assert!(note(WayOut::Cancel).await, "it turned out another way");
}

#[tokio::test]
async fn a_face_is_shown_as_far_as_browsers_can_load_it() {
    let world = World::new().await;
    let change = |face| ChangeOrganization {
        face,
        ..ChangeOrganization::default()
    };
    let named = FaceChanges {
        display_name: Patch::Set("Better Bikes".parse().unwrap()),
        accent_color: Patch::Set("#FFCC00".parse().unwrap()),
        logo_url: Patch::Set("https://shop.example/logo.svg".parse().unwrap()),
        support_phone: Patch::Set("+14155550100".parse().unwrap()),
        ..FaceChanges::default()
    };
    let changed = done(&world, change(named)).await.unwrap();
    assert_eq!(changed.organization.shown_name().as_str(), "Better Bikes");
    assert_eq!(done(&world, GetOrganization).await.unwrap(), changed);
    let cleared = FaceChanges {
        display_name: Patch::Clear,
        ..FaceChanges::default()
    };
    let changed = done(&world, change(cleared)).await.unwrap();
    assert_eq!(changed.organization.shown_name().as_str(), "Bikes");
    assert!(
        changed.organization.face.logo_url.is_some(),
        "what is left out stays"
    );
    let insecure = || Patch::Set("http://shop.example/x".parse().unwrap());
    for (param, face) in [
        (
            "logoUrl",
            FaceChanges {
                logo_url: insecure(),
                ..FaceChanges::default()
            },
        ),
        (
            "termsUrl",
            FaceChanges {
                terms_url: insecure(),
                ..FaceChanges::default()
            },
        ),
        (
            "privacyUrl",
            FaceChanges {
                privacy_url: insecure(),
                ..FaceChanges::default()
            },
        ),
        (
            "supportPhone",
            FaceChanges {
                support_phone: Patch::Set("12".parse().unwrap()),
                ..FaceChanges::default()
            },
        ),
    ] {
        let refused = done(&world, change(face)).await;
        assert!(
            matches!(&refused, Err(Error::Invalid { param: at, .. }) if at == param),
            "{param}: {refused:?}"
        );
    }
}

/// Both modes have the one face: it is written like the catalog.
#[tokio::test]
async fn sandbox_keys_change_no_live_face() {
    let mut world = World::new().await;
    world.access.sandbox_writes_catalog = false;
    let refused = done(&world, ChangeOrganization::default()).await;
    assert!(matches!(
        refused,
        Err(Error::Forbidden(Denied::LiveCatalog))
    ));
    done(&world, GetOrganization).await.unwrap();
    world.access.mode = Mode::Live;
    done(&world, ChangeOrganization::default()).await.unwrap();
}
