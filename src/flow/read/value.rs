//! One value of the file, read by the description of its property.

use super::fields::{Got, inside};
use super::reader::{Reader, scalar};
use super::spec::{Kind, Naming};
use crate::flow::formats;
use crate::flow::model::Property;
use crate::flow::yaml::{Entry, Kind as Yaml, Node};
use serde_json::{Map, Value};

impl Reader<'_> {
    /// Reads a value; what is wrong with it has been told when there is none.
    pub fn value(&mut self, node: &Node, path: &str, kind: &Kind) -> Option<Got> {
        match kind {
            Kind::Any
            | Kind::Text
            | Kind::Lines
            | Kind::Truth
            | Kind::Duration
            | Kind::Whole
            | Kind::Choice(_)
            | Kind::Map
            | Kind::Items
            | Kind::Labels => self.rendered(node, path, kind).map(Got::Property),
            Kind::Flag => self.flag(node, path).map(Got::Flag),
            Kind::Count(least, most) => self.count(node, path, *least, *most).map(Got::Count),
            Kind::Factor => self.factor(node, path).map(Got::Factor),
            Kind::Plain => self.plain(node, path, "a text").map(Got::Text),
            Kind::Prose => {
                let text = scalar(node).map(|scalar| scalar.text.clone());
                if text.is_none() {
                    self.unfit(node, path, "a text");
                }
                text.map(Got::Text)
            }
            Kind::Word(words) => self.word(node, path, words).map(Got::Text),
            Kind::Words(words) => self.words(node, path, words).map(Got::Texts),
            Kind::Name(naming) => self.name(node, path, *naming).map(Got::Text),
            Kind::Period => {
                let text = self.plain(node, path, "an ISO 8601 duration")?;
                self.form(node, path, formats::duration_ms(&text))
                    .map(Got::Count)
            }
            Kind::Cron => {
                let text = self.plain(node, path, "a schedule")?;
                let cron = formats::cron(&text);
                self.form(node, path, cron).map(|_| Got::Text(text))
            }
            Kind::Zone => {
                let text = self.plain(node, path, "a time zone")?;
                let zone = formats::time_zone(&text);
                self.form(node, path, zone).map(|_| Got::Text(text))
            }
            Kind::Pattern => {
                let text = self.plain(node, path, "a regular expression")?;
                let pattern = formats::pattern(&text);
                self.form(node, path, pattern).map(|_| Got::Text(text))
            }
            Kind::Value => Some(Got::Value(node.to_value())),
            Kind::Values => {
                let items = self.list(node, path)?;
                Some(Got::Values(items.iter().map(Node::to_value).collect()))
            }
            Kind::Variables => {
                let entries = self.map(node, path)?;
                let pairs = entries.iter();
                let pairs = pairs.map(|entry| (entry.key.clone(), entry.value.to_value()));
                Some(Got::Variables(pairs.collect()))
            }
            Kind::Ignored | Kind::Refused(_) => None,
            _ => self.compound(node, path, kind),
        }
    }

    /// Values that hold others with a description of their own.
    fn compound(&mut self, node: &Node, path: &str, kind: &Kind) -> Option<Got> {
        match kind {
            Kind::Expression => {
                let Some(scalar) = scalar(node) else {
                    self.unfit(node, path, "an expression");
                    return None;
                };
                self.template(node, scalar, path).map(Got::Template)
            }
            Kind::Pairs => self.pairs(node, path).map(Got::Pairs),
            Kind::LabelPairs => self.label_pairs(node, path).map(Got::Pairs),
            Kind::Tasks => self.tasks(node, path, true).map(Got::Tasks),
            Kind::MoreTasks => self.tasks(node, path, false).map(Got::Tasks),
            Kind::Cases => self.cases(node, path).map(Got::Cases),
            Kind::Undo => self.undo(node, path).map(|task| Got::Tasks(vec![task])),
            Kind::Triggers => self.triggers(node, path).map(Got::Triggers),
            Kind::Conditions => self.conditions(node, path).map(Got::Conditions),
            Kind::Preconditions => self.preconditions(node, path).map(Got::Conditions),
            Kind::Inputs => self.inputs(node, path).map(Got::Inputs),
            Kind::Outputs => self.outputs(node, path).map(Got::Outputs),
            Kind::Retry => self.retry(node, path).map(Got::Retry),
            Kind::Idempotency => self.idempotency(node, path).map(Got::Idempotency),
            Kind::Object(specs) => {
                let entries = self.map(node, path)?;
                let whose = format!("`{}`", path.rsplit('.').next().unwrap_or(path));
                let fields = self.fields(entries, node.at, path, &whose, &[specs]);
                Some(Got::Fields(fields))
            }
            _ => None,
        }
    }

    /// A list.
    pub fn list<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n [Node]> {
        if let Yaml::List(items) = &node.kind {
            return Some(items);
        }
        self.unfit(node, path, "a list");
        None
    }

    /// A map.
    pub fn map<'n>(&mut self, node: &'n Node, path: &str) -> Option<&'n [Entry]> {
        if let Yaml::Map(entries) = &node.kind {
            return Some(entries);
        }
        self.unfit(node, path, "a map");
        None
    }

    /// A form of text that has been looked at.
    fn form<T>(&mut self, node: &Node, path: &str, form: Result<T, String>) -> Option<T> {
        match form {
            Ok(value) => Some(value),
            Err(wanted) => {
                let detail = format!("This is {}; {wanted}.", node.describe());
                self.problem(node.at, path, detail);
                None
            }
        }
    }

    /// A text without expressions; a number or a boolean is one as it is written.
    pub fn plain(&mut self, node: &Node, path: &str, wanted: &str) -> Option<String> {
        let Some(scalar) = scalar(node) else {
            self.unfit(node, path, wanted);
            return None;
        };
        if scalar.text.contains("{{") || scalar.text.contains("{%") {
            let wanted = format!("{wanted} without expressions");
            self.unfit(node, path, &wanted);
            return None;
        }
        Some(scalar.text.clone())
    }

    fn flag(&mut self, node: &Node, path: &str) -> Option<bool> {
        let flag = scalar(node).and_then(|scalar| match &scalar.value {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
            _ => None,
        });
        if flag.is_none() {
            self.unfit(node, path, "`true` or `false`");
        }
        flag
    }

    fn count(&mut self, node: &Node, path: &str, least: u64, most: u64) -> Option<u64> {
        let count = scalar(node).and_then(|scalar| match &scalar.value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        });
        let count = count.filter(|count| (least..=most).contains(count));
        if count.is_none() {
            let wanted = if most >= u64::from(u32::MAX) {
                format!("a whole number from {least} on")
            } else {
                format!("a whole number from {least} to {most}")
            };
            self.unfit(node, path, &wanted);
        }
        count
    }

    fn factor(&mut self, node: &Node, path: &str) -> Option<f64> {
        let factor = scalar(node).and_then(|scalar| scalar.text.trim().parse::<f64>().ok());
        let factor = factor.filter(|factor| factor.is_finite() && *factor >= 1.0);
        if factor.is_none() {
            self.unfit(node, path, "a number from 1 on");
        }
        factor
    }

    fn word(&mut self, node: &Node, path: &str, words: &[&'static str]) -> Option<String> {
        let text = self.plain(node, path, "one word")?;
        let found = words
            .iter()
            .find(|word| word.eq_ignore_ascii_case(text.trim()));
        if found.is_none() {
            let near = self.near(&text, words.iter().copied());
            let detail = format!("This is {}; {}.", node.describe(), one_of(words));
            self.problem_near(node.at, path, detail, near);
        }
        found.map(|word| (*word).to_owned())
    }

    fn words(&mut self, node: &Node, path: &str, words: &[&'static str]) -> Option<Vec<String>> {
        if scalar(node).is_some() {
            return self.word(node, path, words).map(|word| vec![word]);
        }
        let items = self.list(node, path)?.iter().enumerate();
        let read = items.map(|(index, item)| self.word(item, &format!("{path}[{index}]"), words));
        let read: Vec<Option<String>> = read.collect();
        read.into_iter().collect()
    }

    /// A name.
    pub fn name(&mut self, node: &Node, path: &str, naming: Naming) -> Option<String> {
        let text = self.plain(node, path, "a name")?;
        if naming.fits(&text) && text.len() <= crate::limits::MAX_NAME_BYTES {
            return Some(text);
        }
        let wanted = format!(
            "a name of the form `{}` with at most {} characters",
            naming.pattern(),
            crate::limits::MAX_NAME_BYTES
        );
        self.unfit(node, path, &wanted);
        None
    }

    /// Keys with values that are rendered later.
    pub fn pairs(&mut self, node: &Node, path: &str) -> Option<Vec<(String, Property)>> {
        let entries = self.map(node, path)?;
        let read = entries.iter().map(|entry| {
            let value = self.any(&entry.value, &inside(path, &entry.key))?;
            Some((entry.key.clone(), value))
        });
        let read: Vec<Option<(String, Property)>> = read.collect();
        read.into_iter().collect()
    }

    /// The same from a map, or from a list of `key` and `value`.
    fn label_pairs(&mut self, node: &Node, path: &str) -> Option<Vec<(String, Property)>> {
        let Yaml::List(items) = &node.kind else {
            return self.pairs(node, path);
        };
        let mut pairs = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            if let Some((key, value)) = self.label(item, &path) {
                pairs.push((key, self.any(value, &inside(&path, "value"))?));
            }
        }
        Some(pairs)
    }

    /// An item of a list of labels.
    pub(super) fn label<'n>(&mut self, item: &'n Node, path: &str) -> Option<(String, &'n Node)> {
        let (Some(key), Some(value)) = (item.get("key"), item.get("value")) else {
            self.unfit(item, path, "a map with `key` and `value`");
            return None;
        };
        let key = self.plain(key, &inside(path, "key"), "a text")?;
        Some((key, value))
    }

    /// Anything, rendered later.
    pub fn any(&mut self, node: &Node, path: &str) -> Option<Property> {
        match &node.kind {
            Yaml::Scalar(scalar) => {
                if !scalar.value.is_string() || !scalar.text.contains('{') {
                    return Some(Property::Literal(scalar.value.clone()));
                }
                let template = self.template(node, scalar, path)?;
                if template.is_literal() {
                    return Some(Property::Literal(scalar.value.clone()));
                }
                Some(Property::Template(template))
            }
            Yaml::List(items) => {
                let items = items.iter().enumerate();
                let read = items.map(|(index, item)| self.any(item, &format!("{path}[{index}]")));
                let read: Vec<Option<Property>> = read.collect();
                Some(listed(read.into_iter().collect::<Option<_>>()?))
            }
            Yaml::Map(_) => self.pairs(node, path).map(mapped),
        }
    }
}

/// A list; one literal if all of it is.
fn listed(items: Vec<Property>) -> Property {
    let literal = |item: &Property| match item {
        Property::Literal(value) => Some(value.clone()),
        _ => None,
    };
    match items.iter().map(literal).collect::<Option<Vec<Value>>>() {
        Some(values) => Property::Literal(Value::Array(values)),
        None => Property::List(items),
    }
}

/// A map; one literal if all of it is.
fn mapped(pairs: Vec<(String, Property)>) -> Property {
    let literal = |(key, item): &(String, Property)| match item {
        Property::Literal(value) => Some((key.clone(), value.clone())),
        _ => None,
    };
    match pairs.iter().map(literal).collect::<Option<Map<_, _>>>() {
        Some(values) => Property::Literal(Value::Object(values)),
        None => Property::Map(pairs),
    }
}

/// `` `A`, `B` or `C` is wanted``.
pub fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    let (last, others) = match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => (last, others),
        _ => return format!("{} is wanted", quoted.concat()),
    };
    format!("{} or {last} is wanted", others.join(", "))
}
