//! Whom limits let in, by the routes of the service on stores in memory.

use actix_http::Request;
use actix_web::Error;
use actix_web::body::BoxBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::header::AUTHORIZATION;
use actix_web::test::{TestRequest, call_service, init_service};
use chrono::TimeDelta;
use lessor_adapters::processor::SIGNATURE_HEADER;
use lessor_adapters::processor::signature::{WebhookSecret, sign};
use lessor_domain::ports::Clock as _;
use serde_json::json;

use crate::routes;
use crate::run::app;
use crate::testing::Bench;

/// Where requests come from.
const HERE: &str = "192.0.2.1:4711";

/// The service over the bench as it is set up.
async fn serve(
    bench: &Bench,
) -> impl Service<Request, Response = ServiceResponse<BoxBody>, Error = Error> {
    let app = app::build(&bench.parts(), routes::configure).app_data(bench.state.clone());
    init_service(app).await
}

struct Answer(ServiceResponse<BoxBody>);

impl Answer {
    fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    fn header(&self, name: &str) -> &str {
        let value = self.0.headers().get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Limit, remaining, reset.
    fn standing(&self) -> [&str; 3] {
        ["limit", "remaining", "reset"].map(|what| self.header(&format!("ratelimit-{what}")))
    }
}

async fn send(
    app: &impl Service<Request, Response = ServiceResponse<BoxBody>, Error = Error>,
    request: TestRequest,
) -> Answer {
    send_from(app, HERE, request).await
}

async fn send_from(
    app: &impl Service<Request, Response = ServiceResponse<BoxBody>, Error = Error>,
    from: &str,
    request: TestRequest,
) -> Answer {
    let request = request.peer_addr(from.parse().unwrap());
    Answer(call_service(app, request.to_request()).await)
}

/// Sends requests until one is refused because there were too many, all others being answered with this
/// status: how many those were, and the refusal.
async fn send_too_many(
    app: &impl Service<Request, Response = ServiceResponse<BoxBody>, Error = Error>,
    from: &str,
    status: u16,
    request: impl Fn() -> TestRequest,
) -> (usize, Answer) {
    for answered in 0..100 {
        let answer = send_from(app, from, request()).await;
        if answer.status() == 429 {
            return (answered, answer);
        }
        assert_eq!(answer.status(), status);
    }
    panic!("a hundred are not too many");
}

/// A request with a key.
fn get(path: &str, key: &str) -> TestRequest {
    TestRequest::get()
        .uri(path)
        .insert_header((AUTHORIZATION, format!("Bearer {key}")))
}

#[actix_web::test]
async fn answers_to_a_key_say_how_much_it_may_still_ask() {
    let mut bench = Bench::new().await;
    bench.limit_rate(10);
    let app = serve(&bench).await;
    let first = send(&app, get("/v1/products", bench.key())).await;
    assert_eq!((first.status(), first.standing()), (200, ["20", "19", "1"]));
    // So do refusals.
    for (path, status) in [("/v1/products?color=red", 400), ("/v1/nothing", 404)] {
        let refused = send(&app, get(path, bench.key())).await;
        assert_eq!((refused.status(), refused.standing()[0]), (status, "20"));
    }
    let other = bench.another_key("all").await;
    let other = send(&app, get("/v1/products", &other)).await;
    assert_eq!(other.standing(), ["20", "19", "1"]);
}

#[actix_web::test]
async fn a_key_that_is_refused_is_told_when_to_come_again() {
    let mut bench = Bench::new().await;
    bench.limit_rate(1);
    let app = serve(&bench).await;
    let ask = || get("/v1/products", bench.key());
    let (answered, refused) = send_too_many(&app, HERE, 200, ask).await;
    assert!(answered >= 2, "{answered}");
    assert_eq!(refused.standing(), ["2", "0", "2"]);
    assert_eq!(refused.header("retry-after"), "1");
}

#[actix_web::test]
async fn without_limits_nothing_is_said_of_them() {
    let bench = Bench::new().await;
    let app = serve(&bench).await;
    let answer = send(&app, get("/v1/products", bench.key())).await;
    assert_eq!((answer.status(), answer.standing()), (200, ["", "", ""]));
}

/// A bulk request is let in by one token, takes one for each item, and leaves its key in debt.
#[actix_web::test]
async fn each_item_of_a_bulk_request_counts() {
    let mut bench = Bench::new().await;
    bench.limit_rate(1);
    let app = serve(&bench).await;
    let products = vec!["prod_x"; 100];
    let variants = vec!["pvar_x"; 100];
    let items = |ids: &[&str]| {
        let items: Vec<_> = ids.iter().map(|id| json!({ "id": id })).collect();
        json!({ "updates": items })
    };
    let asked = format!(
        "/v1/product-variants/bulk?productIds={}",
        products.join(",")
    );
    for request in [
        TestRequest::put()
            .uri("/v1/products/bulk")
            .set_json(items(&products)),
        TestRequest::put()
            .uri("/v1/product-variants/bulk")
            .set_json(items(&variants)),
        TestRequest::get().uri(&asked),
        TestRequest::post()
            .uri("/v1/product-variants/bulk/fetch")
            .set_json(json!({ "ids": variants })),
    ] {
        let key = bench.another_key("all").await;
        let request = request.insert_header((AUTHORIZATION, format!("Bearer {key}")));
        let answer = send(&app, request).await;
        let [limit, remaining, reset] = answer.standing();
        assert_eq!((answer.status(), limit, remaining), (200, "2", "0"));
        assert!(["99", "100"].contains(&reset), "{reset}");
        let refused = send(&app, get("/v1/products", &key)).await;
        assert_eq!(refused.status(), 429);
        let wait: u32 = refused.header("retry-after").parse().unwrap();
        assert!((60..100).contains(&wait), "{wait}");
    }
    let one = TestRequest::put()
        .uri("/v1/products/bulk")
        .set_json(items(&["prod_x"]))
        .insert_header((AUTHORIZATION, format!("Bearer {}", bench.key())));
    let answer = send(&app, one).await;
    assert_eq!((answer.status(), answer.standing()[1]), (200, "1"));
}

/// Posts what is signed by nobody, or by whoever the header says.
fn message(path: &str, signature: &str) -> TestRequest {
    TestRequest::post()
        .uri(path)
        .insert_header((SIGNATURE_HEADER, signature))
        .set_payload("{}")
}

#[actix_web::test]
async fn what_anybody_can_send_is_counted_by_its_address() {
    let mut bench = Bench::new().await;
    bench.limit_address_rate(1);
    let app = serve(&bench).await;
    let unknown = bench.mint();
    let without_key = || TestRequest::get().uri("/v1/products");
    let with_junk = || get("/v1/products", "lsk_sandbox_junk");
    let made_up = || get("/v1/products", unknown.reveal());
    let nowhere = || TestRequest::get().uri("/v1/nothing");
    let tracking = || message("/webhooks/tracking", "t=1,v1=00");
    let mail = || message("/webhooks/mail", "t=1,v1=00");
    let processor = || message("/webhooks/processor", "t=1,v1=00");
    let account = || message("/webhooks/processor/org_x", "t=1,v1=00");
    let form = [("firstName", "Ada")];
    let page = || TestRequest::post().uri("/c/nothing/profile").set_form(form);
    let asked: [(u16, &dyn Fn() -> TestRequest); 9] = [
        (401, &without_key),
        (401, &with_junk),
        (401, &made_up),
        (401, &nowhere),
        (401, &tracking),
        (401, &mail),
        (401, &processor),
        (401, &account),
        (404, &page),
    ];
    for (number, (status, request)) in asked.into_iter().enumerate() {
        let from = format!("192.0.2.{number}:4711");
        let first = send_from(&app, &from, request()).await;
        assert_eq!(first.status(), status);
        if status == 401 {
            assert_eq!(first.standing(), ["5", "4", "1"]);
        }
        let (answered, refused) = send_too_many(&app, &from, status, request).await;
        assert!(answered >= 4, "{answered}");
        assert_eq!(refused.standing(), ["5", "0", "5"]);
        assert_eq!(refused.header("retry-after"), "1");
        // A key that is in force is let in: at first one that was never seen here.
        let known = send_from(&app, &from, get("/v1/products", bench.key())).await;
        assert_eq!((known.status(), known.standing()), (200, ["", "", ""]));
    }
}

#[actix_web::test]
async fn who_shows_that_they_may_ask_does_not_count() {
    let mut bench = Bench::new().await;
    bench.limit_address_rate(1);
    let secret = WebhookSecret::new("whsec_of_the_test").unwrap();
    let mut settings = (*bench.state.settings).clone();
    settings.processor_secrets.sandbox = vec![secret.clone()];
    bench.state.own().settings = settings.into();
    let app = serve(&bench).await;
    let signature = sign(b"{}", &[secret], bench.clock.now());
    for _ in 0..6 {
        // Each is looked up for the first time, and then known.
        let key = bench.another_key("all").await;
        for _ in 0..2 {
            let answer = send(&app, get("/v1/products", &key)).await;
            assert_eq!(answer.status(), 200);
        }
        // It is signed, and says nothing.
        let answer = send(&app, message("/webhooks/processor", &signature)).await;
        assert_eq!(answer.status(), 400);
        for (path, status) in [
            ("/c/nothing", 404),
            ("/healthz", 200),
            ("/docs/errors", 200),
        ] {
            let answer = send(&app, TestRequest::get().uri(path)).await;
            assert_eq!(answer.status(), status, "{path}");
        }
    }
    let first = send(&app, TestRequest::get().uri("/v1/products")).await;
    assert_eq!(first.standing(), ["5", "4", "1"]);
    // A message with a good signature is taken whatever else the address sent.
    let forged = || message("/webhooks/processor", "t=1,v1=00");
    send_too_many(&app, HERE, 401, forged).await;
    let answer = send(&app, message("/webhooks/processor", &signature)).await;
    assert_eq!(answer.status(), 400);
}

#[actix_web::test]
async fn a_key_that_was_good_counts_once_it_is_not() {
    let mut bench = Bench::new().await;
    bench.limit_address_rate(1);
    let app = serve(&bench).await;
    let key = bench.ending_key(TimeDelta::hours(1)).await;
    let ask = || get("/v1/products", &key);
    assert_eq!(send(&app, ask()).await.status(), 200);
    bench.clock.advance(TimeDelta::hours(2));
    let first = send(&app, ask()).await;
    assert_eq!((first.status(), first.standing()), (401, ["5", "4", "1"]));
    let (answered, _) = send_too_many(&app, HERE, 401, ask).await;
    assert!(answered >= 4, "{answered}");
}

/// An address that asked too often still has keys looked up that nobody knows here, since they may be good;
/// but not without end.
#[actix_web::test]
async fn made_up_keys_are_not_looked_up_without_end() {
    let mut bench = Bench::new().await;
    bench.limit_address_rate(1);
    let app = serve(&bench).await;
    let reads = bench.database.reads();
    for _ in 0..100 {
        let made_up = bench.mint();
        let answer = send(&app, get("/v1/products", made_up.reveal())).await;
        assert!([401, 429].contains(&answer.status()), "{}", answer.status());
    }
    // Five of the address, five of all addresses, and those that came in the meantime.
    let reads = bench.database.reads() - reads;
    assert!((10..60).contains(&reads), "{reads}");
}
