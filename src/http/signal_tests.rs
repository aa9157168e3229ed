//! Signals from outside, in the order of their checks.

use super::*;
use crate::http::auth::{Scope, Tokens};
use crate::http::route::Access;
use crate::http::sample::standing;
use crate::protocol::State;
use crate::types::{Headers, TaskKey, TaskKind};

const SECRET: &str = "SEC-1";

fn id() -> TaskId {
    TaskKey::new(TaskKind::Source, "shop", "", "k1").task_id()
}

fn sent(target: &str, fields: &[(&str, &str)], body: &[u8]) -> Result<Signal, Problem> {
    let headers: Headers = fields.iter().copied().collect();
    let delivery = Delivery {
        method: "POST",
        target,
        headers: &headers,
    };
    check(&delivery)?;
    let address = Address {
        task_id: id(),
        name: "approval",
    };
    admit(address, &delivery, body, &gate(Some(SECRET)), Some(SECRET)).map(|(signal, _)| signal)
}

fn gate(secret: Option<&str>) -> Gate {
    Tokens::single(secret).gate(Access::TokenOrOneTime(Scope::Operate))
}

fn status(result: &Result<Signal, Problem>) -> (u16, &'static str) {
    let problem = result.as_ref().expect_err("refused");
    (problem.code.status(), problem.code.as_str())
}

const AUTH: (&str, &str) = ("authorization", "Bearer SEC-1");
const KEY: (&str, &str) = ("idempotency-key", "\"s 1\"");

fn address(n: u32) -> String {
    let token = seal::signal_token(SECRET, id(), "approval", n).expect("a secret");
    format!("/v1/tasks/{}/signals/approval?token={token}", id())
}

#[test]
fn the_payload_is_kept_as_it_was_written() {
    let key = ("idempotency-key", "s1");
    for (body, want) in [
        ("", "null"),
        (" \n", "null"),
        (
            "{\"id\": 616581622363398142.10}",
            "{\"id\": 616581622363398142.10}",
        ),
        (" [1]\n", "[1]"),
        ("\"x\"", "\"x\""),
    ] {
        let signal = sent("/", &[AUTH, key], body.as_bytes()).expect(body);
        assert_eq!(signal.outcome, Outcome::Value(want.into()));
        assert_eq!(
            (signal.name.as_str(), signal.id.as_str()),
            ("approval", "s1")
        );
        assert_eq!(signal.generation, None);
    }
    let deep = "[".repeat(200);
    for body in [
        &b"{"[..],
        b"{} {}",
        b"yes",
        b"\xff",
        b"\xef\xbb\xbf{}",
        deep.as_bytes(),
    ] {
        assert_eq!(
            status(&sent("/", &[AUTH, key], body)),
            (400, "input_invalid")
        );
    }
}

#[test]
fn the_first_fault_decides() {
    let large = vec![b' '; MAX_SIGNAL_BYTES + 1];
    let declared = ("content-length", "99999999999999999999999");
    let twice = format!("{}&token=1.a", address(1));
    for (target, fields, body, want) in [
        ("/", &[declared][..], &b"{"[..], (413, "body_too_large")),
        ("/", &[], &large, (413, "body_too_large")),
        ("/?x=1", &[], b"{", (401, "unauthorized")),
        (
            "/?token=1.00&x=1",
            &[AUTH, KEY],
            b"{",
            (401, "unauthorized"),
        ),
        ("/?token=", &[AUTH, KEY], b"{", (401, "unauthorized")),
        (&twice, &[AUTH, KEY], b"{", (401, "unauthorized")),
        ("/?x=1", &[AUTH], b"{", (400, "input_invalid")),
        ("/", &[AUTH], b"{", (400, "key_missing")),
        ("/", &[AUTH, KEY], b"{", (400, "key_malformed")),
    ] {
        assert_eq!(
            status(&sent(target, fields, body)),
            want,
            "{target} {fields:?}"
        );
    }
    let most = vec![b' '; MAX_SIGNAL_BYTES];
    assert!(sent("/", &[AUTH, ("idempotency-key", "k")], &most).is_ok());
}

#[test]
fn a_one_time_address_needs_no_token_and_no_key() {
    let (first, second) = (address(0), address(1));
    let one = sent(&first, &[], b"1").expect("good");
    let two = sent(&second, &[], b"1").expect("good");
    assert_ne!(one.id, two.id);
    // A key beside it changes nothing: the address is good for one signal.
    let key = ("idempotency-key", "other");
    assert_eq!(sent(&first, &[key], b"1").expect("good").id, one.id);
    let spelled = first.replace("token=0.", "token=00.");
    let upper = {
        let (head, token) = first.split_once("=0.").expect("a token");
        format!("{head}=0.{}", token.to_uppercase())
    };
    for target in [
        spelled,
        upper,
        format!("{first}0"),
        first[..first.len() - 2].to_owned(),
    ] {
        assert_eq!(status(&sent(&target, &[], b"1")).0, 401, "{target}");
    }
    let headers = Headers::default();
    let delivery = Delivery {
        method: "POST",
        target: &first,
        headers: &headers,
    };
    let address = Address {
        task_id: id(),
        name: "approval",
    };
    let none = admit(address, &delivery, b"1", &gate(None), None);
    assert_eq!(none.expect_err("refused").status(), 401);
}

#[test]
fn what_the_object_says_becomes_an_answer() {
    let of = |told: &Told| match answer(told, id(), false)? {
        Ok(answer) => {
            let repeated = answer.headers.get("idempotent-replayed").is_some();
            Some((
                answer.status,
                if repeated { "repeated" } else { "" }.to_owned(),
            ))
        }
        Err(problem) => {
            assert_eq!(problem.task_id, Some(id()));
            Some((problem.code.status(), problem.code.as_str().to_owned()))
        }
    };
    let signalled = |repeated| Told::Signalled {
        repeated,
        standing: Some(standing(State::Running)),
    };
    for (told, want) in [
        (signalled(false), Some((202, ""))),
        (signalled(true), Some((202, "repeated"))),
        (Told::KeyReused, Some((422, "key_reused"))),
        (
            Told::Ended(standing(State::Succeeded)),
            Some((409, "task_ended")),
        ),
        (Told::MailboxFull, Some((503, "overloaded"))),
        (Told::NotFound, Some((404, "task_not_found"))),
        (Told::Done, None),
        (Told::Unavailable("x".into()), None),
    ] {
        let want = want.map(|(status, word): (u16, &str)| (status, word.to_owned()));
        assert_eq!(of(&told), want, "{told:?}");
    }
}
