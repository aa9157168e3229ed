//! A step's failure as it is recorded: with the bytes of its answer, which elsewhere travel beside.

use crate::types::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

const BODY: &str = "answer_body";

pub(super) fn serialize<S: Serializer>(failure: &Failure, to: S) -> Result<S::Ok, S::Error> {
    let body = failure.answer.as_ref().map(|answer| &answer.body);
    let Some(body) = body.filter(|body| !body.is_empty()) else {
        return failure.serialize(to);
    };
    let mut value = serde_json::to_value(failure).map_err(S::Error::custom)?;
    value[BODY] = STANDARD.encode(body).into();
    value.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Failure, D::Error> {
    let value = Value::deserialize(from)?;
    let body = value.get(BODY).and_then(Value::as_str);
    let body = body.map(|text| STANDARD.decode(text)).transpose();
    let body = body.map_err(D::Error::custom)?;
    let mut failure: Failure = serde_json::from_value(value).map_err(D::Error::custom)?;
    if let (Some(answer), Some(body)) = (&mut failure.answer, body) {
        answer.body = body;
    }
    Ok(failure)
}
