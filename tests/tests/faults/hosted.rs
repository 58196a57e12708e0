//! Leases whose customers prove who they are and pay on the providers' own pages, by clicks: the double
//! plays the pages. Left, late, twice, in any order, and with a process that dies in between.

use std::sync::atomic::Ordering;

use futures::StreamExt as _;
use futures::stream;
use lessor_domain::workers::jobs::CrashPoint;
use lessor_processor_double::{Choice, Fault, Rule};
use serde_json::{Value, json};

use crate::world::{LOOK_AGAIN, Patience, Setup, World, every_death, until};

/// The name and address of [`World::checkout`]'s customers.
const PROFILE: [(&str, &str); 8] = [
    ("firstName", "Jo"),
    ("lastName", "Doe"),
    ("address1", "1 Main St"),
    ("city", "San Francisco"),
    ("state", "CA"),
    ("zip", "94105"),
    ("country", "US"),
    ("phone", "+14155550100"),
];

/// What a browser has in front of it.
#[derive(Debug)]
struct Seen {
    status: u16,
    /// Where it is sent.
    to: Option<String>,
    policy: String,
    html: String,
}

/// A browser without scripts that stays where it is: the test follows.
struct Browser {
    client: reqwest::Client,
    /// The checkout's page.
    page: String,
}

impl Browser {
    async fn at(world: &World, id: &str) -> Self {
        let checkout = world.get(&format!("/v1/checkouts/{id}")).await;
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build();
        Self {
            client: client.unwrap(),
            page: checkout["checkoutUrl"].as_str().unwrap().to_owned(),
        }
    }

    /// Sends until it is answered, as people do whose server died.
    async fn send(&self, url: &str, form: Option<&[(&str, &str)]>) -> Seen {
        let mut patience = Patience::default();
        loop {
            let request = match form {
                Some(form) => self.client.post(url).form(form),
                None => self.client.get(url),
            };
            if let Ok(answer) = request.send().await
                && answer.status().as_u16() < 500
            {
                let header = |name: &str| {
                    let value = answer.headers().get(name)?;
                    value.to_str().ok().map(str::to_owned)
                };
                let (to, policy) = (header("location"), header("content-security-policy"));
                let status = answer.status().as_u16();
                if let Ok(html) = answer.text().await {
                    return Seen {
                        status,
                        to,
                        policy: policy.unwrap_or_default(),
                        html,
                    };
                }
            }
            assert!(patience.lasts(), "{url} is not answered");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The checkout's page.
    async fn look(&self) -> String {
        let seen = self.send(&self.page, None).await;
        assert_eq!(seen.status, 200, "{}", seen.html);
        seen.html
    }

    /// Sends a form of the checkout's page that it shows now.
    async fn press(&self, step: &str) -> Seen {
        let html = self.look().await;
        assert!(html.contains(&format!("/{step}\"")), "no {step}: {html}");
        self.send(&format!("{}/{step}", self.page), Some(&[])).await
    }

    /// Says who they are, as the checkout knows it already.
    async fn introduce(&self, world: &World, id: &str) {
        let form = format!("{}/profile", self.page);
        // What is sent again after a death may be done: the state says.
        self.send(&form, Some(&PROFILE)).await;
        world.until_state(id, "identityRequired").await;
    }

    /// Signs the lease in this name.
    async fn sign(&self, name: &str) {
        let fields = [("consent", "yes"), ("name", name)];
        let form = format!("{}/sign", self.page);
        let signed = self.send(&form, Some(&fields)).await;
        assert_eq!(signed.status, 303, "{}", signed.html);
    }

    /// Sends a form that leads to a provider's page; answers where that is.
    async fn go(&self, step: &str) -> String {
        let sent = self.press(step).await;
        assert_eq!(sent.status, 303, "{step}: {}", sent.html);
        sent.to.unwrap()
    }

    /// Chooses something on a provider's page, and follows it back to the checkout's page.
    async fn choose(&self, url: &str, choice: &str) {
        let sent = self.send(url, Some(&[("choice", choice)])).await;
        assert_eq!(sent.status, 303, "{choice}: {}", sent.html);
        self.follow(&sent.to.unwrap()).await;
    }

    /// Comes back from a provider's page.
    async fn follow(&self, to: &str) {
        let way_back = format!("{}/return", self.page);
        assert!(to.starts_with(&way_back), "{to}");
        let returned = self.send(to, None).await;
        assert_eq!(returned.status, 303, "{}", returned.html);
        assert!(self.page.ends_with(&returned.to.unwrap()));
    }
}

/// The checkout, led by API to the deposit.
async fn at_deposit(world: &World, name: &str) -> (String, Browser) {
    let id = world.checkout(name).await;
    world.identify(&id).await;
    world.reach(&id, "depositPending").await;
    let browser = Browser::at(world, &id).await;
    (id, browser)
}

/// The double's sessions of the checkout.
fn sessions(world: &World, id: &str) -> Vec<Value> {
    let all = world.double.objects("checkout.session");
    let of = |session: &Value| session["metadata"]["lessor_checkout"] == id;
    all.into_iter().filter(of).collect()
}

async fn state(world: &World, id: &str) -> String {
    world.lifecycle(id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn in_live_mode_a_customer_proves_who_they_are_by_clicks() {
    let world = World::new(Setup {
        live: true,
        messages: true,
        ..Setup::default()
    })
    .await;
    let id = world.checkout("ada").await;
    let browser = Browser::at(&world, &id).await;
    browser.introduce(&world, &id).await;
    let seen = browser.send(&browser.page, None).await;
    let forms = format!("form-action 'self' {}", world.double.url());
    assert!(seen.policy.contains(&forms), "{}", seen.policy);
    let url = browser.go("identity").await;
    assert!(url.starts_with(&world.double.url()), "{url}");
    assert_eq!(state(&world, &id).await, "identityVerifying");
    let shown = browser.send(&url, None).await;
    assert_eq!(shown.status, 200, "{}", shown.html);
    browser.choose(&url, "verify").await;
    // Nobody checks credit in live mode yet.
    assert_eq!(state(&world, &id).await, "qualificationPending");
    let made = world.double.live_objects("identity.verification_session");
    assert_eq!(made.len(), 1);
    assert!(
        world
            .double
            .objects("identity.verification_session")
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verification_is_gone_on_with_given_up_and_refused() {
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    let id = world.checkout("ada").await;
    let browser = Browser::at(&world, &id).await;
    browser.introduce(&world, &id).await;
    let first = browser.go("identity").await;
    // A second tab leads to the same session, and so does coming back with nothing done.
    assert_eq!(browser.go("identity").await, first);
    browser.send(&first, None).await;
    browser.send(&first, Some(&[("choice", "leave")])).await;
    browser.follow(&format!("{}/return", browser.page)).await;
    assert_eq!(state(&world, &id).await, "identityVerifying");
    let second = browser.go("identity").await;
    assert_ne!(first, second, "an address is good for one visit");
    browser.choose(&second, "blurred").await;
    assert_eq!(state(&world, &id).await, "identityVerifying");
    let third = browser.go("identity").await;
    browser.choose(&third, "abandon").await;
    world.until_state(&id, "identityRequired").await;
    let sessions = |world: &World| world.double.objects("identity.verification_session").len();
    assert_eq!(sessions(&world), 1);
    let fourth = browser.go("identity").await;
    assert_eq!(sessions(&world), 2, "one that was given up is replaced");
    browser.choose(&fourth, "submit").await;
    world.until_state(&id, "identityProcessing").await;
    let decided = world.double.objects("identity.verification_session");
    let decided = decided[1]["id"].as_str().unwrap();
    world
        .double
        .decide_identity(decided, "verified", None)
        .unwrap();
    until("it is told", async || {
        (state(&world, &id).await != "identityProcessing").then_some(())
    })
    .await;
    // Somebody else.
    let other = world.checkout("mallory").await;
    let browser = Browser::at(&world, &other).await;
    browser.introduce(&world, &other).await;
    let url = browser.go("identity").await;
    browser.choose(&url, "refuse").await;
    world.until_state(&other, "identityFailed").await;
}

/// From the deposit to a lease that runs, by clicks and one call of the lessor's.
async fn lease(world: &World, name: &str) -> String {
    let (id, browser) = at_deposit(world, name).await;
    let url = browser.go("deposit").await;
    assert_eq!(state(world, &id).await, "depositProcessing");
    // Declined, failed to authenticate, and another card, all on the processor's page.
    for choice in ["declined", "failAuthentication"] {
        let stays = browser.send(&url, Some(&[("choice", choice)])).await;
        assert_eq!(stays.status, 200, "{choice}");
    }
    browser.choose(&url, "authenticate").await;
    world
        .until_state(&id, "recurringPaymentMethodPending")
        .await;
    let kept = browser.press("payment-method").await;
    assert_eq!(kept.status, 303, "{}", kept.html);
    until("there is something to sign", async || {
        browser.look().await.contains("/sign\"").then_some(())
    })
    .await;
    browser.sign("Jo Doe").await;
    world.until_state(&id, "orderConfirmed").await;
    world.fulfill(&id, None).await;
    world.until_state(&id, "leaseActive").await;
    world.assert_billed_once(&id);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_is_paid_by_clicks_and_the_lease_runs() {
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    let id = lease(&world, "ada").await;
    assert_eq!(sessions(&world, &id).len(), 1);
    // The card is changed while the lease runs.
    let browser = Browser::at(&world, &id).await;
    let url = browser.go("card").await;
    browser.choose(&url, "pay").await;
    let card = until("the card is another", async || {
        let checkout = world.get(&format!("/v1/checkouts/{id}")).await;
        let now = checkout["recurringPaymentMethod"]["id"]
            .as_str()?
            .to_owned();
        let subscription = world.made("subscription", &id).pop()?;
        let subscription = world.double.object(&subscription)?;
        (subscription["default_payment_method"] == *now).then_some(now)
    })
    .await;
    assert!(card.starts_with("pm_"));
    world.until_told().await;
    world.until_books_agree().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_left_or_late_leads_back_and_nobody_pays_there() {
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    let (id, browser) = at_deposit(&world, "ada").await;
    let url = browser.go("deposit").await;
    assert_eq!(browser.go("deposit").await, url, "a second tab");
    // The way back of the processor's page closes it first.
    browser.choose(&url, "cancel").await;
    assert_eq!(state(&world, &id).await, "depositPending");
    let paid = browser.send(&url, Some(&[("choice", "pay")])).await;
    assert_eq!(paid.status, 400, "nobody pays in the other tab");
    // So does giving up here.
    browser.go("deposit").await;
    let left = browser.press("leave-deposit").await;
    assert_eq!(left.status, 303, "{}", left.html);
    assert_eq!(state(&world, &id).await, "depositPending");
    // It is over at the processor: a message says so, and nobody has to come back.
    let late = browser.go("deposit").await;
    let session = sessions(&world, &id).pop().unwrap();
    let path = format!(
        "v1/checkout/sessions/{}/expire",
        session["id"].as_str().unwrap()
    );
    let closed = reqwest::Client::new()
        .post(format!("{}/{path}", world.double.url()))
        .bearer_auth("sk_test_dashboard")
        .send()
        .await;
    assert!(closed.unwrap().status().is_success());
    world.until_state(&id, "depositPending").await;
    assert_eq!(browser.send(&late, None).await.status, 200);
    assert_eq!(world.double.account_of(&id).held, 0);
    assert_eq!(sessions(&world, &id).len(), 3);
    assert!(browser.look().await.contains("/back\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_the_return_come_in_any_order_and_one_is_enough() {
    // By messages alone: the customer closes the tab.
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    let (id, browser) = at_deposit(&world, "ada").await;
    browser.go("deposit").await;
    let session = sessions(&world, &id).pop().unwrap();
    let session = session["id"].as_str().unwrap();
    world.double.visit(session, &Choice::Pay).unwrap();
    world
        .until_state(&id, "recurringPaymentMethodPending")
        .await;
    browser.follow(&format!("{}/return", browser.page)).await;
    assert_eq!(state(&world, &id).await, "recurringPaymentMethodPending");
    // Messages before the answer of what caused them.
    world.double.messages_first(true);
    let (id, browser) = at_deposit(&world, "grace").await;
    let url = browser.go("deposit").await;
    browser.choose(&url, "pay").await;
    assert_eq!(state(&world, &id).await, "recurringPaymentMethodPending");
    world.until_told().await;
    world.until_books_agree().await;
    drop(world);
    // By the return alone.
    let world = World::new(Setup::default()).await;
    let (id, browser) = at_deposit(&world, "ada").await;
    let url = browser.go("deposit").await;
    browser.choose(&url, "pay").await;
    assert_eq!(state(&world, &id).await, "recurringPaymentMethodPending");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_that_is_called_off_while_its_page_is_open_is_paid_by_nobody() {
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    for pays_first in [false, true] {
        let (id, browser) = at_deposit(&world, &format!("{pays_first}")).await;
        let url = browser.go("deposit").await;
        if pays_first {
            let sent = browser.send(&url, Some(&[("choice", "pay")])).await;
            assert_eq!(sent.status, 303);
        }
        world.cancel(&id).await;
        world.until_told().await;
        let late = browser.send(&url, Some(&[("choice", "pay")])).await;
        assert_eq!(late.status, 400, "{}", late.html);
        browser.follow(&format!("{}/return", browser.page)).await;
        assert_eq!(state(&world, &id).await, "cancelled");
        until("nothing is held", async || {
            (world.double.account_of(&id).held == 0).then_some(())
        })
        .await;
    }
    world.until_books_agree().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_cannot_be_charged_is_held_on_another_card() {
    let world = World::new(Setup {
        messages: true,
        ..Setup::default()
    })
    .await;
    let (id, browser) = at_deposit(&world, "ada").await;
    let url = browser.go("deposit").await;
    browser.choose(&url, "pay").await;
    browser.press("payment-method").await;
    until("there is something to sign", async || {
        browser.look().await.contains("/sign\"").then_some(())
    })
    .await;
    let body = json!({ "error": {
        "type": "card_error", "code": "card_declined", "message": "Your card was declined."
    } });
    world.double.fault(Rule::once(
        "POST",
        "/v1/payment_intents/*/capture",
        Fault::Answer {
            status: 402,
            headers: Vec::new(),
            body: body.to_string(),
        },
    ));
    browser.sign("Jo Doe").await;
    world.until_state(&id, "captureFailed").await;
    let url = browser.go("deposit").await;
    browser.choose(&url, "authenticate").await;
    world.until_state(&id, "orderConfirmed").await;
    world.until_told().await;
    world.assert_paid_once(&id);
    world.until_books_agree().await;
}

/// The session is opened and the process dies before that is written, or a moment after: whoever asks
/// again is led to the same one.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_while_a_page_is_opened_leads_to_the_same_page() {
    for point in ["taken", "answered", "uncommitted", "committed"] {
        let world = World::new(Setup {
            abort: Some((point.to_owned(), 1)),
            messages: true,
            ..Setup::default()
        })
        .await;
        let id = lease(&world, "ada").await;
        let of = sessions(&world, &id);
        assert_eq!(of.len(), 1, "{point}: {of:#?}");
        assert!(world.server.starts.load(Ordering::SeqCst) > 1);
    }
}

/// Worlds that are under way at a time: most of their time is waiting.
const AT_ONCE: usize = 8;
/// More requests than any job of such a lease makes of the processor.
const TOO_MANY: u32 = 6;

/// From `POST /v1/checkouts` to a lease that runs, with an account of the organization's own: by API, and by
/// clicks where the customer is sent to the processor's pages.
async fn live_lease(world: &World) -> String {
    let id = world.checkout("ada").await;
    let browser = Browser::at(world, &id).await;
    browser.introduce(world, &id).await;
    let url = browser.go("identity").await;
    browser.choose(&url, "verify").await;
    world.until_state(&id, "shippingAddressPending").await;
    let form = format!("{}/shipping", browser.page);
    browser.send(&form, Some(&PROFILE)).await;
    world.until_state(&id, "leaseReviewPending").await;
    let form = format!("{}/accept", browser.page);
    browser.send(&form, Some(&[])).await;
    world.until_state(&id, "depositPending").await;
    let url = browser.go("deposit").await;
    browser.choose(&url, "authenticate").await;
    world
        .until_state(&id, "recurringPaymentMethodPending")
        .await;
    let form = format!("{}/payment-method", browser.page);
    browser.send(&form, Some(&[])).await;
    until("there is something to sign", async || {
        browser.look().await.contains("/sign\"").then_some(())
    })
    .await;
    let form = format!("{}/sign", browser.page);
    let signature = [("consent", "yes"), ("name", "Jo Doe")];
    browser.send(&form, Some(&signature)).await;
    world.until_state(&id, "orderConfirmed").await;
    world.fulfill(&id, None).await;
    world.until_state(&id, "leaseActive").await;
    id
}

/// A whole live lease and its return, while the process dies at that point once for every kind of job.
/// Answers how often it died.
async fn live_until_returned(point: &str) -> u32 {
    let world = World::new(Setup {
        abort: Some((point.to_owned(), 1)),
        own_account: true,
        ..Setup::default()
    })
    .await;
    let id = live_lease(&world).await;
    world.assert_billed_once(&id);
    world.put(&id, "returnPending").await;
    world.put(&id, "returned").await;
    world.until_state(&id, "returned").await;
    world.until_told().await;
    world.assert_billed_once(&id);
    let [subscription] = &*world.made("subscription", &id) else {
        panic!("{id} has another subscription");
    };
    let subscription = world.double.object(subscription).unwrap();
    assert_eq!(subscription["status"], "canceled", "{point}");
    assert_eq!(world.made("refund", &id).len(), 1, "{point}");
    for kind in ["payment_intent", "customer", "subscription"] {
        assert_eq!(world.double.objects(kind), Vec::<Value>::new(), "live");
    }
    world.until_books_agree().await;
    world.server.starts.load(Ordering::SeqCst) - 1
}

/// At every named point, and with `LESSOR_TEST_DEATHS=all` between any two requests of a job.
#[tokio::test(flavor = "multi_thread")]
async fn a_live_lease_of_an_own_account_comes_out_the_same_wherever_the_process_dies() {
    let named = CrashPoint::ALL
        .iter()
        .map(|point| point.as_str().to_owned());
    let requests = (1..=TOO_MANY)
        .filter(|_| every_death())
        .map(|number| format!("request{number}"));
    let mut under_way = stream::iter(named.chain(requests))
        .map(|point| async move {
            let deaths = live_until_returned(&point).await;
            (point, deaths)
        })
        .buffer_unordered(AT_ONCE);
    while let Some((point, deaths)) = under_way.next().await {
        // Whether a customer is first known by a job, and how many requests one makes, is not decided here.
        let is_passed = ["taken", "answered", "uncommitted", "committed"].contains(&&*point);
        assert!(deaths > 0 || !is_passed, "it never died at {point}");
    }
}
