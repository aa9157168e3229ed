//! Renders what a task is made of.

use super::{duration_ms, is_true};
use crate::flow::expression::{Scope, Stop};
use crate::flow::model::Property;
use serde_json::Value;
use std::cell::RefCell;

/// Renders, and remembers the secrets that were asked for.
pub(super) struct Pen<'a, 'b> {
    pub(super) scope: &'a Scope<'b>,
    secrets: RefCell<Vec<String>>,
}

impl<'a, 'b> Pen<'a, 'b> {
    pub(super) fn new(scope: &'a Scope<'b>) -> Self {
        Self {
            scope,
            secrets: RefCell::default(),
        }
    }

    pub(super) fn value(&self, property: &Property) -> Result<Value, Stop> {
        let rendered = property.render(self.scope)?;
        self.secrets.borrow_mut().extend(rendered.secrets);
        Ok(rendered.value)
    }

    pub(super) fn text(&self, property: &Property) -> Result<String, Stop> {
        let (text, secrets) = property.text(self.scope)?;
        self.secrets.borrow_mut().extend(secrets);
        Ok(text)
    }

    pub(super) fn optional(&self, property: Option<&Property>) -> Result<Option<Value>, Stop> {
        property.map(|p| self.value(p)).transpose()
    }

    pub(super) fn text_or(&self, property: Option<&Property>, other: &str) -> Result<String, Stop> {
        property.map_or_else(|| Ok(other.to_owned()), |p| self.text(p))
    }

    pub(super) fn flag(&self, property: Option<&Property>, other: bool) -> Result<bool, Stop> {
        property.map_or(Ok(other), |p| Ok(is_true(&self.text(p)?)))
    }

    pub(super) fn ms(&self, property: Option<&Property>) -> Result<Option<u64>, Stop> {
        let value = self.optional(property)?.filter(|value| !value.is_null());
        value
            .map(|value| duration_ms(&value).map_err(Stop::Failed))
            .transpose()
    }

    pub(super) fn secrets(self) -> Vec<String> {
        self.secrets.into_inner()
    }
}
