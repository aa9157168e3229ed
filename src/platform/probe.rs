//! The lab's fault switch and counters. They live in the JavaScript world, outside wasm memory, so
//! that a panic does not clear them. In a deploy build all of this is empty.

/// What the fault switch does to one message to D1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "lab"), allow(dead_code))] // nothing makes one there
pub(super) enum D1Fault {
    /// It fails without being sent.
    Fail,
    /// It is sent only after this long.
    Stall {
        /// Milliseconds.
        ms: u64,
    },
    /// It is sent, and its answer becomes a failure.
    ApplyThenFail,
}

/// What the fault switch does to one continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "lab"), allow(dead_code))] // nothing makes one there
pub(super) enum SelfFault {
    /// It is not sent.
    Lose,
    /// It is sent twice.
    Double,
}

#[cfg(not(feature = "lab"))]
mod inert {
    use super::{D1Fault, SelfFault};

    pub(crate) fn count(_: &str, _: u64) {}
    pub(crate) fn deepest(_: u64) {}
    pub(crate) fn d1_fault() -> Option<D1Fault> {
        None
    }
    pub(crate) fn self_fault() -> Option<SelfFault> {
        None
    }
    pub(crate) fn loses_reply(_: &str) -> bool {
        false
    }
}
#[cfg(not(feature = "lab"))]
pub(super) use inert::{count, d1_fault, deepest, loses_reply, self_fault};

#[cfg(feature = "lab")]
pub(super) use live::{
    count, counters, d1_fault, deepest, faults, loses_reply, self_fault, set_faults,
};

#[cfg(feature = "lab")]
mod live {
    use super::{D1Fault, SelfFault};
    use crate::types::time::parse_duration_ms;
    use js_sys::{JSON, Object, Reflect, global};
    use serde_json::{Value, json};
    use uuid::Uuid;
    use wasm_bindgen::JsValue;

    thread_local! {
        /// In wasm memory, unlike the counters: another value tells that the instance is another one.
        static INSTANCE: String = Uuid::new_v4().hyphenated().to_string();
    }

    /// An object of the JavaScript world, made when it is first asked for.
    fn shelf(name: &str) -> JsValue {
        let world: JsValue = global().into();
        let name = JsValue::from_str(&format!("__onceward_lab_{name}"));
        match Reflect::get(&world, &name) {
            Ok(found) if found.is_object() => found,
            _ => {
                let fresh: JsValue = Object::new().into();
                // The global object is extensible; were it not, counters would stay at zero.
                let _ = Reflect::set(&world, &name, &fresh);
                fresh
            }
        }
    }

    fn number(shelf: &JsValue, name: &str) -> f64 {
        Reflect::get(shelf, &name.into())
            .ok()
            .and_then(|v| v.as_f64())
            .unwrap_or(0.0)
    }

    #[allow(clippy::cast_precision_loss)] // counts stay below 2^53
    pub(crate) fn count(name: &str, by: u64) {
        let shelf = shelf("counters");
        let sum = number(&shelf, name) + by as f64;
        let _ = Reflect::set(&shelf, &name.into(), &JsValue::from_f64(sum));
    }

    #[allow(clippy::cast_precision_loss)] // counts stay below 2^53
    pub(crate) fn deepest(hop: u64) {
        let shelf = shelf("counters");
        if number(&shelf, "deepest_chain") < hop as f64 {
            let _ = Reflect::set(
                &shelf,
                &"deepest_chain".into(),
                &JsValue::from_f64(hop as f64),
            );
        }
    }

    fn read(shelf: &JsValue) -> Value {
        JSON::stringify(shelf)
            .ok()
            .and_then(|text| text.as_string())
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_else(|| json!({}))
    }

    pub(crate) fn counters() -> Value {
        let mut all = json!({
            "object_requests": 0, "object_rows": 0, "alarms": 0, "alarm_runs": 0,
            "d1_statements": 0, "d1_rows": 0, "hops": 0, "deepest_chain": 0,
        });
        if let (Some(all), Value::Object(found)) = (all.as_object_mut(), read(&shelf("counters"))) {
            all.extend(found);
        }
        all["instance"] = INSTANCE.with(Clone::clone).into();
        all
    }

    pub(crate) fn faults() -> Value {
        let mut all = json!({ "d1": null, "self": null, "object_reply": null });
        if let (Some(all), Value::Object(found)) = (all.as_object_mut(), read(&shelf("faults"))) {
            all.extend(found);
        }
        all
    }

    fn put(kind: &str, fault: &Value) {
        let parsed = JSON::parse(&fault.to_string()).unwrap_or(JsValue::NULL);
        let _ = Reflect::set(&shelf("faults"), &kind.into(), &parsed);
    }

    const ASKS: [&str; 7] = [
        "begin", "claim", "record", "save", "suspend", "finish", "signal",
    ];

    /// Sets faults as `POST /lab/faults` describes them. Says everything that is wrong with them.
    pub(crate) fn set_faults(wish: &Value) -> Result<(), Vec<String>> {
        let Value::Object(wish) = wish else {
            return Err(vec![
                "wanted an object like {\"d1\": \"fail\", \"times\": 1}".into(),
            ]);
        };
        let mut wrong = Vec::new();
        let times = match wish.get("times") {
            None => 1,
            Some(n) => n.as_u64().unwrap_or_else(|| {
                wrong.push(format!("times: got {n}, wanted a whole number"));
                0
            }),
        };
        let on = match wish.get("on") {
            None => Value::Null,
            Some(Value::String(on)) if ASKS.contains(&on.as_str()) => json!(on),
            Some(other) => {
                wrong.push(format!("on: got {other}, wanted one of {ASKS:?}"));
                Value::Null
            }
        };
        let mut faults = Vec::new();
        for (kind, value) in wish {
            let value = value.as_str().unwrap_or_default();
            let (known, all) = match kind.as_str() {
                "d1" => (
                    matches!(value, "fail" | "apply_then_fail" | "ok")
                        || value
                            .strip_prefix("stall:")
                            .is_some_and(|d| parse_duration_ms(d).is_ok()),
                    "fail, stall:40s, apply_then_fail, ok",
                ),
                "self" => (
                    matches!(value, "lose" | "double" | "ok"),
                    "lose, double, ok",
                ),
                "object_reply" => (matches!(value, "lose" | "ok"), "lose, ok"),
                "times" | "on" => continue,
                other => {
                    wrong.push(format!(
                        "{other}: no such switch; there are d1, self, object_reply"
                    ));
                    continue;
                }
            };
            if !known {
                wrong.push(format!("{kind}: got {value:?}, wanted one of: {all}"));
            }
            let left = if value == "ok" { 0 } else { times };
            faults.push((
                kind,
                json!({"fault": value, "on": on, "left": left, "struck": 0}),
            ));
        }
        if faults.is_empty() && wrong.is_empty() {
            wrong.push("name at least one switch: d1, self, object_reply".into());
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        for (kind, fault) in faults {
            put(kind, &fault);
        }
        Ok(())
    }

    /// The fault of this kind, if it is to strike now.
    fn strike(kind: &str, on: Option<&str>) -> Option<String> {
        let all = faults();
        let fault = all.get(kind)?;
        let left = fault.get("left")?.as_u64()?;
        let wanted = fault.get("on").and_then(Value::as_str);
        if left == 0 || (wanted.is_some() && wanted != on) {
            return None;
        }
        let struck = fault.get("struck").and_then(Value::as_u64).unwrap_or(0);
        let name = fault.get("fault")?.as_str()?.to_owned();
        put(
            kind,
            &json!({"fault": name, "on": wanted, "left": left - 1, "struck": struck + 1}),
        );
        Some(name)
    }

    pub(crate) fn d1_fault() -> Option<D1Fault> {
        let name = strike("d1", None)?;
        match name.as_str() {
            "fail" => Some(D1Fault::Fail),
            "apply_then_fail" => Some(D1Fault::ApplyThenFail),
            stall => {
                let ms = parse_duration_ms(stall.strip_prefix("stall:")?).ok()?;
                Some(D1Fault::Stall { ms })
            }
        }
    }

    pub(crate) fn self_fault() -> Option<SelfFault> {
        match strike("self", None)?.as_str() {
            "lose" => Some(SelfFault::Lose),
            "double" => Some(SelfFault::Double),
            _ => None,
        }
    }

    pub(crate) fn loses_reply(ask: &str) -> bool {
        strike("object_reply", Some(ask)).is_some()
    }
}
