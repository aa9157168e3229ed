//! Values that are rendered later: what can be known of them is looked at.

use super::reader::{Reader, scalar};
use super::spec::Kind;
use super::value::one_of;
use crate::flow::formats;
use crate::flow::model::Property;
use crate::flow::yaml::{Kind as Yaml, Node, Scalar};
use serde_json::Value;

impl Reader<'_> {
    /// A value that is rendered when it is needed.
    pub(super) fn rendered(&mut self, node: &Node, path: &str, kind: &Kind) -> Option<Property> {
        let simple = scalar(node);
        match (kind, simple) {
            (Kind::Any, _) => return self.any(node, path),
            (Kind::Text, None) => self.unfit(node, path, "a text"),
            (Kind::Truth, None) => self.unfit(node, path, "a boolean or an expression"),
            (Kind::Duration, None) => self.unfit(node, path, "an ISO 8601 duration"),
            (Kind::Whole, None) => self.unfit(node, path, "a whole number or an expression"),
            (Kind::Choice(_), None) => self.unfit(node, path, "one word or an expression"),
            (Kind::Lines, None) => return self.lines(node, path),
            (Kind::Map, None) if matches!(node.kind, Yaml::Map(_)) => return self.any(node, path),
            (Kind::Items, None) if matches!(node.kind, Yaml::List(_)) => {
                return self.any(node, path);
            }
            (Kind::Items, None) => self.unfit(node, path, "a list"),
            (Kind::Labels, None) => return self.labels(node, path),
            (Kind::Map, _) => return self.whole(node, simple, path, "a map"),
            (Kind::Items, Some(_)) => return self.whole_list(node, path),
            (Kind::Labels, Some(_)) => {
                return self.whole(node, simple, path, "a map, or a list of `key` and `value`,");
            }
            (_, Some(scalar)) => {
                let property = self.text(node, scalar, path)?;
                return match property {
                    Property::Literal(Value::String(text)) => {
                        self.literal(node, path, kind, text).map(Property::Literal)
                    }
                    other => Some(other),
                };
            }
            _ => {}
        }
        None
    }

    /// A text as it is written, whatever the core schema makes of it.
    fn text(&mut self, node: &Node, scalar: &Scalar, path: &str) -> Option<Property> {
        if scalar.text.contains('{') {
            let template = self.template(node, scalar, path)?;
            if !template.is_literal() {
                return Some(Property::Template(template));
            }
        }
        Some(Property::Literal(Value::String(scalar.text.clone())))
    }

    /// A text that has no expression, of a property that wants something else of it.
    fn literal(&mut self, node: &Node, path: &str, kind: &Kind, text: String) -> Option<Value> {
        match kind {
            Kind::Duration => match formats::duration_ms(&text) {
                Ok(_) => Some(Value::String(text)),
                Err(wanted) => {
                    let detail = format!("This is {}; {wanted}.", node.describe());
                    self.problem(node.at, path, detail);
                    None
                }
            },
            Kind::Whole => {
                let number = text.trim().parse::<u64>().ok();
                if number.is_none() {
                    self.unfit(node, path, "a whole number or an expression");
                }
                number.map(Value::from)
            }
            Kind::Truth => Some(match text.trim().to_ascii_lowercase().as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => Value::String(text),
            }),
            Kind::Choice(words) => {
                let found = words
                    .iter()
                    .find(|word| word.eq_ignore_ascii_case(text.trim()));
                if found.is_none() {
                    let near = self.near(&text, words.iter().copied());
                    let detail = format!("This is {}; {}.", node.describe(), one_of(words));
                    self.problem_near(node.at, path, detail, near);
                }
                found.map(|word| Value::String((*word).to_owned()))
            }
            _ => Some(Value::String(text)),
        }
    }

    /// One text, or a list of them.
    fn lines(&mut self, node: &Node, path: &str) -> Option<Property> {
        let Yaml::List(items) = &node.kind else {
            self.unfit(node, path, "a text or a list of texts");
            return None;
        };
        for (index, item) in items.iter().enumerate() {
            if scalar(item).is_none() {
                self.unfit(item, &format!("{path}[{index}]"), "a text");
            }
        }
        self.any(node, path)
    }

    fn labels(&mut self, node: &Node, path: &str) -> Option<Property> {
        if let Yaml::List(items) = &node.kind {
            for (index, item) in items.iter().enumerate() {
                if item.get("key").is_none() || item.get("value").is_none() {
                    let path = format!("{path}[{index}]");
                    self.unfit(item, &path, "a map with `key` and `value`");
                    return None;
                }
            }
        }
        self.any(node, path)
    }

    /// A text that has to be an expression, since it has to come to something else.
    fn whole(
        &mut self,
        node: &Node,
        simple: Option<&Scalar>,
        path: &str,
        wanted: &str,
    ) -> Option<Property> {
        let property = match simple {
            Some(scalar) => self.text(node, scalar, path)?,
            None => Property::Literal(Value::Null),
        };
        if matches!(property, Property::Literal(_)) {
            self.unfit(node, path, &format!("{wanted} or an expression"));
            return None;
        }
        Some(property)
    }

    /// A text that holds a list in JSON, or an expression.
    fn whole_list(&mut self, node: &Node, path: &str) -> Option<Property> {
        let property = self.text(node, scalar(node)?, path)?;
        let Property::Literal(Value::String(text)) = &property else {
            return Some(property);
        };
        if let Ok(value @ Value::Array(_)) = serde_json::from_str::<Value>(text) {
            return Some(Property::Literal(value));
        }
        self.unfit(node, path, "a list, a list in JSON or an expression");
        None
    }
}
