//! Every operation of the document, asked for by every kind of key in every state of its organization: what
//! is answered follows from one row for each operation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor_domain::access::Mode;
use lessor_tests::client::{Client, Reply};
use lessor_tests::contract::Contract;
use lessor_tests::{Server, text};
use serde_json::{Value, json};

use super::{Asked, PERMISSIONS, Shop, send};
use crate::BINARY;

/// Whether an operation changes what both modes lease by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    Catalog,
    Else,
}

/// What an operation is about, as far as that says for whom it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    /// Nothing that the request names.
    Nothing,
    /// Something of the catalog, which both modes share.
    Shared,
    /// Several of the catalog: what is not there of them is told of it alone.
    Several,
    /// Several of the catalog, for each of which it is asked who may write it.
    SeveralAsked,
    /// Something of one mode.
    OfMode,
    /// Something of the sandbox, for sandbox keys alone.
    OfSandbox,
}

/// An operation, and all that decides who may ask for it.
struct Row {
    method: &'static str,
    path: &'static str,
    /// What it takes; one of them, by what the request asks for, where there are several.
    permissions: &'static [&'static str],
    writes: Writes,
    about: About,
}

macro_rules! rows {
    ($($method:ident $path:literal $($permission:ident)|+ $writes:ident $about:ident;)*) => {
        const ROWS: &[Row] = &[$(Row {
            method: stringify!($method),
            path: $path,
            permissions: &[$(stringify!($permission)),+],
            writes: Writes::$writes,
            about: About::$about,
        },)*];
    };
}

rows! {
    GET    "/v1/products"                                      ProductRead          Else    Nothing;
    POST   "/v1/products"                                      ProductWrite         Catalog Nothing;
    PUT    "/v1/products/bulk"                                 ProductWrite         Catalog Several;
    GET    "/v1/products/{id}"                                 ProductRead          Else    Shared;
    PUT    "/v1/products/{id}"                                 ProductWrite         Catalog Shared;
    DELETE "/v1/products/{id}"                                 ProductDelete        Catalog Shared;
    GET    "/v1/products/{id}/variants"                        ProductVariantRead   Else    Shared;
    POST   "/v1/products/{id}/variants/generate"               ProductVariantWrite  Catalog Shared;
    POST   "/v1/product-variants"                              ProductVariantWrite  Catalog Shared;
    GET    "/v1/product-variants/bulk"                         ProductVariantRead   Else    Several;
    PUT    "/v1/product-variants/bulk"                         ProductVariantWrite  Catalog SeveralAsked;
    POST   "/v1/product-variants/bulk/fetch"                   ProductVariantRead   Else    Several;
    GET    "/v1/product-variants/by-sku/{sku}"                 ProductVariantRead   Else    Shared;
    GET    "/v1/product-variants/{identifier}/lowest"          ProductVariantRead   Else    Shared;
    GET    "/v1/product-variants/{identifier}/pricing-summary" ProductVariantRead   Else    Shared;
    GET    "/v1/product-variants/{id}"                         ProductVariantRead   Else    Shared;
    PUT    "/v1/product-variants/{id}"                         ProductVariantWrite  Catalog Shared;
    DELETE "/v1/product-variants/{id}"                         ProductVariantDelete Catalog Shared;
    GET    "/v1/product-categories"                            ProductRead          Else    Nothing;
    POST   "/v1/product-categories"                            ProductWrite         Catalog Nothing;
    GET    "/v1/lease-terms"                                   LeaseTermRead        Else    Nothing;
    POST   "/v1/lease-terms"                                   LeaseTermWrite       Catalog Nothing;
    PUT    "/v1/lease-terms/{id}"                              LeaseTermWrite       Catalog Shared;
    DELETE "/v1/lease-terms/{id}"                              LeaseTermWrite       Catalog Shared;
    GET    "/v1/customers"                                     CustomerRead         Else    Nothing;
    GET    "/v1/customers/{id}"                                CustomerRead         Else    OfMode;
    PUT    "/v1/customers/{id}"                                CustomerWrite        Else    OfMode;
    GET    "/v1/customers/{id}/export"                         CustomerErase        Else    OfMode;
    POST   "/v1/customers/{id}/erase"                          CustomerErase        Else    OfMode;
    GET    "/v1/audit"                                         AuditRead            Else    Nothing;
    GET    "/v1/events"                                        EventRead            Else    Nothing;
    GET    "/v1/events/{id}"                                   EventRead            Else    OfMode;
    POST   "/v1/events/{id}/redeliver"                         WebhookWrite         Else    OfMode;
    GET    "/v1/webhook-endpoints"                             EventRead            Else    Nothing;
    POST   "/v1/webhook-endpoints"                             WebhookWrite         Else    Nothing;
    GET    "/v1/webhook-endpoints/{id}"                        EventRead            Else    OfMode;
    PUT    "/v1/webhook-endpoints/{id}"                        WebhookWrite         Else    OfMode;
    DELETE "/v1/webhook-endpoints/{id}"                        WebhookWrite         Else    OfMode;
    GET    "/v1/webhook-endpoints/{id}/deliveries"             EventRead            Else    OfMode;
    POST   "/v1/webhook-endpoints/{id}/roll"                   WebhookWrite         Else    OfMode;
    POST   "/v1/webhook-endpoints/{id}/test"                   WebhookWrite         Else    OfMode;
    POST   "/v1/webhook-endpoints/{id}/replay"                 WebhookWrite         Else    OfMode;
    GET    "/v1/organization"                                  OrganizationRead     Else    Nothing;
    PUT    "/v1/organization"                                  OrganizationWrite    Catalog Nothing;
    GET    "/v1/checkouts"                                     CheckoutRead         Else    Nothing;
    GET    "/v1/checkouts/summary"                             CheckoutRead         Else    Nothing;
    POST   "/v1/checkouts"       CheckoutWrite | CheckoutCreateWithCustomer         Else    Shared;
    GET    "/v1/checkouts/{id}"                                CheckoutRead         Else    OfMode;
    PUT    "/v1/checkouts/{id}"                                CheckoutWrite        Else    OfMode;
    POST   "/v1/checkouts/{id}/cancel"                         CheckoutCancel       Else    OfMode;
    POST   "/v1/checkouts/{id}/qualification"                  CheckoutQualify      Else    OfMode;
    POST   "/v1/checkouts/{id}/signature"                      CheckoutSign         Else    OfMode;
    POST   "/v1/checkouts/{id}/fulfill"                        CheckoutFulfill      Else    OfMode;
    POST   "/v1/checkouts/{id}/payments/retry"                 CheckoutWrite        Else    OfMode;
    POST   "/v1/checkouts/{id}/link"                           CheckoutWrite        Else    OfMode;
    GET    "/v1/checkouts/{id}/agreement"                      CheckoutRead         Else    OfMode;
    GET    "/v1/checkouts/{id}/tracking"                       CheckoutRead         Else    OfMode;
    POST   "/v1/checkouts/{id}/tracking"                       CheckoutFulfill      Else    OfMode;
    POST   "/v1/sandbox/checkouts/{id}/advance"                CheckoutWrite        Else    OfSandbox;
    POST   "/v1/sandbox/checkouts/{id}/tracking-event"         CheckoutWrite        Else    OfSandbox;
}

impl Row {
    fn of(contract: &Contract, method: &str, path: &str) -> Option<&'static Self> {
        let (template, _) = contract.operation(method, path)?;
        ROWS.iter()
            .find(|row| row.method == method && row.path == template)
    }

    /// Whether the document lets publishable keys ask.
    fn is_public(&self, contract: &Contract) -> bool {
        let operation = &contract.document["paths"][self.path][self.method.to_lowercase()];
        operation["security"]
            .as_array()
            .is_some_and(|ways| ways.iter().any(|way| way["publishableKey"].is_array()))
    }

    /// Whether a request of the operation can name an object that is so much the caller's.
    const fn can_name(&self, whose: Whose) -> bool {
        match whose {
            Whose::Own => true,
            Whose::OtherMode => matches!(self.about, About::OfMode | About::OfSandbox),
            Whose::Strangers => !matches!(self.about, About::Nothing),
        }
    }

    /// What the holder of the key is to be answered about such an object.
    fn answers(&self, key: Key, standing: Standing, whose: Whose) -> Answer {
        if key.holds == Holds::Publishable {
            return match whose {
                Whose::Strangers => Answer::NotFound,
                Whose::Own | Whose::OtherMode => Answer::Passed,
            };
        }
        if self.about == About::OfSandbox && key.mode == Mode::Live {
            return Answer::SandboxOnly;
        }
        let is_hidden = match self.about {
            About::Nothing | About::Several | About::SeveralAsked => false,
            About::Shared => whose == Whose::Strangers,
            About::OfMode | About::OfSandbox => whose != Whose::Own,
        };
        if is_hidden {
            return Answer::NotFound;
        }
        if key.holds == Holds::Without {
            return Answer::Lacks;
        }
        let is_closed = self.writes == Writes::Catalog
            && key.mode == Mode::Sandbox
            && standing == Standing::LiveKey;
        match (self.about, whose) {
            (About::SeveralAsked, Whose::Strangers) => Answer::EachNotFound,
            (About::SeveralAsked, _) if is_closed => Answer::EachLiveCatalog,
            _ if is_closed => Answer::LiveCatalog,
            (About::Several, Whose::Strangers) => Answer::EachNotFound,
            _ => Answer::Passed,
        }
    }
}

/// How an organization stands to live keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    NoLiveKey,
    LiveKey,
    /// It has one, and its operator lets sandbox keys write the catalog.
    Overridden,
}

impl Standing {
    const ALL: [Self; 3] = [Self::NoLiveKey, Self::LiveKey, Self::Overridden];

    /// The modes that it has keys of.
    const fn modes(self) -> &'static [Mode] {
        match self {
            Self::NoLiveKey => &[Mode::Sandbox],
            Self::LiveKey | Self::Overridden => &Mode::ALL,
        }
    }
}

/// Whose object a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The key's organization's, made in the key's mode.
    Own,
    /// The key's organization's, made in the other mode.
    OtherMode,
    /// Another organization's, made in the key's mode.
    Strangers,
}

/// What a key may, as far as the request asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Others than the permission that the request takes.
    Without,
    /// What everybody may.
    Publishable,
    /// The permission that the request takes.
    With,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    mode: Mode,
    holds: Holds,
}

/// What a request came to, as far as it depends on who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Carried out, or refused by a rule: nothing about the key is in its way.
    Passed,
    /// 404.
    NotFound,
    /// 403, naming the permission.
    Lacks,
    /// 403, naming the setting.
    LiveCatalog,
    /// 403, naming the mode.
    SandboxOnly,
    /// Carried out, without the one that is asked for.
    EachNotFound,
    /// Carried out, without the one that is asked for: its own refusal names the setting.
    EachLiveCatalog,
    /// None of these.
    Other(u16),
}

impl Answer {
    fn of(row: &Row, permission: &str, reply: &Reply) -> Self {
        let (status, body) = (reply.status, &reply.body);
        let code = text(&body["error"]["code"]);
        let message = text(&body["error"]["message"]);
        let each = &body["errors"][0];
        let is_left_out = row.about == About::Several
            && (body.as_array().is_some_and(Vec::is_empty) || body["notFound"][0].is_string());
        let setting = "--sandbox-writes-catalog on";
        match (status, code.as_str()) {
            (403, "forbidden") if message.ends_with(&format!("permission {permission}")) => {
                Self::Lacks
            }
            (403, "forbidden") if message.contains(setting) => Self::LiveCatalog,
            (403, "forbidden") if message.contains("sandbox mode only") => Self::SandboxOnly,
            (404, "not_found") => Self::NotFound,
            (200, "") if is_left_out || each["code"] == "not_found" => Self::EachNotFound,
            (200, "") if each["code"] == "forbidden" && text(&each["error"]).contains(setting) => {
                Self::EachLiveCatalog
            }
            (200, "") if each.is_null() => Self::Passed,
            // What the state of the checkout forbids is another matter.
            (400, "invalid_request") => Self::Passed,
            _ => Self::Other(status),
        }
    }
}

/// An organization with a shop for each mode that it has keys of.
struct Estate {
    standing: Standing,
    shops: Vec<(Mode, Shop)>,
}

impl Estate {
    async fn open(server: &Server, standing: Standing) -> Self {
        let sandbox = server.client().await;
        let organization = &sandbox.organization;
        let mut shops = Vec::new();
        // Nothing is asked before all is said: what is known of a key is remembered for a while.
        let live = match standing {
            Standing::NoLiveKey => None,
            Standing::LiveKey | Standing::Overridden => {
                Some(sandbox.with_key(&server.key(organization, "live", "all")))
            }
        };
        if standing == Standing::Overridden {
            let on = ["--sandbox-writes-catalog", "on"];
            server.cli(&[&["org", "update", organization.as_str()], &on[..]].concat());
        }
        // Where there are two modes, each has its catalog of the other one's key, as far as that may.
        for mode in standing.modes() {
            let (writer, client) = match (&live, mode) {
                (None, _) => (&sandbox, &sandbox),
                (Some(live), Mode::Sandbox) => (live, &sandbox),
                (Some(live), Mode::Live) if standing == Standing::Overridden => (&sandbox, live),
                (Some(live), Mode::Live) => (live, live),
            };
            let tag = format!("-{organization}-{mode}");
            let months = match mode {
                Mode::Live => 54,
                Mode::Sandbox => 48,
            };
            let shop = Shop::furnished(writer, client.clone(), &tag, months).await;
            shops.push((*mode, shop));
        }
        Self { standing, shops }
    }

    fn shop(&self, mode: Mode) -> Option<&Shop> {
        let mut shops = self.shops.iter();
        shops.find(|(of, _)| *of == mode).map(|(_, shop)| shop)
    }

    /// The requests of the mode's shop; none where there is none.
    fn requests(&self, mode: Mode) -> Vec<Asked> {
        self.shop(mode).map(Shop::requests).unwrap_or_default()
    }

    /// Every request of every shop with every key of its mode, about its own objects, the other mode's
    /// and the strangers'. Tells what was answered otherwise than the rows say.
    async fn ask_everything(&self, server: &Server, strangers: &Self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (mode, shop) in &self.shops {
            let keys = Keys::of(server, self.standing, shop, *mode);
            let other_mode = match mode {
                Mode::Live => Mode::Sandbox,
                Mode::Sandbox => Mode::Live,
            };
            let others = self.requests(other_mode);
            let strange = strangers.requests(*mode);
            for (place, request) in self.requests(*mode).iter().enumerate() {
                // One's own comes last: it may be over then.
                for (whose, asked) in [
                    (Whose::Strangers, strange.get(place)),
                    (Whose::OtherMode, others.get(place)),
                    (Whose::Own, Some(request)),
                ] {
                    let Some(asked) = asked else { continue };
                    wrong.extend(self.ask(shop, *mode, &keys, whose, asked).await);
                }
            }
        }
        wrong
    }

    async fn ask(
        &self,
        shop: &Shop,
        mode: Mode,
        keys: &Keys,
        whose: Whose,
        (method, path, body, permission): &Asked,
    ) -> Vec<String> {
        let contract = shop.client.contract();
        let Some(row) = Row::of(contract, method, path) else {
            return vec![format!("{method} {path} has no row")];
        };
        let mut wrong = Vec::new();
        if !row.can_name(whose) {
            return wrong;
        }
        for holds in [Holds::Without, Holds::Publishable, Holds::With] {
            if holds == Holds::Publishable && !row.is_public(contract) {
                continue;
            }
            let client = shop.client.with_key(keys.that(holds, permission));
            let expected = row.answers(Key { mode, holds }, self.standing, whose);
            let reply = send(&client, method, path, body.as_ref()).await;
            let got = Answer::of(row, permission, &reply);
            if got != expected {
                wrong.push(format!(
                    "{} {} for {permission}, {mode} key with {holds:?}, {:?}, {whose:?}: \
                     expected {expected:?}, got {got:?}: {reply}",
                    row.method, row.path, self.standing
                ));
            }
        }
        wrong
    }
}

/// Keys of one mode of an organization.
struct Keys {
    publishable: String,
    /// For each permission, a key that has it, and one that has not.
    secret: BTreeMap<&'static str, (String, String)>,
}

impl Keys {
    fn of(server: &Server, standing: Standing, shop: &Shop, mode: Mode) -> Self {
        let organization = shop.client.organization.as_str();
        let of_mode = ["--org", organization, "--mode", mode.as_str()];
        let publishable = server.cli(&[&["key", "create", "--publishable"], &of_mode[..]].concat());
        let make = |permissions: &[&str]| {
            let permissions = permissions.join(",");
            server.key(organization, mode.as_str(), &permissions)
        };
        // Which permission it is that counts is tried once; how it goes with all else, everywhere.
        let secret = match standing {
            Standing::NoLiveKey => Self::each_alone(&make),
            Standing::LiveKey | Standing::Overridden => Self::halves(&make),
        };
        Self {
            publishable: text(&publishable["key"]),
            secret,
        }
    }

    /// For each permission a key with it alone, and one with all others.
    fn each_alone(
        make: &(impl Fn(&[&str]) -> String + Sync),
    ) -> BTreeMap<&'static str, (String, String)> {
        const AT_ONCE: usize = 3;
        let all: &'static [&'static str] = &PERMISSIONS;
        let pair = |needed: &'static str| {
            let others = PERMISSIONS.into_iter().filter(|one| *one != needed);
            let others: Vec<_> = others.collect();
            (needed, (make(&[needed]), make(&others)))
        };
        // Each is a process: some of them go on together.
        thread::scope(|scope| {
            let parts: Vec<_> = all
                .chunks(all.len().div_ceil(AT_ONCE))
                .map(|part| scope.spawn(move || part.iter().copied().map(pair).collect::<Vec<_>>()))
                .collect();
            let made = parts.into_iter().filter_map(|part| part.join().ok());
            made.flatten().collect()
        })
    }

    /// Two keys, each with what the other lacks.
    fn halves(make: &impl Fn(&[&str]) -> String) -> BTreeMap<&'static str, (String, String)> {
        let all: &'static [&'static str] = &PERMISSIONS;
        let (first, second) = all.split_at(all.len() / 2);
        let (one, other) = (make(first), make(second));
        let of_one = first.iter().map(|it| (*it, (one.clone(), other.clone())));
        let of_other = second.iter().map(|it| (*it, (other.clone(), one.clone())));
        of_one.chain(of_other).collect()
    }

    /// A key that holds so much of the permission; none where it could not be made.
    fn that(&self, holds: Holds, permission: &str) -> &str {
        let pair = self.secret.get(permission);
        match holds {
            Holds::Publishable => self.publishable.as_str(),
            Holds::With => pair.map_or("", |(with, _)| with.as_str()),
            Holds::Without => pair.map_or("", |(_, without)| without.as_str()),
        }
    }
}

/// Each operation of the document under /v1 has one row and each row its operation; what is asked below
/// takes what the row says, and all of it.
#[tokio::test(flavor = "multi_thread")]
async fn every_operation_has_its_row() {
    let server = Server::shared(BINARY).await;
    let shop = Shop::new(server).await;
    let contract = shop.client.contract();
    let paths = contract.document["paths"].as_object();
    let documented: BTreeSet<(String, String)> = paths
        .into_iter()
        .flatten()
        .filter(|(path, _)| path.starts_with("/v1/"))
        .flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, _)| (method.to_uppercase(), path.clone()))
        })
        .collect();
    let named = |row: &Row| (row.method.to_owned(), row.path.to_owned());
    let rows: BTreeSet<_> = ROWS.iter().map(named).collect();
    assert_eq!(rows, documented);
    assert_eq!(rows.len(), ROWS.len(), "an operation has one row");
    let mut asked: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for (method, path, _, permission) in shop.requests() {
        let row = Row::of(contract, method, &path).unwrap();
        asked.insert((row.method, row.path, permission));
    }
    let rows: BTreeSet<_> = ROWS
        .iter()
        .flat_map(|row| {
            let permissions = row.permissions.iter();
            permissions.map(move |permission| (row.method, row.path, *permission))
        })
        .collect();
    assert_eq!(asked, rows, "what is asked, and what the rows say");
    let taken: BTreeSet<_> = rows.iter().map(|(_, _, permission)| *permission).collect();
    assert_eq!(taken, BTreeSet::from(PERMISSIONS), "each opens something");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_is_answered_as_the_rows_say() {
    let server = Server::shared(BINARY).await;
    let strangers = Arc::new(Estate::open(server, Standing::Overridden).await);
    let estates = Standing::ALL.map(|standing| {
        let strangers = Arc::clone(&strangers);
        tokio::spawn(async move {
            let estate = Estate::open(server, standing).await;
            estate.ask_everything(server, &strangers).await
        })
    });
    let wrong: Vec<String> = join_all(estates)
        .await
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is made with a key of one mode is in no list of the other, nor counted there.
#[tokio::test(flavor = "multi_thread")]
async fn lists_and_counts_are_of_one_mode() {
    let server = Server::shared(BINARY).await;
    let estate = Estate::open(server, Standing::Overridden).await;
    let shop = |mode| estate.shop(mode).unwrap();
    let (sandbox, live) = (shop(Mode::Sandbox), shop(Mode::Live));
    for (own, other) in [(sandbox, live), (live, sandbox)] {
        for (list, kept, hidden) in [
            ("/v1/checkouts", &own.checkout, &other.checkout),
            ("/v1/customers", &own.customer, &other.customer),
        ] {
            let reply = own.client.get(list).await;
            let listed = reply.has(200).body.as_array().unwrap();
            let ids: Vec<String> = listed.iter().map(|record| text(&record["id"])).collect();
            assert!(ids.contains(kept), "{kept}: {reply}");
            assert!(!ids.contains(hidden), "{hidden}: {reply}");
            let count = ids.len().to_string();
            assert_eq!(reply.header("x-total-count"), count, "{reply}");
        }
        let listed = own.client.get("/v1/checkouts").await.ok();
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    }
}

/// Repeats the update until it is answered so, which takes no longer than is promised.
async fn comes_to(client: &Client, path: &str, status: u16) -> Reply {
    const PROMISED: Duration = Duration::from_secs(6);
    const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
    let begun = Instant::now();
    loop {
        let reply = client.put(path, json!({ "name": "Road bike" })).await;
        if reply.status == status {
            return reply;
        }
        assert!(
            begun.elapsed() < PROMISED,
            "{status} comes too late: {reply}"
        );
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_live_key_takes_the_catalog_within_six_seconds() {
    let server = Server::shared(BINARY).await;
    let client = server.client().await;
    let product = client.product(json!({})).await;
    let path = format!("/v1/products/{}", text(&product["id"]));
    let organization = client.organization.as_str();
    // One that is publishable counts too, and goes on counting when it is revoked.
    let live = ["--org", organization, "--mode", "live", "--publishable"];
    let live = server.cli(&[&["key", "create"], &live[..]].concat());
    let setting = ["--sandbox-writes-catalog on"];
    let refused = comes_to(&client, &path, 403).await;
    refused.refused_with(403, "forbidden", "", &setting);
    server.cli(&["key", "revoke", &text(&live["keyId"])]);
    // A key that is made now is looked up now.
    let now = || client.with_key(&server.key(organization, "sandbox", "all"));
    now().put(&path, json!({ "name": "Other" })).await.has(403);
    let say = |said: &str| {
        let setting = ["--sandbox-writes-catalog", said];
        server.cli(&[&["org", "update", organization], &setting[..]].concat())
    };
    say("on");
    comes_to(&client, &path, 200).await;
    for said in ["off", "default"] {
        say(said);
        now()
            .put(&path, json!({ "name": "Other" }))
            .await
            .refused_with(403, "forbidden", "", &setting);
    }
    // Off is off also where there never was a live key.
    let other = server.client().await;
    let product = other.product_body();
    let off = ["--sandbox-writes-catalog", "off"];
    server.cli(&[&["org", "update", other.organization.as_str()], &off[..]].concat());
    let refused = other.post("/v1/products", product).await;
    refused.refused_with(403, "forbidden", "", &setting);
}

/// The sandbox's stock is the sandbox's to set, alone and in bulk; what comes along with it is not.
#[tokio::test(flavor = "multi_thread")]
async fn stock_is_set_with_a_sandbox_key_all_the_same() {
    let server = Server::shared(BINARY).await;
    let estate = Estate::open(server, Standing::LiveKey).await;
    let shop = estate.shop(Mode::Sandbox).unwrap();
    let client = &shop.client;
    let path = format!("/v1/product-variants/{}", shop.variant);
    let stock = client.put(&path, json!({ "inventoryQuantity": 3 })).await;
    assert_eq!(stock.ok()["inventoryQuantity"], 3);
    let setting = ["--sandbox-writes-catalog on"];
    for more in [
        json!({}),
        json!({ "name": "Other" }),
        json!({ "inventoryQuantity": 4, "name": "Other" }),
        json!({ "inventoryQuantity": 4, "isWaitlisted": true }),
        json!({ "inventoryQuantity": 4, "metadata": null }),
    ] {
        let refused = client.put(&path, more).await;
        refused.refused_with(403, "forbidden", "", &setting);
    }
    let updates = [
        json!({ "id": shop.variant, "inventoryQuantity": 5 }),
        json!({ "id": shop.variant, "inventoryQuantity": 6, "name": "Other" }),
        json!({ "id": "pvar_0000000000000000000001", "name": "Other" }),
        json!({ "id": shop.variant, "inventoryQuantity": null }),
    ];
    let bulk = client
        .put("/v1/product-variants/bulk", json!({ "updates": updates }))
        .await
        .ok();
    let errors = bulk["errors"].as_array().unwrap();
    let codes: Vec<(&Value, &Value)> = errors
        .iter()
        .map(|error| (&error["index"], &error["code"]))
        .collect();
    assert_eq!(
        codes,
        [
            (&json!(1), &json!("forbidden")),
            (&json!(2), &json!("not_found"))
        ]
    );
    let seen = client.get(&path).await.ok();
    assert!(seen.get("inventoryQuantity").is_none(), "{seen}");
    assert_eq!(seen["name"], "Road bike");
    // The permission is asked for before any of it.
    let reader = server.key(&client.organization, "sandbox", "ProductVariantRead");
    let reader = client.with_key(&reader);
    for (path, body) in [
        (path.as_str(), json!({ "inventoryQuantity": 3 })),
        ("/v1/product-variants/bulk", json!({ "updates": updates })),
    ] {
        let refused = reader.put(path, body).await;
        refused.refused_with(403, "forbidden", "", &["ProductVariantWrite"]);
    }
}
