//! What tasks can be found by, beside their key.

use crate::limits::{MAX_LABEL_CHARS, MAX_LABEL_NAME_CHARS, MAX_LABELS};
use crate::webhook::{Document, Pointer};
use serde_json::Value;
use std::collections::BTreeMap;

/// Where the value of a label comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// Always this one.
    Fixed(String),
    /// A field of the body: a text, a number or a truth value; without it there is no such label.
    Body(Pointer),
}

impl Label {
    /// Reads the form that configurations have: `payments`, `body:/order/id`.
    ///
    /// # Errors
    /// Says what is wrong.
    ///
    /// ```
    /// use onceward::config::Label;
    /// assert_eq!(Label::read("payments"), Ok(Label::Fixed("payments".into())));
    /// assert!(matches!(Label::read("body:/order/id"), Ok(Label::Body(_))));
    /// assert!(Label::read("body:order").is_err(), "a pointer begins with a slash");
    /// ```
    pub fn read(text: &str) -> Result<Self, String> {
        let Some(pointer) = text.strip_prefix("body:") else {
            return Ok(Self::Fixed(text.to_owned()));
        };
        Pointer::new(pointer)
            .map(Self::Body)
            .map_err(|fault| format!("label {text:?}: {fault}"))
    }

    fn value(&self, document: &Document<'_>) -> Option<String> {
        let value = match self {
            Self::Fixed(text) => text.clone(),
            Self::Body(pointer) => match document.find(pointer).ok()?? {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            },
        };
        Some(value.chars().take(MAX_LABEL_CHARS).collect())
    }
}

/// Labels by name.
///
/// ```
/// use onceward::config::{Label, Labels};
/// use onceward::webhook::Document;
/// let labels = Labels::default()
///     .with("team", Label::Fixed("payments".into()))
///     .with("order", Label::read("body:/order/id").unwrap());
/// let body = Document::new(Some("application/json"), br#"{"order": {"id": 616581622363398142}}"#);
/// let found = labels.of(&body);
/// assert_eq!((found["team"].as_str(), found["order"].as_str()), ("payments", "616581622363398142"));
/// assert!(labels.problems().is_empty());
/// assert_eq!(Labels::default().with("Two words", Label::Fixed(String::new())).problems().len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, Label>);

impl Labels {
    /// The same with one more.
    #[must_use]
    pub fn with(mut self, name: &str, label: Label) -> Self {
        self.0.insert(name.to_owned(), label);
        self
    }

    /// What a body gives; longer values are cut.
    pub fn of(&self, document: &Document<'_>) -> BTreeMap<String, String> {
        let found = self.0.iter();
        found
            .filter_map(|(name, label)| Some((name.clone(), label.value(document)?)))
            .collect()
    }

    /// Everything that is wrong with it.
    pub fn problems(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.0.len() > MAX_LABELS {
            wrong.push(format!(
                "it has {} labels; wanted {MAX_LABELS} at most",
                self.0.len()
            ));
        }
        let odd = self.0.keys().filter(|name| !is_label_name(name));
        wrong.extend(odd.map(|name| {
            format!(
                "label {name:?}: wanted 1 to {MAX_LABEL_NAME_CHARS} of a-z, 0-9, _, - and the dot"
            )
        }));
        wrong
    }
}

/// True for the name of a label.
///
/// ```
/// use onceward::config::is_label_name;
/// assert!(is_label_name("order.id") && !is_label_name("") && !is_label_name("Order"));
/// ```
pub fn is_label_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.".contains(&b);
    (1..=MAX_LABEL_NAME_CHARS).contains(&name.len()) && name.bytes().all(fits)
}
