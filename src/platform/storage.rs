//! The object's storage: synchronous cells, one atomic step, the alarm.

use crate::protocol::{Event, Moment};
use crate::runtime::{Later, ObjectStorage};
use crate::store::cells::{CellError, Cells};
use crate::store::commit::{self, CommitError, Committed};
use crate::types::TaskId;
use js_sys::{Array, Function, Object, Reflect, Uint8Array};
use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use worker::{ScheduledTime, State, Storage};

/// The storage of one object. Cheap to clone.
#[derive(Clone)]
pub(super) struct EdgeStorage {
    storage: Rc<Storage>,
    raw: JsValue,
    kv: JsValue,
}

fn text_of(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map_or_else(|| format!("{error:?}"), |e| String::from(e.message()))
}

fn cell_error(error: &JsValue) -> CellError {
    CellError(text_of(error))
}

impl EdgeStorage {
    pub(super) fn of(state: &State) -> Self {
        let storage = state.storage();
        let raw: JsValue = AsRef::<JsValue>::as_ref(storage.as_raw()).clone();
        // `kv` is the synchronous key-value API of SQLite objects; workers-rs has no binding yet.
        let kv = Reflect::get(&raw, &"kv".into()).unwrap_or(JsValue::UNDEFINED);
        Self {
            storage: Rc::new(storage),
            raw,
            kv,
        }
    }

    fn call(&self, method: &str, arguments: &[JsValue]) -> Result<JsValue, CellError> {
        let function = Reflect::get(&self.kv, &method.into())
            .ok()
            .and_then(|f| f.dyn_into::<Function>().ok())
            .ok_or_else(|| CellError("this object has no synchronous key-value storage".into()))?;
        let arguments: Array = arguments.iter().collect();
        function
            .apply(&self.kv, &arguments)
            .map_err(|e| cell_error(&e))
    }

    /// Runs `step` as one transaction: if it fails, nothing of it stays.
    fn atomically<T: 'static, E: From<CellError> + 'static>(
        &self,
        step: impl FnOnce(&Self) -> Result<T, E> + 'static,
    ) -> Result<T, E> {
        let outcome: Rc<RefCell<Option<Result<T, E>>>> = Rc::default();
        let (inner, cells) = (Rc::clone(&outcome), self.clone());
        // If the step panics, the platform rolls back, and what it held is not looked at again.
        let held = AssertUnwindSafe((inner, cells, step));
        let closure = Closure::once(move || -> Result<JsValue, JsValue> {
            let AssertUnwindSafe((inner, cells, step)) = { held };
            let result = step(&cells);
            let failed = result.is_err();
            *inner.borrow_mut() = Some(result);
            // A throw makes the platform roll back.
            if failed {
                return Err(js_sys::Error::new("rolled back").into());
            }
            Ok(JsValue::UNDEFINED)
        });
        let thrown = Reflect::get(&self.raw, &"transactionSync".into())
            .and_then(JsCastExt::function)
            .and_then(|f| f.call1(&self.raw, closure.as_ref()))
            .err();
        let outcome = outcome.borrow_mut().take();
        match (outcome, thrown) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(value)), None) => Ok(value),
            (_, Some(error)) => Err(cell_error(&error).into()),
            (None, None) => Err(CellError("the transaction did not run".into()).into()),
        }
    }
}

impl ObjectStorage for EdgeStorage {
    fn cells(&self) -> &dyn Cells {
        self
    }

    fn commit(&self, id: TaskId, event: Event, moment: Moment) -> Result<Committed, CommitError> {
        self.atomically(move |cells| commit::commit(cells, id, event, &moment))
    }

    /// The call is made before the first await, so that it belongs to the atomic step before it.
    fn set_alarm(&self, at_ms: u64) -> Later<Result<(), String>> {
        #[allow(clippy::cast_precision_loss)] // below 2^53
        let date = js_sys::Date::new(&JsValue::from_f64(at_ms as f64));
        let storage = Rc::clone(&self.storage);
        Box::pin(async move {
            let set = storage.set_alarm(ScheduledTime::new(date)).await;
            set.map_err(|e| e.to_string())
        })
    }

    fn alarm_ms(&self) -> Later<Result<Option<u64>, String>> {
        let storage = Rc::clone(&self.storage);
        Box::pin(async move {
            let at = storage.get_alarm().await.map_err(|e| e.to_string())?;
            Ok(at.and_then(|ms| u64::try_from(ms).ok()))
        })
    }

    fn delete_all(&self) -> Later<Result<(), String>> {
        let storage = Rc::clone(&self.storage);
        Box::pin(async move { storage.delete_all().await.map_err(|e| e.to_string()) })
    }
}

trait JsCastExt {
    fn function(self) -> Result<Function, JsValue>;
}

impl JsCastExt for JsValue {
    fn function(self) -> Result<Function, JsValue> {
        self.dyn_into::<Function>()
    }
}

impl Cells for EdgeStorage {
    fn get(&self, cell: &str) -> Result<Option<Vec<u8>>, CellError> {
        let value = self.call("get", &[cell.into()])?;
        if value.is_undefined() || value.is_null() {
            return Ok(None);
        }
        Ok(Some(Uint8Array::new(&value).to_vec()))
    }

    fn put(&self, cell: &str, value: &[u8]) -> Result<(), CellError> {
        let bytes = Uint8Array::from(value);
        self.call("put", &[cell.into(), bytes.into()]).map(drop)
    }

    fn delete(&self, cell: &str) -> Result<bool, CellError> {
        Ok(self.call("delete", &[cell.into()])?.is_truthy())
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, CellError> {
        let options = Object::new();
        let set = |name: &str, value: JsValue| {
            Reflect::set(&options, &name.into(), &value).map_err(|e| cell_error(&e))
        };
        set("prefix", prefix.into())?;
        if let Some(after) = after {
            set("startAfter", after.into())?;
        }
        set("limit", u32::try_from(limit).unwrap_or(u32::MAX).into())?;
        let found = self.call("list", &[options.clone().into()])?;
        let entries = js_sys::try_iter(&found).map_err(|e| cell_error(&e))?;
        let mut out = Vec::new();
        for entry in entries.into_iter().flatten() {
            let pair = Array::from(&entry.map_err(|e| cell_error(&e))?);
            let name = pair.get(0).as_string().unwrap_or_default();
            out.push((name, Uint8Array::new(&pair.get(1)).to_vec()));
        }
        Ok(out)
    }
}
