//! Whose delivery it is.

use crate::webhook::Pointer;

/// Where the tenant label of a delivery comes from. Equal keys of different tenants are different tasks.
///
/// A label that a signature does not cover (a header, the path) is as good as the sender: whoever can send a
/// request again can send it under another label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tenant {
    /// Always this one; empty where there is one tenant only.
    Fixed(String),
    /// The value of a header field.
    Header(String),
    /// A field of the body, by JSON pointer.
    Body(Pointer),
    /// The last part of the address: `/hooks/{source}/{tenant}`.
    Path,
}

impl Tenant {
    /// Reads the form that configurations have: `acme`, `header:x-shop`, `body:/account/id`, `path`.
    ///
    /// # Errors
    /// Says what is wrong.
    ///
    /// ```
    /// use onceward::config::Tenant;
    /// assert_eq!(Tenant::read("path"), Ok(Tenant::Path));
    /// assert_eq!(Tenant::read("acme"), Ok(Tenant::Fixed("acme".into())));
    /// assert!(Tenant::read("body:account").is_err(), "a pointer begins with a slash");
    /// ```
    pub fn read(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "path" => Ok(Self::Path),
            None => Ok(Self::Fixed(text.to_owned())),
            Some(("header", name)) => Ok(Self::Header(name.to_ascii_lowercase())),
            Some(("body", pointer)) => Pointer::new(pointer)
                .map(Self::Body)
                .map_err(|fault| format!("tenant {text:?}: {fault}")),
            Some(_) => Err(format!(
                "tenant {text:?}: wanted a label, header:NAME, body:/POINTER or path"
            )),
        }
    }
}
