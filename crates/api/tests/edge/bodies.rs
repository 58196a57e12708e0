use std::time::Duration;

use lessor::http::budget::MemoryBudget;
use lessor::request::BodyLimits;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::harness::{PATIENCE, Server, Setup, read_answer, request};

const JSON: &str = "content-type: application/json";
const GOOD: &str = r#"{"name":"Bike","price":1299.00}"#;

#[tokio::test(flavor = "multi_thread")]
async fn good_bodies_are_taken() {
    let server = Server::start().await;
    let full = r#"{"name":" Bike ","price":"12.50","description":"a\n\tb","site":"https://a.example",
                   "quantity":3,"tags":["x","y"],"serials":{"a":"b"}}"#;
    let answer = server.post("/v1/things", full).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.assert_dressed();
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.json()["name"], "Bike");
    assert_eq!(
        answer.json()["detail"],
        r#"12.5 Some("a\n\tb") Some("https://a.example") Some(3) 2 1"#
    );
    let utf8 = "content-type: application/json; charset=utf-8";
    assert_eq!(
        server
            .send("POST", "/v1/things", &[utf8], GOOD.as_bytes())
            .await
            .status,
        200
    );
    let chunked = format!("{:x}\r\n{GOOD}\r\n0\r\n\r\n", GOOD.len());
    let answer = server
        .send(
            "POST",
            "/v1/things",
            &[JSON, "transfer-encoding: chunked"],
            chunked.as_bytes(),
        )
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_values_are_named() {
    let server = Server::start().await;
    for (body, code, param) in [
        (r#"{}"#, "parameter_missing", "name"),
        (r#"{"name":"x"}"#, "parameter_missing", "price"),
        (r#"{"name":null,"price":1}"#, "parameter_missing", "name"),
        (r#"{"name":5,"price":1}"#, "invalid_parameter", "name"),
        (r#"{"name":"","price":1}"#, "invalid_parameter", "name"),
        (
            r#"{"name":"a\u0000b","price":1}"#,
            "invalid_parameter",
            "name",
        ),
        (
            r#"{"name":"a\u200bb","price":1}"#,
            "invalid_parameter",
            "name",
        ),
        (
            r#"{"name":"x","price":1e400}"#,
            "invalid_parameter",
            "price",
        ),
        (r#"{"name":"x","price":true}"#, "invalid_parameter", "price"),
        (
            r#"{"name":"x","price":1,"quantity":1.0}"#,
            "invalid_parameter",
            "quantity",
        ),
        (
            r#"{"name":"x","price":1,"nope":1}"#,
            "invalid_parameter",
            "nope",
        ),
        (
            r#"{"name":"x","price":1,"tags":["a",7]}"#,
            "invalid_parameter",
            "tags[1]",
        ),
        (
            r#"{"name":"x","price":1,"serials":{"chkitem_1":7}}"#,
            "invalid_parameter",
            "serials.chkitem_1",
        ),
    ] {
        server
            .post("/v1/things", body)
            .await
            .assert_error(400, code, Some(param));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_bodies_are_refused() {
    let server = Server::start().await;
    let deep = format!(
        r#"{{"name":"x","price":1,"tags":{}{}}}"#,
        "[".repeat(40),
        "]".repeat(40)
    );
    let junk = format!("{GOOD} x");
    let twice = format!("{GOOD}{GOOD}");
    for body in [
        deep.as_str(),
        junk.as_str(),
        twice.as_str(),
        r#"{"name":"a","name":"b","price":1}"#,
        r#"{"name":"a","price":1"#,
        "[]",
        "null",
        "name=x",
        " ",
    ] {
        server
            .post("/v1/things", body)
            .await
            .assert_error(400, "invalid_request", None);
    }
    let answer = server
        .send(
            "POST",
            "/v1/things",
            &[JSON],
            b"{\"name\":\"\xff\",\"price\":1}",
        )
        .await;
    answer.assert_error(400, "invalid_request", None);
    server
        .send("POST", "/v1/things", &[JSON], b"")
        .await
        .assert_error(400, "invalid_request", None);
    server
        .send("POST", "/v1/things", &[], b"")
        .await
        .assert_error(400, "invalid_request", None);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_json_is_read() {
    let server = Server::start().await;
    for headers in [
        &[][..],
        &["content-type: text/plain"],
        &["content-type: application/x-www-form-urlencoded"],
        &["content-type: application/json; charset=utf-16"],
        &[JSON, "content-type: text/plain"],
        &[JSON, "content-encoding: gzip"],
    ] {
        let answer = server
            .send("POST", "/v1/things", headers, GOOD.as_bytes())
            .await;
        answer.assert_error(415, "invalid_request", None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn null_and_absence_differ_in_a_put() {
    let server = Server::start().await;
    let put = async |body: &str| {
        server
            .send("PUT", "/v1/things/1", &[JSON], body.as_bytes())
            .await
    };
    assert_eq!(put("{}").await.json()["detail"], "None None");
    assert_eq!(
        put(r#"{"description":null}"#).await.json()["detail"],
        "None Some(None)"
    );
    let both = put(r#"{"name":"a","description":"b"}"#).await;
    assert_eq!(both.json()["detail"], r#"Some("a") Some(Some("b"))"#);
    put(r#"{"name":null}"#)
        .await
        .assert_error(400, "invalid_parameter", Some("name"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optional_body_may_be_left_out() {
    let server = Server::start().await;
    let post = async |headers: &[&str], body: &str| {
        server
            .send("POST", "/v1/things/1/cancel", headers, body.as_bytes())
            .await
    };
    assert_eq!(post(&[], "").await.json()["detail"], "None 0");
    assert_eq!(
        post(&["content-length: 0"], "").await.json()["detail"],
        "None 0"
    );
    assert_eq!(post(&[JSON], "").await.json()["detail"], "None 0");
    assert_eq!(post(&[JSON], "{}").await.json()["detail"], "None 2");
    assert_eq!(
        post(&[JSON], r#"{"reason":"x"}"#).await.json()["detail"],
        r#"Some("x") 14"#
    );
    post(&[], "{}")
        .await
        .assert_error(415, "invalid_request", None);
    post(&[JSON], r#"{"reason":5}"#)
        .await
        .assert_error(400, "invalid_parameter", Some("reason"));
    post(&[JSON], "x")
        .await
        .assert_error(400, "invalid_request", None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_the_limit_is_refused_and_the_answer_arrives() {
    let server = Server::start().await;
    let body = format!(r#"{{"name":"{}","price":1}}"#, "x".repeat(2 * 1024 * 1024));
    server
        .post("/v1/things", &body)
        .await
        .assert_error(413, "invalid_request", None);
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let headers = [JSON, "transfer-encoding: chunked"];
    let answer = server
        .send("POST", "/v1/things", &headers, chunked.as_bytes())
        .await;
    answer.assert_error(413, "invalid_request", None);
    // One byte below the limit is a body like any other.
    let padding = " ".repeat(1024 * 1024 - GOOD.len());
    assert_eq!(
        server
            .post("/v1/things", &format!("{GOOD}{padding}"))
            .await
            .status,
        200
    );
    let answer = server
        .post("/v1/things", &format!("{GOOD}{padding} "))
        .await;
    answer.assert_error(413, "invalid_request", None);
    // The server is as before.
    assert_eq!(server.post("/v1/things", GOOD).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trickled_body_is_given_up() {
    let server = Server::with(Setup {
        limits: BodyLimits {
            timeout: Duration::from_millis(200),
            ..BodyLimits::default()
        },
        ..Setup::default()
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(&request(
            "POST",
            "/v1/things",
            &[JSON, "content-length: 100"],
            b"{\"na",
        ))
        .await
        .unwrap();
    read_answer(&mut stream)
        .await
        .assert_error(408, "invalid_request", None);
    assert_eq!(server.post("/v1/things", GOOD).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_breaks_off_leaves_the_server_well() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(&request(
            "POST",
            "/v1/things",
            &[JSON, "content-length: 100"],
            b"{\"na",
        ))
        .await
        .unwrap();
    drop(stream);
    assert_eq!(server.post("/v1/things", GOOD).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_of_a_message_without_a_signature() {
    let server = Server::start().await;
    for headers in [
        &["content-length: 100"][..],
        &["content-length: 100", "x-signature: none"],
        &["content-length: 1000000000"],
    ] {
        // Who waits for the body waits longer than it may take to come: 408.
        let answer = server.send("POST", "/v1/messages", headers, b"").await;
        answer.assert_error(401, "unauthorized", None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_and_a_form_have_limits_of_their_own() {
    let server = Server::start().await;
    let form = "content-type: application/x-www-form-urlencoded";
    for (path, header, largest) in [
        ("/v1/messages", "x-signature: v1", 256 * 1024),
        ("/v1/forms", form, 64 * 1024),
    ] {
        let body = "x".repeat(largest);
        let answer = server.send("POST", path, &[header], body.as_bytes()).await;
        assert_eq!(answer.status, 200, "{path}");
        let body = format!("{body}x");
        let answer = server.send("POST", path, &[header], body.as_bytes()).await;
        answer.assert_error(413, "invalid_request", None);
        let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let headers = [header, "transfer-encoding: chunked"];
        let answer = server
            .send("POST", path, &headers, chunked.as_bytes())
            .await;
        answer.assert_error(413, "invalid_request", None);
    }
}

/// Of a budget of 1 MiB whoever has no key finds half, what others have under way included.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_under_way_share_a_budget() {
    let server = Server::with(Setup {
        limits: BodyLimits {
            timeout: 3 * PATIENCE,
            ..BodyLimits::default()
        },
        memory: MemoryBudget::new(1024 * 1024),
        ..Setup::default()
    })
    .await;
    let message = " ".repeat(256 * 1024);
    let until = async |status: u16| {
        let headers = ["x-signature: v1"];
        let answered = async {
            loop {
                let body = message.as_bytes();
                let answer = server.send("POST", "/v1/messages", &headers, body).await;
                if answer.status == status {
                    return answer;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answered)
            .await
            .expect("in time")
    };
    until(200).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let begun = " ".repeat(300 * 1024);
    let headers = [JSON, "content-length: 1000000"];
    let begun = request("POST", "/v1/things", &headers, begun.as_bytes());
    stream.write_all(&begun).await.unwrap();
    let refused = until(503).await;
    refused.assert_error(503, "unavailable", None);
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Whoever has a key goes on, and so does who asks for little.
    let large = format!("{GOOD}{}", " ".repeat(400 * 1024));
    assert_eq!(server.post("/v1/things", &large).await.status, 200);
    let headers = ["x-signature: v1"];
    let small = server.send("POST", "/v1/messages", &headers, b"{}").await;
    assert_eq!(small.status, 200);
    drop(stream);
    until(200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_share_the_budget_of_bodies() {
    let server = Server::with(Setup {
        memory: MemoryBudget::new(1024 * 1024),
        ..Setup::default()
    })
    .await;
    let answer = server.send("GET", "/v1/large", &[], b"").await;
    answer.assert_error(503, "unavailable", None);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(server.send("GET", "/v1/things", &[], b"").await.status, 200);
}
