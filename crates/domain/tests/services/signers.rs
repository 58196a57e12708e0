//! Leases that are signed with the organization's own signer.

use chrono::TimeDelta;
use lessor_domain::access::Mode;
use lessor_domain::agreement::{
    AgreementEventKind, AgreementRecord, Signature, Signer, SignerKind, Trail,
};
use lessor_domain::audit::Origin;
use lessor_domain::checkout::{AttentionReason, Checkout, Lifecycle};
use lessor_domain::endpoint::Endpoint;
use lessor_domain::ids::OrganizationRef;
use lessor_domain::ports::{Clock as _, Doubt, JobFilter, JobState, JobSubject};
use lessor_domain::secret::Secret;
use lessor_domain::services::journey::Journey;
use lessor_domain::services::signers::{SignAgreement, set_signer};
use lessor_domain::services::{Error, UseCase as _};

use crate::world::World;

async fn sign_with(world: &World, signer: Signer) {
    let mut uow = world.begin_for_server().await;
    let organization = OrganizationRef::Number(world.organization.id);
    set_signer(
        uow.as_mut(),
        world.ids.as_ref(),
        world.clock.now(),
        &world.operator(),
        organization,
        Mode::Sandbox,
        signer,
    )
    .await
    .unwrap();
    uow.commit().await.unwrap();
}

fn http() -> Signer {
    Signer::Http(Endpoint {
        url: "https://sign.example.com/".parse().unwrap(),
        secret: Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
    })
}

/// A checkout whose document is there to be signed.
async fn prepared(world: &World) -> (Checkout, AgreementRecord) {
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::DocumentsPending).await;
    let subject = JobSubject::Checkout(order.id);
    let runner = world.runner();
    runner.drain(world.organization.id, subject).await.unwrap();
    (world.read(order.id).await, document_of(world, &order).await)
}

async fn document_of(world: &World, checkout: &Checkout) -> AgreementRecord {
    let mut view = world.view().await;
    let mut made = view.agreements().of(checkout.id).await.unwrap();
    made.pop().unwrap()
}

fn told(world: &World, document: &AgreementRecord) -> SignAgreement {
    SignAgreement {
        id: document.checkout_id,
        document: document.id,
        sha256: document.sha256,
        signer_name: "Ada Lovelace".parse().unwrap(),
        signed_at: world.clock.now(),
        reference: "envelope 7".parse().ok(),
    }
}

async fn tell(world: &World, signed: SignAgreement) -> Result<Checkout, Error> {
    let mut uow = world.begin().await;
    let checkout = signed.run(uow.as_mut(), &world.ctx()).await?;
    uow.commit().await?;
    Ok(checkout)
}

#[tokio::test]
async fn the_signer_is_sent_the_document_and_tells_who_signed() {
    let world = World::new().await;
    sign_with(&world, http()).await;
    let (order, document) = prepared(&world).await;
    assert_eq!(document.signer, SignerKind::Http);
    world.assert_idle().await;
    let sent = world.providers.signer.sent();
    let [(_, endpoint, request)] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(Signer::Http(endpoint.clone()), http());
    assert_eq!(
        (request.checkout, request.document, request.sha256),
        (order.id, document.id, document.sha256)
    );
    let pdf = world.view().await.agreements().pdf(document.id).await;
    assert_eq!(pdf.unwrap().as_ref(), Some(&request.pdf));
    assert_eq!(request.email, "ada@example.com");
    let stands = world.read(order.id).await;
    assert_eq!(stands.lifecycle(), Lifecycle::DocumentsPending);
    assert_eq!(stands.signed_at, None);

    world.clock.advance(TimeDelta::hours(1));
    let signed = told(&world, &document);
    world.clock.advance(TimeDelta::minutes(1));
    let taken = tell(&world, signed.clone()).await.unwrap();
    assert!(taken.signed_at.is_some());
    assert_eq!(tell(&world, signed.clone()).await.unwrap(), taken);
    world.assert_idle().await;
    let confirmed = world.read(order.id).await;
    assert_eq!(confirmed.lifecycle(), Lifecycle::OrderConfirmed);
    assert_eq!(tell(&world, signed.clone()).await.unwrap(), confirmed);
    let other = SignAgreement {
        signer_name: "Mallory".parse().unwrap(),
        ..signed.clone()
    };
    let refused = tell(&world, other).await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");

    let known = document_of(&world, &order).await;
    let expected = AgreementRecord {
        signed_at: Some(signed.signed_at),
        signer_name: Some("Ada Lovelace".to_owned()),
        signer_reference: signed.reference,
        ..document
    };
    assert_eq!(known, expected);
    let events = world.view().await.agreements().events(known.id).await;
    let events = events.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.happening.kind).collect();
    assert_eq!(
        kinds,
        [AgreementEventKind::Created, AgreementEventKind::Signed]
    );
    assert_eq!(events[1].happening.at, signed.signed_at);
    let trail = Trail {
        document: known.sha256,
        events: &events,
    };
    assert_eq!(trail.check(), Ok(()));
}

#[tokio::test]
async fn nothing_else_is_taken_for_a_signature() {
    let world = World::new().await;
    sign_with(&world, http()).await;
    let early = world.order("bob@example.com").await;
    let (_, document) = prepared(&world).await;
    world.clock.advance(TimeDelta::hours(1));
    let good = told(&world, &document);
    let another = SignAgreement {
        id: early.id,
        ..good.clone()
    };
    let refused = tell(&world, another).await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
    let (mut bytes, mut id) = (good.clone(), good.clone());
    bytes.sha256 = lessor_domain::agreement::Sha256::of(b"other");
    id.document = lessor_domain::ids::AgreementPubId::from_uuid(uuid::Uuid::max());
    for wrong in [bytes, id] {
        let refused = tell(&world, wrong.clone()).await;
        assert!(
            matches!(refused, Err(Error::Rule { .. })),
            "{wrong:?}: {refused:?}"
        );
    }
    let second = TimeDelta::seconds(1);
    for at in [
        world.clock.now() + second,
        document.created_at - TimeDelta::milliseconds(1),
    ] {
        let wrong = SignAgreement {
            signed_at: at,
            ..good.clone()
        };
        let refused = tell(&world, wrong).await;
        assert!(
            matches!(&refused, Err(Error::Invalid { param, .. }) if param == "signedAt"),
            "{at}: {refused:?}"
        );
    }
    let known = document_of(&world, &world.read(document.checkout_id).await).await;
    assert_eq!(known, document, "nothing was taken");
    let at_once = SignAgreement {
        signed_at: document.created_at,
        ..good
    };
    tell(&world, at_once).await.unwrap();
}

#[tokio::test]
async fn the_page_takes_no_signature_that_is_given_elsewhere() {
    let world = World::new().await;
    sign_with(&world, http()).await;
    let (order, document) = prepared(&world).await;
    let sign = async || {
        let mut uow = world.begin().await;
        let mut checkout = uow.checkouts().lock(order.id).await.unwrap().unwrap();
        let customer = uow.customers().get(order.customer_id).await;
        let signature = Signature::of(&customer.unwrap().unwrap().profile);
        let origin = Origin::customer(order.customer_id);
        let journey = Journey::new(world.clock.now(), world.ids.as_ref(), &origin);
        let signed = journey
            .sign_documents(uow.as_mut(), &mut checkout, &signature)
            .await;
        if signed.is_ok() {
            uow.commit().await.unwrap();
        }
        signed
    };
    let refused = sign().await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
    // The organization has no signer any more: nobody is left waiting for it.
    sign_with(&world, Signer::Builtin).await;
    sign().await.unwrap();
    let known = document_of(&world, &order).await;
    assert!(known.consent_version.is_some());
    assert_eq!(known.signer, SignerKind::Http, "as it was made");

    // And a document that was made for the page is signed there, whatever is set later.
    let world = World::new().await;
    let (_, on_page) = prepared(&world).await;
    assert_eq!(on_page.signer, SignerKind::Builtin);
    sign_with(&world, http()).await;
    let refused = tell(&world, told(&world, &on_page)).await;
    assert!(matches!(refused, Err(Error::Rule { .. })), "{refused:?}");
    world.assert_idle().await;
    assert!(world.providers.signer.sent().is_empty());
    assert_ne!(document.id, on_page.id);
}

#[tokio::test]
async fn a_signer_in_doubt_is_sent_the_same_again_and_holds_nothing_up() {
    let world = World::new().await;
    sign_with(&world, http()).await;
    let signer = &world.providers.signer;
    signer.will_fail(Doubt::failed("it is down"));
    signer.will_fail(Doubt::busy("it is busy", TimeDelta::hours(3)));
    signer.will_fail(Doubt::busy("it is very busy", TimeDelta::days(30)));
    let (order, _) = prepared(&world).await;
    world.work().await;
    assert_eq!(signer.sent().len(), 1);
    world.clock.advance(TimeDelta::seconds(7));
    world.work().await;
    assert_eq!(signer.sent().len(), 2, "asked again after five seconds");
    world.clock.advance(TimeDelta::minutes(179));
    world.work().await;
    assert_eq!(signer.sent().len(), 2, "left alone as it said");
    world.clock.advance(TimeDelta::minutes(2));
    world.work().await;
    assert_eq!(signer.sent().len(), 3);
    // Other work of the checkout does not wait for it.
    world
        .ask(order.id, lessor_domain::checkout::Effect::CheckDeposit)
        .await;
    world.work().await;
    let mut view = world.view().await;
    let left = view.jobs().list(&JobFilter::default(), 10).await.unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
    drop(view);
    world
        .clock
        .advance(TimeDelta::hours(24) + TimeDelta::seconds(1));
    world.work().await;
    let sent = signer.sent();
    assert_eq!(sent.len(), 4, "a day is the longest");
    assert!(sent.iter().all(|again| *again == sent[0]), "the same again");
    world.assert_idle().await;
}

#[tokio::test]
async fn nobody_is_asked_any_more_once_there_is_nothing_to_sign() {
    let world = World::new().await;
    sign_with(&world, http()).await;
    let signer = &world.providers.signer;
    for _ in 0..11 {
        signer.will_fail(Doubt::failed("it is down"));
    }
    let (order, document) = prepared(&world).await;
    for _ in 0..11 {
        world.work().await;
        world.clock.advance(TimeDelta::hours(30));
    }
    assert_eq!(signer.sent().len(), 11);
    let given_up = world.read(order.id).await;
    assert!(given_up.needs(AttentionReason::ProcessorRefused));
    // It was signed all the same.
    let signed = tell(&world, told(&world, &document)).await.unwrap();
    assert!(!signed.needs(AttentionReason::ProcessorRefused));
    world.assert_idle().await;
    let mut view = world.view().await;
    let skipped = JobFilter {
        state: Some(JobState::Skipped),
        subject: Some(JobSubject::Checkout(order.id)),
    };
    let skipped = view.jobs().list(&skipped, 10).await.unwrap();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
}

/// Whoever tests with the sandbox is not kept waiting by a signer that does not answer.
#[tokio::test]
async fn the_sandbox_plays_the_signature() {
    let world = World::new().await;
    sign_with(&world, http()).await;
    world
        .providers
        .signer
        .will_fail(Doubt::failed("it is down"));
    let order = world.order("ada@example.com").await;
    let order = world.advance(&order, Lifecycle::OrderConfirmed).await;
    assert_eq!(order.lifecycle(), Lifecycle::OrderConfirmed);
    world.assert_idle().await;
}
