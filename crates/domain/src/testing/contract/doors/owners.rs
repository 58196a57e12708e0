//! Whose something is.

use super::{Street, after, complete, end, entry, job, push, put, shipped, take};
use crate::access::Mode;
use crate::checkout::InvoiceOutcome;
use crate::customer::Customer;
use crate::ids::{CheckoutPubId, OrganizationId};
use crate::ledger::{HoldState, RefundState, SubscriptionState, Thing};
use crate::ports::{IdGenerator as _, JobSubject, PageToken, StoreError};
use crate::testing::contract::shop::Shop;
use crate::testing::contract::{full, mails};

pub(super) async fn checkouts_and_their_pages_have_owners(street: &Street<'_>) {
    let owner_of = async |id: CheckoutPubId| {
        street
            .ask("doors.owner_of_checkout: answers", async |doors| {
                doors.owner_of_checkout(id).await
            })
            .await
    };
    let opener = async |token: PageToken| {
        street
            .ask("doors.owner_of_page: answers", async |doors| {
                doors.owner_of_page(&token).await
            })
            .await
    };
    for shop in street.shops() {
        let owner = Some(shop.organization.id);
        let checkout = shop.any_checkout(|checkout| checkout).await;
        let (nonce, kept) = (checkout.page_nonce, [7; 32]);
        shop.done("checkouts.set_page_tokens: writes", async |uow| {
            uow.checkouts().set_page_tokens(checkout.id, &[kept]).await
        })
        .await;
        for _ in 0..2 {
            assert_eq!(
                owner_of(checkout.id).await,
                owner,
                "doors.owner_of_checkout: whose it is, ended or not"
            );
            assert_eq!(
                opener(PageToken::Proven { nonce }).await,
                owner,
                "doors.owner_of_page: by what is proven"
            );
            let hash = kept;
            assert_eq!(
                opener(PageToken::Unproven { nonce, hash }).await,
                owner,
                "doors.owner_of_page: by a token that is kept"
            );
            let ended = shop
                .seen("checkouts.get: reads", async |view| {
                    view.checkouts().get(checkout.id).await
                })
                .await;
            end(shop, &ended.unwrap_or_else(|| checkout.clone())).await;
        }
        let hash = [8; 32];
        assert_eq!(
            opener(PageToken::Unproven { nonce, hash }).await,
            None,
            "doors.owner_of_page: not by a token that nobody kept"
        );
        assert_eq!(
            owner_of(shop.make.id()).await,
            None,
            "doors.owner_of_checkout: nobody's that is not there"
        );
        let nonce = shop.make.ids().next().into_bytes();
        assert_eq!(
            opener(PageToken::Proven { nonce }).await,
            None,
            "doors.owner_of_page: not by a nonce of no page"
        );
        pages_that_ended_have_owners(street, shop).await;
    }
}

/// A page that was given another address is known by the old one, and opened by the new one alone.
pub(super) async fn pages_that_ended_have_owners(street: &Street<'_>, shop: &Shop<'_>) {
    let checkout = shop.any_checkout(|checkout| checkout).await;
    let (id, nonce, hash) = (checkout.id, checkout.page_nonce, [7; 32]);
    let next = shop.make.ids().next().into_bytes();
    let tokens = [
        PageToken::Proven { nonce },
        PageToken::Unproven { nonce, hash },
    ];
    let owners = async |token: PageToken| {
        let opened = street
            .ask("doors.owner_of_page: answers", async |doors| {
                doors.owner_of_page(&token).await
            })
            .await;
        let ended = street
            .ask("doors.owner_of_ended_page: answers", async |doors| {
                doors.owner_of_ended_page(&token).await
            })
            .await;
        (opened, ended)
    };
    let owner = Some(shop.organization.id);
    shop.done("checkouts.set_page_tokens: writes", async |uow| {
        uow.checkouts().set_page_tokens(id, &[hash]).await
    })
    .await;
    for token in tokens {
        assert_eq!(
            owners(token).await,
            (owner, None),
            "doors.owner_of_ended_page: not while the address opens the page"
        );
    }
    shop.done("checkouts.end_page: writes", async |uow| {
        let checkouts = uow.checkouts();
        let locked = checkouts.lock(id).await?;
        let mut checkout = locked.ok_or(StoreError::Missing("checkout"))?;
        let at = shop.make.tick();
        checkouts.end_page(id, at).await?;
        checkouts.end_page(id, at).await?;
        checkout.relink(next, at);
        checkouts.update(&mut checkout).await?;
        checkouts.set_page_tokens(id, &[[8; 32]]).await
    })
    .await;
    for token in tokens {
        assert_eq!(
            owners(token).await,
            (None, owner),
            "doors.owner_of_ended_page: whose page the address opened"
        );
    }
    assert_eq!(
        owners(PageToken::Unproven {
            nonce,
            hash: [9; 32]
        })
        .await,
        (None, None),
        "doors.owner_of_ended_page: not by a token that nobody kept"
    );
    assert_eq!(
        owners(PageToken::Proven { nonce: next }).await,
        (owner, None),
        "checkouts.end_page: the next address opens the page"
    );
}

pub(super) async fn payments_have_owners(street: &Street<'_>) {
    let owner_of = async |mode, id: &str| {
        street
            .ask("doors.owner_of_payment: answers", async |doors| {
                doors.owner_of_payment(mode, id).await
            })
            .await
    };
    for shop in street.shops() {
        let checkout = shop.any_checkout(|checkout| checkout).await;
        let unique = shop.make.ids().next().simple().to_string();
        let of = |kind: &str| format!("{kind}_{unique}");
        let at = shop.make.tick();
        for (id, thing) in [
            (
                of("pi"),
                Thing::Hold {
                    state: HoldState::Released,
                    ends_at: at,
                },
            ),
            (
                of("sub"),
                Thing::Subscription {
                    state: SubscriptionState::Active,
                    anchor: at,
                    payments: 12,
                    ends_at: None,
                },
            ),
            (
                of("in"),
                Thing::Invoice {
                    subscription_id: of("sub"),
                    payment_intent_id: Some(of("pi_of_in")),
                    is_cycle: true,
                    outcome: InvoiceOutcome::Paid,
                },
            ),
            (
                of("re"),
                Thing::Refund {
                    payment_intent_id: of("pi_elsewhere"),
                    state: RefundState::Succeeded,
                    failure: None,
                },
            ),
        ] {
            put(shop, &entry(&checkout, &id, at, thing)).await;
        }
        for (id, is_ours) in [
            ("pi", true),
            ("sub", true),
            ("in", true),
            ("re", true),
            ("pi_of_in", true),
            ("pi_elsewhere", false),
            ("pi_of_nobody", false),
        ] {
            assert_eq!(
                owner_of(Mode::Sandbox, &of(id)).await,
                is_ours.then_some(shop.organization.id),
                "doors.owner_of_payment: whose thing it is, or whose invoice it pays, of {id}"
            );
            assert_eq!(
                owner_of(Mode::Live, &of(id)).await,
                None,
                "doors.owner_of_payment: within a mode, of {id}"
            );
        }
    }
}

/// Has the customer be verified by the session, or by none.
async fn verify(shop: &Shop<'_>, customer: &mut Customer, session: Option<&str>) {
    customer.screening.verification_session_id = session.map(str::to_owned);
    shop.done("customers.update: writes", async |uow| {
        uow.customers().update(customer).await
    })
    .await;
}

pub(super) async fn verifications_have_owners(street: &Street<'_>) {
    for shop in street.shops() {
        let mut customer = shop.anybody_in(Mode::Live).await;
        let session = format!("vs_{}", customer.id.as_uuid().simple());
        let owner_of = async |mode| {
            street
                .ask("doors.owner_of_verification: answers", async |doors| {
                    doors.owner_of_verification(mode, &session).await
                })
                .await
        };
        assert_eq!(
            owner_of(Mode::Live).await,
            None,
            "doors.owner_of_verification: nobody's that nobody has"
        );
        verify(shop, &mut customer, Some(&session)).await;
        assert_eq!(
            [owner_of(Mode::Live).await, owner_of(Mode::Sandbox).await],
            [Some(shop.organization.id), None],
            "doors.owner_of_verification: whose customer has it, within a mode"
        );
        verify(shop, &mut customer, None).await;
        assert_eq!(
            owner_of(Mode::Live).await,
            None,
            "doors.owner_of_verification: nobody's when the customer has another or none"
        );
    }
}

pub(super) async fn jobs_have_owners(street: &Street<'_>) {
    for shop in street.shops() {
        let new = job(shop, JobSubject::Product(shop.make.id()));
        let owner_of = async || {
            street
                .ask("doors.owner_of_job: answers", async |doors| {
                    doors.owner_of_job(new.id).await
                })
                .await
        };
        let nobodys = "doors.owner_of_job: nobody's that is not there";
        assert_eq!(owner_of().await, None, "{nobodys}");
        push(shop, std::slice::from_ref(&new)).await;
        let owner = Some(shop.organization.id);
        let clause = "doors.owner_of_job: whose it is, however far it is";
        assert_eq!(owner_of().await, owner, "{clause}");
        let taken = take(shop, new.subject).await;
        assert_eq!(owner_of().await, owner, "{clause}");
        let at = shop.make.tick();
        complete(shop, &taken, at).await;
        assert_eq!(owner_of().await, owner, "{clause}");
        shop.done("jobs.purge_done: forgets", async |uow| {
            uow.jobs().purge_done(after(at)).await
        })
        .await;
        assert_eq!(owner_of().await, None, "{nobodys}");
    }
}

pub(super) async fn shipments_have_owners(street: &Street<'_>) {
    let number = street.shop.make.ids().next().simple().to_string();
    let tracking = full::tracking(&number);
    let owners = async || {
        street
            .ask("doors.owners_of_shipment: answers", async |doors| {
                doors.owners_of_shipment(&tracking).await
            })
            .await
    };
    let ids = |shops: &[&Shop<'_>]| -> Vec<OrganizationId> {
        let mut ids: Vec<_> = shops.iter().map(|shop| shop.organization.id).collect();
        ids.sort();
        ids
    };
    let Street { shop, neighbour } = street;
    assert_eq!(
        owners().await,
        [],
        "doors.owners_of_shipment: nobody has what nobody shipped"
    );
    let theirs = neighbour
        .any_checkout(|builder| shipped(builder, &number))
        .await;
    assert_eq!(
        owners().await,
        ids(&[neighbour]),
        "doors.owners_of_shipment: who has it"
    );
    let ours = shop.any_checkout(|builder| shipped(builder, &number)).await;
    let too = shop.any_checkout(|builder| shipped(builder, &number)).await;
    let both =
        "doors.owners_of_shipment: all who have it, each once, in the order of their numbers";
    assert_eq!(owners().await, ids(&[shop, neighbour]), "{both}");
    end(shop, &ours).await;
    assert_eq!(owners().await, ids(&[shop, neighbour]), "{both}");
    let ended = "doors.owners_of_shipment: not those whose checkouts with it have ended";
    end(shop, &too).await;
    assert_eq!(owners().await, ids(&[neighbour]), "{ended}");
    end(neighbour, &theirs).await;
    assert_eq!(owners().await, [], "{ended}");
}

pub(super) async fn mails_have_owners(street: &Street<'_>) {
    let owner_of = async |id| {
        street
            .ask("doors.owner_of_mail: answers", async |doors| {
                doors.owner_of_mail(id).await
            })
            .await
    };
    for shop in street.shops() {
        let new = mails::mail(shop, shop.make.id(), |_| {});
        shop.done("mails.queue: keeps mails", async |uow| {
            uow.mails().queue(std::slice::from_ref(&new)).await
        })
        .await;
        let clause = "doors.owner_of_mail: whose it is";
        assert_eq!(
            owner_of(new.id).await,
            Some(shop.organization.id),
            "{clause}"
        );
        assert_eq!(owner_of(shop.make.id()).await, None, "{clause}");
    }
}
