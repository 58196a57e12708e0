//! How organizations decide about credit, and what was decided.

use chrono::TimeDelta;

use super::shop::{Shop, must_be_missing};
use crate::access::Mode;
use crate::checkout::Checkout;
use crate::credit::{
    AdverseReason, CreditDecision, CreditPolicy, CreditRules, Qualification, QualificationSource,
};
use crate::endpoint::Endpoint;
use crate::ids::{ApiKeyPubId, CheckoutPubId, OrganizationId, ProductVariantPubId};
use crate::money::{Currency, Money};
use crate::ports::{Database, IdGenerator, StoreError, Surroundings, VariantSelection};
use crate::secret::Secret;
use crate::testing::contract::full::parsed;
use crate::time::Timestamp;

/// The stores of how organizations decide about credit, and of what was decided.
///
/// # Panics
/// With the clause that is broken.
pub async fn credit(database: &dyn Database) {
    let shop = Shop::open(database).await;
    policies_are_kept_for_each_mode(&shop).await;
    decisions_are_kept_as_they_are(&shop).await;
    decisions_end_with_their_person(&shop).await;
    a_decision_is_a_checkouts(&shop).await;
}

/// One of each kind, with every member.
pub(super) fn policies() -> [CreditPolicy; 7] {
    let dollars = |amount: i64| Money::from_minor(amount, Currency::USD);
    [
        CreditPolicy::Manual,
        CreditPolicy::None,
        CreditPolicy::Simulated,
        CreditPolicy::Http(Endpoint {
            url: parsed("https://decide.example.com/credit?a=b"),
            secret: Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        }),
        CreditPolicy::Rules(CreditRules::default()),
        CreditPolicy::Rules(CreditRules {
            max_monthly_payment: Some(dollars(12_345)),
            max_open_leases: Some(3),
            max_total_exposure: Some(dollars(1_000_000)),
            countries: vec![parsed("US"), parsed("CA")],
        }),
        CreditPolicy::Manual,
    ]
}

async fn policies_are_kept_for_each_mode(shop: &Shop<'_>) {
    let id = shop.organization.id;
    for mode in Mode::ALL {
        let clause = "credit_policies.get: knows none that nobody set";
        let found = shop
            .seen(clause, async |uow| {
                uow.credit_policies().get(id, mode).await
            })
            .await;
        assert_eq!(found, None, "{clause}");
    }
    for policy in policies() {
        let clause = "credit_policies.put: keeps the policy in the place of the one before";
        let at = shop.make.tick();
        shop.done(clause, async |uow| {
            uow.credit_policies()
                .put(id, Mode::Sandbox, &policy, at)
                .await
        })
        .await;
        let found = shop
            .seen(clause, async |uow| {
                uow.credit_policies().get(id, Mode::Sandbox).await
            })
            .await;
        assert_eq!(found, Some(policy), "{clause}");
    }
    let clause = "credit_policies.put: sets it for its mode alone";
    let found = shop
        .seen(clause, async |uow| {
            uow.credit_policies().get(id, Mode::Live).await
        })
        .await;
    assert_eq!(found, None, "{clause}");
}

/// An approval for the checkout.
pub(super) fn approval(shop: &Shop<'_>, checkout: &Checkout, at: Timestamp) -> Qualification {
    Qualification {
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
    }
}

async fn decisions_are_kept_as_they_are(shop: &Shop<'_>) {
    let (first, other) = (
        shop.any_checkout(std::convert::identity).await,
        shop.any_checkout(std::convert::identity).await,
    );
    let at = shop.make.tick();
    let declined = Qualification {
        decision: CreditDecision::Declined,
        source: QualificationSource::Http,
        key: Some(ApiKeyPubId::from_uuid(shop.make.ids().next())),
        reasons: vec![AdverseReason::Bankruptcy, AdverseReason::Other],
        reference: Some(parsed("case 7")),
        ..approval(shop, &first, at)
    };
    // Decided at the same time: what was kept last is the latest.
    let approved = Qualification {
        amount: Some(Money::from_minor(123_456, Currency::USD)),
        rests_on: Some(declined.id),
        expires_at: at.checked_add_signed(TimeDelta::days(90)),
        ..approval(shop, &first, at)
    };
    let of_other = approval(shop, &other, at);
    for kept in [&declined, &approved, &of_other] {
        shop.done("qualifications.insert: keeps a decision", async |uow| {
            uow.qualifications().insert(kept).await
        })
        .await;
    }
    let clause = "qualifications.latest: knows the latest of each checkout that has one";
    let nobody = shop.any_checkout(std::convert::identity).await.id;
    let mut found = shop
        .seen(clause, async |uow| {
            let ids = [first.id, other.id, nobody, first.id];
            uow.qualifications().latest(&ids).await
        })
        .await;
    found.sort_by_key(|it| it.id != approved.id);
    assert_eq!(found, [approved.clone(), of_other], "{clause}");
    are_shown_with_what_they_stand_among(shop, &[first.clone(), other]).await;
    let clause = "qualifications.of_customer: knows all of the customer in their order";
    let found = shop
        .seen(clause, async |uow| {
            uow.qualifications().of_customer(first.customer_id).await
        })
        .await;
    assert_eq!(found, [declined, approved], "{clause}");
}

/// Of checkouts about which something was decided.
async fn are_shown_with_what_they_stand_among(shop: &Shop<'_>, checkouts: &[Checkout]) {
    let clause = "checkouts.surroundings: are what each store has of them";
    let organization = shop.organization.id;
    let ids: Vec<CheckoutPubId> = checkouts.iter().map(|checkout| checkout.id).collect();
    let variants: Vec<ProductVariantPubId> = checkouts
        .iter()
        .map(|checkout| checkout.variant_id)
        .collect();
    for leased in [variants.as_slice(), &[]] {
        let (mut shown, each) = shop
            .seen(clause, async |uow| {
                let shown = uow
                    .checkouts()
                    .surroundings(organization, &ids, leased)
                    .await?;
                let own = uow.lease_terms().list_with_organization(organization);
                let (organization, terms) = own.await?.ok_or(StoreError::Missing("own"))?;
                let selected = VariantSelection::IdsWithArchived(leased.to_vec());
                let each = Surroundings {
                    organization,
                    terms,
                    variants: uow
                        .variants()
                        .with_products(shop.organization.id, &selected)
                        .await?,
                    decided: uow.qualifications().latest(&ids).await?,
                };
                Ok((shown, each))
            })
            .await;
        shown
            .decided
            .sort_by_key(|decided| each.decided.iter().position(|it| it == decided));
        assert_eq!(shown, each, "{clause}");
        assert_eq!(shown.decided.len(), ids.len(), "{clause}");
        assert_eq!(shown.variants.is_empty(), leased.is_empty(), "{clause}");
    }
    let clause = "checkouts.get_with_surroundings: are what each of both has";
    for checkout in checkouts {
        let (both, each) = shop
            .seen(clause, async |uow| {
                let stored = uow.checkouts();
                let both = stored.get_with_surroundings(organization, checkout.id);
                let both = both.await?;
                let with = uow
                    .checkouts()
                    .surroundings(organization, &[checkout.id], &[])
                    .await?;
                let each = uow.checkouts().get(checkout.id).await?.zip(Some(with));
                Ok((both, each))
            })
            .await;
        assert!(both.is_some(), "{clause}");
        assert_eq!(both, each, "{clause}");
    }
    let nothing = shop
        .seen(clause, async |uow| {
            let nobody = shop.make.id();
            let stored = uow.checkouts();
            stored.get_with_surroundings(organization, nobody).await
        })
        .await;
    assert_eq!(nothing, None, "{clause}");
    let missing = shop
        .run(async |uow| {
            let nobody = OrganizationId::new(i64::MAX).map_err(StoreError::internal)?;
            uow.checkouts().surroundings(nobody, &ids, &[]).await
        })
        .await;
    assert!(
        matches!(missing, Err(StoreError::Missing("organization"))),
        "checkouts.surroundings: of an organization that there is: {missing:?}"
    );
}

async fn decisions_end_with_their_person(shop: &Shop<'_>) {
    let (checkout, other) = (
        shop.any_checkout(std::convert::identity).await,
        shop.any_checkout(std::convert::identity).await,
    );
    let at = shop.make.tick();
    let (kept, of_other) = (approval(shop, &checkout, at), approval(shop, &other, at));
    for kept in [&kept, &of_other] {
        shop.done("qualifications.insert: keeps a decision", async |uow| {
            uow.qualifications().insert(kept).await
        })
        .await;
    }
    let end = shop.make.tick();
    for expected in [1, 0] {
        let clause = "qualifications.end: tells how many it ended";
        let ended = shop
            .done(clause, async |uow| {
                uow.qualifications().end(checkout.customer_id, end).await
            })
            .await;
        assert_eq!(ended, expected, "{clause}");
    }
    let clause = "qualifications.end: ends those of the customer, and of nobody else";
    let (mut latest, counting) = shop
        .seen(clause, async |uow| {
            let latest = uow
                .qualifications()
                .latest(&[checkout.id, other.id])
                .await?;
            let counting = uow
                .qualifications()
                .of_customer(checkout.customer_id)
                .await?;
            Ok((latest, counting))
        })
        .await;
    latest.sort_by_key(|it| it.id != kept.id);
    let ended = Qualification {
        ended_at: Some(end),
        ..kept
    };
    assert_eq!(latest, [ended, of_other], "{clause}");
    assert_eq!(counting, [], "{clause}");
}

async fn a_decision_is_a_checkouts(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(std::convert::identity).await;
    let stray = Qualification {
        checkout: shop.make.id(),
        ..approval(shop, &checkout, shop.make.tick())
    };
    let refused = shop
        .run(async |uow| uow.qualifications().insert(&stray).await)
        .await;
    must_be_missing(refused, "qualifications.insert: refuses one of no checkout");
}
