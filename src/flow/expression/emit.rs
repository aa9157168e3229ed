//! A template in the engine's own language. Texts, constants and names never become part of its source: they are
//! referred to by number, so nothing that an author or a payload writes is read a second time.

use super::Reference;
use super::ast::{Coalesce, Expr, Node, Step, What};
use super::engine::{Program, Site, Slot};
use serde_json::Value;
use std::fmt::Write as _;

/// Variables that one part of the template has: the whole, or the body of one loop.
struct Frame {
    number: usize,
    /// The variable of the loop.
    item: Option<String>,
    /// What `set` sets in it.
    set: Vec<String>,
}

struct Emitter {
    source: String,
    sites: Vec<Site>,
    constants: Vec<Value>,
    slots: Vec<Slot>,
    references: Vec<Reference>,
    frames: Vec<Frame>,
    count: usize,
}

/// Writes the program of a template.
pub(super) fn program(nodes: &[Node], single: bool) -> Program {
    let mut emitter = Emitter {
        source: String::new(),
        sites: Vec::new(),
        constants: Vec::new(),
        slots: Vec::new(),
        references: Vec::new(),
        frames: Vec::new(),
        count: 0,
    };
    emitter.open_frame(None, nodes);
    let only = nodes
        .iter()
        .find(|node| single && matches!(node, Node::Print(_)));
    match only {
        Some(Node::Print(expr)) => emitter.assign(expr),
        _ => emitter.nodes(nodes),
    }
    Program {
        source: emitter.source,
        sites: emitter.sites,
        constants: emitter.constants,
        slots: emitter.slots,
        references: emitter.references,
        single,
    }
}

/// Whether a template is one single expression, blanks around it aside.
pub(super) fn single(nodes: &[Node]) -> bool {
    let blank = |node: &&Node| matches!(node, Node::Text(text) if text.trim().is_empty());
    let mut rest = nodes.iter().filter(|node| !blank(node));
    matches!((rest.next(), rest.next()), (Some(Node::Print(_)), None))
}

/// Names that `set` sets, outside of inner loops.
fn set_in(nodes: &[Node], found: &mut Vec<String>) {
    for node in nodes {
        match node {
            Node::Set { name, .. } if !found.contains(name) => found.push(name.clone()),
            Node::If {
                branches,
                otherwise,
            } => {
                for (_, nodes) in branches {
                    set_in(nodes, found);
                }
                set_in(otherwise, found);
            }
            _ => {}
        }
    }
}

impl Emitter {
    fn open_frame(&mut self, item: Option<&str>, nodes: &[Node]) {
        let mut set = Vec::new();
        set_in(nodes, &mut set);
        self.count += 1;
        let number = self.count;
        if !set.is_empty() {
            let _ = write!(self.source, "{{% set n{number} = namespace() %}}");
        }
        self.frames.push(Frame {
            number,
            item: item.map(str::to_owned),
            set,
        });
    }

    fn assign(&mut self, expr: &Expr) {
        let code = self.expr(expr, false);
        let _ = write!(self.source, "{{% set result = {code} %}}");
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Text(text) => {
                    let code = self.constant(text.clone().into());
                    let code = self.call(Site::Print, &[code]);
                    let _ = write!(self.source, "{{{{ {code} }}}}");
                }
                Node::Print(expr) => {
                    let code = self.expr(expr, false);
                    let code = self.call(Site::Print, &[code]);
                    let _ = write!(self.source, "{{{{ {code} }}}}");
                }
                Node::Set { name, value } => {
                    let code = self.expr(value, false);
                    // The innermost part; `set_in` has found it there.
                    if let Some(frame) = self.frames.last()
                        && let Some(index) = frame.set.iter().position(|set| set == name)
                    {
                        let _ = write!(
                            self.source,
                            "{{% set n{}.s{index} = {code} %}}",
                            frame.number
                        );
                    }
                }
                Node::If {
                    branches,
                    otherwise,
                } => self.branches(branches, otherwise),
                Node::For {
                    name,
                    list,
                    body,
                    otherwise,
                } => self.each(name, list, body, otherwise),
            }
        }
    }

    fn branches(&mut self, branches: &[(Expr, Vec<Node>)], otherwise: &[Node]) {
        let mut word = "if";
        for (condition, nodes) in branches {
            let code = self.truth(condition, false);
            let _ = write!(self.source, "{{% {word} {code} %}}");
            self.nodes(nodes);
            word = "elif";
        }
        self.source.push_str("{% else %}");
        self.nodes(otherwise);
        self.source.push_str("{% endif %}");
    }

    fn each(&mut self, name: &str, list: &Expr, body: &[Node], otherwise: &[Node]) {
        let code = self.expr(list, false);
        let code = self.call(Site::Iterate, &[code]);
        // What is set in the body is kept from one turn to the next.
        self.open_frame(Some(name), body);
        let number = self.count;
        let turn = self.call(
            Site::Turn,
            &["loop.index0".to_owned(), "loop.length".to_owned()],
        );
        let _ = write!(
            self.source,
            "{{% for i{number} in {code} %}}{{% set t{number} = {turn} %}}"
        );
        self.nodes(body);
        self.frames.pop();
        self.source.push_str("{% else %}");
        self.nodes(otherwise);
        self.source.push_str("{% endfor %}");
    }

    fn constant(&mut self, value: Value) -> String {
        self.constants.push(value);
        format!("k{}", self.constants.len() - 1)
    }

    fn call(&mut self, site: Site, arguments: &[String]) -> String {
        self.sites.push(site);
        let mut code = format!("f({}", self.sites.len() - 1);
        for argument in arguments {
            code.push(',');
            code.push_str(argument);
        }
        code.push(')');
        code
    }

    fn truth(&mut self, expr: &Expr, tolerant: bool) -> String {
        let code = self.expr(expr, tolerant);
        self.call(Site::Truth, &[code])
    }

    /// `tolerant`: whether what is missing in it is allowed for.
    fn expr(&mut self, expr: &Expr, tolerant: bool) -> String {
        match &expr.what {
            What::Literal(value) => self.constant(value.clone()),
            What::Variable { name, path } => self.variable(name, path, expr.offset, tolerant),
            What::Path { of, path } => {
                let mut arguments = vec![self.expr(of, tolerant)];
                let steps = self.steps(path, &mut arguments, tolerant);
                self.call(Site::Path { steps, tolerant }, &arguments)
            }
            What::Call {
                callable,
                arguments,
            } => {
                let mut codes = Vec::new();
                for (index, argument) in arguments.iter().enumerate() {
                    codes.push(match argument {
                        None => "none".to_owned(),
                        Some(expr) => {
                            self.expr(expr, tolerant || (index == 0 && callable.tolerant))
                        }
                    });
                }
                for root in callable.surroundings {
                    codes.push(self.variable(root, &[], expr.offset, true));
                }
                self.call(Site::Call { callable, tolerant }, &codes)
            }
            What::List(items) => {
                let codes: Vec<_> = items.iter().map(|item| self.expr(item, tolerant)).collect();
                self.call(Site::List { tolerant }, &codes)
            }
            What::Map(pairs) => {
                let codes: Vec<_> = pairs
                    .iter()
                    .flat_map(|(key, value)| [self.expr(key, tolerant), self.expr(value, tolerant)])
                    .collect();
                self.call(Site::Map { tolerant }, &codes)
            }
            What::And(all) => self.chain(all, " and ", tolerant),
            What::Or(all) => self.chain(all, " or ", tolerant),
            What::Coalesce(kind, all) => self.coalesce(*kind, all, tolerant),
            What::Choice {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.truth(condition, tolerant);
                let then = self.expr(then, tolerant);
                let otherwise = self.expr(otherwise, tolerant);
                format!("({then} if {condition} else {otherwise})")
            }
        }
    }

    fn chain(&mut self, all: &[Expr], operator: &str, tolerant: bool) -> String {
        let codes: Vec<_> = all.iter().map(|expr| self.truth(expr, tolerant)).collect();
        format!("({})", codes.join(operator))
    }

    /// The engine's `or` goes on while what it gets is not true, and [`Site::Present`] is true for what is there.
    fn coalesce(&mut self, kind: Coalesce, all: &[Expr], tolerant: bool) -> String {
        let last = all.len() - 1;
        let codes: Vec<_> = all
            .iter()
            .enumerate()
            .map(|(index, expr)| {
                let code = self.expr(expr, tolerant || index < last);
                if index == last {
                    code
                } else {
                    self.call(Site::Present(kind), &[code])
                }
            })
            .collect();
        format!("({})", codes.join(" or "))
    }

    fn steps(
        &mut self,
        path: &[Step],
        arguments: &mut Vec<String>,
        tolerant: bool,
    ) -> Vec<Option<String>> {
        path.iter()
            .map(|step| match step {
                Step::Fixed(name) => Some(name.clone()),
                Step::Of(expr) => {
                    let code = self.expr(expr, tolerant);
                    arguments.push(code);
                    None
                }
            })
            .collect()
    }

    fn variable(&mut self, name: &str, path: &[Step], offset: usize, tolerant: bool) -> String {
        let mut own = Vec::new();
        let mut certain = false;
        for frame in self.frames.iter().rev() {
            if let Some(index) = frame.set.iter().position(|set| set == name) {
                own.push(format!("n{}.s{index}", frame.number));
            }
            if frame.item.as_deref() == Some(name) {
                own.push(format!("i{}", frame.number));
                certain = true;
            } else if name == "loop" && frame.item.is_some() {
                own.push(format!("t{}", frame.number));
                certain = true;
            }
            if certain {
                break;
            }
        }
        let fixed: Vec<String> = path
            .iter()
            .map_while(|step| match step {
                Step::Fixed(name) => Some(name.clone()),
                Step::Of(_) => None,
            })
            .collect();
        if own.is_empty() {
            self.references.push(Reference {
                root: name.to_owned(),
                path: fixed.clone(),
                offset,
                may_be_missing: tolerant,
            });
        }
        // What the surroundings have, found before the evaluation begins; the rest of the path comes later.
        let slot = (!certain).then(|| {
            let path = if own.is_empty() {
                fixed.clone()
            } else {
                Vec::new()
            };
            self.slots.push(Slot {
                root: name.to_owned(),
                path,
            });
            self.slots.len() - 1
        });
        let rest = if own.is_empty() {
            &path[fixed.len()..]
        } else {
            path
        };
        let candidates = own.len();
        let mut arguments = own;
        let steps = self.steps(rest, &mut arguments, tolerant);
        let site = Site::Variable {
            name: name.to_owned(),
            slot,
            candidates,
            steps,
            tolerant,
        };
        self.call(site, &arguments)
    }
}
