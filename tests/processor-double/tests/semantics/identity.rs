//! The page where customers prove who they are.

use chrono::TimeDelta;
use serde_json::Value;

use crate::support::{Answer, Caller};

async fn open(caller: &Caller) -> Answer {
    let form = "type=document&return_url=http%3A%2F%2Fshop.test%2Fback";
    let path = "/v1/identity/verification_sessions";
    caller.post(path, form).await
}

/// What a browser shows that does not follow: the status, and where it is sent.
async fn visit(url: &str, choice: Option<&str>) -> (u16, Option<String>, String) {
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let request = match choice {
        Some(choice) => http.post(url).body(format!("choice={choice}")),
        None => http.get(url),
    };
    let answer = request.send().await.expect("an answer");
    let to = answer.headers().get("location");
    let to = to.map(|to| to.to_str().expect("text").to_owned());
    (
        answer.status().as_u16(),
        to,
        answer.text().await.expect("a page"),
    )
}

async fn read(caller: &Caller, id: &str) -> Answer {
    caller
        .get(&format!("/v1/identity/verification_sessions/{id}"))
        .await
}

#[tokio::test]
async fn each_button_comes_to_what_it_says() {
    for (choice, status, error) in [
        ("verify", "verified", Value::Null),
        ("submit", "processing", Value::Null),
        ("refuse", "requires_input", "selfie_face_mismatch".into()),
        ("blurred", "requires_input", "document_expired".into()),
        ("abandon", "requires_input", "abandoned".into()),
    ] {
        let caller = Caller::new();
        let made = open(&caller).await;
        let (id, url) = (made.text("id"), made.text("url"));
        assert_eq!(url, format!("{}/verify/{id}/1", caller.double.url()));
        assert_eq!(made.body["return_url"], Value::Null, "it is not shown");
        let (shown, _, page) = visit(&url, None).await;
        assert_eq!(shown, 200);
        assert_eq!(page.matches("<form method=\"post\">").count(), 6, "{page}");
        assert!(!page.contains("<script"));
        let known = caller.double.events().len();
        let (sent, to, _) = visit(&url, Some(choice)).await;
        assert_eq!(
            (sent, to.as_deref()),
            (303, Some("http://shop.test/back")),
            "{choice}"
        );
        let now = read(&caller, &id).await.body;
        assert_eq!(now["status"], status);
        assert_eq!(now["last_error"]["code"], error, "{choice}");
        let told = format!("identity.verification_session.{status}");
        assert_eq!(caller.told_after(known), [told]);
        // Only who has something to do has somewhere to go.
        assert_eq!(now["url"].is_string(), status == "requires_input");
    }
}

#[tokio::test]
async fn an_address_is_good_for_one_visit_and_another_is_there_for_the_asking() {
    let caller = Caller::new();
    let made = open(&caller).await;
    let (id, first) = (made.text("id"), made.text("url"));
    assert_eq!(
        read(&caller, &id).await.text("url"),
        first,
        "nobody was there"
    );
    assert_eq!(visit(&first, None).await.0, 200);
    assert_eq!(visit(&first, None).await.0, 403);
    let second = read(&caller, &id).await.text("url");
    assert_ne!(second, first);
    assert_eq!(visit(&first, Some("verify")).await.0, 403);
    caller.double.advance(TimeDelta::hours(48));
    assert_eq!(visit(&second, None).await.0, 403, "its time is over");
    let third = read(&caller, &id).await.text("url");
    assert_eq!(visit(&third, None).await.0, 200);
    assert_eq!(visit(&third, Some("leave")).await.0, 200);
    assert_eq!(visit(&third, Some("nonsense")).await.0, 400);
    assert_eq!(read(&caller, &id).await.body["status"], "requires_input");
}

#[tokio::test]
async fn a_session_that_was_called_off_has_no_page() {
    let caller = Caller::new();
    let made = open(&caller).await;
    let (id, url) = (made.text("id"), made.text("url"));
    let path = format!("/v1/identity/verification_sessions/{id}/cancel");
    let canceled = caller.post(&path, "").await;
    assert_eq!(canceled.body["url"], Value::Null);
    let (status, to, page) = visit(&url, Some("verify")).await;
    assert_eq!((status, to), (200, None));
    assert!(page.contains("canceled"), "{page}");
    assert_eq!(read(&caller, &id).await.body["status"], "canceled");
}
