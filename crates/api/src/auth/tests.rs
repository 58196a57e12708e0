//! Whom limits let in, by the routes of the service on stores in memory.

use actix_http::Request;
use actix_web::Error;
use actix_web::body::BoxBody;
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::header::AUTHORIZATION;
use actix_web::test::{TestRequest, call_service, init_service};
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
    let request = request.peer_addr(HERE.parse().unwrap());
    Answer(call_service(app, request.to_request()).await)
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
    let mut refused = None;
    // Three of these fall into one second.
    for _ in 0..100 {
        let answer = send(&app, get("/v1/products", bench.key())).await;
        if answer.status() != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.unwrap();
    assert_eq!(refused.status(), 429);
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
