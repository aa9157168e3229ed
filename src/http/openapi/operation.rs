//! One operation of the document: what it takes and everything that it answers.

use crate::http::auth::Scope;
use crate::http::code::Code;
use crate::http::route::{Access, Entry};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An operation, as it is described.
pub(super) struct Operation {
    id: &'static str,
    summary: &'static str,
    description: Option<&'static str>,
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: Map<String, Value>,
    codes: Vec<Code>,
}

/// The one spelling of a task's id.
pub(super) const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// A schema by its name.
pub(super) fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A parameter of the query.
pub(super) fn query(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

/// A parameter of the query that may come several times.
pub(super) fn repeated(name: &str, description: &str, schema: &Value) -> Value {
    let mut parameter = query(name, description, schema);
    parameter["style"] = "form".into();
    parameter["explode"] = true.into();
    parameter
}

/// A parameter that stands in the list of components.
pub(super) fn shared(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

impl Operation {
    pub(super) fn new(id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            summary,
            description: None,
            parameters: Vec::new(),
            body: None,
            answers: Map::new(),
            codes: Vec::new(),
        }
    }

    pub(super) fn says(mut self, description: &'static str) -> Self {
        self.description = Some(description);
        self
    }

    pub(super) fn takes(mut self, parameters: impl IntoIterator<Item = Value>) -> Self {
        self.parameters.extend(parameters);
        self
    }

    /// A JSON body.
    pub(super) fn body(self, required: bool, schema: &Value) -> Self {
        self.any_body(required, "application/json", schema)
    }

    pub(super) fn any_body(mut self, required: bool, kind: &str, schema: &Value) -> Self {
        let content = json!({ kind: { "schema": schema } });
        self.body = Some(json!({ "required": required, "content": content }));
        self
    }

    /// A status with JSON.
    pub(super) fn gives(self, status: &str, description: &str, schema: &Value) -> Self {
        self.gives_as(status, description, &[("application/json", schema.clone())])
    }

    /// A status with bodies of these types.
    pub(super) fn gives_as(
        mut self,
        status: &str,
        description: &str,
        kinds: &[(&str, Value)],
    ) -> Self {
        let mut answer = json!({ "description": description });
        let content: Map<String, Value> = kinds
            .iter()
            .map(|(kind, schema)| ((*kind).to_owned(), json!({ "schema": schema })))
            .collect();
        if !content.is_empty() {
            answer["content"] = content.into();
        }
        self.answers.insert(status.to_owned(), answer);
        self
    }

    /// Problems, by their codes.
    pub(super) fn refuses(mut self, codes: &[Code]) -> Self {
        self.codes.extend(codes);
        self
    }

    /// As it stands in the document. Problems are put with those that operations share.
    pub(super) fn document(
        mut self,
        entry: &Entry,
        method: &str,
        problems: &mut BTreeMap<String, Value>,
    ) -> Value {
        self.codes.extend(asked(entry.access));
        let mut answers = self.answers;
        for (status, codes) in by_status(&self.codes) {
            let (name, answer) = problem(status, &codes);
            let reference = json!({ "$ref": format!("#/components/responses/{name}") });
            problems.insert(name, answer);
            answers.insert(status.to_string(), reference);
        }
        let mut sorted: Vec<(String, Value)> = answers.into_iter().collect();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let many = entry.method == "*";
        let id = if many {
            format!("{}_{}", self.id, method.to_ascii_lowercase())
        } else {
            self.id.to_owned()
        };
        let mut out = json!({ "operationId": id, "summary": self.summary });
        if let Some(description) = self.description {
            out["description"] = description.into();
        }
        out["security"] = security(entry.access);
        if let Access::Token(scope) | Access::TokenOrOneTime(scope) = entry.access {
            out["x-onceward-scope"] = scope.as_str().into();
        }
        if is_stream(entry.pattern) {
            out["x-onceward-stream"] = true.into();
        }
        let mut parameters = segments(entry.pattern);
        parameters.extend(self.parameters);
        if !parameters.is_empty() {
            out["parameters"] = parameters.into();
        }
        if let Some(body) = self.body {
            out["requestBody"] = body;
        }
        out["responses"] = sorted.into_iter().collect::<Map<_, _>>().into();
        out
    }
}

/// Endless: testers leave it alone.
fn is_stream(pattern: &str) -> bool {
    pattern.ends_with("/events")
}

fn security(access: Access) -> Value {
    let token = |scope: Scope| json!({ "token": [scope.as_str()] });
    match access {
        Access::Public | Access::Signature | Access::Ticket => json!([]),
        Access::Token(scope) => json!([token(scope)]),
        Access::TokenOrOneTime(scope) => json!([token(scope), { "oneTime": [] }]),
    }
}

/// What is refused because of what the table asks for, and everywhere.
fn asked(access: Access) -> Vec<Code> {
    let mut codes = vec![Code::Misconfigured, Code::Unavailable, Code::Overloaded];
    match access {
        Access::Public | Access::Ticket => {}
        Access::Signature => codes.push(Code::Unauthorized),
        Access::Token(_) | Access::TokenOrOneTime(_) => {
            codes.extend([Code::Unauthorized, Code::Forbidden]);
        }
    }
    codes
}

fn by_status(codes: &[Code]) -> BTreeMap<u16, Vec<Code>> {
    let mut all: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        let same = all.entry(code.status()).or_default();
        if !same.contains(code) {
            same.push(*code);
        }
    }
    all
}

/// The problem documents of one status, and what they are called.
fn problem(status: u16, codes: &[Code]) -> (String, Value) {
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let titles: Vec<&str> = codes.iter().map(|code| code.title()).collect();
    let schema = json!({
        "allOf": [
            schema("Problem"),
            { "properties": { "status": { "const": status }, "code": { "enum": words } } },
        ],
    });
    let content = json!({ "application/problem+json": { "schema": schema } });
    let mut answer = json!({ "description": titles.join("; "), "content": content });
    let mut headers = Map::new();
    if codes.iter().any(|code| code.retry_after_s().is_some()) {
        let header = header("Seconds until it makes sense to send again.", "integer");
        headers.insert("Retry-After".to_owned(), header);
    }
    if status == 401 {
        let header = header("What would open it.", "string");
        headers.insert("WWW-Authenticate".to_owned(), header);
    }
    if !headers.is_empty() {
        answer["headers"] = headers.into();
    }
    (words.join("."), answer)
}

fn header(description: &str, kind: &str) -> Value {
    json!({ "description": description, "schema": { "type": kind } })
}

/// The parameters that a pattern's `{…}` are.
fn segments(pattern: &str) -> Vec<Value> {
    let names = pattern.split('/').filter_map(|segment| {
        let name = segment.strip_prefix('{')?.strip_suffix('}')?;
        Some((name.trim_end_matches('*'), name.ends_with('*')))
    });
    let of = |(name, rest): (&str, bool)| {
        let mut parameter = json!({
            "name": name, "in": "path", "required": true, "schema": segment(name, pattern),
        });
        if rest {
            parameter["description"] = "The rest of the path; it may hold slashes.".into();
        }
        parameter
    };
    names.map(of).collect()
}

fn segment(name: &str, pattern: &str) -> Value {
    match name {
        "id" => json!({ "type": "string", "format": "uuid", "pattern": format!("^{UUID}$") }),
        "code" => {
            let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
            json!({ "type": "string", "enum": codes })
        }
        "path" => json!({ "type": "string" }),
        "namespace" => json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]*$" }),
        "flow" => json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$" }),
        "key" => json!({ "type": "string", "minLength": 1, "maxLength": 256 }),
        "name" if pattern.contains("/signals/") => {
            json!({ "type": "string", "pattern": r"^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$" })
        }
        _ => json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$" }),
    }
}
