//! Agreements and decisions about credit, as their tables keep them whatever anybody writes.

use lessor_domain::access::Mode;
use lessor_domain::agreement::{AgreementRecord, Sha256, Signed, Signer, SignerKind};
use lessor_domain::credit::{CreditDecision, CreditPolicy, Qualification, QualificationSource};
use lessor_domain::endpoint::Endpoint;
use lessor_domain::ids::AgreementPubId;
use lessor_domain::ports::{IdGenerator as _, NewAgreement};
use lessor_domain::secret::Secret;
use lessor_domain::time::to_millis;

use super::leasing::{Leasing, insert};
use super::support::Shop;

/// A shop with one of each: a document that is signed elsewhere and signed, one for the page that is not, the
/// organization's terms, its settings, and a decision.
async fn estate() -> Shop {
    let leasing = Leasing::open().await;
    let shop = leasing.shop;
    let builder = shop.make.checkout(&leasing.customer, &leasing.variant);
    let checkout = builder.build();
    insert(shop.database(), &checkout).await;
    let (at, id) = (to_millis(shop.make.tick()), shop.organization.id);
    let document = |signer| {
        let id: AgreementPubId = shop.make.id();
        let pdf = id.to_string().into_bytes();
        NewAgreement {
            record: AgreementRecord {
                id,
                organization_id: checkout.organization_id,
                checkout_id: checkout.id,
                sha256: Sha256::of(&pdf),
                terms_version: Some(1),
                signer,
                created_at: at,
                signed_at: None,
                signer_name: None,
                consent_version: None,
                signer_reference: None,
            },
            pdf,
        }
    };
    let (signed, open) = (document(SignerKind::Http), document(SignerKind::Builtin));
    let by = Signed {
        name: "Ada Lovelace".to_owned(),
        at,
        consent_version: None,
        reference: "envelope 7".parse().ok(),
    };
    let endpoint = Endpoint {
        url: "https://example.com/".parse().unwrap(),
        secret: Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
    };
    let decided = Qualification {
        id: shop.make.ids().next(),
        checkout: checkout.id,
        customer: checkout.customer_id,
        decision: CreditDecision::Approved,
        source: QualificationSource::Organization,
        key: None,
        reasons: Vec::new(),
        reference: None,
        amount: None,
        rests_on: None,
        decided_at: at,
        expires_at: None,
        ended_at: None,
    };
    shop.run(async |uow| {
        uow.agreements().insert(&signed).await?;
        uow.agreements().insert(&open).await?;
        uow.agreements().sign(signed.record.id, &by).await?;
        let text = "No smoking.".parse().unwrap();
        uow.agreements().set_terms(id, &text, at).await?;
        let signer = Signer::Http(endpoint.clone());
        uow.agreements()
            .set_signer(id, Mode::Live, &signer, at)
            .await?;
        uow.credit_policies()
            .put(id, Mode::Live, &CreditPolicy::Http(endpoint), at)
            .await?;
        uow.qualifications().insert(&decided).await
    })
    .await
    .unwrap();
    shop
}

/// Runs the statement as the tables' owner, which must be refused so.
async fn refused(shop: &Shop, statement: &str, refusal: &str) {
    let quoted = statement.replace('\'', "''");
    let sql = format!(
        "do $$ begin
            execute '{quoted}';
            raise exception 'it was taken: %', '{quoted}' using errcode = 'raise_exception';
        exception when {refusal} then null;
        end $$"
    );
    shop.test.execute(&sql).await;
}

#[tokio::test]
async fn nobody_rewrites_an_agreement() {
    let shop = estate().await;
    for statement in [
        "update agreements set sha256 = sha256('x')",
        "update agreements set created_at = now()",
        "update agreements set terms_version = 2",
        "update agreements set signer = 'builtin' where signer = 'http'",
        "update agreements set pdf = 'x'",
        "update agreements set signed_at = now() where signed_at is not null",
        "update agreements set signer_name = 'Mallory' where signed_at is not null",
        "update agreements set signer_reference = 'other' where signed_at is not null",
        "delete from agreements",
        "truncate agreements cascade",
        "update agreement_events set event = 'signed'",
        "update agreement_events set at = now() + interval '1 day'",
        "update agreement_events set sha256 = sha256('x')",
        "update agreement_events set address = '192.0.2.9'",
        "delete from agreement_events",
        "update agreement_terms set text = 'Smoking.'",
        "delete from agreement_terms",
    ] {
        refused(&shop, statement, "integrity_constraint_violation").await;
    }
    // What tells of a person may be taken away.
    shop.test
        .execute(
            "update agreements set pdf = null, signer_name = null, signer_reference = null; \
             update agreement_events set address = null, user_agent = null",
        )
        .await;
}

#[tokio::test]
async fn what_is_no_agreement_is_not_kept() {
    let shop = estate().await;
    for statement in [
        "update agreements set signed_at = now() where signed_at is null",
        "update agreements set consent_version = '1' where signed_at is null",
        "update agreements set signer_name = 'Mallory' where signed_at is null",
        "update agreements set signer_reference = 'other' where signed_at is null",
        "insert into agreements (organization_id, id, checkout_id, sha256, signer, created_at) \
            select organization_id, gen_random_uuid(), checkout_id, 'short', signer, created_at from agreements",
        "insert into agreements (organization_id, id, checkout_id, sha256, signer, created_at) \
            select organization_id, gen_random_uuid(), checkout_id, sha256, 'paper', created_at from agreements",
        "insert into agreements (organization_id, id, checkout_id, sha256, signer, created_at, terms_version) \
            select organization_id, gen_random_uuid(), checkout_id, sha256, signer, created_at, 0 from agreements",
        "insert into agreement_events (organization_id, agreement_id, sequence, event, at, sha256) \
            select organization_id, id, 2, 'burnt', now(), sha256 from agreements",
        "insert into agreement_events (organization_id, agreement_id, sequence, event, at, sha256) \
            select organization_id, id, 0, 'viewed', now(), sha256 from agreements",
        "insert into agreement_events (organization_id, agreement_id, sequence, event, at, sha256) \
            select organization_id, id, 2, 'viewed', now(), 'short' from agreements",
        "insert into agreement_terms select organization_id, 0, text, created_at from agreement_terms",
    ] {
        refused(&shop, statement, "check_violation").await;
    }
    let twice = "insert into agreement_terms select organization_id, version, 'Other.', now() from agreement_terms";
    refused(&shop, twice, "unique_violation").await;
    let orphan = "insert into agreement_events (organization_id, agreement_id, sequence, event, at, sha256) \
        select organization_id, gen_random_uuid(), 1, 'viewed', now(), sha256 from agreements";
    refused(&shop, orphan, "foreign_key_violation").await;
}

#[tokio::test]
async fn what_is_no_decision_is_not_kept() {
    let shop = estate().await;
    for statement in [
        "update signers set kind = 'paper'",
        "update signers set kind = 'builtin'",
        "update signers set url = null",
        "update signers set sealed_secret = null",
        "update credit_policies set kind = 'luck'",
        "update credit_policies set kind = 'manual'",
        "update credit_policies set kind = 'simulated', url = null, sealed_secret = null",
        "update credit_policies set kind = 'rules', url = null, sealed_secret = null",
        "update credit_policies set kind = 'rules', url = null, sealed_secret = null, countries = '{}', \
            max_open_leases = -1",
        "update credit_policies set kind = 'rules', url = null, sealed_secret = null, countries = '{}', \
            max_monthly_payment = 1",
        "update qualifications set decision = 'maybe'",
        "update qualifications set source = 'luck'",
        "update qualifications set reasons = '{other}'",
        "update qualifications set decision = 'declined', reasons = '{a,b,c,d,e}'",
        "update qualifications set amount = 1",
    ] {
        refused(&shop, statement, "check_violation").await;
    }
    shop.test
        .execute("update signers set kind = 'builtin', url = null, sealed_secret = null")
        .await;
    let other_mode =
        "update qualifications set mode = case mode when 'live' then 'sandbox' else 'live' end";
    refused(&shop, other_mode, "foreign_key_violation").await;
}
