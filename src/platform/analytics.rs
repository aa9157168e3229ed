//! Points for the platform's analytics (Workers Analytics Engine), where a dataset is bound as `ANALYTICS`.

use super::probe;
use js_sys::{Array, Function, Object, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use worker::Env;

/// The binding.
const DATASET: &str = "ANALYTICS";

/// Writes a point; the platform takes it without an answer. Nobody waits for it, and what goes wrong with it
/// disturbs nobody.
pub(super) fn write(env: &Env, texts: &[&str], numbers: &[f64]) {
    if let Ok(Some(written)) = written(env, texts, numbers) {
        probe::count(written, 1);
    }
}

fn written(env: &Env, texts: &[&str], numbers: &[f64]) -> Result<Option<&'static str>, JsValue> {
    let dataset = Reflect::get(env, &DATASET.into())?;
    if !dataset.is_object() {
        return Ok(None);
    }
    let write: Function = Reflect::get(&dataset, &"writeDataPoint".into())?.dyn_into()?;
    let point = Object::new();
    let index: Array = texts
        .first()
        .map(|text| JsValue::from_str(text))
        .into_iter()
        .collect();
    let blobs: Array = texts.iter().map(|text| JsValue::from_str(text)).collect();
    let doubles: Array = numbers
        .iter()
        .map(|number| JsValue::from_f64(*number))
        .collect();
    Reflect::set(&point, &"indexes".into(), &index)?;
    Reflect::set(&point, &"blobs".into(), &blobs)?;
    Reflect::set(&point, &"doubles".into(), &doubles)?;
    write.call1(&dataset, &point)?;
    Ok(Some("points"))
}
