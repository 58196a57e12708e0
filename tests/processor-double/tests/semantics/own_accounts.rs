//! Accounts, which keys name.

use lessor_processor_double::Double;
use reqwest::Method;
use serde_json::Value;

use crate::support::{Answer, Caller};

const PATH: &str = "/v1/customers";

/// Makes a customer under the idempotency key `k`.
async fn make(caller: &Caller, bearer: &str) -> Answer {
    let request = caller
        .http
        .request(Method::POST, format!("{}{PATH}", caller.double.url()))
        .bearer_auth(bearer)
        .header("Idempotency-Key", "k")
        .body("name=Ada");
    Answer::of(request.send().await.expect("an answer")).await
}

async fn read(caller: &Caller, bearer: &str, id: &str) -> u16 {
    let request = caller
        .http
        .request(Method::GET, format!("{}{PATH}/{id}", caller.double.url()))
        .bearer_auth(bearer);
    request.send().await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn each_account_and_each_of_its_modes_has_its_own_objects_keys_and_events() {
    let caller = Caller::new();
    let bearers = [
        "sk_test_1",
        "sk_live_1",
        "sk_test_acctBlue_1",
        "sk_live_acctBlue_1",
        "rk_test_acctGreen_1",
    ];
    let mut made = Vec::new();
    for bearer in bearers {
        let answer = make(&caller, bearer).await;
        assert_eq!((answer.status, answer.replayed), (200, false), "{bearer}");
        made.push(answer.text("id"));
    }
    for (at, bearer) in bearers.iter().enumerate() {
        for (of, id) in made.iter().enumerate() {
            let wanted = if at == of { 200 } else { 404 };
            assert_eq!(read(&caller, bearer, id).await, wanted, "{bearer} {id}");
        }
    }
    let double: &Double = &caller.double;
    let ids = |objects: Vec<Value>| {
        let ids = objects.iter().map(|object| object["id"].clone());
        ids.collect::<Vec<Value>>()
    };
    assert_eq!(ids(double.objects("customer")), [made[0].as_str()]);
    let blue = double.objects_at("acctBlue", false, "customer");
    assert_eq!(ids(blue), [made[2].as_str()]);
    assert_eq!(double.objects_at("acctRed", false, "customer").len(), 0);
    // What happens at an account is told there.
    assert_eq!(double.events().len(), 2);
    assert_eq!(double.events_at("acctBlue").len(), 2);
    assert_eq!(double.events_at("acctGreen").len(), 1);
    let asked: Vec<String> = double
        .journal()
        .into_iter()
        .take(bearers.len())
        .map(|asked| asked.account)
        .collect();
    assert_eq!(asked, ["", "", "acctBlue", "acctBlue", "acctGreen"]);
}

#[tokio::test]
async fn two_keys_may_be_of_one_account() {
    let caller = Caller::new();
    for (one, another) in [
        ("sk_test_1", "sk_test_2"),
        ("sk_test_acctBlue_1", "sk_test_acctBlue_2"),
    ] {
        let made = make(&caller, one).await;
        let again = make(&caller, another).await;
        assert!(again.replayed, "{another}");
        assert_eq!(made.body, again.body);
        assert_eq!(read(&caller, another, &made.text("id")).await, 200);
    }
}
