//! What comes in and what goes out, as bytes.

use serde::{Deserialize, Serialize};

/// Header fields in order, names in lower case.
///
/// ```
/// use onceward::types::Headers;
/// let mut headers = Headers::default();
/// headers.push("Content-Type", "text/plain");
/// assert_eq!(headers.get("content-type"), Some("text/plain"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Adds a field; the name is stored in lower case.
    pub fn push(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_ascii_lowercase(), value.into()));
    }

    /// Replaces every field of this name by one.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.remove(name);
        self.push(name, value);
    }

    /// Removes every field of this name.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
    }

    /// The first value of this name, in any spelling.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without any field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: AsRef<str>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(fields: T) -> Self {
        let mut headers = Self::default();
        for (name, value) in fields {
            headers.push(name.as_ref(), value);
        }
        headers
    }
}

/// What a function is run on: the delivery that was accepted first, its body untouched.
///
/// Not a JSON value on purpose: its bytes travel and are stored beside JSON, never inside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Input {
    /// The fields that the source's configuration keeps; never credentials or signatures.
    pub headers: Headers,
    /// The bytes as received.
    pub body: Vec<u8>,
}

/// An HTTP answer, stored and given again byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Answer {
    /// 200–599.
    pub status: u16,
    /// The function's fields; hop-by-hop fields, credentials and `Date` are taken out before storing.
    #[serde(default)]
    pub headers: Headers,
    /// The bytes. Carried beside messages, never inside their JSON.
    #[serde(skip)]
    pub body: Vec<u8>,
}

impl Answer {
    /// A JSON answer.
    ///
    /// ```
    /// use onceward::types::Answer;
    /// let answer = Answer::json(200, &serde_json::json!({"ok": true}));
    /// assert_eq!(answer.body, br#"{"ok":true}"#);
    /// ```
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        let mut headers = Headers::default();
        headers.push("content-type", "application/json");
        Self {
            status,
            headers,
            body: value.to_string().into_bytes(),
        }
    }
}
