//! Agreements, and the organizations' own terms.

use super::full::parsed;
use super::shop::{Shop, must_be_missing, must_be_stale};
use crate::agreement::{
    AgreementEvent, AgreementEventKind, AgreementRecord, Happening, Sha256, Trail,
};
use crate::checkout::Checkout;
use crate::ids::AgreementPubId;
use crate::ports::{Database, NewAgreement};
use crate::time::to_millis;

/// A document of the checkout that nobody has signed.
pub(super) fn agreement(shop: &Shop<'_>, checkout: &Checkout) -> NewAgreement {
    let id: AgreementPubId = shop.make.id();
    let pdf = id.to_string().into_bytes();
    NewAgreement {
        record: AgreementRecord {
            id,
            organization_id: checkout.organization_id,
            checkout_id: checkout.id,
            sha256: Sha256::of(&pdf),
            terms_version: None,
            created_at: to_millis(shop.make.tick()),
            signed_at: None,
            signer_name: None,
            consent_version: None,
        },
        pdf,
    }
}

/// The store of agreements.
///
/// # Panics
/// With the clause that is broken.
pub async fn agreements(database: &dyn Database) {
    let shop = Shop::open(database).await;
    documents(&shop).await;
    records(&shop).await;
    signatures(&shop).await;
    terms(&shop).await;
}

async fn keep(shop: &Shop<'_>, new: &NewAgreement) {
    shop.done("agreements.insert: keeps a document", async |uow| {
        uow.agreements().insert(new).await
    })
    .await;
}

async fn documents(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let other = shop.any_checkout(|checkout| checkout).await;
    let mut first = agreement(shop, &checkout);
    first.record.terms_version = Some(3);
    let second = agreement(shop, &checkout);
    let of_other = agreement(shop, &other);
    for new in [&first, &second, &of_other] {
        keep(shop, new).await;
    }
    let found = shop
        .seen("agreements.get: reads what was kept", async |view| {
            view.agreements().get(first.record.id).await
        })
        .await;
    assert_eq!(found.as_ref(), Some(&first.record));
    let pdf = shop
        .seen("agreements.pdf: reads the bytes", async |view| {
            view.agreements().pdf(first.record.id).await
        })
        .await;
    assert_eq!(pdf.as_ref(), Some(&first.pdf));
    let all = shop
        .seen("agreements.of: reads a checkout's", async |view| {
            view.agreements().of(checkout.id).await
        })
        .await;
    assert_eq!(
        all,
        [first.record.clone(), second.record],
        "agreements.of: oldest first, and no other checkout's"
    );
    let same = shop
        .seen("agreements.with_hash: finds by bytes", async |view| {
            view.agreements().with_hash(first.record.sha256).await
        })
        .await;
    assert_eq!(same, [first.record.clone()]);
    let unknown: AgreementPubId = shop.make.id();
    shop.seen("agreements: none of an unknown id", async |view| {
        assert_eq!(view.agreements().get(unknown).await?, None);
        assert_eq!(view.agreements().pdf(unknown).await?, None);
        assert_eq!(view.agreements().events(unknown).await?, []);
        let hash = Sha256::of(b"nobody's");
        assert_eq!(view.agreements().with_hash(hash).await?, []);
        Ok(())
    })
    .await;
    let again = shop
        .run(async |uow| uow.agreements().insert(&first).await)
        .await;
    assert!(again.is_err(), "agreements.insert: an id is given once");
}

async fn records(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let new = agreement(shop, &checkout);
    keep(shop, &new).await;
    let (id, document) = (new.record.id, new.record.sha256);
    let mut added: Vec<AgreementEvent> = Vec::new();
    for (kind, address, agent) in [
        (
            AgreementEventKind::Viewed,
            Some("2001:db8::1"),
            Some("Browser/1"),
        ),
        (AgreementEventKind::Viewed, None, None),
        (AgreementEventKind::Consented, Some("192.0.2.1"), None),
        (AgreementEventKind::Signed, Some("192.0.2.1"), None),
    ] {
        let at = shop.make.tick();
        let happening = Happening::new(kind, at, address.map(ToOwned::to_owned), agent);
        let event = shop
            .done("agreements.append: adds to the record", async |uow| {
                uow.agreements().append(id, &happening).await
            })
            .await;
        assert_eq!(event.happening, happening);
        added.push(event);
    }
    let events = shop
        .seen("agreements.events: reads the record", async |view| {
            view.agreements().events(id).await
        })
        .await;
    assert_eq!(
        events.first().map(|event| &event.happening),
        Some(&Happening::new(
            AgreementEventKind::Created,
            new.record.created_at,
            None,
            None
        )),
        "agreements.insert: the record begins with it"
    );
    assert_eq!(
        events.get(1..),
        Some(&added[..]),
        "agreements.events: in the order in which they were added"
    );
    let trail = Trail {
        document,
        events: &events,
    };
    assert_eq!(
        trail.check(),
        Ok(()),
        "agreements.append: each entry is hashed with the one before"
    );
    let unknown: AgreementPubId = shop.make.id();
    let viewed = Happening::new(AgreementEventKind::Viewed, shop.make.tick(), None, None);
    let refused = shop
        .run(async |uow| uow.agreements().append(unknown, &viewed).await)
        .await;
    must_be_missing(refused, "agreements.append: to no unknown document");
}

async fn signatures(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let new = agreement(shop, &checkout);
    keep(shop, &new).await;
    let id = new.record.id;
    let at = shop.make.tick();
    shop.done("agreements.sign: notes who signed", async |uow| {
        uow.agreements().sign(id, "Ada Lovelace", "2026", at).await
    })
    .await;
    let signed = shop
        .seen("agreements.get: reads it", async |view| {
            view.agreements().get(id).await
        })
        .await;
    let expected = AgreementRecord {
        signed_at: Some(to_millis(at)),
        signer_name: Some("Ada Lovelace".to_owned()),
        consent_version: Some("2026".to_owned()),
        ..new.record
    };
    assert_eq!(signed, Some(expected));
    let again = shop
        .run(async |uow| uow.agreements().sign(id, "Bob", "2026", at).await)
        .await;
    must_be_stale(again, "agreements.sign: a document is signed once");
    let unknown: AgreementPubId = shop.make.id();
    let refused = shop
        .run(async |uow| uow.agreements().sign(unknown, "Bob", "2026", at).await)
        .await;
    must_be_missing(refused, "agreements.sign: no unknown document");
}

async fn terms(shop: &Shop<'_>) {
    let id = shop.organization.id;
    let neighbour = shop.neighbour().await;
    let read = async |shop: &Shop<'_>| {
        let id = shop.organization.id;
        shop.seen("agreements.terms: reads", async |view| {
            view.agreements().terms(id).await
        })
        .await
    };
    assert_eq!(read(shop).await, None);
    for (version, text) in [(1, "# Ours\n\nNo smoking."), (2, "Smoking.")] {
        let (text, at) = (parsed(text), shop.make.tick());
        let terms = shop
            .done("agreements.set_terms: puts terms in force", async |uow| {
                uow.agreements().set_terms(id, &text, at).await
            })
            .await;
        assert_eq!(
            (terms.version, &terms.text, terms.created_at),
            (version, &text, to_millis(at)),
            "agreements.set_terms: versions are counted from 1"
        );
        assert_eq!(read(shop).await, Some(terms), "agreements.terms: the last");
    }
    assert_eq!(read(&neighbour).await, None, "agreements.terms: its own");
}
