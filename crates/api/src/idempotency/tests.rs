//! The promises of [`Call`], on stores in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::http::routing::Routes;
use actix_web::body::{MessageBody as _, to_bytes};
use actix_web::http::header::{AUTHORIZATION, HeaderValue};
use actix_web::test::{TestRequest, call_service, init_service};
use actix_web::{HttpResponse, post, put, web};
use async_trait::async_trait;
use chrono::TimeDelta;
use lessor_domain::access::{Mode, Permission};
use lessor_domain::ports::{Clock as _, IdempotencyKey, MockUnitOfWork, StoreError, UnitOfWork};
use lessor_domain::services::{Context, Error, UseCase};
use lessor_domain::testing::first_organization_id;
use serde::Deserialize;
use serde_json::{Value, json};

use super::once::lock;
use super::{Call, FirstPhase, Runner, TwoPhases, Viewer};
use crate::http::error::ApiError;
use crate::middleware::require_key;
use crate::request::Body;
use crate::run::app;
use crate::testing::Bench;

/// Counts how often work was done, and says what comes of it.
#[derive(Default)]
struct Probe {
    done: AtomicU32,
    /// What the next work runs into.
    rule: AtomicU32,
    finished: AtomicU32,
}

#[derive(Clone, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Toy {
    label: String,
}

/// Makes a toy, as the probe says.
#[derive(Clone)]
struct MakeToy {
    toy: Toy,
    probe: Arc<Probe>,
}

#[async_trait]
impl UseCase for MakeToy {
    type Output = Value;

    fn permission(&self) -> Permission {
        Permission::ProductWrite
    }

    async fn run(self, _: &mut dyn UnitOfWork, _: &Context<'_>) -> Result<Value, Error> {
        let times = self.probe.done.fetch_add(1, Ordering::SeqCst) + 1;
        match self.probe.rule.load(Ordering::SeqCst) {
            0 => Ok(json!({ "label": self.toy.label, "times": times })),
            1 => Err(Error::rule("the toy is broken")),
            2 => Err(Error::invalid("label", "is odd")),
            _ => Err(Error::not_found("toy")),
        }
    }
}

#[utoipa::path(responses((status = 200)))]
#[post("/toys")]
async fn make(
    call: Call,
    probe: web::Data<Probe>,
    body: Body<Toy>,
) -> Result<HttpResponse, ApiError> {
    let (toy, probe) = (body.value, probe.into_inner());
    call.post(MakeToy { toy, probe }, &body.raw, |toy, _| toy)
        .await
}

/// Plays a game, whose label says how its phases go.
#[derive(Clone)]
struct Play(MakeToy);

#[async_trait]
impl TwoPhases for Play {
    type Record = Value;
    type Rest = MakeToy;

    fn permission(&self) -> Permission {
        self.0.permission()
    }

    async fn first(
        self,
        _: &mut dyn UnitOfWork,
        _: &Context<'_>,
        _: Viewer<'_>,
    ) -> Result<FirstPhase<Value, MakeToy>, Error> {
        self.0.probe.done.fetch_add(1, Ordering::SeqCst);
        let interim = json!({ "state": "interim" });
        Ok(match self.0.toy.label.as_str() {
            "simple" => FirstPhase::Done(interim),
            "begun" => FirstPhase::Begun(self.0),
            _ => FirstPhase::Interim(interim, self.0),
        })
    }

    async fn second(_: &Runner, MakeToy { toy, probe }: MakeToy) -> Result<Option<Value>, Error> {
        let times = probe.finished.fetch_add(1, Ordering::SeqCst) + 1;
        match toy.label.as_str() {
            "dies" => panic!("the process dies between the phases"),
            "begun" if times == 1 => panic!("the process dies before anything is done"),
            "slow" => Ok(None),
            _ => Ok(Some(json!({ "state": "final" }))),
        }
    }
}

#[utoipa::path(responses((status = 200)))]
#[post("/games")]
async fn play(
    call: Call,
    probe: web::Data<Probe>,
    body: Body<Toy>,
) -> Result<HttpResponse, ApiError> {
    let (toy, probe) = (body.value, probe.into_inner());
    let game = Play(MakeToy { toy, probe });
    call.post_in_two_phases(game, &body.raw).await
}

#[utoipa::path(responses((status = 200)))]
#[put("/toys/{id}")]
async fn change(call: Call, probe: web::Data<Probe>) -> Result<HttpResponse, ApiError> {
    let label = "changed".to_owned();
    let (toy, probe) = (Toy { label }, probe.into_inner());
    let changed = call.mutate(MakeToy { toy, probe }).await?;
    Ok(HttpResponse::Ok().json(changed))
}

fn routes(routes: &mut Routes<'_>) {
    let with_key = |routes: &mut Routes<'_>| {
        routes.service(make).service(play).service(change);
    };
    routes.scope("/v1", with_key, |scope| {
        scope.wrap(actix_web::middleware::from_fn(require_key))
    });
}

/// What a request came to.
#[derive(Debug, PartialEq)]
struct Got {
    status: u16,
    replayed: bool,
    body: Vec<u8>,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    #[track_caller]
    fn assert_error(&self, status: u16, code: &str, param: Option<&str>) {
        let body = self.json();
        assert_eq!(
            (
                self.status,
                body["error"]["code"].as_str(),
                body["error"]["param"].as_str()
            ),
            (status, Some(code), param),
            "{body}"
        );
    }
}

/// Sends requests of one key to an app of the toy routes.
struct Toys {
    bench: Bench,
    probe: web::Data<Probe>,
}

impl Toys {
    async fn new() -> Self {
        Self {
            bench: Bench::new().await,
            probe: web::Data::new(Probe::default()),
        }
    }

    async fn send(&self, request: TestRequest, key: &str) -> Got {
        let app = app::build(&self.bench.parts(), routes)
            .app_data(self.bench.state.clone())
            .app_data(self.probe.clone());
        let app = init_service(app).await;
        let key = HeaderValue::from_str(&format!("Bearer {key}")).unwrap();
        let answer = call_service(
            &app,
            request.insert_header((AUTHORIZATION, key)).to_request(),
        );
        let answer = answer.await;
        Got {
            status: answer.status().as_u16(),
            replayed: answer
                .headers()
                .get("idempotent-replayed")
                .is_some_and(|value| value == "true"),
            body: to_bytes(answer.into_body().boxed()).await.unwrap().to_vec(),
        }
    }

    async fn post(&self, path: &str, label: &str, idempotency_key: &str) -> Got {
        let request = TestRequest::post()
            .uri(path)
            .insert_header(("Idempotency-Key", idempotency_key))
            .set_json(json!({ "label": label }));
        self.send(request, self.bench.key()).await
    }

    fn done(&self) -> u32 {
        self.probe.done.load(Ordering::SeqCst)
    }
}

#[actix_web::test]
async fn a_repeated_request_is_answered_the_same_byte_for_byte() {
    let toys = Toys::new().await;
    let first = toys.post("/v1/toys", "a", "k1").await;
    assert_eq!((first.status, first.replayed), (200, false));
    let second = toys.post("/v1/toys", "a", "k1").await;
    assert_eq!((second.status, second.replayed), (200, true));
    assert_eq!(second.body, first.body);
    assert_eq!(toys.done(), 1);
    // Another key is another request.
    assert_eq!(toys.post("/v1/toys", "a", "k2").await.json()["times"], 2);
}

#[actix_web::test]
async fn another_request_with_the_key_is_refused() {
    let toys = Toys::new().await;
    toys.post("/v1/toys", "a", "k").await;
    let other = toys.post("/v1/toys", "b", "k").await;
    other.assert_error(400, "invalid_request", None);
    assert!(!other.replayed);
    assert_eq!(toys.done(), 1);
    // Under another path the key means another request.
    assert_eq!(toys.post("/v1/games", "a", "k").await.status, 200);
}

#[actix_web::test]
async fn a_refusal_by_a_rule_is_kept_and_one_of_validation_is_not() {
    let toys = Toys::new().await;
    toys.probe.rule.store(1, Ordering::SeqCst);
    let refused = toys.post("/v1/toys", "a", "rule").await;
    refused.assert_error(400, "invalid_request", None);
    for (rule, key, status, code, param) in [
        (2, "validation", 400, "invalid_parameter", Some("label")),
        (3, "missing", 404, "not_found", None),
    ] {
        toys.probe.rule.store(rule, Ordering::SeqCst);
        toys.post("/v1/toys", "a", key)
            .await
            .assert_error(status, code, param);
    }
    let broken = TestRequest::post()
        .uri("/v1/toys")
        .insert_header(("Idempotency-Key", "broken"))
        .set_json(json!({ "label": 1 }));
    let broken = toys.send(broken, toys.bench.key()).await;
    broken.assert_error(400, "invalid_parameter", Some("label"));

    toys.probe.rule.store(0, Ordering::SeqCst);
    let again = toys.post("/v1/toys", "a", "rule").await;
    assert!(again.replayed);
    assert_eq!((again.status, &again.body), (400, &refused.body));
    for key in ["validation", "missing", "broken"] {
        let done = toys.post("/v1/toys", "a", key).await;
        assert_eq!((done.status, done.replayed), (200, false), "{key}");
    }
}

#[actix_web::test]
async fn an_answer_is_kept_for_a_day() {
    let toys = Toys::new().await;
    toys.post("/v1/toys", "a", "k").await;
    toys.bench.clock.advance(TimeDelta::hours(24));
    assert!(toys.post("/v1/toys", "a", "k").await.replayed);
    toys.bench.clock.advance(TimeDelta::milliseconds(1));
    let later = toys.post("/v1/toys", "a", "k").await;
    assert!(!later.replayed);
    assert_eq!(later.json()["times"], 2);
}

#[actix_web::test]
async fn a_kept_answer_is_for_those_who_may_see_it() {
    let toys = Toys::new().await;
    let reader = toys.bench.another_key("ProductRead").await;
    toys.post("/v1/toys", "a", "k").await;
    let request = TestRequest::post()
        .uri("/v1/toys")
        .insert_header(("Idempotency-Key", "k"))
        .set_json(json!({ "label": "a" }));
    let refused = toys.send(request, &reader).await;
    refused.assert_error(403, "forbidden", None);
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("ProductWrite"), "{message}");
}

#[actix_web::test]
async fn keys_are_short_and_single() {
    let toys = Toys::new().await;
    let longest = "k".repeat(255);
    assert_eq!(toys.post("/v1/toys", "a", &longest).await.status, 200);
    let too_long = "k".repeat(256);
    for bad in [too_long.as_str(), ""] {
        let refused = toys.post("/v1/toys", "a", bad).await;
        refused.assert_error(400, "invalid_parameter", Some("Idempotency-Key"));
    }
    let twice = TestRequest::post()
        .uri("/v1/toys")
        .append_header(("Idempotency-Key", "a"))
        .append_header(("Idempotency-Key", "a"))
        .set_json(json!({ "label": "a" }));
    let refused = toys.send(twice, toys.bench.key()).await;
    refused.assert_error(400, "invalid_parameter", Some("Idempotency-Key"));
    // Only a POST has one.
    let put = TestRequest::put()
        .uri("/v1/toys/1")
        .insert_header(("Idempotency-Key", too_long));
    assert_eq!(toys.send(put, toys.bench.key()).await.status, 200);
}

#[actix_web::test]
async fn work_that_met_anothers_is_done_again() {
    let toys = Toys::new().await;
    // So that the use of the key is noted, and no commit below is for that.
    let put = TestRequest::put().uri("/v1/toys/1");
    toys.send(put, toys.bench.key()).await;
    toys.bench.state.mutations.finish().await;
    for (fails, status, times) in [(3, 200, 5), (4, 503, 9)] {
        toys.bench
            .database
            .fail_commits(fails, || StoreError::Contended);
        let put = TestRequest::put().uri("/v1/toys/1");
        let answer = toys.send(put, toys.bench.key()).await;
        assert_eq!(answer.status, status);
        assert_eq!(toys.done(), times);
    }
    // The same for a request that is carried out once; nothing of the failed one is kept.
    toys.bench
        .database
        .fail_commits(4, || StoreError::Stale("toy"));
    let failed = toys.post("/v1/toys", "a", "k").await;
    failed.assert_error(503, "unavailable", None);
    let done = toys.post("/v1/toys", "a", "k").await;
    assert_eq!((done.status, done.replayed), (200, false));
    // Whether this one was done is not known: it is not done again by itself.
    toys.bench
        .database
        .fail_commits(1, || StoreError::unavailable("gone"));
    let before = toys.done();
    let put = TestRequest::put().uri("/v1/toys/1");
    assert_eq!(toys.send(put, toys.bench.key()).await.status, 503);
    assert_eq!(toys.done(), before + 1);
}

/// What a later try finds locked is the try before it, whose transaction has not ended yet.
#[actix_web::test]
async fn only_the_first_try_is_told_that_another_works_on_its_key() {
    let key = IdempotencyKey {
        organization_id: first_organization_id(),
        mode: Mode::Live,
        path: "POST /v1/toys".to_owned(),
        key: "a".to_owned(),
    };
    // Is it the first try; how often the key is found locked; what comes of it; how often is it looked.
    for (is_first, locked, told, looks) in [
        (true, 0, Some(true), 1),
        (true, 9, Some(false), 1),
        (false, 0, Some(true), 1),
        (false, 9, Some(true), 10),
        (false, 99, None, 20),
    ] {
        let mut work = MockUnitOfWork::new();
        let mut found = 0;
        let try_lock = work.idempotency.expect_try_lock();
        try_lock.times(looks).returning(move |_| {
            found += 1;
            Ok(found > locked)
        });
        let outcome = lock(&mut work, &key, is_first).await;
        assert_eq!(outcome.as_ref().ok(), told.as_ref(), "{is_first} {locked}");
        let is_contended = matches!(outcome, Err(StoreError::Contended));
        assert_eq!(is_contended, told.is_none(), "{is_first} {locked}");
    }
}

#[actix_web::test]
async fn the_second_phase_makes_the_answer() {
    let toys = Toys::new().await;
    for (label, state) in [
        ("better", "final"),
        ("slow", "interim"),
        ("simple", "interim"),
    ] {
        let first = toys.post("/v1/games", label, label).await;
        assert_eq!(first.json()["state"], state, "{label}");
        let again = toys.post("/v1/games", label, label).await;
        assert!(again.replayed, "{label}");
        assert_eq!(again.body, first.body, "{label}");
    }
    assert_eq!(toys.done(), 3);
    assert_eq!(toys.probe.finished.load(Ordering::SeqCst), 2);
}

#[actix_web::test]
async fn an_interim_answer_is_given_once_its_process_must_be_dead() {
    let toys = Toys::new().await;
    let died = toys.post("/v1/games", "dies", "k").await;
    died.assert_error(500, "internal_server_error", None);
    let soon = toys.post("/v1/games", "dies", "k").await;
    soon.assert_error(409, "idempotency_in_progress", None);
    toys.bench.clock.advance(TimeDelta::seconds(10));
    let later = toys.post("/v1/games", "dies", "k").await;
    assert_eq!((later.status, later.replayed), (200, true));
    assert_eq!(later.json()["state"], "interim");
    assert_eq!(toys.done(), 1);
}

#[actix_web::test]
async fn what_was_only_begun_is_carried_out_by_the_repetition() {
    let toys = Toys::new().await;
    let died = toys.post("/v1/games", "begun", "k").await;
    died.assert_error(500, "internal_server_error", None);
    let soon = toys.post("/v1/games", "begun", "k").await;
    soon.assert_error(409, "idempotency_in_progress", None);
    toys.bench.clock.advance(TimeDelta::seconds(10));
    let other = toys.post("/v1/games", "other", "k").await;
    other.assert_error(400, "invalid_request", None);
    let later = toys.post("/v1/games", "begun", "k").await;
    assert_eq!((later.status, later.replayed), (200, false));
    assert_eq!(later.json()["state"], "final");
    let again = toys.post("/v1/games", "begun", "k").await;
    assert_eq!((again.body, again.replayed), (later.body, true));
    assert_eq!(toys.done(), 2);
    assert_eq!(toys.probe.finished.load(Ordering::SeqCst), 2);
}

#[actix_web::test]
async fn the_door() {
    let toys = Toys::new().await;
    let ask = async |key: &str| {
        let put = TestRequest::put().uri("/v1/toys/1");
        toys.send(put, key).await.status
    };
    assert_eq!(ask(toys.bench.key()).await, 200);
    // Junk is refused without asking the store.
    let reads = toys.bench.database.reads();
    for junk in [
        "",
        "junk",
        "lsk_live_00000000000000000000000000000000000000",
    ] {
        assert_eq!(ask(junk).await, 401, "{junk}");
    }
    assert_eq!(toys.bench.database.reads(), reads);
    // A key of right form that nobody has.
    let unknown = toys.bench.mint();
    assert_eq!(ask(unknown.reveal()).await, 401);
    // One that has ended: the clock decides at each use, whatever is remembered.
    let ending = toys.bench.ending_key(TimeDelta::minutes(5)).await;
    assert_eq!(ask(&ending).await, 200);
    toys.bench.clock.advance(TimeDelta::minutes(5));
    assert_eq!(ask(&ending).await, 401);
    // Several uses are one look-up.
    let reads = toys.bench.database.reads();
    for _ in 0..5 {
        ask(toys.bench.key()).await;
    }
    assert!(toys.bench.database.reads() <= reads + 1);
}

#[actix_web::test]
async fn a_revoked_key_is_dead_once_it_is_looked_up_anew() {
    let toys = Toys::new().await;
    let put = || TestRequest::put().uri("/v1/toys/1");
    assert_eq!(toys.send(put(), toys.bench.key()).await.status, 200);
    toys.bench.revoke().await;
    toys.bench.state.keys.forget();
    assert_eq!(toys.send(put(), toys.bench.key()).await.status, 401);
}

#[actix_web::test]
async fn the_use_of_a_key_is_noted_at_most_once_a_minute() {
    let toys = Toys::new().await;
    for _ in 0..3 {
        let put = TestRequest::put().uri("/v1/toys/1");
        toys.send(put, toys.bench.key()).await;
    }
    let at = toys.bench.clock.now();
    toys.bench.state.mutations.finish().await;
    assert_eq!(toys.bench.last_used().await, Some(at));
    // Three requests and one note.
    assert_eq!(toys.bench.database.commits(), 4);
}

/// No operation here is for everybody: a publishable key is refused before the body is looked at, and
/// counted by the address that it comes from, whatever key it is.
#[actix_web::test]
async fn a_publishable_key_is_counted_by_its_address() {
    let mut toys = Toys::new().await;
    toys.bench.limit_rate(1);
    toys.bench.limit_address_rate(1);
    let keys = [
        toys.bench.publishable_key().await,
        toys.bench.publishable_key().await,
    ];
    let ask = async |key: &str, from: &str| {
        let peer = format!("{from}:1").parse().unwrap();
        let put = TestRequest::put().uri("/v1/toys/1").peer_addr(peer);
        toys.send(put, key).await
    };
    let mut refused = None;
    let mut answered = 0;
    // More than five of these fall into one second.
    for key in keys.iter().cycle().take(100) {
        let answer = ask(key, "192.0.2.1").await;
        if answer.status != 403 {
            refused = Some(answer);
            break;
        }
        answer.assert_error(403, "forbidden", None);
        answered += 1;
    }
    assert!(answered >= 5, "{answered}");
    refused.unwrap().assert_error(429, "rate_limited", None);
    assert_eq!(ask(&keys[0], "192.0.2.2").await.status, 403);
    assert_eq!(ask(toys.bench.key(), "192.0.2.1").await.status, 200);
}

#[actix_web::test]
async fn each_key_has_its_rate() {
    let mut toys = Toys::new().await;
    toys.bench.limit_rate(1);
    let other = toys.bench.another_key("all").await;
    let put = || TestRequest::put().uri("/v1/toys/1");
    let mut refused = None;
    // Three of these fall into one second.
    for _ in 0..100 {
        let answer = toys.send(put(), toys.bench.key()).await;
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    refused.unwrap().assert_error(429, "rate_limited", None);
    assert_eq!(toys.send(put(), &other).await.status, 200);
}
