//! How each operation is called from a shell, from TypeScript and from Python, with its example.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Adds the samples to every operation of a document. `server` is where the service is reached.
pub(super) fn insert(document: &mut Value, server: &str) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, item) in paths.into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            let call = Call::of(server, path, method, operation);
            operation["x-codeSamples"] = json!([
                { "lang": "curl", "label": "curl", "source": call.curl() },
                { "lang": "typescript", "label": "TypeScript", "source": call.typescript() },
                { "lang": "python", "label": "Python", "source": call.python() },
            ]);
        }
    }
}

/// One request, as the example of its operation has it.
struct Call<'d> {
    method: String,
    url: String,
    body: Option<&'d Value>,
    /// Whether it may be sent again under a key.
    is_repeatable: bool,
}

impl<'d> Call<'d> {
    fn of(server: &str, path: &str, method: &str, operation: &'d Value) -> Self {
        let parameters = operation.get("parameters").and_then(Value::as_array);
        let parameters: Vec<_> = parameters.into_iter().flatten().collect();
        let mut url = format!("{server}{path}");
        let mut separator = '?';
        for parameter in &parameters {
            let name = parameter["name"].as_str().unwrap_or_default();
            let value = parameter.get("example").map(|example| match example {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            let is_wanted = parameter["required"] == true;
            match (parameter["in"].as_str(), value) {
                (Some("path"), Some(value)) => url = url.replace(&format!("{{{name}}}"), &value),
                (Some("query"), value) if is_wanted => {
                    // Writing to a string cannot fail.
                    let _infallible =
                        write!(url, "{separator}{name}={}", value.unwrap_or_default());
                    separator = '&';
                }
                _ => {}
            }
        }
        Self {
            method: method.to_uppercase(),
            url,
            body: operation.pointer("/requestBody/content/application~1json/example"),
            is_repeatable: parameters
                .iter()
                .any(|parameter| parameter["name"] == "Idempotency-Key"),
        }
    }

    fn curl(&self) -> String {
        let method = match self.method.as_str() {
            "GET" => String::new(),
            method => format!("-X {method} "),
        };
        let mut lines = vec![
            format!("curl -sS {method}'{}'", self.url),
            "-H \"Authorization: Bearer $LESSOR_KEY\"".to_owned(),
        ];
        if self.is_repeatable {
            lines.push("-H \"Idempotency-Key: $RANDOM$RANDOM\"".to_owned());
        }
        if let Some(body) = self.body {
            lines.push("-H 'Content-Type: application/json'".to_owned());
            lines.push(format!("-d '{}'", pretty(body, 0).replace('\'', "'\\''")));
        }
        lines.join(" \\\n  ")
    }

    fn typescript(&self) -> String {
        let mut headers = vec!["    Authorization: `Bearer ${process.env.LESSOR_KEY}`,".to_owned()];
        if self.is_repeatable {
            headers.push("    \"Idempotency-Key\": crypto.randomUUID(),".to_owned());
        }
        let mut body = String::new();
        if let Some(value) = self.body {
            headers.push("    \"Content-Type\": \"application/json\",".to_owned());
            body = format!("\n  body: JSON.stringify({}),", pretty(value, 1));
        }
        format!(
            "const response = await fetch(\"{}\", {{\n  method: \"{}\",\n  headers: {{\n{}\n  }},{body}\n}});\n\
             if (!response.ok) throw new Error(await response.text());\nconst answer = await response.json();\n",
            self.url,
            self.method,
            headers.join("\n")
        )
    }

    fn python(&self) -> String {
        let mut headers =
            vec!["        \"Authorization\": f\"Bearer {os.environ['LESSOR_KEY']}\",".to_owned()];
        let mut imports = String::from("import os\n");
        if self.is_repeatable {
            headers.push("        \"Idempotency-Key\": str(uuid.uuid4()),".to_owned());
            imports.push_str("import uuid\n");
        }
        let body = self.body.map_or_else(String::new, |value| {
            format!("    json={},\n", python(value, 1))
        });
        format!(
            "{imports}\nimport requests\n\nresponse = requests.{}(\n    \"{}\",\n    headers={{\n{}\n    }},\n{body}    \
             timeout=30,\n)\nresponse.raise_for_status()\nanswer = response.json()\n",
            self.method.to_lowercase(),
            self.url,
            headers.join("\n")
        )
    }
}

/// JSON in lines, the first of which is `depth` steps of two blanks in already.
fn pretty(value: &Value, depth: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

/// A value as Python writes it, in steps of four blanks.
fn python(value: &Value, depth: usize) -> String {
    let inner = "    ".repeat(depth + 1);
    let outer = "    ".repeat(depth);
    let lines = |lines: Vec<String>| lines.join(",\n");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Object(members) if !members.is_empty() => {
            let members = members
                .iter()
                .map(|(name, it)| format!("{inner}{}: {}", json!(name), python(it, depth + 1)));
            format!("{{\n{},\n{outer}}}", lines(members.collect()))
        }
        Value::Array(elements) if !elements.is_empty() => {
            let elements = elements
                .iter()
                .map(|it| format!("{inner}{}", python(it, depth + 1)));
            format!("[\n{},\n{outer}]", lines(elements.collect()))
        }
        // Texts and numbers are written as JSON writes them.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_in_three_languages() {
        let mut document = json!({"paths": {"/v1/things/{id}": {"post": {
            "parameters": [
                {"name": "id", "in": "path", "example": "thing_1"},
                {"name": "of", "in": "query", "required": true, "example": "a,b"},
                {"name": "limit", "in": "query", "required": false, "example": 3},
                {"name": "Idempotency-Key", "in": "header"}
            ],
            "requestBody": {"content": {"application/json": {"example": {"it's": [true, null], "n": {}}}}}
        }}}});
        insert(&mut document, "http://h");
        let samples = &document["paths"]["/v1/things/{id}"]["post"]["x-codeSamples"];
        assert_eq!(
            samples[0]["source"],
            "curl -sS -X POST 'http://h/v1/things/thing_1?of=a,b' \\\n  -H \"Authorization: Bearer $LESSOR_KEY\" \\\n  \
             -H \"Idempotency-Key: $RANDOM$RANDOM\" \\\n  -H 'Content-Type: application/json' \\\n  \
             -d '{\n  \"it'\\''s\": [\n    true,\n    null\n  ],\n  \"n\": {}\n}'"
        );
        assert_eq!(
            samples[1]["source"],
            "const response = await fetch(\"http://h/v1/things/thing_1?of=a,b\", {\n  method: \"POST\",\n  headers: {\n    \
             Authorization: `Bearer ${process.env.LESSOR_KEY}`,\n    \"Idempotency-Key\": crypto.randomUUID(),\n    \
             \"Content-Type\": \"application/json\",\n  },\n  body: JSON.stringify({\n    \"it's\": [\n      true,\n      null\n    \
             ],\n    \"n\": {}\n  }),\n});\nif (!response.ok) throw new Error(await response.text());\n\
             const answer = await response.json();\n"
        );
        assert_eq!(
            samples[2]["source"],
            "import os\nimport uuid\n\nimport requests\n\nresponse = requests.post(\n    \
             \"http://h/v1/things/thing_1?of=a,b\",\n    headers={\n        \"Authorization\": f\"Bearer {os.environ['LESSOR_KEY']}\",\n        \
             \"Idempotency-Key\": str(uuid.uuid4()),\n    },\n    json={\n        \"it's\": [\n            True,\n            None,\n        \
             ],\n        \"n\": {},\n    },\n    timeout=30,\n)\nresponse.raise_for_status()\nanswer = response.json()\n"
        );
    }
}
