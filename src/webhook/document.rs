//! The body of a delivery, as far as keys and fingerprints look into it: JSON, or a form.
//!
//! It is read when somebody asks, and at most once. The function gets the bytes as they came.

use super::json;
use super::pointer::Pointer;
use percent_encoding::percent_decode;
use serde_json::{Map, Value};
use std::cell::OnceCell;
use std::fmt;
use url::form_urlencoded;

/// What the content type says a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`, `text/json`, or any type that ends in `+json`.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// Another type, or none. It may still be JSON: a rule that points into it tries.
    Other,
}

impl Media {
    /// By the content type; its parameters don't matter.
    ///
    /// ```
    /// use onceward::webhook::document::Media;
    /// assert_eq!(Media::of(Some("Application/JSON; charset=utf-8")), Media::Json);
    /// assert_eq!(Media::of(Some("application/cloudevents+json")), Media::Json);
    /// assert_eq!(Media::of(Some("text/xml")), Media::Other);
    /// assert_eq!(Media::of(None), Media::Other);
    /// ```
    pub fn of(content_type: Option<&str>) -> Self {
        let kind = content_type.and_then(|text| text.split(';').next());
        let kind = kind.unwrap_or("").trim().to_ascii_lowercase();
        match kind.as_str() {
            "application/json" | "text/json" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            other if other.contains('/') && other.ends_with("+json") => Self::Json,
            _ => Self::Other,
        }
    }
}

/// A body, read when it is needed.
///
/// A form is an object of texts: `a=1&b=2&a=3` is `{"a": ["1", "3"], "b": "2"}`.
///
/// ```
/// use onceward::webhook::{Document, Pointer};
/// let id = Pointer::new("/data/id").unwrap();
/// let json = Document::new(Some("application/json"), br#"{"data": {"id": "evt_1"}}"#);
/// assert_eq!(json.find(&id).unwrap().unwrap(), "evt_1");
/// let form = Document::new(Some("application/x-www-form-urlencoded"), b"MessageSid=SM1&a=%ZZ");
/// assert_eq!(form.find(&Pointer::new("/MessageSid").unwrap()).unwrap().unwrap(), "SM1");
/// ```
#[derive(Debug)]
pub struct Document<'a> {
    media: Media,
    bytes: &'a [u8],
    read: OnceCell<Result<Value, DocumentFault>>,
}

impl<'a> Document<'a> {
    /// Of the body's bytes, decoded if they had a content encoding.
    pub fn new(content_type: Option<&str>, bytes: &'a [u8]) -> Self {
        Self {
            media: Media::of(content_type),
            bytes,
            read: OnceCell::new(),
        }
    }

    /// Of a signed delivery's bytes: JSON if they begin with a brace or a bracket, else a form. No
    /// signature covers the content type, so that whoever has captured a delivery could change what
    /// is found in it by sending another one.
    ///
    /// ```
    /// use onceward::webhook::document::{Document, Media};
    /// assert_eq!(Document::by_its_bytes(b" {\"id\": 1}").media(), Media::Json);
    /// assert_eq!(Document::by_its_bytes(b"payload=%7B%7D").media(), Media::Form);
    /// ```
    pub fn by_its_bytes(bytes: &'a [u8]) -> Self {
        let begins = bytes.trim_ascii_start().first();
        let media = match begins {
            Some(b'{' | b'[') => Media::Json,
            _ => Media::Form,
        };
        Self {
            media,
            bytes,
            read: OnceCell::new(),
        }
    }

    /// What the content type says, or the bytes.
    pub fn media(&self) -> Media {
        self.media
    }

    /// The bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What it holds.
    ///
    /// # Errors
    /// It is not what its content type says, or neither JSON nor a form.
    pub fn value(&self) -> Result<&Value, DocumentFault> {
        let read = self.read.get_or_init(|| match self.media {
            _ if self.bytes.is_empty() => Err(DocumentFault::Empty),
            Media::Json => json::read(self.bytes),
            Media::Form => form(self.bytes),
            Media::Other => json::read(self.bytes).map_err(|fault| match fault {
                DocumentFault::NotJson { .. } => DocumentFault::Opaque,
                fault => fault,
            }),
        });
        read.as_ref().map_err(|fault| *fault)
    }

    /// What stands at a place; `None` if nothing does, also where there is no document at all.
    ///
    /// # Errors
    /// It says that it is a document, and is none.
    pub fn find(&self, pointer: &Pointer) -> Result<Option<&Value>, DocumentFault> {
        match self.value() {
            Ok(value) => Ok(pointer.find(value)),
            Err(DocumentFault::Empty | DocumentFault::Opaque) => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

fn form(bytes: &[u8]) -> Result<Value, DocumentFault> {
    let mut out = Map::new();
    for (name, value) in form_urlencoded::parse(bytes) {
        // The standard puts U+FFFD for what is not UTF-8: two bodies would become one.
        if (name.contains('\u{fffd}') || value.contains('\u{fffd}')) && !is_utf8(bytes) {
            return Err(DocumentFault::NotUtf8);
        }
        let value = Value::String(value.into_owned());
        match out.get_mut(&*name) {
            None => {
                out.insert(name.into_owned(), value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Ok(Value::Object(out))
}

/// Whether all names and values are UTF-8 once decoded.
fn is_utf8(form: &[u8]) -> bool {
    form.split(|byte| matches!(byte, b'&' | b'='))
        .all(|part| percent_decode(part).decode_utf8().is_ok())
}

/// Why a body can't be looked into. Holds nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFault {
    /// There is nothing, or only white space.
    Empty,
    /// Nested more deeply than [`MAX_JSON_DEPTH`](crate::limits::MAX_JSON_DEPTH).
    TooDeep,
    /// It should be JSON and is not.
    NotJson {
        /// Where it stops being JSON, from 1.
        line: usize,
        /// The byte within that line, from 1; 0 at its end.
        column: usize,
    },
    /// A text in it begins with a word that the parser keeps for itself.
    Reserved,
    /// A form with a name or value that is not UTF-8.
    NotUtf8,
    /// Neither JSON nor a form, and does not say so.
    Opaque,
}

impl DocumentFault {
    /// What is wrong and what is wanted, without its place.
    pub fn why(self) -> &'static str {
        match self {
            Self::Empty => "the body is empty; wanted JSON or a form",
            Self::TooDeep => "the body is nested too deeply; 128 levels are allowed",
            Self::NotJson { .. } => "the body is not JSON",
            Self::Reserved => {
                "a text in the body begins with $serde_json::private::, which is reserved"
            }
            Self::NotUtf8 => "a field of the form is not UTF-8",
            Self::Opaque => "the body is neither JSON nor a form",
        }
    }
}

impl fmt::Display for DocumentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why())?;
        if let Self::NotJson { line, column } = self {
            write!(f, " at line {line}, column {column}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
