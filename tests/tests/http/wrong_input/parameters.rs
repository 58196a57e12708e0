//! Parameters of queries, paths and headers.

use lessor_tests::schema::query_faults;

use super::World;

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_every_query_parameter_is_named() {
    let world = World::new().await;
    let before = world.server.contents().await;
    let mut wrong = Vec::new();
    let mut sent = 0;
    for operation in world.operations() {
        for parameter in operation.parameters("query") {
            let name = parameter["name"].as_str().unwrap_or_default();
            let mut queries: Vec<String> =
                query_faults(world.client.contract(), &parameter["schema"])
                    .iter()
                    .map(|value| format!("{name}={value}"))
                    .collect();
            if parameter["schema"]["type"] != "array" {
                queries.push(format!("{name}=1&{name}=1"));
            }
            for query in queries {
                sent += 1;
                let path = format!("{}?{query}", operation.path);
                let answered = world.client.get(&path).await;
                let error = &answered.body["error"];
                if answered.status != 400
                    || error["code"] != "invalid_parameter"
                    || error["param"] != name
                {
                    let shown: String = path.chars().take(120).collect();
                    wrong.push(format!("{shown}: {} {}", answered.status, answered.body));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(sent > 200, "only {sent}");
    assert_eq!(world.server.contents().await, before, "nothing was written");
}

/// A query parameter that an operation does not have is refused, whatever its method.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_query_parameters_are_refused_everywhere() {
    let world = World::new().await;
    let before = world.server.contents().await;
    let mut wrong = Vec::new();
    for operation in world.operations() {
        if !operation.template.starts_with("/v1/") {
            continue;
        }
        let path = format!("{}?colour=red", operation.path);
        let answered = match operation.body() {
            Some(schema) => {
                let contract = world.client.contract();
                let sampler =
                    lessor_tests::schema::Sampler::new(contract, world.hints(&operation.template));
                let body = sampler.sample("", schema, false).to_string();
                world.client.send_json(&operation.method, &path, body).await
            }
            None => world.client.send(&operation.method, &path, &[], None).await,
        };
        let error = &answered.body["error"];
        if answered.status != 400
            || error["code"] != "invalid_parameter"
            || error["param"] != "colour"
        {
            wrong.push(format!(
                "{} {path}: {} {}",
                operation.method, answered.status, answered.body
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(world.server.contents().await, before, "nothing was written");
}

/// An id that cannot exist is answered as one that does not, byte for byte.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_id_does_not_exist() {
    let world = World::new().await;
    let before = world.server.contents().await;
    let long = "x".repeat(3_000);
    let unknown = [
        "0",
        "-1",
        "nonsense",
        "prod_",
        "pvar_0000000000000000000000",
        "chk_zzzzzzzzzzzzzzzzzzzzzz",
        "%00",
        "a%00b",
        "%ff",
        "%2F",
        "..%2f..",
        "%F0%9F%9A%B2",
        "null",
        "undefined",
        "'%20OR%201=1",
        "9223372036854775808",
        &long,
    ];
    for operation in world.operations() {
        if !operation.template.starts_with("/v1/") || !operation.template.contains('{') {
            continue;
        }
        let mut answers = Vec::new();
        for id in unknown {
            let start = operation.template.find('{').unwrap_or_default();
            let end = operation.template.find('}').unwrap_or_default() + 1;
            let path = format!(
                "{}{id}{}",
                &operation.template[..start],
                &operation.template[end..]
            );
            let answered = match operation.body() {
                Some(schema) => {
                    let contract = world.client.contract();
                    let sampler = lessor_tests::schema::Sampler::new(
                        contract,
                        world.hints(&operation.template),
                    );
                    let body = sampler.sample("", schema, false).to_string();
                    world.client.send_json(&operation.method, &path, body).await
                }
                None => world.client.send(&operation.method, &path, &[], None).await,
            };
            assert_eq!(
                answered.status, 404,
                "{} {path}: {}",
                operation.method, answered.body
            );
            answers.push(answered.bytes);
        }
        answers.dedup();
        // What cannot even be read as text is no address of anything.
        assert!(answers.len() <= 3, "{}: {answers:?}", operation.template);
    }
    assert_eq!(world.server.contents().await, before, "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_idempotency_keys_are_refused_by_every_post() {
    let world = World::new().await;
    let before = world.server.contents().await;
    for operation in world.operations() {
        // To fetch changes nothing: it takes no key.
        let is_fetch = operation.template.ends_with("/bulk/fetch");
        if operation.method != "POST" || !operation.template.starts_with("/v1/") || is_fetch {
            continue;
        }
        let documented = operation.parameters("header");
        assert!(
            documented
                .iter()
                .any(|header| header["name"] == "Idempotency-Key"),
            "{}",
            operation.template
        );
        let long = "k".repeat(256);
        for key in ["", long.as_str(), "caf\u{e9}"] {
            let headers = [
                ("content-type", "application/json"),
                ("idempotency-key", key),
            ];
            let body = Some(b"{}".to_vec());
            let refused = world
                .client
                .send("POST", &operation.path, &headers, body)
                .await;
            refused.refused(400, "invalid_parameter", "Idempotency-Key");
        }
        let twice = [
            ("content-type", "application/json"),
            ("idempotency-key", "a"),
            ("idempotency-key", "b"),
        ];
        let refused = world
            .client
            .send("POST", &operation.path, &twice, Some(b"{}".to_vec()))
            .await;
        refused.refused(400, "invalid_parameter", "Idempotency-Key");
    }
    assert_eq!(world.server.contents().await, before, "nothing was written");
}
