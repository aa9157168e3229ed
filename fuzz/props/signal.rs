//! Signals, one-time tokens, seals, and the wishes of operators: `TARGET`, fields, body. `$token` in the target is
//! replaced by a token that holds.

use super::input::{SECRET, TOKEN, hmac_hex, is_whole, text, written};
use onceward::http::admit::Delivery;
use onceward::http::auth::{Scope, Tokens};
use onceward::http::query::parameters;
use onceward::http::route::Access;
use onceward::http::seal::{holds, is_signal_token, seal, signal_token};
use onceward::http::signal::{Address, admit, check as check_size};
use onceward::http::steer::{retry, without_body};
use onceward::limits::MAX_SIGNAL_BYTES;
use onceward::protocol::Outcome;
use onceward::types::{TaskId, TaskKey, TaskKind};

const NAME: &str = "approval";

pub fn check(data: &[u8]) {
    let request = written(data);
    let task_id = TaskKey::new(TaskKind::Source, "shop", "", "k").task_id();
    let token = signal_token(SECRET, task_id, NAME, 0).expect("a secret");
    let target = request.first.replace("$token", &token);
    let delivery = Delivery {
        method: "POST",
        target: &target,
        headers: &request.headers,
    };
    let tokens = Tokens::single(Some(TOKEN));
    let _ = check_size(&delivery).map_err(|problem| is_whole(&problem));
    let address = Address {
        task_id,
        name: NAME,
    };
    let access = Access::TokenOrOneTime(Scope::Operate);
    let gate = tokens.clone().gate(access);
    match admit(address, &delivery, &request.body, &gate, Some(SECRET)) {
        Ok((signal, caller)) => {
            let bearer = tokens.check(&request.headers, Scope::Operate).is_ok();
            let given: Vec<_> = parameters(&target)
                .into_iter()
                .filter(|(n, _)| n == "token")
                .collect();
            let one_time =
                matches!(&*given, [(_, given)] if is_signal_token(SECRET, task_id, NAME, given));
            assert!(
                one_time || (given.is_empty() && bearer),
                "nobody has the right"
            );
            assert_eq!(caller.is_some(), !one_time, "who sent it");
            assert!(request.body.len() <= MAX_SIGNAL_BYTES);
            assert!((1..=255).contains(&signal.id.len()) && signal.name == NAME);
            let Outcome::Value(payload) = signal.outcome else {
                panic!("a signal brings a value");
            };
            assert!(
                serde_json::from_str::<serde_json::Value>(&payload).is_ok(),
                "{payload}"
            );
        }
        Err(problem) => is_whole(&problem),
    }
    one_time(task_id, &request.first);
    respelled(task_id, &token);
    sealed(&request.first, &request.body);
    wishes(&request.body);
}

/// A token has one spelling, and is good for one signal of one task.
fn one_time(task_id: TaskId, given: &str) {
    if is_signal_token(SECRET, task_id, NAME, given) {
        let n = given.split('.').next().and_then(|n| n.parse().ok());
        let own = signal_token(SECRET, task_id, NAME, n.expect("a number"));
        assert_eq!(own.as_deref(), Some(given));
        assert!(!is_signal_token("another", task_id, NAME, given));
        assert!(!is_signal_token(SECRET, task_id, "refusal", given));
    }
}

/// Another spelling of a token that holds, or one of another number, does not hold.
fn respelled(task_id: TaskId, token: &str) {
    let (n, mac) = token.split_once('.').expect("a number and a code");
    for given in [
        format!("0{token}"),
        format!("+{token}"),
        format!("{n}.{}", mac.to_ascii_uppercase()),
        format!("1.{mac}"),
        format!("{token}0"),
        mac.to_owned(),
    ] {
        assert!(!is_signal_token(SECRET, task_id, NAME, &given), "{given}");
    }
}

fn sealed(given: &str, body: &[u8]) {
    let own = seal(SECRET, body);
    assert_eq!(own, hmac_hex(SECRET, &[b"onceward continuation\n", body]));
    assert!(holds(SECRET, body, &own));
    assert_eq!(
        holds(SECRET, body, given),
        given.to_ascii_lowercase() == own
    );
    assert!(!holds(SECRET, &[body, b"x"].concat(), &own));
    assert!(!holds("another", body, &own));
    assert!(!holds(SECRET, body, &own[1..]));
}

fn wishes(body: &[u8]) {
    match retry(body, "op".into()) {
        Ok(wish) => {
            if let Some(input) = &wish.input {
                let read: Result<serde_json::Value, _> = serde_json::from_slice(input);
                assert!(read.is_ok(), "{}", text(input));
            }
        }
        Err(problem) => is_whole(&problem),
    }
    match without_body(body) {
        Ok(()) => assert!(
            body.iter()
                .all(|b| b.is_ascii_whitespace() || b"{}".contains(b))
        ),
        Err(problem) => is_whole(&problem),
    }
}
