//! From the parser's events to nodes.

use super::broken::broken;
use super::scalar::{Tag, resolve};
use super::{Entry, Kind, Node, Parsed, Scalar, Style};
use crate::flow::diagnostic::{Diagnostic, Position};
use crate::limits::{MAX_FLOW_DEPTH, MAX_FLOW_NODES, MAX_FLOW_TEXT_BYTES};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};
use std::collections::HashMap;
use std::fmt::Write as _;

/// What weighs on the bounds.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
    height: usize,
}

enum Holds {
    List(Vec<Node>),
    Map(OpenMap),
}

#[derive(Default)]
struct OpenMap {
    entries: Vec<Entry>,
    seen: HashMap<String, Position>,
    key: Option<Key>,
    merged: Vec<Node>,
}

enum Key {
    Named(String, Position),
    Merge,
    /// It is no key, and its value is left out.
    Unfit,
}

struct Frame {
    at: Position,
    anchor: usize,
    before: Weight,
    height: usize,
    holds: Holds,
}

#[derive(Default)]
struct Builder {
    frames: Vec<Frame>,
    anchors: HashMap<usize, (Node, Weight)>,
    root: Option<Node>,
    documents: usize,
    total: Weight,
    problems: Vec<Diagnostic>,
}

/// The file can't be read any further.
struct Enough;

pub(super) fn build(text: &str) -> Parsed {
    let mut builder = Builder::default();
    let mut whole = true;
    for event in Parser::new_from_str(text) {
        let done = match event {
            Ok((event, span)) => builder.take(event, span),
            Err(error) => {
                builder.problems.extend(broken(text, &error));
                Err(Enough)
            }
        };
        if done.is_err() {
            whole = false;
            break;
        }
    }
    if whole && builder.root.is_none() {
        builder.problem(Position { line: 1, column: 1 }, "The file is empty.");
    }
    Parsed {
        root: builder.root.filter(|_| whole),
        problems: builder.problems,
    }
}

pub(super) fn place(marker: Marker) -> Position {
    Position {
        line: u32::try_from(marker.line().max(1)).unwrap_or(u32::MAX),
        column: u32::try_from(marker.col() + 1).unwrap_or(u32::MAX),
    }
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Enough> {
        let at = place(span.start);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.problem(at, "A second document begins here; a file holds one flow.");
                    return Err(Enough);
                }
                Ok(())
            }
            Event::Alias(id) => self.alias(id, at),
            Event::Scalar(text, style, anchor, tag) => {
                let style = written(style);
                let tag = self.tag(tag.as_deref(), at);
                let value = resolve(&text, style, tag).unwrap_or_else(|detail| {
                    self.problem(at, detail);
                    text.clone().into_owned().into()
                });
                let text = text.into_owned();
                let weight = Weight {
                    nodes: 1,
                    bytes: text.len(),
                    height: 1,
                };
                let kind = Kind::Scalar(Scalar { text, style, value });
                self.weigh(weight, at)?;
                self.finish(Node { at, kind }, anchor, weight);
                Ok(())
            }
            Event::SequenceStart(anchor, tag) => {
                if !matches!(self.tag(tag.as_deref(), at), Tag::None | Tag::List) {
                    self.problem(at, "This is a list, and not what its tag says.");
                }
                self.open(at, anchor, Holds::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                if !matches!(self.tag(tag.as_deref(), at), Tag::None | Tag::Map) {
                    self.problem(at, "This is a map, and not what its tag says.");
                }
                self.open(at, anchor, Holds::Map(OpenMap::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.close();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn problem(&mut self, at: Position, detail: impl Into<String>) {
        self.problems.push(Diagnostic {
            path: self.path(),
            at,
            detail: detail.into(),
            nearest: None,
        });
    }

    /// The path of what is read now.
    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            match &frame.holds {
                Holds::List(items) => {
                    let _ = write!(path, "[{}]", items.len());
                }
                Holds::Map(map) => {
                    if let Some(Key::Named(key, _)) = &map.key {
                        if !path.is_empty() {
                            path.push('.');
                        }
                        path.push_str(&super::shortened(key));
                    }
                }
            }
        }
        path
    }

    fn tag(&mut self, tag: Option<&saphyr_parser::Tag>, at: Position) -> Tag {
        let Some(tag) = tag else { return Tag::None };
        let known = match tag.suffix.as_str() {
            "" if tag.handle == "!" || tag.handle.is_empty() => Some(Tag::Text),
            "!" if tag.handle.is_empty() => Some(Tag::Text),
            _ if !tag.is_yaml_core_schema() => None,
            "str" => Some(Tag::Text),
            "int" => Some(Tag::Int),
            "float" => Some(Tag::Float),
            "bool" => Some(Tag::Bool),
            "null" => Some(Tag::Null),
            "seq" => Some(Tag::List),
            "map" => Some(Tag::Map),
            _ => None,
        };
        known.unwrap_or_else(|| {
            let detail = format!(
                "The tag `{}` is not known; only `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map` are.",
                super::shortened(&tag.to_string())
            );
            self.problem(at, detail);
            Tag::None
        })
    }

    /// Counts what was added, and stops at the bounds.
    fn weigh(&mut self, weight: Weight, at: Position) -> Result<(), Enough> {
        self.total.nodes += weight.nodes;
        self.total.bytes += weight.bytes;
        let bound = if self.total.nodes > MAX_FLOW_NODES {
            format!("more than {MAX_FLOW_NODES} values")
        } else if self.total.bytes > MAX_FLOW_TEXT_BYTES {
            format!("more than {MAX_FLOW_TEXT_BYTES} bytes of text")
        } else if self.frames.len() + weight.height > MAX_FLOW_DEPTH {
            format!("more than {MAX_FLOW_DEPTH} levels")
        } else {
            return Ok(());
        };
        self.problem(
            at,
            format!("The flow has {bound}, what its anchors stand for counted in."),
        );
        Err(Enough)
    }

    fn alias(&mut self, id: usize, at: Position) -> Result<(), Enough> {
        let Some((_, weight)) = self.anchors.get(&id) else {
            self.problem(at, "This alias stands within what it stands for.");
            return Err(Enough);
        };
        let weight = *weight;
        self.weigh(weight, at)?;
        let (node, _) = &self.anchors[&id];
        let node = node.clone();
        self.finish(node, 0, weight);
        Ok(())
    }

    fn open(&mut self, at: Position, anchor: usize, holds: Holds) -> Result<(), Enough> {
        let weight = Weight {
            nodes: 1,
            bytes: 0,
            height: 1,
        };
        let before = self.total;
        self.weigh(weight, at)?;
        self.frames.push(Frame {
            at,
            anchor,
            before,
            height: 0,
            holds,
        });
        Ok(())
    }

    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let kind = match frame.holds {
            Holds::List(items) => Kind::List(items),
            Holds::Map(map) => Kind::Map(self.merge(map)),
        };
        let weight = Weight {
            nodes: self.total.nodes - frame.before.nodes,
            bytes: self.total.bytes - frame.before.bytes,
            height: frame.height + 1,
        };
        let node = Node { at: frame.at, kind };
        self.finish(node, frame.anchor, weight);
    }

    /// `<<`: what a map does not have itself.
    fn merge(&mut self, map: OpenMap) -> Vec<Entry> {
        let mut entries = map.entries;
        let mut seen = map.seen;
        for merged in map.merged {
            let at = merged.at;
            let maps = match merged.kind {
                Kind::List(items) => items,
                kind => vec![Node { at, kind }],
            };
            for part in maps {
                let Kind::Map(more) = part.kind else {
                    self.problem(part.at, "`<<` takes a map or a list of maps.");
                    continue;
                };
                for entry in more {
                    if seen.insert(entry.key.clone(), entry.at).is_none() {
                        entries.push(entry);
                    }
                }
            }
        }
        entries
    }

    /// A node is complete.
    fn finish(&mut self, node: Node, anchor: usize, weight: Weight) {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        frame.height = frame.height.max(weight.height);
        let map = match &mut frame.holds {
            Holds::List(items) => {
                items.push(node);
                return;
            }
            Holds::Map(map) => map,
        };
        match map.key.take() {
            None => self.key(node),
            Some(Key::Named(key, at)) => map.entries.push(Entry {
                key,
                at,
                value: node,
            }),
            Some(Key::Merge) => map.merged.push(node),
            Some(Key::Unfit) => {}
        }
    }

    /// A node that stands where a key does.
    fn key(&mut self, node: Node) {
        let at = node.at;
        let (key, problem) = match node.kind {
            Kind::Scalar(scalar) if scalar.style == Style::Plain && scalar.text == "<<" => {
                (Key::Merge, None)
            }
            Kind::Scalar(scalar) if scalar.value.is_null() && scalar.text.is_empty() => {
                (Key::Unfit, Some("A key is missing here.".to_owned()))
            }
            Kind::Scalar(scalar) => (Key::Named(scalar.text, at), None),
            Kind::List(_) | Kind::Map(_) => {
                let detail =
                    "A key has to be a single value; an expression has to stand in quotes.";
                (Key::Unfit, Some(detail.to_owned()))
            }
        };
        let Some(Holds::Map(map)) = self.frames.last_mut().map(|frame| &mut frame.holds) else {
            return;
        };
        let mut problem = problem;
        if let Key::Named(name, _) = &key {
            if let Some(first) = map.seen.get(name) {
                problem = Some(format!(
                    "The key `{}` is there already, in line {}.",
                    super::shortened(name),
                    first.line
                ));
            } else {
                map.seen.insert(name.clone(), at);
            }
        }
        map.key = Some(key);
        if let Some(detail) = problem {
            self.problem(at, detail);
            if let Some(Holds::Map(map)) = self.frames.last_mut().map(|frame| &mut frame.holds) {
                map.key = Some(Key::Unfit);
            }
        }
    }
}

fn written(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}
