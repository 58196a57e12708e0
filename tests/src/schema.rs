//! Wrong requests, derived from the schemas of the OpenAPI document.

use serde_json::{Map, Value, json};

use crate::contract::Contract;
use crate::text;

/// A body with one fault.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What is wrong.
    pub what: String,
    /// The body, which may be no JSON that a library would write.
    pub body: String,
    /// The code with which it is refused.
    pub code: &'static str,
    /// The parameter that is named; empty where none is.
    pub param: String,
}

/// What a value that stands where JSON text is to be written as it is looks like.
const RAW: &str = "§raw§";
/// What a member that repeats another's name is called.
const TWICE: &str = "§twice§";

/// A step towards a value.
#[derive(Clone, Debug)]
enum Step {
    Member(String),
    Element,
}

/// A schema's alternatives other than null, and whether null is one.
fn alternatives<'v>(contract: &'v Contract, schema: &'v Value) -> (Vec<&'v Value>, bool) {
    let schema = contract.resolve(schema);
    match schema["oneOf"].as_array() {
        Some(choices) => {
            let mut found = Vec::new();
            let mut nullable = false;
            for choice in choices {
                let (inner, null) = alternatives(contract, choice);
                found.extend(inner);
                nullable |= null;
            }
            (found, nullable)
        }
        None if schema["type"] == "null" => (Vec::new(), true),
        None => (vec![schema], is_of_type(schema, "null")),
    }
}

/// Whether the schema takes values of the type, alone or beside others.
fn is_of_type(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|known| known == kind),
        known => known == kind,
    }
}

fn of_type<'v>(choices: &[&'v Value], kind: &str) -> Option<&'v Value> {
    choices
        .iter()
        .copied()
        .find(|choice| is_of_type(choice, kind))
}

/// Makes good values.
pub struct Sampler<'c> {
    contract: &'c Contract,
    /// Values by the names of members.
    pub hints: Map<String, Value>,
}

impl<'c> Sampler<'c> {
    /// A sampler that knows these members.
    #[must_use]
    pub fn new(contract: &'c Contract, hints: Value) -> Self {
        let hints = match hints {
            Value::Object(hints) => hints,
            _ => Map::new(),
        };
        Self { contract, hints }
    }

    /// A good value of the member `name`. Objects within others have all their members, the outermost
    /// has those that it must have and those that are hinted at in `always`.
    #[must_use]
    pub fn sample(&self, name: &str, schema: &Value, all: bool) -> Value {
        if let Some(hint) = self.hints.get(name) {
            return hint.clone();
        }
        let (choices, _) = alternatives(self.contract, schema);
        if let Some(choice) = of_type(&choices, "object") {
            let required = choice["required"].as_array();
            let is_required =
                |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
            let members = choice["properties"].as_object().into_iter().flatten();
            return members
                .filter(|(name, _)| all || is_required(name))
                .map(|(name, schema)| (name.clone(), self.sample(name, schema, true)))
                .collect::<Map<_, _>>()
                .into();
        }
        if let Some(choice) = of_type(&choices, "array") {
            return json!([self.sample("", &choice["items"], true)]);
        }
        if let Some(choice) = of_type(&choices, "integer") {
            return json!(choice["minimum"].as_i64().unwrap_or(1).max(1));
        }
        if of_type(&choices, "boolean").is_some() {
            return json!(true);
        }
        let choice = of_type(&choices, "string").unwrap_or(&Value::Null);
        if let Some(first) = choice["enum"].get(0) {
            return first.clone();
        }
        match choice["format"].as_str().unwrap_or_default() {
            "uri" => return json!("https://example.com/x"),
            "email" => return json!("sample@example.com"),
            "date" => return json!("1990-05-31"),
            "date-time" => return json!("2026-11-20T09:14:00Z"),
            _ => {}
        }
        match choice["pattern"].as_str().unwrap_or_default() {
            "^[A-Za-z]{2}$" => json!("US"),
            pattern if pattern.starts_with("^-?[0-9]") => json!("10"),
            _ => json!("Sample"),
        }
    }

    /// Every body with one fault that the schema lets one think of.
    #[must_use]
    pub fn faults(&self, schema: &Value, always: &Value, is_put: bool) -> Vec<Fault> {
        let mut base = self.sample("", schema, false);
        if let (Some(base), Some(always)) = (base.as_object_mut(), always.as_object()) {
            base.extend(always.clone());
        }
        let mut walk = Walk {
            sampler: self,
            root: schema,
            base,
            is_put,
            faults: Vec::new(),
        };
        walk.visit(schema, &[], "");
        walk.faults
    }
}

struct Walk<'w, 'c> {
    sampler: &'w Sampler<'c>,
    root: &'w Value,
    base: Value,
    is_put: bool,
    faults: Vec<Fault>,
}

impl Walk<'_, '_> {
    /// The body in which the value at the path is another one (`None`: is not there).
    fn body(&self, path: &[Step], value: Option<Value>) -> Value {
        let mut body = self.base.clone();
        let mut place = &mut body;
        let mut schema = self.root;
        let last = path.len().saturating_sub(1);
        for (depth, step) in path.iter().enumerate() {
            let (choices, _) = alternatives(self.sampler.contract, schema);
            match step {
                Step::Member(name) => {
                    let object = of_type(&choices, "object").unwrap_or(&Value::Null);
                    schema = match object["properties"].get(name) {
                        Some(schema) => schema,
                        None => &object["additionalProperties"],
                    };
                    if !place.is_object() {
                        *place = json!({});
                    }
                    if depth == last && value.is_none() {
                        place.as_object_mut().map(|members| members.remove(name));
                        return body;
                    }
                    if place.get(name).is_none() {
                        place[name] = self.sampler.sample(name, schema, true);
                    }
                    place = &mut place[name];
                }
                Step::Element => {
                    let array = of_type(&choices, "array").unwrap_or(&Value::Null);
                    schema = &array["items"];
                    if place.as_array().is_none_or(Vec::is_empty) {
                        *place = json!([self.sampler.sample("", schema, true)]);
                    }
                    place = &mut place[0];
                }
            }
        }
        if let Some(value) = value {
            *place = value;
        }
        body
    }

    fn add(&mut self, what: &str, body: String, code: &'static str, param: &str) {
        self.faults.push(Fault {
            what: format!("{what} at {param:?}"),
            body,
            code,
            param: if code == "invalid_request" {
                String::new()
            } else {
                param.to_owned()
            },
        });
    }

    /// The value is refused. The document itself has no name: nothing but an object is one.
    fn refuse(&mut self, what: &str, path: &[Step], param: &str, value: Value) {
        let body = self.body(path, Some(value)).to_string();
        let code = if path.is_empty() {
            "invalid_request"
        } else {
            "invalid_parameter"
        };
        self.add(what, body, code, param);
    }

    fn refuse_raw(
        &mut self,
        what: &str,
        path: &[Step],
        param: &str,
        raw: &str,
        code: &'static str,
    ) {
        let body = self.body(path, Some(json!(RAW))).to_string();
        let body = body.replace(&format!("\"{RAW}\""), raw);
        let code = if path.is_empty() {
            "invalid_request"
        } else {
            code
        };
        self.add(what, body, code, param);
    }

    fn visit(&mut self, schema: &Value, path: &[Step], param: &str) {
        let contract = self.sampler.contract;
        let (choices, _) = alternatives(contract, schema);
        let takes = |kind: &str| of_type(&choices, kind);
        let is_number = takes("integer").is_some() || takes("number").is_some();
        for (kind, wrong) in [
            ("string", json!("nonsense value")),
            ("boolean", json!(true)),
            ("array", json!([])),
            ("object", json!({})),
        ] {
            if takes(kind).is_none() {
                self.refuse(&format!("a value of the type {kind}"), path, param, wrong);
            }
        }
        if !is_number {
            self.refuse("a number", path, param, json!(7));
        }
        self.refuse_raw("1e400", path, param, "1e400", "invalid_parameter");
        let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
        self.refuse_raw("40 levels", path, param, &deep, "invalid_request");
        if let Some(kind) = takes("string") {
            self.visit_string(kind, is_number, path, param);
        }
        if let Some(kind) = takes("integer") {
            let half = takes("number").is_none();
            if half {
                self.refuse("a half", path, param, json!(1.5));
            }
            for (what, bound, beyond) in [("maximum", "maximum", 1), ("minimum", "minimum", -1)] {
                if let Some(limit) = kind[bound].as_i64() {
                    let raw = (i128::from(limit) + beyond).to_string();
                    let what = format!("beyond the {what}");
                    self.refuse_raw(&what, path, param, &raw, "invalid_parameter");
                }
            }
        }
        if takes("number").is_some() {
            self.refuse("a negative number", path, param, json!(-1));
        }
        if let Some(kind) = takes("array") {
            let mut element = path.to_vec();
            element.push(Step::Element);
            if let Some(most) = kind["maxItems"].as_u64() {
                let one = self.sampler.sample("", &kind["items"], true);
                let many = usize::try_from(most).unwrap_or_default() + 1;
                self.refuse("too many elements", path, param, vec![one; many].into());
            }
            if kind["minItems"].as_u64().is_some_and(|least| least > 0) {
                self.refuse("no element", path, param, json!([]));
            }
            let within = format!("{param}[0]");
            self.refuse("null as an element", &element, &within, Value::Null);
            self.visit(&kind["items"], &element, &within);
        }
        if let Some(kind) = takes("object") {
            self.visit_object(kind, path, param);
        }
    }

    fn visit_string(&mut self, kind: &Value, is_number: bool, path: &[Step], param: &str) {
        self.refuse("an empty text", path, param, json!(""));
        self.refuse("blanks", path, param, json!("  \t "));
        self.refuse("U+0000", path, param, json!("a\u{0}b"));
        let pattern = text(&kind["pattern"]);
        let is_url = kind["format"] == "uri";
        if kind.get("enum").is_some() || is_number || is_url {
            self.refuse("nonsense", path, param, json!("no such value"));
        }
        if pattern.starts_with("^-?[0-9]") {
            for wrong in ["NaN", "1,5", "0x10", "--1", "1e400"] {
                self.refuse(wrong, path, param, json!(wrong));
            }
        }
        if let Some(most) = longest(kind) {
            let long = match (is_url, is_number) {
                (true, _) => format!("https://example.com/{}", "x".repeat(most)),
                (false, true) => "1".repeat(most + 1),
                (false, false) => "é".repeat(most + 1),
            };
            self.refuse("a text that is too long", path, param, json!(long));
        }
        let lone = "\"\\ud800\"";
        self.refuse_raw("half a character", path, param, lone, "invalid_request");
    }

    fn visit_object(&mut self, kind: &Value, path: &[Step], param: &str) {
        let at = |name: &str| match param {
            "" => name.to_owned(),
            param => format!("{param}.{name}"),
        };
        let member = |name: &str| {
            let mut member = path.to_vec();
            member.push(Step::Member(name.to_owned()));
            member
        };
        if kind["additionalProperties"] == json!(false) {
            self.refuse(
                "an unknown member",
                &member("colour"),
                &at("colour"),
                json!("red"),
            );
        }
        let required: Vec<String> = kind["required"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        for name in &required {
            let without = self.body(&member(name), None).to_string();
            self.add("nothing", without, "parameter_missing", &at(name));
        }
        let known = kind["properties"].as_object().cloned().unwrap_or_default();
        for (name, schema) in &known {
            let (_, nullable) = alternatives(self.sampler.contract, schema);
            let null = self.body(&member(name), Some(Value::Null)).to_string();
            let is_required = required.contains(name);
            if self.is_put && !nullable {
                let code = "invalid_parameter";
                self.add("null", null, code, &at(name));
            } else if !self.is_put && is_required {
                self.add("null", null, "parameter_missing", &at(name));
            }
            let twice = self.body(&member(TWICE), Some(json!(1)));
            let mut twice = twice;
            // The value that is given twice is a good one.
            let pointer = pointer_of(path);
            let value = self.sampler.sample(name, schema, true);
            if let Some(object) = twice.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                object.insert(name.clone(), value.clone());
                object.insert(TWICE.to_owned(), value);
            }
            let text = twice.to_string().replace(TWICE, name);
            self.add("a member given twice", text, "invalid_request", &at(name));
            self.visit(schema, &member(name), &at(name));
        }
    }
}

/// How long a text may be before it is refused for its length: an id that is none is not found, one
/// that is longer than any text of one line is refused.
fn longest(kind: &Value) -> Option<usize> {
    if is_id(kind) {
        return Some(255);
    }
    usize::try_from(kind["maxLength"].as_u64()?).ok()
}

/// Whether the schema is that of a public id, whose pattern says how long it is.
#[must_use]
pub fn is_id(kind: &Value) -> bool {
    text(&kind["pattern"]).ends_with("_[0-9A-Za-z]{22}$")
}

fn pointer_of(path: &[Step]) -> String {
    path.iter()
        .map(|step| match step {
            Step::Member(name) => format!("/{name}"),
            Step::Element => "/0".to_owned(),
        })
        .collect()
}

/// Wrong values of a query parameter, as they stand in the address.
#[must_use]
pub fn query_faults(contract: &Contract, schema: &Value) -> Vec<String> {
    let (choices, _) = alternatives(contract, schema);
    let list = of_type(&choices, "array");
    let items = list.map(|list| alternatives(contract, &list["items"]).0);
    let single = items.as_deref().unwrap_or(&choices);
    let mut wrong: Vec<String> = ["", "%00", "%ff", "%zz", "a%00b"]
        .map(str::to_owned)
        .to_vec();
    let string = of_type(single, "string");
    if string.is_none_or(|string| string.get("enum").is_some()) {
        wrong.extend(["nonsense", "1.5", "1e400", "%20"].map(str::to_owned));
    }
    if let Some(integer) = of_type(single, "integer") {
        for (bound, beyond) in [("maximum", 1), ("minimum", -1)] {
            if let Some(limit) = integer[bound].as_i64() {
                wrong.push((i128::from(limit) + beyond).to_string());
            }
        }
    }
    if let Some(most) = string.and_then(longest) {
        wrong.push("x".repeat(most + 1));
    }
    if let Some(most) = list.and_then(|list| list["maxItems"].as_u64()) {
        let one = string
            .and_then(|string| string["enum"].get(0))
            .map_or_else(|| "1".to_owned(), text);
        let many = usize::try_from(most).unwrap_or_default() + 1;
        wrong.push(vec![one; many].join(","));
        wrong.push(",".to_owned());
    }
    wrong
}
