//! How a flow is named in addresses and in the store.

use crate::function::flow::PREFIX;
use crate::limits::MAX_NAME_BYTES;

/// Namespace and id of a flow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowName {
    /// `[a-z0-9][a-z0-9._-]*`.
    pub namespace: String,
    /// `[a-zA-Z0-9][a-zA-Z0-9._-]*`.
    pub id: String,
}

impl FlowName {
    /// Reads the two parts as they stand in an address; `None` for what no flow is called.
    ///
    /// ```
    /// use onceward::http::flows::FlowName;
    /// let name = FlowName::read("company.team", "Order-Sync.2").unwrap();
    /// assert_eq!(name.function(), "flow:company.team/Order-Sync.2");
    /// assert!(FlowName::read("Company", "a").is_none() && FlowName::read("a", ".b").is_none());
    /// ```
    pub fn read(namespace: &str, id: &str) -> Option<Self> {
        let sign = |b: u8| matches!(b, b'.' | b'_' | b'-');
        let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let any = |b: u8| b.is_ascii_alphanumeric();
        let fits = |text: &str, letter: &dyn Fn(u8) -> bool| {
            text.bytes().next().is_some_and(letter) && text.bytes().all(|b| letter(b) || sign(b))
        };
        // Together they are the name of a function.
        let short = PREFIX.len() + namespace.len() + 1 + id.len() <= MAX_NAME_BYTES;
        (short && fits(namespace, &lower) && fits(id, &any)).then(|| Self {
            namespace: namespace.to_owned(),
            id: id.to_owned(),
        })
    }

    /// What the function of its tasks is called.
    pub fn function(&self) -> String {
        format!("{PREFIX}{self}")
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("/v1/flows/{self}")
    }
}

impl std::fmt::Display for FlowName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.id)
    }
}
