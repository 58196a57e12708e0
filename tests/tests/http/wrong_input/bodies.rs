//! Bodies with one fault.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use lessor_tests::client::Reply;
use lessor_tests::schema::{Fault, Sampler};
use serde_json::Value;

use super::{Operation, World};

/// What is wrong with the answer to a fault; empty: nothing.
fn judge(operation: &Operation, fault: &Fault, answered: &Reply) -> String {
    let within = fault.param.strip_prefix("updates[0].");
    let is_bulk = operation.method == "PUT" && operation.template.ends_with("/bulk");
    let (error, status, param) = match within {
        Some(param) if is_bulk => (&answered.body["errors"][0], 200, param),
        _ => (&answered.body["error"], 400, fault.param.as_str()),
    };
    let code = error["code"].as_str().unwrap_or_default();
    let named = error["param"].as_str().unwrap_or_default();
    // Depth and escapes are faults of the text: no member need be named.
    let fits = (code, named) == (fault.code, param)
        // A member that must be there is missing when it is null, within the arrays of a PUT too.
        || (fault.what.starts_with("null") && named == param && code == "parameter_missing");
    if answered.status == status && fits {
        String::new()
    } else {
        let body: String = fault.body.chars().take(300).collect();
        format!(
            "{} {}: {}: wanted {status} {} {param:?}, got {} {}\n    {body}",
            operation.method,
            operation.template,
            fault.what,
            fault.code,
            answered.status,
            answered.body
        )
    }
}

/// Every member of every body: nothing, null, each wrong type, empty, U+0000, too long, out of range,
/// 1e400, too deep, given twice, unknown.
#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_every_body_is_named_and_nothing_is_written() {
    let world = World::new().await;
    let before = world.server.contents().await;
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::new();
    for operation in world.operations() {
        let Some(schema) = operation.body() else {
            continue;
        };
        // Its bodies are the processor's, who adds to them as it likes: only what cannot be told
        // apart is refused.
        if operation.template.starts_with("/webhooks/processor") {
            continue;
        }
        let sampler = Sampler::new(world.client.contract(), world.hints(&operation.template));
        let is_put = operation.method == "PUT";
        let faults = sampler.faults(schema, &World::always(&operation.template), is_put);
        counts.insert(
            format!("{} {}", operation.method, operation.template),
            faults.len(),
        );
        let (world, operation) = (&world, &operation);
        let judged: Vec<String> = futures::stream::iter(&faults)
            .map(|fault| async move {
                judge(operation, fault, &world.send(operation, &fault.body).await)
            })
            .buffer_unordered(8)
            .collect()
            .await;
        wrong.extend(judged.into_iter().filter(|problem| !problem.is_empty()));
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let products = counts.get("POST /v1/products").copied().unwrap_or_default();
    assert!(products > 150, "faults were made: {counts:?}");
    assert_eq!(world.server.contents().await, before, "nothing was written");
}

/// A body that is no JSON, or none at all, or not declared, or too large.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_body_is_refused_everywhere() {
    let world = World::new().await;
    let before = world.server.contents().await;
    let client = &world.client;
    for operation in world.operations() {
        if operation.body().is_none() {
            continue;
        }
        let (method, path) = (operation.method.as_str(), operation.path.as_str());
        let is_signed = operation.template.starts_with("/webhooks/");
        for broken in [
            "{",
            "[]",
            "null",
            "\"text\"",
            "7",
            "{\"a\":}",
            "{}{}",
            "{'a':1}",
            "{\"a\":1,}",
            "NaN",
            "\u{feff}{}",
            "{\"a\":\"\n\"}",
        ] {
            let answered = world.send(&operation, broken).await;
            let told = (answered.status, &answered.body["error"]["code"]);
            let expected = Value::from("invalid_request");
            assert_eq!(
                told,
                (400, &expected),
                "{method} {path} {broken:?}: {}",
                answered.body
            );
        }
        let latin1 = client
            .send(
                method,
                path,
                &[("content-type", "application/json")],
                Some(b"{\"a\":\"\xe9\"}".to_vec()),
            )
            .await;
        let wanted = if is_signed { 401 } else { 400 };
        assert_eq!(latin1.status, wanted, "{method} {path}: {}", latin1.body);
        let large = format!("{{\"name\":\"{}\"}}", "x".repeat(2 << 20)).into_bytes();
        let large = client
            .send(
                method,
                path,
                &[("content-type", "application/json")],
                Some(large),
            )
            .await;
        if is_signed {
            // Nothing is read of what has no signature, and of what has one not everything.
            large.has(401);
            let large = "x".repeat((256 << 10) + 1);
            world.send(&operation, &large).await.has(413);
            continue;
        }
        large.has(413);
        for declared in [
            "text/plain",
            "application/xml",
            "application/jsonx",
            "application/json; charset=latin1",
            "multipart/form-data; boundary=x",
            "application/x-www-form-urlencoded",
            "nonsense",
        ] {
            let headers = [("content-type", declared)];
            let refused = client
                .send(method, path, &headers, Some(b"{}".to_vec()))
                .await;
            refused.refused(415, "invalid_request", "");
        }
        let undeclared = client.send(method, path, &[], Some(b"{}".to_vec())).await;
        undeclared.refused(415, "invalid_request", "");
        let packed = [
            ("content-type", "application/json"),
            ("content-encoding", "gzip"),
        ];
        let packed = client
            .send(method, path, &packed, Some(b"{}".to_vec()))
            .await;
        packed.refused(415, "invalid_request", "");
    }
    assert_eq!(world.server.contents().await, before, "nothing was written");
}
