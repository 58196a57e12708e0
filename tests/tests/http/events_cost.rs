//! What it costs whoever writes that events are told: the same writes on the same database, with and
//! without, in turns; as requests of a server, and without one.
//! `cargo test --release -p lessor-tests --test http telling -- --ignored --nocapture --test-threads 1`

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says where it stopped"
)]

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use lessor::auth::keys::KeyText;
use lessor::http::budget::MemoryBudget;
use lessor::http::draining::Draining;
use lessor::http::mutation::Mutations;
use lessor::http::public_url::PublicUrl;
use lessor::http::server::{self, ServerSettings};
use lessor::middleware::{Cors, Deadline};
use lessor::request::BodyLimits;
use lessor::routes;
use lessor::routes::health::Readiness;
use lessor::run::app::{self, AppParts, Said};
use lessor::run::compose;
use lessor::state::{AppState, StateSettings};
use lessor_adapters::ambient::{SystemClock, SystemEntropy, SystemTimer, UuidV7Generator};
use lessor_adapters::testing::TestDatabase;
use lessor_domain::access::{Access, KeyKind, Mode, Permissions};
use lessor_domain::audit::Origin;
use lessor_domain::ids::{CheckoutPubId, IdRef};
use lessor_domain::metadata::MetadataPatch;
use lessor_domain::ports::{Clock as _, Database, InsertedCustomer, Reach, Scope};
use lessor_domain::services::checkouts::{Annotate, WithView};
use lessor_domain::services::keys::{self, CreateKey, KeyUser};
use lessor_domain::services::{UseCase as _, events};
use lessor_domain::testing::{FakeProviders, Fixtures, context};
use lessor_domain::workers::Engine;
use serde_json::json;
use tokio::runtime::Handle;

/// Writers at a time, each of a checkout of its own.
const WRITERS: usize = 8;
/// Writes of each of them in a turn. Short turns, and many of them: what else the machine does for seconds, such as a
/// checkpoint, falls on both.
const WRITES: usize = 25;
/// Turns of either.
const TURNS: usize = 120;

/// Who writes, and what.
struct Desk {
    access: Access,
    checkouts: Vec<CheckoutPubId>,
}

impl Desk {
    async fn open(database: &dyn Database) -> Self {
        let make = Fixtures::seeded(5);
        let mut uow = database.begin(Reach::Server).await.unwrap();
        let organization = make.organization().new_record();
        let organization = uow.organizations().insert(&organization).await.unwrap();
        uow.enter(organization.id).await.unwrap();
        let term = make.lease_term(&organization).new_record();
        let term = uow.lease_terms().insert(&term).await.unwrap();
        let mut checkouts = Vec::new();
        let mut holder = None;
        for _ in 0..WRITERS {
            let product = make.product(&organization).build();
            uow.products().insert(&product).await.unwrap();
            let variant = make.variant(&product).build();
            uow.variants().insert(&variant).await.unwrap();
            let customer = make.customer(&organization).new_record();
            let inserted = uow.customers().insert(&customer).await.unwrap();
            let (InsertedCustomer::New(customer) | InsertedCustomer::Existing(customer)) = inserted;
            let checkout = make.checkout(&customer, &variant).term(&term).build();
            uow.checkouts().insert(&checkout, &[]).await.unwrap();
            checkouts.push(checkout.id);
            holder = Some(customer);
        }
        uow.commit().await.unwrap();
        let holder = holder.unwrap();
        Self {
            access: Access {
                key_id: make.id(),
                key_name: None,
                organization_id: organization.id,
                organization_pub_id: organization.pub_id,
                user_id: holder.user_id,
                user_pub_id: holder.id,
                kind: KeyKind::Secret,
                mode: Mode::Sandbox,
                permissions: Permissions::all(),
                sandbox_writes_catalog: true,
            },
            checkouts,
        }
    }

    /// So many writes of every checkout, as requests make them.
    async fn write(&self, database: &Arc<dyn Database>, turn: usize) -> Duration {
        let begun = Instant::now();
        let writers = self.checkouts.iter().map(|id| async move {
            for write in 0..WRITES {
                let ctx = context(&self.access, SystemClock.now(), &UuidV7Generator);
                let value = format!("{turn}-{write}-{begun:?}");
                let changes = [("n".parse().unwrap(), Some(value.parse().unwrap()))];
                let annotate = WithView(Annotate {
                    id: *id,
                    changes: MetadataPatch::Merge(changes.into()),
                });
                let organization = self.access.organization_id;
                let mut uow = database.begin(organization.into()).await.unwrap();
                annotate.run(uow.as_mut(), &ctx).await.unwrap();
                uow.commit().await.unwrap();
            }
        });
        join_all(writers).await;
        begun.elapsed()
    }
}

/// The same database, of which nobody is told, and of which events tell.
struct Pair {
    _test: TestDatabase,
    plain: Arc<dyn Database>,
    telling: Arc<dyn Database>,
    desk: Desk,
}

impl Pair {
    async fn open() -> Self {
        let test = TestDatabase::create().await;
        let plain: Arc<dyn Database> = Arc::new(test.database().clone());
        let telling = compose::telling(Arc::clone(&plain), &public_url(), Arc::new(()));
        Self {
            desk: Desk::open(plain.as_ref()).await,
            _test: test,
            plain,
            telling: Arc::new(telling),
        }
    }

    /// How many were told of, and how much longer the writes took of which there was telling.
    async fn report(&self, turns: Turns) {
        let Turns {
            mut ratios,
            plain: untold,
            telling: told,
        } = turns;
        ratios.sort_by(f64::total_cmp);
        let scope = Scope {
            organization_id: self.desk.access.organization_id,
            mode: Mode::Sandbox,
        };
        let plain = self.plain.as_ref();
        events::number(plain, &UuidV7Generator, &SystemClock, scope)
            .await
            .unwrap();
        let mut view = plain.read(scope.into()).await.unwrap();
        let events = view.events().last(scope).await.unwrap();
        let expected = u64::try_from((TURNS + 1) * WRITERS * WRITES).unwrap();
        assert_eq!(events, expected, "an event for each write that is told of");
        report(&format!(
            "{:.3} of the time without, by turns {:.3} in the middle and half of them {:.3} to {:.3}; {:.0} events a second",
            told.as_secs_f64() / untold.as_secs_f64(),
            ratios[ratios.len() / 2],
            ratios[ratios.len() / 4],
            ratios[ratios.len() * 3 / 4],
            f64::from(u32::try_from(TURNS * WRITERS * WRITES).unwrap()) / told.as_secs_f64()
        ));
    }
}

/// What the writes took.
struct Turns {
    /// How many times as long those took of which there was telling, by turns.
    ratios: Vec<f64>,
    /// All of which there was none.
    plain: Duration,
    /// All of which there was.
    telling: Duration,
}

/// Each goes first as often as the other. Before the first turn both have gone once: what is prepared and laid into
/// caches belongs to neither.
async fn in_turns(
    without: impl AsyncFn(usize) -> Duration,
    with: impl AsyncFn(usize) -> Duration,
) -> Turns {
    let mut turns = Turns {
        ratios: Vec::new(),
        plain: Duration::ZERO,
        telling: Duration::ZERO,
    };
    without(TURNS).await;
    with(TURNS).await;
    for turn in 0..TURNS {
        let (plain, telling) = if turn.is_multiple_of(2) {
            let plain = without(turn).await;
            (plain, with(turn).await)
        } else {
            let telling = with(turn).await;
            (without(turn).await, telling)
        };
        turns.plain += plain;
        turns.telling += telling;
        turns
            .ratios
            .push(telling.as_secs_f64() / plain.as_secs_f64());
    }
    turns
}

fn public_url() -> PublicUrl {
    PublicUrl::new("https://lease.example")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn telling_costs_whoever_writes_little() {
    let pair = Pair::open().await;
    let (desk, plain, telling) = (&pair.desk, &pair.plain, &pair.telling);
    let (without, with) = (
        |turn| desk.write(plain, turn),
        |turn| desk.write(telling, turn),
    );
    pair.report(in_turns(without, with).await).await;
}

/// A server in this process, on these stores.
struct Served {
    url: String,
    key: String,
    http: reqwest::Client,
}

impl Served {
    async fn start(database: &Arc<dyn Database>, access: &Access) -> Self {
        let key = KeyText::mint(&SystemEntropy, KeyKind::Secret, Mode::Sandbox);
        let mut uow = database.begin(Reach::Server).await.unwrap();
        let input = CreateKey {
            organization: IdRef::Number(access.organization_id),
            user: KeyUser::Email("ops@example.com".parse().unwrap()),
            kind: key.kind(),
            mode: key.mode(),
            permissions: Permissions::all(),
            name: None,
            expires_at: None,
            hash: key.hash(),
            hint: key.hint().to_owned(),
        };
        let now = SystemClock.now();
        keys::create_key(&mut *uow, &UuidV7Generator, now, &Origin::SYSTEM, input)
            .await
            .unwrap();
        uow.commit().await.unwrap();
        let engine = Engine::new(
            Arc::clone(database),
            Arc::new(SystemClock),
            Arc::new(UuidV7Generator),
            Arc::new(SystemEntropy),
            Arc::new(SystemTimer),
            FakeProviders::default().set(),
        );
        let mutations = Mutations::new(Handle::current());
        let server_key = "the key of every server that is measured".parse().unwrap();
        let settings = StateSettings::new(public_url(), server_key);
        let state = AppState::new(engine, mutations.clone(), settings);
        let parts = AppParts {
            public_url: public_url(),
            body_limits: BodyLimits::default(),
            memory: MemoryBudget::default(),
            cors: Cors::default(),
            deadline: Deadline::default(),
            mutations: mutations.clone(),
            readiness: Readiness::new(|| async { Ok(()) }),
            metrics: None,
            draining: Draining::default(),
            said: Said::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let settings = ServerSettings {
            public_url: public_url(),
            workers: Some(2),
            ..ServerSettings::default()
        };
        let app = move || app::build(&parts, routes::configure).app_data(state.clone());
        let never = std::future::pending();
        tokio::spawn(server::serve(listener, settings, mutations, never, app));
        Self {
            url,
            key: key.reveal().to_owned(),
            http: reqwest::Client::new(),
        }
    }

    /// So many writes of every checkout.
    async fn write(&self, checkouts: &[CheckoutPubId], turn: usize) -> Duration {
        let begun = Instant::now();
        join_all(checkouts.iter().map(|id| async move {
            let url = format!("{}/v1/checkouts/{id}", self.url);
            for write in 0..WRITES {
                let body = json!({ "metadata": { "n": format!("{turn}-{write}-{begun:?}") } });
                let request = self.http.put(&url).bearer_auth(&self.key).json(&body);
                let answer = request.send().await.unwrap();
                assert_eq!(answer.status(), 200);
                answer.bytes().await.unwrap();
            }
        }))
        .await;
        begun.elapsed()
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn telling_costs_a_request_little() {
    let pair = Pair::open().await;
    let (access, checkouts) = (&pair.desk.access, &pair.desk.checkouts);
    let plain = Served::start(&pair.plain, access).await;
    let telling = Served::start(&pair.telling, access).await;
    let (without, with) = (
        |turn| plain.write(checkouts, turn),
        |turn| telling.write(checkouts, turn),
    );
    pair.report(in_turns(without, with).await).await;
}

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
fn report(what: &str) {
    println!("{what}");
}
