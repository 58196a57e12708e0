use serde_json::Value;

use crate::harness::Server;

fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(target) if name == "$ref" => found.push(target),
                    member => references(member, found),
                }
            }
        }
        Value::Array(elements) => elements
            .iter()
            .for_each(|element| references(element, found)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_complete() {
    let server = Server::start().await;
    let answer = server.send("GET", "/openapi.json", &[], b"").await;
    let document = answer.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["servers"][0]["url"], "https://lease.example");

    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').expect(reference);
        assert!(document.pointer(pointer).is_some(), "dangling: {reference}");
    }
    assert!(!answer.body.contains("x-inline"));

    let thing = &document["components"]["schemas"]["CreateThing"];
    assert_eq!(thing["required"], serde_json::json!(["name", "price"]));
    assert_eq!(thing["additionalProperties"], false);
    let name = &thing["properties"]["name"];
    assert_eq!(
        (&name["type"], &name["maxLength"]),
        (&"string".into(), &255.into()),
        "{thing:#}"
    );
    assert_eq!(name["description"], "What it is called.");
    assert_eq!(thing["properties"]["tags"]["maxItems"], 3, "{thing:#}");
    assert_eq!(
        thing["properties"]["tags"]["items"]["maxLength"], 255,
        "{thing:#}"
    );
    assert_eq!(
        thing["properties"]["serials"]
            .to_string()
            .matches("maxProperties")
            .count(),
        1,
        "{thing:#}"
    );
    assert_eq!(
        thing["properties"]["price"]["$ref"], "#/components/schemas/Decimal",
        "{thing:#}"
    );
    let decimal = &document["components"]["schemas"]["Decimal"];
    assert!(decimal["oneOf"].is_array(), "{decimal:#}");

    let update = &document["components"]["schemas"]["UpdateThing"];
    assert!(update.get("required").is_none(), "{update:#}");
    assert_eq!(update["properties"]["name"]["type"], "string", "{update:#}");
    let description = &update["properties"]["description"];
    assert_eq!(
        description["type"],
        serde_json::json!(["string", "null"]),
        "{update:#}"
    );
    assert_eq!(description["maxLength"], 10_000, "{update:#}");

    let list = &document["paths"]["/v1/things"]["get"]["parameters"];
    assert_eq!(list[0]["name"], "limit");
    assert_eq!(list[0]["required"], false);
    assert_eq!(list[0]["schema"]["maximum"], 100, "{list:#}");

    let mut schemas: Vec<_> = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    schemas.sort();
    assert_eq!(
        schemas,
        [
            "CancelThing",
            "CreateThing",
            "Decimal",
            "ErrorBody",
            "ErrorRecord",
            "ErrorType",
            "Health",
            "Thing",
            "UpdateThing"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_works_without_the_internet() {
    let server = Server::start().await;
    for path in ["/docs", "/docs/reference"] {
        let page = server.send("GET", path, &[], b"").await;
        assert_eq!(page.status, 200);
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        let assets: Vec<_> = page
            .body
            .split('"')
            .filter(|text| text.starts_with("/docs/assets/") || text.starts_with("/docs/scalar/"))
            .collect();
        assert!(assets.len() >= 2, "{assets:?}");
        for asset in assets {
            let answer = server.send("GET", asset, &[], b"").await;
            assert_eq!(answer.status, 200, "{asset}");
            assert!(answer.body.len() > 100, "{asset}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doc_url_leads_to_its_anchor() {
    let server = Server::start().await;
    let error = server.send("GET", "/v1/nope", &[], b"").await.json();
    let doc_url = error["error"]["doc_url"].as_str().unwrap();
    let (path, anchor) = doc_url
        .strip_prefix("https://lease.example")
        .unwrap()
        .split_once('#')
        .unwrap();
    let page = server.send("GET", path, &[], b"").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains(&format!("id=\"{anchor}\"")));
}
