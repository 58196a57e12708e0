//! Organizations' own accounts at the payment processor.

use super::shop::{Shop, must_be_missing, must_be_stale};
use crate::access::Mode;
use crate::checkout::{Checkout, Lifecycle};
use crate::customer::IdentityStatus;
use crate::ids::CheckoutPubId;
use crate::ledger::{Entry, HoldState, Thing};
use crate::money::{Currency, Money};
use crate::ports::{Database, IdGenerator};
use crate::processor_account::{AccountRecord, ProcessorAccount};
use crate::secret::Secret;

/// More than any suite makes.
const MANY: u32 = 10_000;

/// The store of organizations' own accounts.
///
/// # Panics
/// With the clause that is broken.
pub async fn processor_accounts(database: &dyn Database) {
    let _turn = super::QUEUES.lock().await;
    let shop = Shop::open(database).await;
    accounts_are_kept_as_they_are(&shop).await;
    accounts_change_by_their_version(&shop).await;
    accounts_are_removed(&shop).await;
    checkouts_rest_on_what_is_at_the_processor(&Shop::open(database).await).await;
    customers_are_forgotten(&Shop::open(database).await).await;
}

/// A new account of the organization, with secrets that nobody else has.
pub(super) fn processor_account(shop: &Shop<'_>, mode: Mode) -> ProcessorAccount {
    let secret = |kind: &str| {
        let text = shop.make.ids().next().simple().to_string();
        Secret::new(format!("{kind}_{text}"))
    };
    let now = shop.make.tick();
    ProcessorAccount {
        organization_id: shop.organization.id,
        mode,
        key: secret("key"),
        webhook_secrets: vec![secret("whsec"), secret("whsec")],
        created_at: now,
        updated_at: now,
        version: 1,
    }
}

async fn insert(shop: &Shop<'_>, account: &mut ProcessorAccount) {
    shop.done("processor_accounts.insert: keeps an account", async |uow| {
        uow.processor_accounts().insert(account).await
    })
    .await;
}

async fn get(shop: &Shop<'_>, mode: Mode) -> Option<ProcessorAccount> {
    shop.seen("processor_accounts.get: reads", async |view| {
        view.processor_accounts()
            .get(shop.organization.id, mode)
            .await
    })
    .await
}

async fn list(shop: &Shop<'_>) -> Vec<AccountRecord> {
    shop.seen("processor_accounts.list: reads", async |view| {
        view.processor_accounts().list(shop.organization.id).await
    })
    .await
}

async fn accounts_are_kept_as_they_are(shop: &Shop<'_>) {
    assert_eq!(
        (get(shop, Mode::Sandbox).await, list(shop).await),
        (None, Vec::new()),
        "processor_accounts.get: none where none was kept"
    );
    let mut sandbox = processor_account(shop, Mode::Sandbox);
    insert(shop, &mut sandbox).await;
    let mut live = processor_account(shop, Mode::Live);
    live.webhook_secrets.truncate(1);
    insert(shop, &mut live).await;
    assert_eq!(
        (get(shop, Mode::Sandbox).await, get(shop, Mode::Live).await),
        (Some(sandbox.clone()), Some(live.clone())),
        "processor_accounts.get: as it was kept, its secrets in their order"
    );
    assert_eq!(
        list(shop).await,
        [live.record(), sandbox.record()],
        "processor_accounts.list: what is seen of each, live before sandbox"
    );
    let again = shop
        .run(async |uow| {
            let mut again = processor_account(shop, Mode::Live);
            uow.processor_accounts().insert(&mut again).await
        })
        .await;
    must_be_stale(
        again,
        "processor_accounts.insert: of a mode there is one account",
    );
}

async fn accounts_change_by_their_version(shop: &Shop<'_>) {
    let Some(read) = get(shop, Mode::Live).await else {
        panic!("processor_accounts.get: reads what was kept");
    };
    let mut changed = ProcessorAccount {
        key: Secret::new("another-key-of-the-account".to_owned()),
        webhook_secrets: vec![Secret::new("whsec_another".to_owned())],
        updated_at: shop.make.tick(),
        ..read.clone()
    };
    shop.done("processor_accounts.update: writes", async |uow| {
        uow.processor_accounts().update(&mut changed).await
    })
    .await;
    assert_eq!(
        changed.version,
        read.version.saturating_add(1),
        "processor_accounts.update: counts the version up"
    );
    assert_eq!(
        get(shop, Mode::Live).await,
        Some(changed),
        "processor_accounts.update: key, secrets and time take the place of the former"
    );
    let stale = shop
        .run(async |uow| uow.processor_accounts().update(&mut read.clone()).await)
        .await;
    must_be_stale(
        stale,
        "processor_accounts.update: what somebody else wrote stays",
    );
}

async fn accounts_are_removed(shop: &Shop<'_>) {
    let owner = shop.organization.id;
    let remove = async || {
        shop.done("processor_accounts.remove: removes", async |uow| {
            uow.processor_accounts().remove(owner, Mode::Live).await
        })
        .await
    };
    let last = get(shop, Mode::Live).await;
    assert_eq!(
        (remove().await, remove().await),
        (true, false),
        "processor_accounts.remove: tells whether there was one"
    );
    assert_eq!(
        (get(shop, Mode::Live).await, list(shop).await.len()),
        (None, 1),
        "processor_accounts.remove: takes that mode's alone"
    );
    let Some(mut last) = last else {
        panic!("processor_accounts.get: reads what was kept");
    };
    let missing = shop
        .run(async |uow| uow.processor_accounts().update(&mut last).await)
        .await;
    must_be_missing(missing, "processor_accounts.update: none that is removed");
}

async fn hold(shop: &Shop<'_>, checkout: &Checkout, state: HoldState) {
    let at = shop.make.tick();
    let entry = Entry {
        id: format!("pi_{}", shop.make.ids().next().simple()),
        checkout: checkout.id,
        amount: Money::from_minor(12_345, Currency::USD),
        at,
        thing: Thing::Hold { state, ends_at: at },
    };
    shop.done("ledger.put: writes", async |uow| {
        uow.ledger().put(&entry).await
    })
    .await;
}

async fn resting(shop: &Shop<'_>, mode: Mode, limit: u32) -> Vec<CheckoutPubId> {
    shop.seen("processor_accounts.resting: reads", async |view| {
        view.processor_accounts()
            .resting(shop.organization.id, mode, limit)
            .await
    })
    .await
}

async fn checkouts_rest_on_what_is_at_the_processor(shop: &Shop<'_>) {
    let at = |lifecycle| shop.any_checkout(move |builder| builder.at(lifecycle));
    let clause = "processor_accounts.resting: what has something at the processor, and has not ended \
                  or is still held, oldest first";
    let untouched = at(Lifecycle::DocumentsPending).await;
    let running = at(Lifecycle::LeaseActive).await;
    hold(shop, &running, HoldState::Captured).await;
    let ended = at(Lifecycle::Cancelled).await;
    hold(shop, &ended, HoldState::Released).await;
    let held = at(Lifecycle::Cancelled).await;
    hold(shop, &held, HoldState::Held).await;
    let mut verified = Vec::new();
    for identity in [IdentityStatus::Processing, IdentityStatus::Verified] {
        let checkout = at(Lifecycle::IdentityProcessing).await;
        let session = format!("vs_{}", shop.make.ids().next().simple());
        shop.done("customers.update: writes", async |uow| {
            let found = uow.customers().lock(checkout.customer_id).await?;
            let Some(mut customer) = found else {
                panic!("customers.lock: finds the customer of a checkout");
            };
            customer.screening.identity = identity;
            customer.screening.verification_session_id = Some(session);
            uow.customers().update(&mut customer).await
        })
        .await;
        let rests = identity == IdentityStatus::Processing;
        verified.push((checkout.id, rests));
    }
    let all = resting(shop, Mode::Sandbox, MANY).await;
    let others = [
        (untouched.id, false),
        (running.id, true),
        (ended.id, false),
        (held.id, true),
    ];
    for (id, rests) in others.into_iter().chain(verified) {
        assert_eq!(all.contains(&id), rests, "{clause}");
    }
    assert_eq!(
        resting(shop, Mode::Sandbox, 2).await,
        [running.id, held.id],
        "{clause}, so many at most"
    );
    assert_eq!(
        resting(shop, Mode::Live, MANY).await,
        Vec::new(),
        "{clause}, of the mode"
    );
}

async fn customers_are_forgotten(shop: &Shop<'_>) {
    let mut made = Vec::new();
    for (mode, id) in [
        (Mode::Sandbox, Some("cus_1")),
        (Mode::Sandbox, None),
        (Mode::Live, Some("cus_2")),
    ] {
        let mut customer = shop.anybody_in(mode).await;
        customer.screening.processor_id = id.map(str::to_owned);
        shop.done("customers.update: writes", async |uow| {
            uow.customers().update(&mut customer).await
        })
        .await;
        made.push(customer);
    }
    let owner = shop.organization.id;
    let forget = async || {
        shop.done("processor_accounts.forget_customers: writes", async |uow| {
            uow.processor_accounts()
                .forget_customers(owner, Mode::Sandbox)
                .await
        })
        .await
    };
    assert_eq!(
        (forget().await, forget().await),
        (1, 0),
        "processor_accounts.forget_customers: tells of how many"
    );
    let mut ids = Vec::new();
    for customer in &made {
        let found = shop
            .seen("customers.get: reads", async |view| {
                view.customers().get(customer.id).await
            })
            .await;
        ids.push(found.and_then(|found| found.screening.processor_id));
    }
    assert_eq!(
        ids,
        [None, None, Some("cus_2".to_owned())],
        "processor_accounts.forget_customers: the mode's alone"
    );
    // Whoever read the customer before does not put the id back.
    let stale = shop
        .run(async |uow| {
            let Some(customer) = made.first() else {
                panic!("three were made");
            };
            uow.customers().update(&mut customer.clone()).await
        })
        .await;
    must_be_stale(
        stale,
        "processor_accounts.forget_customers: counts the version up",
    );
}
