//! The functions that this repository deploys: small ones that show the runtime at work, and in a lab
//! build the lab. They see nothing of the runtime but [`crate::function`], as an author's own would.

mod echo;
mod github_event;
mod inbox;
#[cfg(feature = "lab")]
mod lab;
mod payment;

use crate::function::Function;
#[cfg(feature = "lab")]
use crate::function::Profile;

/// Every function, each under its own name.
///
/// ```
/// let functions = onceward::functions::all();
/// assert!(functions.iter().any(|f| f.name() == "github-event"));
/// ```
pub fn all() -> Vec<Function> {
    vec![
        github_event::function(),
        inbox::function(),
        echo::function(),
        payment::function(),
        #[cfg(feature = "lab")]
        lab::function("lab"),
        #[cfg(feature = "lab")]
        lab::function("lab-stripe").profile(Profile::Stripe),
        #[cfg(feature = "lab")]
        lab::function("lab-acp").profile(Profile::Acp),
        #[cfg(feature = "lab")]
        lab::function("lab-strict").call_rules(lab::strict()),
    ]
}

/// The texts of the flows of this repository: every file of `flows/`.
///
/// ```
/// assert!(onceward::functions::flows().iter().any(|text| text.contains("idempotent-webhook-processor")));
/// ```
pub fn flows() -> &'static [&'static str] {
    include!(concat!(env!("OUT_DIR"), "/flows.rs"))
}

/// Lower-case hex.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
