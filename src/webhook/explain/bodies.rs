//! What a body may have been when it was signed: the usual ways in which something on the way to us,
//! or whoever copied the delivery, changes bytes without changing the meaning.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::fmt::Write as _;
use std::io;
use url::form_urlencoded;

/// Another form of a body, and how to call it.
pub(super) struct Form {
    /// Ends the sentence "The signature holds for the body …".
    pub says: String,
    pub bytes: Vec<u8>,
}

/// Bodies above this are not read as JSON: writing them again in every style would cost too much.
const MAX_PARSED: usize = 128 << 10;

/// Every other form of a body, the likeliest and cheapest first; none is the body itself, none comes twice.
pub(super) fn forms(body: &[u8]) -> Vec<Form> {
    let mut out = Vec::new();
    let mut add = |says: &str, bytes: Vec<u8>| {
        if bytes != body && out.iter().all(|form: &Form| form.bytes != bytes) {
            let says = says.to_owned();
            out.push(Form { says, bytes });
        }
    };
    lines(body, &mut add);
    let text = std::str::from_utf8(body).ok();
    if body.len() <= MAX_PARSED {
        if let Ok(value) = crate::webhook::json::read(body) {
            json(&value, &mut add);
        }
        if let Some(text) = text {
            forms_of_text(text, &mut add);
        }
    }
    add("with nothing in it", Vec::new());
    out
}

/// Ends of lines, and what stands before and after the text.
fn lines(body: &[u8], add: &mut impl FnMut(&str, Vec<u8>)) {
    const BOM: &[u8] = b"\xef\xbb\xbf";
    let trimmed = body.trim_ascii();
    if let Some(rest) = body.strip_suffix(b"\n") {
        let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
        add("without the line break at its end", rest.to_vec());
    }
    add("with a line break (LF) at its end", [body, b"\n"].concat());
    add(
        "with a line break (CR LF) at its end",
        [body, b"\r\n"].concat(),
    );
    let lf = without_cr(body);
    add("with a line break (CR LF) instead of LF", with_cr(&lf));
    add("with line breaks LF instead of CR LF", lf);
    add("without the white space around it", trimmed.to_vec());
    match body.strip_prefix(BOM) {
        Some(rest) => add("without its byte order mark", rest.to_vec()),
        None => add("with a byte order mark", [BOM, body].concat()),
    }
}

fn without_cr(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    for (at, byte) in body.iter().enumerate() {
        if *byte != b'\r' || body.get(at + 1) != Some(&b'\n') {
            out.push(*byte);
        }
    }
    out
}

fn with_cr(lf: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(lf.len());
    for byte in lf {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

/// White space, order of members and escapes, as the JSON writers of the usual languages choose them.
fn json(value: &Value, add: &mut impl FnMut(&str, Vec<u8>)) {
    let sorted = sorted(value);
    let orders = [(value, ""), (&sorted, ", members sorted by name")];
    for (value, order) in orders {
        for (layout, style) in [
            (Layout::Compact, "written compactly"),
            (Layout::Spaced, "written with \", \" and \": \""),
            (Layout::Pretty(b"  "), "indented by two spaces"),
            (Layout::Pretty(b"    "), "indented by four spaces"),
        ] {
            let Some(plain) = layout.write(value) else {
                continue;
            };
            let ascii = escaped(&plain, |c| !c.is_ascii());
            let html = escaped(&plain, |c| {
                matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
            });
            let slashes = ascii.replace('/', "\\/");
            for (escapes, text) in [
                ("", plain),
                (", with \\u escapes", ascii),
                (", with \\u escapes for <, > and &", html),
                (", with \\u and \\/ escapes", slashes),
            ] {
                add(&format!("{style}{order}{escapes}"), text.into_bytes());
            }
        }
    }
    if let Value::String(inner) = value {
        add(
            "taken out of the JSON string that it is",
            inner.clone().into_bytes(),
        );
    }
}

/// The same value with the members of every object sorted.
fn sorted(value: &Value) -> Value {
    let mut value = value.clone();
    value.sort_all_objects();
    value
}

/// Replaces characters by their escapes. In JSON they stand in strings only.
fn escaped(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0; 2];
    for c in text.chars() {
        if which(c) {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

enum Layout {
    Compact,
    Spaced,
    Pretty(&'static [u8]),
}

impl Layout {
    fn write(&self, value: &Value) -> Option<String> {
        let mut out = Vec::new();
        let written = match self {
            Self::Compact => value.serialize(&mut Serializer::new(&mut out)),
            Self::Spaced => value.serialize(&mut Serializer::with_formatter(&mut out, Spaced)),
            Self::Pretty(indent) => {
                let pretty = PrettyFormatter::with_indent(indent);
                value.serialize(&mut Serializer::with_formatter(&mut out, pretty))
            }
        };
        written.ok()?;
        String::from_utf8(out).ok()
    }
}

/// A space after each comma and colon, as Python's `json.dumps` writes it.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }
    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { w.write_all(b", ") }
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        w.write_all(b": ")
    }
}

/// Forms, character sets and base64.
fn forms_of_text(text: &str, add: &mut impl FnMut(&str, Vec<u8>)) {
    for (name, value) in form_urlencoded::parse(text.as_bytes()).take(20) {
        if name == "payload" {
            add(
                "that stands in the form field payload",
                value.into_owned().into_bytes(),
            );
        }
    }
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    add(
        "as the form field payload",
        format!("payload={encoded}").into_bytes(),
    );
    if text.contains('%') || text.contains('+') {
        add("with its form encoding taken off", decoded(text));
        add(
            "with %20 instead of +",
            text.replace('+', "%20").into_bytes(),
        );
        add(
            "with + instead of %20",
            text.replace("%20", "+").into_bytes(),
        );
    }
    let narrow: Option<Vec<u8>> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect();
    if let Some(bytes) = narrow {
        add(
            "in Latin-1, or encoded as UTF-8 once instead of twice",
            bytes,
        );
    }
    if let Ok(bytes) = STANDARD.decode(text.trim()) {
        add("decoded from the base64 that it is", bytes);
    }
}

fn decoded(text: &str) -> Vec<u8> {
    // As one name without a value: only `&` and `=` mean more, and they come back between the parts.
    let part = |part: &str| {
        let mut pairs = form_urlencoded::parse(part.as_bytes());
        pairs
            .next()
            .map_or_else(String::new, |(name, _)| name.into_owned())
    };
    let fields = text.split('&').map(|field| {
        let halves: Vec<String> = field.split('=').map(part).collect();
        halves.join("=")
    });
    fields.collect::<Vec<_>>().join("&").into_bytes()
}
