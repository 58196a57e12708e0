//! Customers.

use super::shop::{Shop, after, first, must_be_missing, must_be_stale};
use crate::access::Mode;
use crate::customer::{CreditStatus, Customer, IdentityStatus, Screening};
use crate::ports::{CustomerFilter, Database, InsertedCustomer, Page, Scope};
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
    a_person_is_another_customer_in_each_mode(&shop).await;
    customers_are_kept_as_they_are(&shop).await;
    let shop = Shop::open(database).await;
    lists_are_of_an_organization_and_a_mode(&shop).await;
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
        (kept.id, kept.mode, &kept.email, &kept.profile),
        (new.id, new.mode, &new.email, &new.profile),
        "customers.insert: answers what was given"
    );
    assert_eq!(
        kept.screening,
        Screening::default(),
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
                .find_by_email(neighbour.sandbox(), &address)
                .await
        })
        .await;
    let (found, unknown) = shop
        .seen("customers.find_by_email: reads", async |view| {
            let store = view.customers();
            Ok((
                store
                    .find_by_email(shop.sandbox(), &email("ADA.lovelace@example.com"))
                    .await?,
                store
                    .find_by_email(shop.sandbox(), &email("nobody@example.com"))
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

async fn a_person_is_another_customer_in_each_mode(shop: &Shop<'_>) {
    let (address, in_another_case) = ("Emmy@Example.com", email("emmy@example.com"));
    let emmy = |mode| {
        let emmy = shop.make.customer(&shop.organization);
        emmy.email(address).mode(mode)
    };
    let live = shop.customer(emmy(Mode::Live).screened()).await;
    let mut sandbox = shop.customer(emmy(Mode::Sandbox)).await;
    assert_ne!(
        (live.id, live.user_id),
        (sandbox.id, sandbox.user_id),
        "customers.insert: who has the address in the other mode is another customer, with a number of their own"
    );
    assert_eq!(
        (live.mode, sandbox.mode),
        (Mode::Live, Mode::Sandbox),
        "customers.insert: each of the mode that was given"
    );
    for mode in Mode::ALL {
        let again = emmy(mode).new_record();
        let inserted = shop
            .done("customers.insert: keeps a customer", async |uow| {
                uow.customers().insert(&again).await
            })
            .await;
        let InsertedCustomer::Existing(existing) = inserted else {
            panic!("customers.insert: there is one of the address in {mode} mode");
        };
        assert_eq!(existing.mode, mode, "customers.insert: within a mode");
    }
    sandbox.profile.last_name = "Noether".parse().ok();
    shop.done("customers.update: writes", async |uow| {
        uow.customers().update(&mut sandbox).await
    })
    .await;
    let found = shop
        .seen("customers.find_by_email: reads", async |view| {
            let store = view.customers();
            Ok([
                store.find_by_email(shop.live(), &in_another_case).await?,
                store
                    .find_by_email(shop.sandbox(), &in_another_case)
                    .await?,
            ])
        })
        .await;
    assert_eq!(
        found,
        [Some(live), Some(sandbox)],
        "customers.find_by_email: each mode's own, who stays as they are when the other changes"
    );
}

async fn customers_are_kept_as_they_are(shop: &Shop<'_>) {
    let make = &shop.make;
    let mut customer = shop.anybody().await;
    let session = format!("vs_{}", customer.id.as_uuid().simple());
    customer.profile.address2 = "Unit 7".parse().ok();
    customer.profile.phone = None;
    customer.screening = Screening {
        identity: IdentityStatus::Processing,
        verification_session_id: Some(session.clone()),
        credit: CreditStatus::Passed,
        credit_at: Some(make.tick()),
        credit_ip_address: Some("2001:db8::1".to_owned()),
        processor_id: Some("cus_1".to_owned()),
    };
    customer.metadata = metadata(&[("tier", "gold"), ("größe", "„M“")]);
    customer.updated_at = make.tick();
    customer.erased_at = Some(make.tick());
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

/// Keeps a customer of the address.
async fn named(shop: &Shop<'_>, mode: Mode, email: &str) -> Customer {
    let customer = shop.make.customer(&shop.organization);
    shop.customer(customer.mode(mode).email(email)).await
}

async fn lists_are_of_an_organization_and_a_mode(shop: &Shop<'_>) {
    let one = named(shop, Mode::Sandbox, "Ada@Example.com").await;
    let mut two = named(shop, Mode::Sandbox, "grace@example.com").await;
    // Of one of the addresses, in the other mode and of another organization.
    let mut live = named(shop, Mode::Live, "ada@example.com").await;
    let next_door = shop.neighbour().await;
    let foreign = named(&next_door, Mode::Sandbox, "ada@example.com").await;
    let keeper = shop.anybody().await;
    let mut three = named(shop, Mode::Sandbox, "edsger@example.com").await;
    two.metadata = metadata(&[("tier", "gold"), ("region", "north")]);
    three.metadata = metadata(&[("tier", "gold")]);
    live.metadata = metadata(&[("tier", "gold")]);
    shop.done("customers.update: writes", async |uow| {
        uow.customers().update(&mut two).await?;
        uow.customers().update(&mut live).await?;
        uow.customers().update(&mut three).await
    })
    .await;
    let list = async |shop: &Shop<'_>, scope: Scope, filter: &CustomerFilter, page: Page| {
        shop.seen("customers.list: reads", async |view| {
            let store = view.customers();
            let found = store.list(scope, filter, page).await?;
            let count = store.count(scope, filter, u64::MAX).await?;
            let one = store.count(scope, filter, 1).await?;
            assert_eq!(one, count.min(1), "customers.count: up to so many");
            Ok((found, count))
        })
        .await
    };
    let none = CustomerFilter::default;
    let cases: [(&str, CustomerFilter, &[&Customer]); 7] = [
        (
            "nothing, newest first",
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
        let (found, count) = list(shop, shop.sandbox(), &filter, first(100)).await;
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            expected,
            "customers.list: of the organization and the mode, filtered by {what}"
        );
        assert_eq!(
            usize::try_from(count),
            Ok(expected.len()),
            "customers.count: of the organization and the mode, filtered by {what}"
        );
    }
    let gold = CustomerFilter {
        metadata: metadata(&[("tier", "gold")]),
        ..none()
    };
    for filter in [none(), gold] {
        let (found, count) = list(shop, shop.live(), &filter, first(100)).await;
        assert_eq!(
            (found.as_slice(), count),
            ([live.clone()].as_slice(), 1),
            "customers.list: the other mode has its own customers, and none of this one's"
        );
    }
    let (found, count) = list(&next_door, next_door.sandbox(), &none(), first(100)).await;
    assert_eq!(
        (found.as_slice(), count),
        ([foreign].as_slice(), 1),
        "customers.list: another organization sees its own customers, and none of this one's"
    );
    let mut paged = Vec::new();
    let mut page = first(2);
    loop {
        let (part, _) = list(shop, shop.sandbox(), &none(), page).await;
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
