//! Customers.

use super::shop::{Shop, after, first, must_be_missing, must_be_stale};
use crate::access::Mode;
use crate::customer::{CreditStatus, Customer, IdentityStatus, Screening};
use crate::ports::{CustomerFilter, Database, InsertedCustomer, Page};
use crate::testing::metadata;
use crate::text::Email;

fn email(text: &str) -> Email {
    match text.parse() {
        Ok(email) => email,
        Err(error) => panic!("{text} is an e-mail address: {error}"),
    }
}

/// The store of customers.
///
/// # Panics
/// With the clause that is broken.
pub async fn customers(database: &dyn Database) {
    let shop = Shop::open(database).await;
    one_customer_for_an_address(&shop).await;
    customers_are_kept_as_they_are(&shop).await;
    organizations_know_their_customers(&shop).await;
    let shop = Shop::open(database).await;
    lists_are_of_whom_the_organization_knows(&shop).await;
}

async fn one_customer_for_an_address(shop: &Shop<'_>) {
    let make = &shop.make;
    let new = make
        .customer(&shop.organization)
        .email("Ada.Lovelace@Example.com")
        .new_record();
    let insert = async |new| {
        shop.done("customers.insert: keeps a customer", async |uow| {
            uow.customers().insert(new).await
        })
        .await
    };
    let InsertedCustomer::New(kept) = insert(&new).await else {
        panic!("customers.insert: a customer with a new e-mail address is new");
    };
    assert_eq!(
        (kept.id, &kept.email, &kept.profile),
        (new.id, &new.email, &new.profile),
        "customers.insert: answers what was given"
    );
    assert_eq!(
        (&kept.live, &kept.sandbox),
        (&Screening::default(), &Screening::default()),
        "customers.insert: nobody is screened at first"
    );
    let again = make
        .customer(&shop.organization)
        .email("ada.lovelace@EXAMPLE.com")
        .without_profile()
        .new_record();
    assert_eq!(
        insert(&again).await,
        InsertedCustomer::Existing(kept.clone()),
        "customers.insert: an address in another case is the same customer's, who stays as they are"
    );
    let neighbour = shop.neighbour().await;
    let elsewhere = make
        .customer(&neighbour.organization)
        .email("ada.lovelace@example.com")
        .new_record();
    let inserted = neighbour
        .done("customers.insert: keeps a customer", async |uow| {
            uow.customers().insert(&elsewhere).await
        })
        .await;
    assert!(
        matches!(inserted, InsertedCustomer::New(_)),
        "customers.insert: another organization's customer is another one"
    );
    let foreign = neighbour
        .seen("customers.find_by_email: reads", async |view| {
            let address = email("ada.lovelace@example.com");
            view.customers()
                .find_by_email(neighbour.organization.id, &address)
                .await
        })
        .await;
    let (found, unknown) = shop
        .seen("customers.find_by_email: reads", async |view| {
            let store = view.customers();
            Ok((
                store
                    .find_by_email(shop.organization.id, &email("ADA.lovelace@example.com"))
                    .await?,
                store
                    .find_by_email(shop.organization.id, &email("nobody@example.com"))
                    .await?,
            ))
        })
        .await;
    assert_eq!(
        found.as_ref(),
        Some(&kept),
        "customers.find_by_email: in any case"
    );
    assert_eq!(
        foreign.map(|customer| customer.id),
        Some(elsewhere.id),
        "customers.find_by_email: within the organization"
    );
    assert_eq!(unknown, None, "customers.find_by_email: none of an unknown");

    let racers = (0..4).map(|_| {
        make.customer(&shop.organization)
            .email("race@example.com")
            .new_record()
    });
    let racers: Vec<_> = racers.collect();
    let won = futures_util::future::join_all(racers.iter().map(insert)).await;
    let new = won
        .iter()
        .filter(|inserted| matches!(inserted, InsertedCustomer::New(_)))
        .count();
    assert_eq!(
        new, 1,
        "customers.insert: under a race there is one customer"
    );
}

async fn customers_are_kept_as_they_are(shop: &Shop<'_>) {
    let make = &shop.make;
    let mut customer = shop.anybody().await;
    let session = format!("vs_{}", customer.id.as_uuid().simple());
    customer.profile.address2 = "Unit 7".parse().ok();
    customer.profile.phone = None;
    *customer.screening_mut(Mode::Sandbox) = Screening {
        identity: IdentityStatus::Processing,
        verification_session_id: Some(session.clone()),
        credit: CreditStatus::Passed,
        credit_at: Some(make.tick()),
        credit_ip_address: Some("2001:db8::1".to_owned()),
        processor_id: Some("cus_1".to_owned()),
    };
    customer.screening_mut(Mode::Live).identity = IdentityStatus::Failed;
    customer.metadata = metadata(&[("tier", "gold"), ("größe", "„M“")]);
    customer.updated_at = make.tick();
    let before = customer.clone();
    shop.done("customers.update: writes", async |uow| {
        uow.customers().update(&mut customer).await
    })
    .await;
    let (stored, locked) = (
        shop.seen("customers.get: reads", async |view| {
            view.customers().get(customer.id).await
        })
        .await,
        shop.done("customers.lock: locks", async |uow| {
            uow.customers().lock(customer.id).await
        })
        .await,
    );
    assert_eq!(
        stored.as_ref(),
        Some(&customer),
        "customers.update: what is stored is what the caller has then, version included"
    );
    assert_eq!(locked, stored, "customers.lock: reads the same");
    let (by_session, other_mode, many) = shop
        .seen(
            "customers.find_by_verification_session: reads",
            async |view| {
                let store = view.customers();
                Ok((
                    store
                        .find_by_verification_session(Mode::Sandbox, &session)
                        .await?,
                    store
                        .find_by_verification_session(Mode::Live, &session)
                        .await?,
                    store
                        .get_many(&[customer.user_id, customer.user_id])
                        .await?,
                ))
            },
        )
        .await;
    assert_eq!(
        by_session.as_ref(),
        Some(&customer),
        "customers.find_by_verification_session: in its mode"
    );
    assert_eq!(
        other_mode, None,
        "customers.find_by_verification_session: not in the other mode"
    );
    assert_eq!(
        many,
        [customer.clone()],
        "customers.get_many: each once, by number"
    );

    let mut stale = before;
    let refused = shop
        .run(async |uow| uow.customers().update(&mut stale).await)
        .await;
    must_be_stale(refused, "customers.update: an older version");
    let mut unknown = make.customer(&shop.organization).build();
    let refused = shop
        .run(async |uow| uow.customers().update(&mut unknown).await)
        .await;
    must_be_missing(refused, "customers.update: an unknown one");
}

async fn organizations_know_their_customers(shop: &Shop<'_>) {
    let neighbour = shop.neighbour().await;
    let lessee = shop.anybody().await;
    let stranger = shop.anybody().await;
    let keeper = shop.anybody().await;
    let variant = shop.any_variant().await;
    shop.checkout(shop.make.checkout(&lessee, &variant)).await;
    let key = shop.make.api_key(&keeper).build();
    shop.done("keys.insert: keeps a key", async |uow| {
        uow.keys().insert(&key).await
    })
    .await;
    for (who, organization, expected, clause) in [
        (
            &lessee,
            &shop.organization,
            true,
            "who has a checkout with it",
        ),
        (
            &keeper,
            &shop.organization,
            true,
            "who is the user of one of its keys",
        ),
        (&stranger, &shop.organization, false, "not who has neither"),
        (&lessee, &neighbour.organization, false, "not another's"),
    ] {
        let known = shop
            .seen("customers.is_known_to: reads", async |view| {
                view.customers()
                    .is_known_to(who.user_id, organization.id)
                    .await
            })
            .await;
        assert_eq!(
            known, expected,
            "customers.is_known_to: an organization knows {clause}"
        );
    }
}

/// Keeps a customer who has a checkout with the shop.
async fn lessee(shop: &Shop<'_>, email: &str) -> Customer {
    let customer = shop
        .customer(shop.make.customer(&shop.organization).email(email))
        .await;
    let variant = shop.any_variant().await;
    shop.checkout(shop.make.checkout(&customer, &variant)).await;
    customer
}

async fn lists_are_of_whom_the_organization_knows(shop: &Shop<'_>) {
    let make = &shop.make;
    let one = lessee(shop, "Ada@Example.com").await;
    let mut two = lessee(shop, "grace@example.com").await;
    let keeper = shop.anybody().await;
    shop.anybody().await;
    let mut three = lessee(shop, "edsger@example.com").await;
    // Another organization's, of one of the addresses.
    let next_door = shop.neighbour().await;
    let foreign = lessee(&next_door, "ada@example.com").await;
    let key = make.api_key(&keeper).build();
    two.metadata = metadata(&[("tier", "gold"), ("region", "north")]);
    three.metadata = metadata(&[("tier", "gold")]);
    shop.done("customers.update: writes", async |uow| {
        uow.keys().insert(&key).await?;
        uow.customers().update(&mut two).await?;
        uow.customers().update(&mut three).await
    })
    .await;
    let list = async |shop: &Shop<'_>, filter: &CustomerFilter, page: Page| {
        let organization = shop.organization.id;
        shop.seen("customers.list: reads", async |view| {
            let store = view.customers();
            let found = store.list(organization, filter, page).await?;
            Ok((found, store.count(organization, filter).await?))
        })
        .await
    };
    let none = CustomerFilter::default;
    let cases: [(&str, CustomerFilter, &[&Customer]); 7] = [
        (
            "nothing, newest first: who has a checkout with it or a key of it",
            none(),
            &[&three, &keeper, &two, &one],
        ),
        (
            "the address, in any case and form of letters",
            CustomerFilter {
                email: Some(email("ａDA@example.COM")),
                ..none()
            },
            &[&one],
        ),
        (
            "an address that is a part of one",
            CustomerFilter {
                email: Some(email("da@example.com")),
                ..none()
            },
            &[],
        ),
        (
            "a key of metadata",
            CustomerFilter {
                metadata: metadata(&[("tier", "gold")]),
                ..none()
            },
            &[&three, &two],
        ),
        (
            "several keys",
            CustomerFilter {
                metadata: metadata(&[("tier", "gold"), ("region", "north")]),
                ..none()
            },
            &[&two],
        ),
        (
            "a value in another case",
            CustomerFilter {
                metadata: metadata(&[("tier", "Gold")]),
                ..none()
            },
            &[],
        ),
        (
            "both",
            CustomerFilter {
                email: Some(email("edsger@example.com")),
                metadata: metadata(&[("region", "north")]),
            },
            &[],
        ),
    ];
    for (what, filter, expected) in cases {
        let (found, count) = list(shop, &filter, first(100)).await;
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "customers.list: of the organization, filtered by {what}"
        );
        assert_eq!(
            usize::try_from(count),
            Ok(expected.len()),
            "customers.count: of the organization, filtered by {what}"
        );
    }
    let (found, count) = list(&next_door, &none(), first(100)).await;
    assert_eq!(
        (found.as_slice(), count),
        ([foreign].as_slice(), 1),
        "customers.list: another organization sees its own customers, and none of this one's"
    );
    let mut paged = Vec::new();
    let mut page = first(2);
    loop {
        let (part, _) = list(shop, &none(), page).await;
        let Some(last) = part.last() else { break };
        page = after(last.id.as_uuid(), 2);
        paged.extend(part);
    }
    assert_eq!(
        paged,
        [three, keeper, two, one],
        "customers.list: pages by key neither skip nor repeat"
    );
}
