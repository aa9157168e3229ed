//! The filter `jq`: programs of jq, run by jaq.
//!
//! jaq itself has no bounds, so each program is rewritten before it is compiled: what may produce much, or many times,
//! is followed by a filter that pays for it, and definitions pay when they are entered. Recursive definitions are
//! refused, and so is what reaches outside (`env`, `input`, `now`, `debug`, …).

use super::call::Call;
use super::catalog::Callable;
use super::cell::Cell;
use super::halt::{Halt, failed, too_large};
use super::jq_natives::{Meter, Metered, Purse, natives};
use crate::limits::{JQ_FUEL, MAX_JQ_BYTES};
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Term};
use jaq_core::load::{Arena, File, Loader};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};
use jaq_core::{Ctx, Vars, unwrap_valr};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The filter.
pub(super) static ALL: &[Callable] =
    &[Callable::filter("jq", &["expression"], 1, jq).checked(check)];

/// Definitions of the library that reach outside, or need a function that is not there.
const LEFT_OUT: &[&str] = &[
    "debug",
    "stderr",
    "halt",
    "halt_error",
    "input_line_number",
    "inputs",
    "input_filename",
    "now",
    "env",
    "todate",
    "fromdate",
    "logb",
    "significand",
    "drem",
    "nexttoward",
    "scalb",
    "gamma",
    "ldexp",
    "ltrimstr_",
    "range",
];

/// What takes the place of some of them. `__ok` pays; each value that goes through `__check` is paid for.
const OWN: &str = r"
def __check: if __ok then . else . end;
def range($from; $to; $by):
  if $by == 0 or ($to - $from) / $by > 10000 then __deny else . end
  | __range($from; $to; $by);
def range(from; to): from as $from | to as $to | range($from; $to; 1);
def range(to): range(0; to);
";

/// Most of what [`nests`] counts, and deepest nesting of what was read.
const MAX_NESTS: usize = 48;
const MAX_DEPTH: usize = 64;

type Compiled = Rc<jaq_core::Filter<Metered>>;

thread_local! {
    /// Compiled programs. Most are written in the flow, so there are few.
    static KNOWN: RefCell<BTreeMap<String, Compiled>> = const { RefCell::new(BTreeMap::new()) };
}
const MAX_KNOWN: usize = 64;

fn jq(call: &Call<'_>) -> Result<Cell, Halt> {
    if call.raw(0).is_null() {
        return Ok(Value::Null.into());
    }
    let text = call.plain(0);
    // A text is JSON; anything else is written as such.
    let json = match text {
        Value::String(text) => text.clone(),
        _ => call.raw(0).to_string(),
    };
    call.charge(json.len().saturating_mul(4))?;
    let parsed = jaq_json::read::parse_single(json.as_bytes());
    let input = parsed.map_err(|_| failed("`jq` got no JSON"))?;
    let filter = compiled(&call.text(1)).map_err(failed)?;
    let purse = Purse::new(JQ_FUEL);
    let ctx = Ctx::<Metered>::new(
        Meter {
            lut: &filter.lut,
            purse: &purse,
        },
        Vars::new([]),
    );
    let mut outputs = Vec::new();
    for output in filter.id.run((ctx, input)).map(unwrap_valr) {
        let written = output.map(|output| output.to_string());
        if purse.empty() || outputs.len() >= MAX_OUTPUTS {
            return Err(too_large("`jq` takes too long or makes too much"));
        }
        // What the program says about it may show values.
        let written = written.map_err(|_| failed("`jq`: the program failed on this value"))?;
        call.charge(written.len().saturating_mul(2))?;
        outputs
            .push(serde_json::from_str(&written).map_err(|_| failed("`jq` made what is no JSON"))?);
    }
    if purse.empty() {
        return Err(too_large("`jq` takes too long or makes too much"));
    }
    call.charge(purse.spent() * 8)?;
    Ok(Cell::from(outputs))
}

/// Most values that a program may give.
const MAX_OUTPUTS: usize = 10_000;

/// A program that is written in the flow is checked when the flow is loaded.
fn check(arguments: &[Option<&Value>]) -> Result<(), String> {
    match arguments.get(1) {
        Some(Some(Value::String(program))) => compiled(program).map(|_| ()),
        _ => Ok(()),
    }
}

fn compiled(program: &str) -> Result<Compiled, String> {
    if let Some(known) = KNOWN.with_borrow(|known| known.get(program).cloned()) {
        return Ok(known);
    }
    let filter = Rc::new(compile(program)?);
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(program.to_owned(), filter.clone());
    });
    Ok(filter)
}

fn compile(program: &str) -> Result<jaq_core::Filter<Metered>, String> {
    if program.len() > MAX_JQ_BYTES {
        return Err(format!("a jq program may have {MAX_JQ_BYTES} bytes"));
    }
    if nests(program) > MAX_NESTS {
        return Err("the jq program is nested too deep".to_owned());
    }
    let parsed: Option<Term<&str>> = jaq_core::load::parse(program, |parser| parser.term());
    let main = bounded(parsed.ok_or("this is no jq program")?, &mut Vec::new(), 0)?;
    let own: Vec<Def<&'static str>> =
        jaq_core::load::parse(OWN, |parser| parser.defs()).unwrap_or_default();
    let library = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    let library = library
        .filter(|def| !LEFT_OUT.contains(&def.name))
        .map(entered);
    let mut defs: Vec<Def<&str>> = own.into_iter().chain(library).collect();
    defs.push(Def {
        name: "__main",
        args: Vec::new(),
        body: main,
    });
    let arena = Arena::default();
    let modules = Loader::new(defs).load(
        &arena,
        File {
            code: "__main",
            path: (),
        },
    );
    let modules = modules.map_err(|_| "this is no jq program".to_owned())?;
    jaq_core::Compiler::default()
        .with_funs(natives())
        .compile(modules)
        .map_err(|errors| {
            let unknown = errors.into_iter().flat_map(|(_, errors)| errors).next();
            match unknown {
                Some((name, _)) => format!("jq has no `{}` here", super::halt::cut(name)),
                None => "this is no jq program".to_owned(),
            }
        })
}

/// How deep reading may go: brackets that are open at a time, and words and signs that begin another term.
fn nests(program: &str) -> usize {
    const WORDS: &[&str] = &[
        "try", "catch", "if", "elif", "else", "reduce", "foreach", "def", "label", "as",
    ];
    let (mut open, mut most): (usize, usize) = (0, 0);
    for byte in program.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    let words = program.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    most + words.filter(|word| WORDS.contains(word)).count() + program.matches('-').count()
}

fn call_of(name: &str) -> Term<&str> {
    Term::Call(name, Vec::new())
}

fn pipe<'s>(left: Term<&'s str>, right: Term<&'s str>) -> Term<&'s str> {
    Term::BinOp(Box::new(left), BinaryOp::Pipe(None), Box::new(right))
}

/// Pays for each output.
fn paid(term: Term<&str>) -> Term<&str> {
    pipe(term, call_of("__check"))
}

/// A definition of the library: it pays for its input. What it calls last stays last, so that its loops need no
/// stack.
fn entered(def: Def<&'static str>) -> Def<&'static str> {
    let body = match def.body {
        Term::Def(inner, body) => Term::Def(inner.into_iter().map(entered).collect(), body),
        body => pipe(call_of("__check"), body),
    };
    Def { body, ..def }
}

/// A term of the program. `within`: the definitions that it stands in.
fn bounded<'s>(
    term: Term<&'s str>,
    within: &mut Vec<&'s str>,
    depth: usize,
) -> Result<Term<&'s str>, String> {
    if depth > MAX_DEPTH {
        return Err("the jq program is nested too deep".to_owned());
    }
    match term {
        Term::Def(defs, term) => {
            let mut bound = Vec::new();
            for def in defs {
                within.push(def.name);
                let body = paid(bounded(def.body, within, depth + 1)?);
                within.pop();
                bound.push(Def {
                    name: def.name,
                    args: def.args,
                    body,
                });
            }
            Ok(Term::Def(
                bound,
                Box::new(bounded(*term, within, depth + 1)?),
            ))
        }
        Term::Call(name, _) if within.contains(&name) => Err(format!(
            "the jq definition `{}` calls itself",
            super::halt::cut(name)
        )),
        Term::Call(name, _) if name.starts_with("__") => {
            Err(format!("jq has no `{}` here", super::halt::cut(name)))
        }
        term => parts(term, &mut |term| bounded(term, within, depth + 1)),
    }
}

/// `inner` is what becomes of the terms in it.
fn parts<'s>(
    term: Term<&'s str>,
    inner: &mut dyn FnMut(Term<&'s str>) -> Result<Term<&'s str>, String>,
) -> Result<Term<&'s str>, String> {
    Ok(match term {
        Term::Id | Term::Num(_) | Term::Var(_) | Term::Break(_) | Term::Def(..) => term,
        Term::Recurse => paid(term),
        Term::Str(format, parts) => {
            let parts = parts.into_iter().map(|part| match part {
                StrPart::Term(term) => inner(term).map(StrPart::Term),
                other => Ok(other),
            });
            paid(Term::Str(format, parts.collect::<Result<_, String>>()?))
        }
        Term::Arr(items) => paid(Term::Arr(
            items.map(|items| inner(*items).map(Box::new)).transpose()?,
        )),
        Term::Obj(pairs) => {
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| Ok((inner(key)?, value.map(&mut *inner).transpose()?)));
            paid(Term::Obj(pairs.collect::<Result<_, String>>()?))
        }
        Term::Neg(term) => Term::Neg(Box::new(inner(*term)?)),
        Term::BinOp(left, operator, right) => operation(inner(*left)?, operator, inner(*right)?)?,
        Term::Label(name, term) => Term::Label(name, Box::new(inner(*term)?)),
        Term::Fold(name, list, pattern, steps) => {
            let list = Box::new(inner(*list)?);
            let steps = steps
                .into_iter()
                .map(&mut *inner)
                .collect::<Result<_, String>>()?;
            paid(Term::Fold(name, list, pattern, steps))
        }
        Term::TryCatch(term, catch) => {
            let term = Box::new(inner(*term)?);
            Term::TryCatch(
                term,
                catch.map(|catch| inner(*catch).map(Box::new)).transpose()?,
            )
        }
        Term::IfThenElse(branches, otherwise) => {
            let branches = branches
                .into_iter()
                .map(|(test, then)| Ok((inner(test)?, inner(then)?)));
            let branches = branches.collect::<Result<_, String>>()?;
            Term::IfThenElse(
                branches,
                otherwise
                    .map(|term| inner(*term).map(Box::new))
                    .transpose()?,
            )
        }
        Term::Call(name, arguments) => {
            let arguments = arguments
                .into_iter()
                .map(inner)
                .collect::<Result<_, String>>()?;
            paid(Term::Call(name, arguments))
        }
        Term::Path(term, path) => path_of(*term, path, inner)?,
    })
}

fn path_of<'s>(
    term: Term<&'s str>,
    Path(parts): Path<Term<&'s str>>,
    inner: &mut dyn FnMut(Term<&'s str>) -> Result<Term<&'s str>, String>,
) -> Result<Term<&'s str>, String> {
    let term = Box::new(inner(term)?);
    let iterates = parts
        .iter()
        .any(|(part, _)| matches!(part, Part::Range(..)));
    let parts = parts.into_iter().map(|(part, optional)| {
        let part = match part {
            Part::Index(index) => Part::Index(inner(index)?),
            Part::Range(from, to) => Part::Range(
                from.map(&mut *inner).transpose()?,
                to.map(&mut *inner).transpose()?,
            ),
        };
        Ok((part, optional))
    });
    let path = Term::Path(term, Path(parts.collect::<Result<_, String>>()?));
    Ok(if iterates { paid(path) } else { path })
}

fn operation<'s>(
    left: Term<&'s str>,
    operator: BinaryOp<&'s str>,
    right: Term<&'s str>,
) -> Result<Term<&'s str>, String> {
    let factor = |term| pipe(term, call_of("__factor"));
    let joined = |left, operator, right| Term::BinOp(Box::new(left), operator, Box::new(right));
    Ok(match operator {
        BinaryOp::Math(Math::Mul) => paid(joined(factor(left), operator, factor(right))),
        BinaryOp::UpdateMath(Math::Mul) => return Err("jq has no `*=` here".to_owned()),
        BinaryOp::Math(_)
        | BinaryOp::Assign
        | BinaryOp::Update
        | BinaryOp::UpdateMath(_)
        | BinaryOp::UpdateAlt => paid(joined(left, operator, right)),
        _ => joined(left, operator, right),
    })
}
