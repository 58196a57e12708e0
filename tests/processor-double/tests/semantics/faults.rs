//! What goes wrong when it is told to, and the control endpoints.

use lessor_processor_double::{Fault, Rule, When};
use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Caller, until};

const PATH: &str = "/v1/customers";

fn made(caller: &Caller) -> usize {
    caller.double.objects("customer").len()
}

#[tokio::test]
async fn before_the_effect_is_without_it_and_after_with() {
    for (when, effects) in [(When::Before, 0), (When::After, 1)] {
        let caller = Caller::new();
        caller
            .double
            .fault(Rule::once("POST", PATH, Fault::status(503, when)));
        assert_eq!(caller.post_once(PATH, "name=A", "k").await.status, 503);
        assert_eq!(made(&caller), effects, "503 {when:?}");
        let again = caller.post_once(PATH, "name=A", "k").await;
        assert_eq!((again.status, again.replayed), (200, effects == 1));
        assert_eq!(made(&caller), 1);

        caller
            .double
            .fault(Rule::once("POST", PATH, Fault::Reset { when }));
        let error = caller
            .keyed(PATH, "name=B", "l")
            .send()
            .await
            .expect_err("a reset");
        assert!(error.is_request(), "{error:?}");
        assert_eq!(made(&caller), 1 + effects, "reset {when:?}");
        assert_eq!(caller.post_once(PATH, "name=B", "l").await.status, 200);
        assert_eq!(made(&caller), 2);
    }
}

#[tokio::test]
async fn a_failure_after_the_effect_hides_it() {
    let caller = Caller::new();
    caller
        .double
        .fault(Rule::once("POST", PATH, Fault::FAILED_AFTER));
    for _ in 0..2 {
        assert_eq!(caller.post_once(PATH, "name=A", "k").await.status, 500);
    }
    assert_eq!(made(&caller), 1);
}

#[tokio::test]
async fn a_hanging_request_never_ends_but_has_its_effect() {
    for (when, effects) in [(When::Before, 0), (When::After, 1)] {
        let caller = Caller::new();
        caller
            .double
            .fault(Rule::once("POST", PATH, Fault::Hang { when }));
        let hanging = tokio::spawn(caller.keyed(PATH, "name=A", "k").send());
        until("the request came", || !caller.double.journal().is_empty()).await;
        until("the effect", || made(&caller) == effects).await;
        assert!(!hanging.is_finished());
        hanging.abort();
        assert_eq!(caller.post_once(PATH, "name=A", "k").await.status, 200);
        assert_eq!(made(&caller), 1);
    }
}

#[tokio::test]
async fn answers_can_be_limited_cut_changed_or_not_its_own() {
    let caller = Caller::new();
    let limited = Fault::RateLimited {
        retry_after: Some("7".to_owned()),
    };
    caller.double.fault(Rule::once("GET", PATH, limited));
    let answer = caller.get(PATH).await;
    assert_eq!(
        (answer.status, &answer.headers["retry-after"]),
        (429, &"7".parse().expect("7"))
    );

    caller.double.fault(Rule::once("POST", PATH, Fault::Cut));
    let sent = caller
        .keyed(PATH, "name=A", "k")
        .send()
        .await
        .expect("headers");
    assert!(sent.text().await.is_err());
    assert_eq!(made(&caller), 1);

    let members = json!({ "status": "never_heard_of", "metadata": { "more": "1" } });
    caller
        .double
        .fault(Rule::once("GET", PATH, Fault::Merge { members }));
    assert_eq!(caller.get(PATH).await.body["metadata"]["more"], "1");

    let page = Fault::Answer {
        status: 502,
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        body: "<html>Bad gateway</html>".to_owned(),
    };
    caller.double.fault(Rule::once("GET", PATH, page));
    assert_eq!(
        caller.get(PATH).await.body,
        json!("<html>Bad gateway</html>")
    );
}

#[tokio::test]
async fn it_can_be_down() {
    let caller = Caller::new();
    caller.double.down(true);
    assert!(caller.request(Method::GET, PATH).send().await.is_err());
    caller.double.down(false);
    assert_eq!(caller.get(PATH).await.status, 200);
}

#[tokio::test]
async fn the_journal_shows_what_was_asked() {
    let caller = Caller::new();
    let form = "name=A%20B&metadata[lessor_customer]=cust_1&expand[]=sources";
    caller.post_once(PATH, form, "k").await;
    let journal = caller.double.journal();
    let entry = &journal[0];
    assert_eq!(
        (entry.method.as_str(), entry.operation.as_deref()),
        ("POST", Some(PATH))
    );
    let params = json!({
        "name": "A B", "metadata": { "lessor_customer": "cust_1" }, "expand": ["sources"]
    });
    assert_eq!(entry.params, params);
    assert_eq!(
        (entry.raw.as_str(), entry.idempotency_key.as_deref()),
        (form, Some("k"))
    );
    // There is no such thing to expand.
    assert_eq!(entry.status, Some(400));
}

#[tokio::test]
async fn it_is_steered_over_http_too() {
    let caller = Caller::new();
    let control = async |method: Method, path: &str, body: serde_json::Value| {
        let request = caller.request(method, &format!("/_double/{path}"));
        Answer::of(
            request
                .body(body.to_string())
                .send()
                .await
                .expect("an answer"),
        )
        .await
    };
    let rule = json!({
        "method": "POST", "path": PATH, "times": 1, "fault": { "kind": "status", "status": 500, "when": "after", "stored": true }
    });
    assert_eq!(control(Method::POST, "faults", rule).await.status, 200);
    let form = "metadata[lessor_customer]=cust_1";
    assert_eq!(caller.post_once(PATH, form, "k").await.status, 500);
    let counters = control(Method::GET, "counters", json!(null)).await;
    assert_eq!(counters.body["customersByCustomer"]["cust_1"], 1);
    let before = caller.double.now();
    control(Method::POST, "clock", json!({ "advanceSeconds": 60 })).await;
    assert_eq!((caller.double.now() - before).num_seconds(), 60);
    assert_eq!(
        control(Method::POST, "clock", json!({ "nope": 1 }))
            .await
            .status,
        400
    );
    assert_eq!(control(Method::POST, "nope", json!({})).await.status, 400);
    let journal = control(Method::GET, "journal", json!(null)).await;
    assert_eq!(journal.body.as_array().map(Vec::len), Some(1));
    let objects = control(Method::GET, "objects/customer", json!(null)).await;
    assert_eq!(objects.body[0]["metadata"]["lessor_customer"], "cust_1");
    control(Method::POST, "down", json!({ "down": true })).await;
    assert!(caller.request(Method::GET, PATH).send().await.is_err());
    // The control stays reachable.
    assert_eq!(
        control(Method::POST, "down", json!({ "down": false }))
            .await
            .status,
        200
    );
}
