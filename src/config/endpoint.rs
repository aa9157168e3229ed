//! Where operators want to be told of failed, stuck and waiting tasks: the variable `ONCEWARD_NOTIFY`, as
//! `[vars.ONCEWARD_NOTIFY.NAME]` in `wrangler.toml`. `docs/notifications.md` describes it.

use super::secret::{SecretName, SecretSpec};
use super::{ConfigProblem, is_route_name};
use crate::http::target;
use crate::limits;
use crate::types::{NoticeKind, Watch};
use serde::Deserialize;
use serde_json::Value;

/// The API token of this deployment signs nothing that goes out.
const API_TOKEN: &str = "ONCEWARD_TOKEN";

/// One endpoint, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointSpec {
    url: String,
    secrets: Vec<SecretSpec>,
    #[serde(default)]
    events: Vec<String>,
    #[serde(default)]
    functions: Vec<String>,
    waiting_ms: Option<u64>,
}

/// An address that messages are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Names of the secrets that sign.
    pub secrets: Vec<SecretName>,
    /// What it wants to hear of.
    pub events: Vec<NoticeKind>,
    /// Of which functions; none named: of all.
    pub functions: Vec<String>,
    /// A wait of this is worth a word.
    pub waiting_ms: u64,
}

impl Endpoint {
    /// Whether it wants to hear of this.
    pub fn wants(&self, kind: NoticeKind, function: &str) -> bool {
        let named = self.functions.iter().any(|name| name == function);
        self.events.contains(&kind) && (self.functions.is_empty() || named)
    }
}

/// All endpoints of a deployment.
///
/// ```
/// use onceward::config::Endpoints;
/// use onceward::types::NoticeKind;
/// let declared = serde_json::json!({
///     "ops": { "url": "https://ops.example.com/hook", "secrets": ["OPS_SECRET"], "events": ["task.failed"] },
/// });
/// let (endpoints, problems) = Endpoints::read(Some(&declared));
/// assert!(problems.is_empty());
/// assert!(endpoints.all()[0].wants(NoticeKind::Failed, "fulfil"));
/// assert!(Endpoints::read(None).0.watch().is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints(Vec<Endpoint>);

impl Endpoints {
    /// Reads the variable, and everything that is wrong with it.
    pub fn read(declared: Option<&Value>) -> (Self, Vec<ConfigProblem>) {
        let (mut endpoints, mut problems) = (Vec::new(), Vec::new());
        let entries = match declared {
            None => return (Self::default(), problems),
            Some(Value::Object(entries)) => entries,
            Some(_) => {
                let wanted = "wanted a table of endpoints by name, as [vars.ONCEWARD_NOTIFY.NAME] in wrangler.toml";
                return (
                    Self::default(),
                    vec![ConfigProblem::new("ONCEWARD_NOTIFY", wanted)],
                );
            }
        };
        for (name, entry) in entries {
            let spec = EndpointSpec::deserialize(entry).map_err(|error| vec![error.to_string()]);
            match spec.and_then(|spec| endpoint(name, spec)) {
                Ok(endpoint) => endpoints.push(endpoint),
                Err(faults) => problems.extend(
                    faults
                        .into_iter()
                        .map(|fault| ConfigProblem::new(format!("endpoint {name}"), fault)),
                ),
            }
        }
        (Self(endpoints), problems)
    }

    /// Each of them.
    pub fn all(&self) -> &[Endpoint] {
        &self.0
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Endpoint> {
        self.0.iter().find(|endpoint| endpoint.name == name)
    }

    /// What tasks are to look out for; nothing where nobody wants to hear of it.
    pub fn watch(&self) -> Option<Watch> {
        let waits = |e: &&Endpoint| e.events.contains(&NoticeKind::Waiting);
        let waiting_ms = self.0.iter().filter(waits).map(|e| e.waiting_ms).min();
        let never = limits::MAX_SLEEP_MS;
        (!self.0.is_empty()).then(|| Watch {
            waiting_ms: waiting_ms.unwrap_or(never),
        })
    }
}

fn endpoint(name: &str, spec: EndpointSpec) -> Result<Endpoint, Vec<String>> {
    let mut faults = Vec::new();
    if !is_route_name(name) {
        faults.push("its name must match [a-z0-9][a-z0-9_-]{0,63}".to_owned());
    }
    if let Err(why) = check_url(&spec.url) {
        faults.push(format!("url: {why}"));
    }
    let mut secrets = Vec::new();
    for secret in spec.secrets {
        match secret.read() {
            Ok(secret) if secret.name == API_TOKEN => {
                faults.push("the API token signs no message: make a secret of its own".to_owned());
            }
            Ok(secret) => secrets.push(secret),
            Err(fault) => faults.push(fault),
        }
    }
    if secrets.is_empty() {
        faults.push("secrets: wanted the name of one secret at least".to_owned());
    }
    let events = events(&spec.events, &mut faults);
    let waiting_ms = spec.waiting_ms.unwrap_or(limits::NOTICE_WAITING_MS);
    if waiting_ms == 0 {
        faults.push("waiting_ms: got 0, wanted 1 or more".to_owned());
    }
    if faults.is_empty() {
        Ok(Endpoint {
            name: name.to_owned(),
            url: spec.url,
            secrets,
            events,
            functions: spec.functions,
            waiting_ms,
        })
    } else {
        Err(faults)
    }
}

/// Of this machine only where a lab is tried.
fn check_url(url: &str) -> Result<(), String> {
    let loopback = cfg!(feature = "lab");
    let url = target::allowed(url, loopback)?;
    if url.scheme() != "https" && !loopback {
        return Err("wanted https".to_owned());
    }
    Ok(())
}

fn events(named: &[String], faults: &mut Vec<String>) -> Vec<NoticeKind> {
    if named.is_empty() {
        return NoticeKind::ALL.to_vec();
    }
    let mut events = Vec::new();
    for word in named {
        let kind = NoticeKind::ALL.iter().find(|kind| kind.as_str() == word);
        if let Some(kind) = kind {
            events.push(*kind);
        } else {
            let all: Vec<&str> = NoticeKind::ALL.iter().map(|kind| kind.as_str()).collect();
            faults.push(format!(
                "no event is named {word:?}; there are {}",
                all.join(", ")
            ));
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let declared = json!({
            "Ops": {"url": "ftp://x", "secrets": ["ONCEWARD_TOKEN"], "events": ["task.gone"], "waiting_ms": 0},
            "metadata": {"url": "https://169.254.169.254/x", "secrets": ["A"]},
            "odd": {"adress": "https://example.com"},
        });
        let (endpoints, problems) = Endpoints::read(Some(&declared));
        assert!(endpoints.all().is_empty());
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 8, "{texts:#?}");
        assert_eq!(Endpoints::read(Some(&json!("x"))).1.len(), 1);
    }

    #[test]
    fn the_shortest_wait_is_watched() {
        let one = |ms: u64, event: &str| json!({"url": "https://a.example", "secrets": ["S"], "waiting_ms": ms, "events": [event]});
        let declared = json!({"a": one(9, "task.waiting"), "b": one(5, "task.waiting"), "c": one(1, "task.failed")});
        let (endpoints, problems) = Endpoints::read(Some(&declared));
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(endpoints.watch(), Some(Watch { waiting_ms: 5 }));
        assert!(
            !endpoints
                .get("c")
                .expect("c")
                .wants(NoticeKind::Waiting, "f")
        );
    }
}
