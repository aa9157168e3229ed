//! `github-event`: says in a few words what a GitHub webhook was about.

use crate::function::{Ctx, Failure, Function, Input};
use serde::Serialize;
use serde_json::{Map, Value};
use std::rc::Rc;

#[derive(Debug, Serialize)]
struct Seen {
    task_id: String,
    event: Option<String>,
    delivery: Option<String>,
    summary: Value,
}

pub(super) fn function() -> Function {
    Function::new("github-event", github_event)
}

async fn github_event(ctx: Ctx, input: Input) -> Result<Seen, Failure> {
    let header = |name: &str| input.headers.get(name).map(str::to_owned);
    let event = header("x-github-event");
    let delivery = header("x-github-delivery");
    let input = Rc::new(input);
    let summary = ctx
        .step("summary", move || {
            let input = Rc::clone(&input);
            async move { summary(&input) }
        })
        .await?;
    Ok(Seen {
        task_id: ctx.task_id().to_string(),
        event,
        delivery,
        summary,
    })
}

/// What is known of every event, and a little more for the common ones. A field that the payload
/// does not have is left out: GitHub has some seventy events, and adds to them.
fn summary(input: &Input) -> Result<Value, Failure> {
    let payload = payload(input)?;
    let event = input.headers.get("x-github-event");
    let mut out = Map::new();
    out.insert("event".to_owned(), event.map_or(Value::Null, Value::from));
    let mut copy = |name: &str, pointer: &str| {
        if let Some(found) = payload.pointer(pointer) {
            out.insert(name.to_owned(), found.clone());
        }
    };
    copy("action", "/action");
    copy("repository", "/repository/full_name");
    copy("sender", "/sender/login");
    match event {
        Some("push") => {
            copy("ref", "/ref");
            copy("after", "/after");
            copy("pusher", "/pusher/name");
            if let Some(commits) = payload.get("commits").and_then(Value::as_array) {
                out.insert("commits".to_owned(), commits.len().into());
            }
        }
        Some("ping") => {
            copy("zen", "/zen");
            copy("hook_id", "/hook_id");
        }
        Some("issues" | "issue_comment") => copy("number", "/issue/number"),
        Some(_) | None => copy("number", "/number"),
    }
    Ok(Value::Object(out))
}

/// The payload, sent as JSON or as a form with a field `payload`.
fn payload(input: &Input) -> Result<Value, Failure> {
    let media = input.headers.get("content-type").unwrap_or("");
    let media = media.split(';').next().unwrap_or("").trim();
    let parsed = if media.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let text = form_field(&input.body, "payload").ok_or_else(|| {
            Failure::terminal("not_json", "the form that was sent has no field `payload`")
        })?;
        serde_json::from_slice(&text)
    } else {
        serde_json::from_slice(&input.body)
    };
    parsed
        .map_err(|error| Failure::terminal("not_json", format!("the payload is no JSON: {error}")))
}

/// The first field of this name in a form, decoded.
fn form_field(form: &[u8], name: &str) -> Option<Vec<u8>> {
    form.split(|b| *b == b'&').find_map(|pair| {
        let mut halves = pair.splitn(2, |b| *b == b'=');
        let key = halves.next().unwrap_or_default();
        (decoded(key) == name.as_bytes()).then(|| decoded(halves.next().unwrap_or_default()))
    })
}

/// `+` is a space, `%41` is `A`; a `%` that no two hex digits follow stands for itself.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |b: u8| {
        char::from(b)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (*first, tail) {
            (b'+', _) => out.push(b' '),
            (b'%', [high, low, after @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => {
                    out.push(high * 16 + low);
                    rest = after;
                }
                _ => out.push(b'%'),
            },
            (byte, _) => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_decoded() {
        let form = b"a=1&payload=%7B%22a%22%3A+%22%C3%A9%22%7D&b";
        let field = form_field(form, "payload");
        assert_eq!(field.as_deref(), Some("{\"a\": \"é\"}".as_bytes()));
        assert_eq!(form_field(form, "b").as_deref(), Some(&b""[..]));
        assert_eq!(form_field(form, "c"), None);
        assert_eq!(decoded(b"100%&%4"), b"100%&%4");
        assert_eq!(decoded(b"%zz%"), b"%zz%");
    }
}
