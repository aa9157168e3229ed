//! One request, as it goes over the wire.

use crate::dice::Dice;
use std::fmt::Write as _;

/// A request before it is bytes.
#[derive(Clone, Debug)]
pub struct Shot {
    pub method: String,
    pub target: String,
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    /// Sent in chunks, without a length.
    pub chunked: bool,
    /// Why it may be too much for an HTTP server; then anything but a fault is a good answer.
    pub broken: Option<&'static str>,
    /// What it was meant to be.
    pub what: &'static str,
}

impl Shot {
    pub fn new(what: &'static str, method: &str, target: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            target: target.into(),
            fields: Vec::new(),
            body: Vec::new(),
            chunked: false,
            broken: None,
            what,
        }
    }

    pub fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The server may be done with the connection after it.
    pub fn closes(&self) -> bool {
        self.broken.is_some() || self.body.len() > 32 << 10
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let has = |name: &str| {
            self.fields
                .iter()
                .any(|(n, _)| n.eq_ignore_ascii_case(name))
        };
        if !has("host") {
            out.extend_from_slice(b"Host: onceward.test\r\n");
        }
        for (name, value) in &self.fields {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        if self.chunked {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in self.body.chunks(700) {
                out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                out.extend_from_slice(chunk);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"0\r\n\r\n");
            return out;
        }
        let takes_body = !matches!(self.method.as_str(), "GET" | "HEAD");
        if !has("content-length") && (takes_body || !self.body.is_empty()) {
            out.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
        out
    }

    /// Breaks the form of the request itself.
    pub fn break_form(&mut self, dice: &mut Dice) {
        let length = self.body.len();
        let (name, value, why): (&str, Vec<u8>, &'static str) = match dice.below(11) {
            0 => (
                "Content-Length",
                (length + 7).to_string().into(),
                "a length that is too large",
            ),
            1 => (
                "Content-Length",
                length.saturating_sub(1).to_string().into(),
                "a length that is too small",
            ),
            2 => (
                "Content-Length",
                dice.pick(&["-1", "1e3", "0x10", "", "99999999999999999999"])
                    .into(),
                "no length",
            ),
            3 => (
                "Transfer-Encoding",
                dice.pick(&["gzip, chunked", "chunked, chunked", "identity", "x"])
                    .into(),
                "an encoding",
            ),
            4 => ("X Y", "a space in a name".into(), "a name"),
            5 => ("X-Line", "a\r\n b".into(), "a folded line"),
            6 => ("X-Null", b"a\0b".to_vec(), "a null byte"),
            7 => ("X-Long", vec![b'a'; 200_000], "a very large field"),
            8 => {
                dice.pick(&["FOO", "get", "", "G\tET", "PROPFIND", "CONNECT", "TRACE"])
                    .clone_into(&mut self.method);
                ("X-Odd", "method".into(), "a method")
            }
            9 => {
                dice.pick(&[
                    "",
                    "*",
                    "http://[/",
                    "//",
                    "x",
                    "/a b",
                    "/\u{e9}",
                    "/\u{0}",
                    "http://x:99999/",
                ])
                .clone_into(&mut self.target);
                ("X-Odd", "target".into(), "a target")
            }
            _ => (
                "Expect",
                dice.pick(&["100-continue", "x"]).into(),
                "an expectation",
            ),
        };
        self.fields.push((name.to_owned(), value));
        self.broken = Some(why);
    }

    /// For people: what cannot be seen is escaped, and what repeats is counted.
    pub fn shown(&self) -> String {
        let bytes = self.bytes();
        let mut out = String::new();
        for run in bytes.chunk_by(|a, b| a == b) {
            for byte in run.iter().take(40) {
                match byte {
                    b'\n' => out.push_str("\\n\n"),
                    b'\r' => out.push_str("\\r"),
                    b'\\' => out.push_str("\\\\"),
                    b' '..=b'~' => out.push(char::from(*byte)),
                    _ => drop(write!(out, "\\x{byte:02x}")),
                }
            }
            if run.len() > 40 {
                let _ = write!(out, "…({} times)…", run.len());
            }
            if out.len() > 3_000 {
                let _ = write!(out, "… ({} bytes)", bytes.len());
                break;
            }
        }
        out
    }
}
