//! Everything that goes well: once, again, at the same time, in both modes.

use lessor_domain::access::Mode;
use lessor_domain::ports::{
    Attempt, Doubt, IdentityResult, IdentityVerifier as _, PaymentProcessor as _,
};

use crate::support::{Op, Rig, done, each, scope, usd, variant};

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_done_once_however_often_it_is_asked_for() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = op.prepare(Rig::new()).await;
        let attempt = rig.attempt("work");
        let first = done(op.run(&rig, &attempt).await);
        assert_eq!(op.effects(&rig), op.once());
        let again = done(op.run(&rig, &attempt).await);
        assert_eq!(first, again);
        assert_eq!(op.effects(&rig), op.once());
        rig.assert_same_bytes("again");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_bear_a_key_the_version_and_our_ids() {
    each(Op::ALL.to_vec(), |op| async move {
        let rig = op.prepare(Rig::new()).await;
        done(op.run(&rig, &rig.attempt("work")).await);
        let connections: Vec<_> = rig.double.journal().iter().map(|e| e.connection).collect();
        assert!(
            connections.windows(2).all(|pair| pair[0] == pair[1]),
            "{connections:?}"
        );
        for entry in rig.double.journal() {
            assert_eq!(entry.status, Some(200), "{entry:?}");
            assert_eq!(entry.api_version.as_deref(), Some("2026-10-28.endive"));
            let agent = entry.user_agent.as_deref().unwrap_or_default();
            assert!(agent.starts_with("lessor/"), "{agent}");
            assert_eq!(
                entry.idempotency_key.is_some(),
                entry.method == "POST",
                "{entry:?}"
            );
            let creates = entry.method == "POST"
                && !entry.operation.as_deref().unwrap_or_default().contains('*');
            if creates {
                let metadata = entry.params["metadata"].as_object();
                let ours = metadata.map_or(0, |pairs| {
                    pairs
                        .keys()
                        .filter(|name| name.starts_with("lessor_"))
                        .count()
                });
                assert!(ours > 0, "{entry:?}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn each_mode_has_its_own_key_and_objects() {
    let rig = Rig::new();
    let live = Attempt {
        mode: Mode::Live,
        ..rig.attempt("work")
    };
    let ours = done(
        rig.processor
            .push_customer(&rig.attempt("work"), &rig.customer)
            .await,
    );
    let theirs = done(rig.processor.push_customer(&live, &rig.customer).await);
    assert_ne!(ours, theirs);
    assert_eq!(rig.double.objects("customer").len(), 1);
    assert_eq!(rig.double.live_objects("customer").len(), 1);

    let keyless = Rig::with(|settings| settings.live_key = None);
    let doubt = keyless.processor.push_customer(&live, &rig.customer).await;
    assert!(matches!(doubt, Err(Doubt::Unconfigured(_))), "{doubt:?}");
    assert!(keyless.double.journal().is_empty());
}

#[tokio::test]
async fn a_changed_customer_is_brought_up_to_date() {
    let mut rig = Rig::new().with_customer().await;
    rig.customer.email = "new@example.com".to_owned();
    let id = done(
        rig.processor
            .push_customer(&rig.attempt("update"), &rig.customer)
            .await,
    );
    let known = rig.double.object(&id).unwrap();
    assert_eq!(known["email"], "new@example.com");
    // The id was lost: the customer is found by the key, and brought up to date.
    rig.customer.processor_id = None;
    rig.customer.name = Some("Ada Lovelace".to_owned());
    rig.double.forget_keys();
    let mut attempt = rig.attempt("again");
    attempt.first_tried_at -= chrono::TimeDelta::hours(25);
    assert_eq!(
        done(rig.processor.push_customer(&attempt, &rig.customer).await),
        id
    );
    assert_eq!(rig.double.object(&id).unwrap()["name"], "Ada Lovelace");
    // Who is erased is called nothing; without a name the processor would keep the one that it has.
    rig.customer.processor_id = Some(id.clone());
    for (key, name, expected) in [
        ("silent", None, "Ada Lovelace".into()),
        ("erased", Some(String::new()), serde_json::Value::Null),
    ] {
        rig.customer.name = name;
        let attempt = rig.attempt(key);
        done(rig.processor.push_customer(&attempt, &rig.customer).await);
        assert_eq!(rig.double.object(&id).unwrap()["name"], expected, "{key}");
    }
}

#[tokio::test]
async fn a_variant_has_one_price_for_each_term() {
    let rig = Rig::new();
    let mut wanted = variant();
    done(
        rig.processor
            .push_variant(&rig.attempt("one"), &wanted)
            .await,
    );
    wanted.monthly[0].1 = usd(5_999);
    wanted.monthly.remove(1);
    wanted.product.description = String::new();
    done(
        rig.processor
            .push_variant(&rig.attempt("two"), &wanted)
            .await,
    );
    let prices = rig.double.objects("price");
    let mut offered: Vec<_> = prices
        .iter()
        .filter(|price| price["active"] == true)
        .map(|price| {
            (
                price["lookup_key"].as_str().unwrap(),
                price["unit_amount"].as_i64(),
            )
        })
        .collect();
    offered.sort_unstable();
    assert_eq!(offered, [("var_bike-12", Some(5_999))], "{prices:#?}");
    assert_eq!(
        rig.double.object("var_bike").unwrap()["description"],
        serde_json::Value::Null
    );
}

#[tokio::test]
async fn an_identity_check_ends_as_it_is_decided() {
    let op = Op::StartIdentity;
    let rig = op.prepare(Rig::new()).await;
    done(op.run(&rig, &rig.attempt("work")).await);
    let session = rig.double.objects("identity.verification_session")[0]["id"].clone();
    let session = session.as_str().unwrap();
    for (status, error, expected) in [
        ("requires_input", None, IdentityResult::AwaitingCustomer),
        ("processing", None, IdentityResult::Processing),
        (
            "requires_input",
            Some("document_expired"),
            IdentityResult::AwaitingCustomer,
        ),
        (
            "requires_input",
            Some("selfie_face_mismatch"),
            IdentityResult::Refused,
        ),
        (
            "requires_input",
            Some("consent_declined"),
            IdentityResult::Abandoned,
        ),
        ("verified", None, IdentityResult::Verified),
        ("canceled", None, IdentityResult::Abandoned),
    ] {
        rig.double.decide_identity(session, status, error).unwrap();
        let result = rig.processor.result(scope(), session).await;
        assert_eq!(result.unwrap(), expected, "{status} {error:?}");
    }
}
