//! Values of a flow's file, rendered.

use super::{Rendered, Scope, Stop, is_template};
use crate::flow::model::Property;
use serde_json::{Map, Value};

impl Property {
    /// Renders all texts in it. A text that is one single expression keeps the expression's type.
    ///
    /// ```
    /// use onceward::flow::expression::{Fixed, Scope, Template};
    /// use onceward::flow::model::Property;
    /// let roots = serde_json::json!({ "inputs": { "n": 7 } });
    /// let scope = Scope { roots: roots.as_object().unwrap(), outside: &Fixed::default() };
    /// let property = Property::Template(Template::compile("{{ inputs.n }}").unwrap());
    /// assert_eq!(property.render(&scope).unwrap().value, 7);
    /// ```
    ///
    /// # Errors
    /// If something is missing, has to be looked up first, or is too large.
    pub fn render(&self, scope: &Scope<'_>) -> Result<Rendered, Stop> {
        let mut secrets = Vec::new();
        let value = self.render_into(scope, &mut secrets)?;
        secrets.sort_unstable();
        secrets.dedup();
        Ok(Rendered { value, secrets })
    }

    fn render_into(&self, scope: &Scope<'_>, secrets: &mut Vec<String>) -> Result<Value, Stop> {
        Ok(match self {
            Self::Literal(value) => value.clone(),
            Self::Template(template) => {
                let rendered = template.value(scope)?;
                secrets.extend(rendered.secrets);
                rendered.value
            }
            Self::List(items) => {
                let items = items.iter().map(|item| item.render_into(scope, secrets));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Self::Map(pairs) => {
                let mut map = Map::new();
                for (key, property) in pairs {
                    map.insert(key.clone(), property.render_into(scope, secrets)?);
                }
                Value::Object(map)
            }
        })
    }

    /// Renders it as a text: null is empty, lists and maps are JSON. The second part are the secrets in it.
    ///
    /// # Errors
    /// As of [`Property::render`].
    pub fn text(&self, scope: &Scope<'_>) -> Result<(String, Vec<String>), Stop> {
        if let Self::Template(template) = self {
            return template.text(scope);
        }
        let rendered = self.render(scope)?;
        Ok((
            super::cell::text(&rendered.value).into_owned(),
            rendered.secrets,
        ))
    }
}

/// Whether a text in this value is a template.
pub(super) fn holds_template(value: &Value) -> bool {
    match value {
        Value::String(text) => is_template(text),
        Value::Array(items) => items.iter().any(holds_template),
        Value::Object(map) => map.values().any(holds_template),
        _ => false,
    }
}
