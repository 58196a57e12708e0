//! Agreements, and the organizations' own terms.

use super::full::parsed;
use super::shop::{Shop, must_be_missing, must_be_stale};
use crate::access::Mode;
use crate::agreement::{
    AgreementEvent, AgreementEventKind, AgreementRecord, Happening, Sha256, Signed, Signer,
    SignerKind, Trail,
};
use crate::checkout::Checkout;
use crate::endpoint::Endpoint;
use crate::ids::AgreementPubId;
use crate::ports::{Database, NewAgreement};
use crate::secret::Secret;
use crate::time::{Timestamp, to_millis};

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
            signer: SignerKind::Builtin,
            created_at: to_millis(shop.make.tick()),
            signed_at: None,
            signer_name: None,
            consent_version: None,
            signer_reference: None,
        },
        pdf,
    }
}

/// Ada signed on the page.
pub(super) fn signed_by_ada(at: Timestamp) -> Signed {
    Signed {
        name: "Ada Lovelace".to_owned(),
        at,
        consent_version: Some("1".to_owned()),
        reference: Some(parsed("envelope 7")),
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
    elsewhere(&shop).await;
    terms(&shop).await;
    signers(&shop).await;
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
    first.record.signer = SignerKind::Http;
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
    let ada = signed_by_ada(shop.make.tick());
    shop.done("agreements.sign: notes who signed", async |uow| {
        uow.agreements().sign(id, &ada).await
    })
    .await;
    let signed = shop
        .seen("agreements.get: reads it", async |view| {
            view.agreements().get(id).await
        })
        .await;
    let expected = AgreementRecord {
        signed_at: Some(to_millis(ada.at)),
        signer_name: Some("Ada Lovelace".to_owned()),
        consent_version: Some("1".to_owned()),
        signer_reference: Some(parsed("envelope 7")),
        ..new.record
    };
    assert_eq!(signed, Some(expected));
    let bob = Signed {
        name: "Bob".to_owned(),
        ..ada
    };
    let again = shop
        .run(async |uow| uow.agreements().sign(id, &bob).await)
        .await;
    must_be_stale(again, "agreements.sign: a document is signed once");
    let unknown: AgreementPubId = shop.make.id();
    let refused = shop
        .run(async |uow| uow.agreements().sign(unknown, &bob).await)
        .await;
    must_be_missing(refused, "agreements.sign: no unknown document");
}

/// Who signs elsewhere agreed there to whatever they agreed to.
async fn elsewhere(shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let mut new = agreement(shop, &checkout);
    new.record.signer = SignerKind::Http;
    keep(shop, &new).await;
    let id = new.record.id;
    let signed = Signed {
        name: "Ada Lovelace".to_owned(),
        at: shop.make.tick(),
        consent_version: None,
        reference: None,
    };
    let clause = "agreements.sign: without a text where it was signed elsewhere";
    shop.done(clause, async |uow| uow.agreements().sign(id, &signed).await)
        .await;
    let found = shop
        .seen(clause, async |view| view.agreements().get(id).await)
        .await;
    let expected = AgreementRecord {
        signed_at: Some(to_millis(signed.at)),
        signer_name: Some(signed.name),
        ..new.record
    };
    assert_eq!(found, Some(expected), "{clause}");
}

async fn signers(shop: &Shop<'_>) {
    let id = shop.organization.id;
    let read = async |mode: Mode| {
        shop.seen("agreements.signer: reads", async |view| {
            view.agreements().signer(id, mode).await
        })
        .await
    };
    for mode in Mode::ALL {
        assert_eq!(read(mode).await, None, "agreements.signer: none is set");
    }
    let http = |url: &str| {
        Signer::Http(Endpoint {
            url: parsed(url),
            secret: Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        })
    };
    for signer in [
        Signer::Builtin,
        http("https://sign.example.com/?a=b"),
        http("https://other.example.com/"),
        Signer::Builtin,
    ] {
        let clause = "agreements.set_signer: keeps the signer in the place of the one before";
        let at = shop.make.tick();
        shop.done(clause, async |uow| {
            let agreements = uow.agreements();
            agreements.set_signer(id, Mode::Live, &signer, at).await
        })
        .await;
        assert_eq!(read(Mode::Live).await, Some(signer), "{clause}");
    }
    let clause = "agreements.set_signer: sets it for its mode alone";
    assert_eq!(read(Mode::Sandbox).await, None, "{clause}");
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
